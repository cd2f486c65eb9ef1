"""Times the kernels of a barotropic step, one by one and together, in several variants: an experiment."""

import fcntl
import multiprocessing
import sys
import traceback

import numpy as np

OTHERS = {
    32: [(4, (16,)), (4, (4, 4)), (8, (4, 2)), (16, (4,))],
    64: [(8, (16,)), (8, (4, 4)), (4, (8, 4))],
    128: [(8, (8, 4)), (16, (4, 4)), (4, (8, 8)), (8, (4, 8))],
    256: [(8, (8, 8)), (16, (4, 8)), (8, (4, 4, 4))],
    512: [(8, (16, 8)), (8, (8, 16))],
    1024: [(16, (16, 8)), (8, (8, 8, 4))],
    2048: [(8, (8, 8, 8))],
    4096: [(8, (16, 8, 8))],
}
CASES = [(n, p) for n in (4096, 2048, 1024, 768, 512, 256, 128, 64, 32) for p in ("single", "double")]


def timed(device, launches, times=20):
    from eagre.backend.timing import times_of

    device.run(launches)
    device.synchronize()
    with open("/tmp/timing.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        go = device.repeated(launches, times)
        return 1e6 * min(times_of(device, go, repeats=10)) / times


def one(case):
    n, precision = case
    try:
        return "\n".join(measure(n, precision))
    except BaseException:
        return f"{case}: " + traceback.format_exc()[-1500:]


def measure(n, precision):
    import scipy.fft

    from eagre.backend.device import Launch, select
    from eagre.models.barotropic import passes_cuda as passes
    from eagre.models.barotropic.kernels import Coefficients
    from eagre.solvers.poisson import columns_cuda, sine_cuda
    from eagre.solvers.poisson.columns import column_table
    from eagre.solvers.poisson.sine_plan import FACTORS, SinePlan

    device = select("cuda")
    real = np.float32 if precision == "single" else np.float64
    size = np.dtype(real).itemsize
    ny = n
    h = np.pi / n
    rng = np.random.default_rng(0)
    host = np.zeros((ny + 1, n + 1), real)
    y = np.linspace(0, np.pi, n + 1)
    host[1:-1, 1:-1] = (np.sin(2 * y)[:, None] * np.sin(y) + 0.1 * rng.standard_normal((ny + 1, n + 1)))[1:-1, 1:-1]
    zeta = device.array(host)
    psi, new, older, oldest = (device.zeros(host.shape, real) for _ in range(4))
    spectrum = device.zeros((ny + 1, n), real)
    curl = device.array(np.sin(2 * y)[:, None].astype(real))
    weights = device.array(np.array([1.5e-9, -0.5e-9, 0.0, 1.0], real))
    c = Coefficients(*map(real, (0.25 / h**2, 1.36e5 / 2 / h, 0.05 / h**2, 0.05 / h**2, 0.0, 0.0)))
    out = [f"--- {n} {precision}"]

    best = {}
    cuts = [FACTORS[n], *OTHERS.get(n, [])]
    for factors in cuts:
        for pairs in (1, 2) if n in (1024, 2048) and factors == FACTORS[n] else (1,):
            plan = SinePlan(n, *factors, pairs)
            table = device.array(plan.table.astype(real))
            grid = (-(-(ny - 1) // (2 * pairs)),)
            shared = plan.shared_bytes(size)
            if shared > 220_000 or plan.threads > 1024 or (n == 4096 and pairs > 1):
                continue
            for registers in (56, 64, 80, 96) if precision == "single" else (96, 128, 168):
                if -(-plan.threads // 128) * registers > 512 or (n <= 256 and registers not in (96, 128)):
                    continue
                switches = {**plan.switches(), "REGISTERS": registers}
                row = device.program(sine_cuda.sine_rows_cuda, precision, switches)
                up = device.program(passes.update_cuda, precision, {**switches, "HISTORY": 1})
                sine = Launch(row, (zeta, spectrum, table), grid, (plan.threads,), shared)
                back = Launch(row, (spectrum, psi, table), grid, (plan.threads,), shared)
                update = Launch(
                    up,
                    (psi, zeta, new, older, oldest, curl, weights, c, spectrum, table),
                    grid,
                    (plan.threads,),
                    shared,
                )
                a, b = timed(device, [sine]), timed(device, [update])
                spilled = max(max(p.get_local_mem_per_thread().values()) for p in (row, up))
                out.append(
                    f"{factors} local {spilled} pairs {pairs} regs {registers} threads {plan.threads}: sine {a:.2f} update {b:.2f}"
                )
                if "back" not in best or a < best["back"][0]:
                    best["back"], best["sine"] = (a, back), (a, sine)
                if "update" not in best or b < best["update"][0]:
                    best["update"] = (b, update)
    for own, columns, registers in (
        (4, 8, 64), (4, 4, 64), (8, 8, 64), (8, 4, 64), (16, 8, 64), (16, 4, 64), (32, 8, 64), (32, 8, 80), (32, 8, 128),
        (32, 4, 128), (32, 4, 64), (32, 4, 168), (64, 8, 128), (64, 4, 128), (64, 4, 168), (16, 8, 96), (16, 4, 96),
    ):  # fmt: skip
        pieces = -(-(ny - 1) // own)
        threads = -(-pieces * columns // 32) * 32
        if threads > 1024 or -(-threads // 128) * registers > 512 or (own < 16 and n > 1024) or (own > 16 and n <= 256):
            continue
        program = device.program(
            columns_cuda.solve_columns_cuda, precision, {"OWN": own, "COLUMNS": columns, "REGISTERS": registers}
        )
        table = device.array(column_table(n, ny, h, h, 0.0, own).astype(real))
        solve = Launch(
            program,
            (spectrum.reshape(-1), spectrum.reshape(-1), table, np.int32(ny + 1)),
            (-(-n // columns),),
            (threads,),
        )
        other = device.zeros(spectrum.shape, real)
        a = timed(
            device, [solve._replace(arguments=(spectrum.reshape(-1), other.reshape(-1), table, np.int32(ny + 1)))]
        )
        out.append(f"columns own {own} x {columns} regs {registers} threads {threads}: {a:.2f}")
        if "columns" not in best or a < best["columns"][0]:
            best["columns"] = (a, solve)
    device.run([best["sine"][1], best["columns"][1], best["back"][1]])
    found = device.host(psi)[1:-1, 1:-1].astype(float)
    k = np.arange(1, n)
    lam = -4 / h**2 * np.sin(k * np.pi / 2 / n) ** 2
    exact = scipy.fft.idstn(scipy.fft.dstn(host[1:-1, 1:-1].astype(float), type=1) / (lam + lam[:, None]), type=1)
    error = np.linalg.norm(found - exact) / np.linalg.norm(exact)
    step = [best["update"][1], best["columns"][1], best["back"][1]]
    total = timed(device, step)
    out.append(f"=== {n} {precision}: step {total:.2f} us, error of the solve {error:.2e}")
    return out


if __name__ == "__main__":
    from eagre.backend.device import select

    multiprocessing.set_start_method("spawn")
    cases = [c for c in CASES if not sys.argv[1:] or str(c[0]) in sys.argv[1:]]
    with multiprocessing.Pool(min(15, len(cases))) as pool:
        for text in pool.imap(one, cases):
            print(text, flush=True)
    from eagre.backend.timing import copy_bandwidth

    print(f"copy {copy_bandwidth(select('cuda')) / 1e9:.0f} GB/s")
