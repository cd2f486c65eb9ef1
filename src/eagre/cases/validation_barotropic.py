"""Validations of the barotropic model: linear gyres, basin modes, conservation, symmetry, the document's runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eagre.cases.exact_gyres import basin_mode, mode_frequency, munk_profile, munk_profile_discrete, stommel_profile
from eagre.cases.norms import observed_orders, relative_norms
from eagre.cases.pictures_gyres import draw_flow
from eagre.cases.result import Result
from eagre.cases.validation import Setting, Validation
from eagre.grid import Grid

ROUND_OFF = {"single": 2e-6, "double": 1e-13}
SEED = {"jacobian": "advective", "scheme": "ab2"}
BENCHMARK_START = {33: (6.2027, 999.98, 3.18031e5), 65: (5.9268, 982.45, 8.91960e5), 129: (4.8463, 958.87, 1.825253e6)}


def gyre(points: int, setting: Setting, precision: str, **options: Any) -> Any:
    """The document's double gyre on the device of the run."""
    from eagre.models.barotropic.model import BarotropicVorticity

    return BarotropicVorticity.double_gyre(points, device=setting.device, precision=precision, **options)


def vorticity_of(psi: np.ndarray, h: float) -> np.ndarray:
    """Five-point Laplacian at the interior points, 0 on the walls."""
    zeta = np.zeros_like(psi)
    inner = psi[1:-1, 1:-1]
    zeta[1:-1, 1:-1] = (psi[1:-1, 2:] + psi[1:-1, :-2] + psi[2:, 1:-1] + psi[:-2, 1:-1] - 4.0 * inner) / h**2
    return zeta


def munk(setting: Setting) -> list[Result]:
    """The steady linear gyre with lateral friction, against its difference equation and the exact one."""
    alpha, beta, reynolds = 1e-9, 1000.0, 0.314
    sizes, errors, apart = (17, 33, 65), [], 0.0
    for points in sizes:
        h = math.pi / (points - 1)
        model = gyre(
            points, setting, "double", reynolds=reynolds, alpha=alpha, beta=beta, time_step=reynolds * h**2 / 16
        )
        model.advance(3.0)
        psi, sine = model.field("streamfunction"), np.sin(2.0 * model.grid.y)[:, None]
        discrete = munk_profile_discrete(points - 1, alpha, beta, 1.0 / reynolds) * sine
        exact = munk_profile(model.grid.x, alpha, beta, 1.0 / reynolds) * sine
        apart = max(apart, relative_norms(psi, discrete).l2)
        errors.append(relative_norms(psi, exact).linf)
    return [
        Result("munk", "double", "difference from the difference equation", apart, 1e-9, detail=f"points {sizes}"),
        Result("munk", "double", "order against the exact gyre", observed_orders(errors)[-1], 1.9, True),
        Result("munk", "double", "relative Linf error, 33 points (specification 1.52e-2)", errors[1], 1.53e-2),
        Result("munk", "double", "relative Linf error, 65 points (specification 3.66e-3)", errors[2], 3.67e-3),
    ]


def stommel(setting: Setting) -> list[Result]:
    """The steady linear gyre with bottom friction; order against the exact one."""
    errors = []
    for points in (17, 33, 65):
        model = gyre(
            points, setting, "double", reynolds=1e12, alpha=1e-9, beta=20.0, mu=2.0, time_step=4e-3, scheme="ab3"
        )
        model.advance(16.0)
        exact = stommel_profile(model.grid.x, 1e-9, 20.0, 2.0) * np.sin(2.0 * model.grid.y)[:, None]
        errors.append(relative_norms(model.field("streamfunction"), exact).l2)
    return [
        Result("stommel", "double", "order against the exact gyre", observed_orders(errors)[-1], 1.8, True),
        Result("stommel", "double", "relative L2 error, 65 points", errors[-1], 5e-3),
    ]


def mode(setting: Setting) -> list[Result]:
    """One period of the gravest basin mode in 800 steps."""
    from eagre.models.barotropic.model import BarotropicVorticity

    beta, errors = 1000.0, []
    for points in (33, 65, 129):
        grid = Grid.of_points(points, points, math.pi, math.pi)
        period = 2.0 * math.pi / mode_frequency(beta)
        start = 1e-9 * basin_mode(grid.x, grid.y, 0.0, beta)
        model = BarotropicVorticity(
            grid, time_step=period / 800, beta=beta, vorticity=vorticity_of(start, grid.dx), device=setting.device,
            precision="double",
        )  # fmt: skip
        model.advance(period)
        errors.append(relative_norms(model.field("streamfunction"), start).l2)
    return [
        Result("basin-mode", "double", "relative L2 error, 65 points (specification 6.9e-3)", errors[1], 7.5e-3),
        Result("basin-mode", "double", "relative L2 error, 129 points (specification 1.6e-3)", errors[2], 2e-3),
        Result("basin-mode", "double", "order", observed_orders(errors)[-1], 1.9, True),
    ]


def conservation(setting: Setting) -> list[Result]:
    """Arakawa's Jacobian gives and takes no energy; what is left is the time scheme's, of third order."""
    from eagre.models.barotropic.model import BarotropicVorticity

    rng = np.random.default_rng(4)
    grid = Grid.of_points(49, 41, 3.0, 2.5)
    zeta = np.zeros(grid.shape)
    zeta[1:-1, 1:-1] = rng.standard_normal((39, 47))
    changes: dict[str, list[float]] = {"energy": [], "enstrophy": []}
    residual = 0.0
    for steps in (100, 200, 400):
        model = BarotropicVorticity(
            grid, time_step=4.0 / steps, vorticity=zeta, device=setting.device, precision="double"
        )
        first = model.diagnostics()
        model.advance(4.0 / steps * 2)  # the start of lower order is over
        first = model.diagnostics()
        model.advance(4.0)
        last = model.diagnostics()
        budget = model.energy_budget()
        scale = abs(model.field("streamfunction")).max() * abs(model.field("vorticity")).max() ** 2
        residual = max(residual, abs(budget["advection"]) / scale)
        for name, values in changes.items():
            values.append(abs(last[name] - first[name]) / first[name])
    return [
        Result("conservation", "double", "sum of psi J, relative", residual, 1e-13),
        *(
            Result(
                "conservation", "double", f"order in dt of the change of {name}", observed_orders(found)[-1], 2.7, True
            )
            for name, found in changes.items()
        ),
        Result("conservation", "double", "relative change of energy, 400 steps", changes["energy"][-1], 1e-4),
    ]


def first_step(setting: Setting) -> list[Result]:
    """After one step from rest the vorticity is the wind's: a zeroed history would make it 1.5 times that."""
    results = []
    for precision in setting.precisions:
        model = gyre(65, setting, precision)
        model.advance(1e-7)
        expected = -1e-7 * 1.36e5 * np.sin(2.0 * model.grid.y)[1:-1, None] * np.ones((1, 63))
        apart = relative_norms(model.field("vorticity")[1:-1, 1:-1], expected).linf
        results.append(Result("first-step", precision, "relative difference from dt curl", apart, ROUND_OFF[precision]))
    return results


def symmetry(setting: Setting) -> list[Result]:
    """The two gyres mirror each other; the boundary currents are in the west."""
    results = []
    for precision in setting.precisions:
        model = gyre(129, setting, precision)
        model.advance(1e-4)
        psi = model.field("streamfunction").astype(np.float64)
        apart = float(np.abs(psi + psi[::-1]).max() / np.abs(psi).max())
        v = np.abs(model.field("velocity_y")).max(axis=0)
        limit = {"single": 1e-5, "double": 1e-12}[precision]
        results.append(Result("symmetry", precision, "psi + mirrored psi, relative", apart, limit, detail="1000 steps"))
        results.append(Result("symmetry", precision, "column of the largest |v|, from the west", float(v.argmax()), 3))
    return results


def benchmark_start(setting: Setting) -> list[Result]:
    """The document's benchmark, 10,000 steps: psi_max, energy and enstrophy of the specification."""
    results = []
    for points, expected in BENCHMARK_START.items():
        model = gyre(points, setting, "double", **SEED)
        model.advance(1e-3)
        found = model.diagnostics()
        names = ("max_streamfunction", "energy", "enstrophy")
        apart = max(abs(found[name] / value - 1.0) for name, value in zip(names, expected, strict=True))
        results.append(
            Result(
                "benchmark-start", "double", "difference from the specification", apart, 1e-5, detail=f"{points} points"
            )
        )
    return results


def precisions(setting: Setting) -> list[Result]:
    """Single against double precision, and psi_max of the specification: 257 points, Re = 10 / 64, 10,000 steps."""
    fields = {}
    for precision in ("double", "single"):
        model = gyre(257, setting, precision, reynolds=10.0 / 64.0, time_step=2e-6, **SEED)
        model.advance(0.02)
        fields[precision] = (model.field("streamfunction"), model.field("vorticity"))
    psi_max = float(fields["double"][0].max())
    results = [Result("precisions", "double", "psi_max - 3.986730, relative", abs(psi_max / 3.986730 - 1.0), 2e-7)]
    for k, name in enumerate(("psi", "zeta")):
        apart = relative_norms(fields["single"][k], fields["double"][k]).l2
        results.append(Result("precisions", "single/double", f"relative L2 difference of {name}", apart, 1e-5))
    return results


def figure(setting: Setting) -> list[Result]:
    """Figure 3.3: ten years at Re = 10 with 1025 points; on a CPU 257 points at Re = 10 / 64, the same layer."""
    from eagre.backend.device import select

    large = select(setting.device).kind == "cuda"
    points, reynolds, end, step = (1025, 10.0, 0.1783, 5e-7) if large else (257, 10.0 / 64.0, 0.02, 2e-6)
    model = gyre(points, setting, "double", reynolds=reynolds, time_step=step, **SEED)
    model.advance(end)
    found = model.diagnostics()
    psi = model.field("streamfunction")
    name = "figure-3.3"
    setting.picture(draw_flow, name, psi, model.grid, "psi", f"Re = {reynolds:.4g}, t = {end:g}, {points} points")
    psi_max = found["max_streamfunction"]
    detail = f"{points} points, {model.steps} steps"
    results = [
        Result(name, "double", "psi_max (document: close to 4)", abs(psi_max - 3.9), 0.1, detail=detail),
        Result(name, "double", "psi_max", psi_max, detail=detail),
        Result(name, "double", "energy", found["energy"], detail=detail),
        Result(name, "double", "enstrophy", found["enstrophy"], detail=detail),
    ]
    if large:
        results.append(Result(name, "double", "psi_max - 3.8687 (specification, AB3)", abs(psi_max - 3.8687), 5e-3))
    return results


def coarse(setting: Setting) -> list[Result]:
    """What the document calls divergence: under-resolved boundary layers give far too strong gyres."""
    model = gyre(33, setting, "double", time_step=5e-7, **SEED)
    model.advance(0.02)
    found = model.diagnostics()["max_streamfunction"]
    return [Result("coarse-grid", "double", "psi_max (resolved: about 4)", found, 5.0, True, detail="33 points")]


def eddies(setting: Setting) -> list[Result]:
    """Decaying eddies on a beta plane turn into zonal jets: energy stays, enstrophy is lost to small scales."""
    from eagre.models.barotropic.model import BarotropicVorticity

    rng = np.random.default_rng(7)
    n = 128
    grid = Grid(n, n, 2 * math.pi / n, 2 * math.pi / n)
    k = np.fft.fftfreq(n, 1.0 / n)
    wavenumber = np.hypot(k, k[:, None])
    noise = np.fft.fft2(rng.standard_normal((n, n))) * (wavenumber > 6) * (wavenumber < 12)
    zeta = np.fft.ifft2(noise).real
    zeta *= 20.0 / zeta.std()
    results = []
    for precision in setting.precisions[-1:]:
        model = BarotropicVorticity(
            grid, time_step=1e-3, beta=60.0, viscosity=2e-3, basin="periodic", vorticity=zeta, device=setting.device,
            precision=precision,
        )  # fmt: skip
        first = model.diagnostics()
        model.advance(4.0)
        last = model.diagnostics()
        u = model.field("velocity_x").astype(np.float64)
        zonal = float((u.mean(axis=1) ** 2).mean() / (u**2).mean())
        setting.picture(draw_flow, "eddies", model.field("vorticity"), grid, "zeta", "beta = 60, t = 4")
        results += [
            Result("eddies", precision, "energy left", last["energy"] / first["energy"], 0.5, True),
            Result("eddies", precision, "enstrophy left", last["enstrophy"] / first["enstrophy"], 0.7),
            Result("eddies", precision, "part of u^2 in zonal means", zonal, 0.3, True),
        ]
    return results


def restart(setting: Setting) -> list[Result]:
    """A run that is cut and continued equals an unbroken one, bit for bit."""
    results = []
    for precision in setting.precisions:
        whole, cut, on = (gyre(65, setting, precision, walls="no-slip") for _ in range(3))
        whole.advance(2.01e-5)
        cut.advance(7e-6)
        on.restore(cut.state())
        on.advance(2.01e-5)
        differs = sum(not np.array_equal(v, on.state()[k], equal_nan=True) for k, v in whole.state().items())
        results.append(Result("restart", precision, "arrays that differ", float(differs), 0.0))
    return results


def devices(setting: Setting) -> list[Result]:
    """The device of the run against the CPU, 1000 steps in double precision."""
    apart = 0.0
    for points in (129, 257):
        fields = []
        for device in (setting.device, "cpu"):
            model = gyre(points, Setting(device), "double")
            model.advance(1e-4)
            fields.append(model.field("streamfunction"))
        apart = max(apart, relative_norms(*fields).l2)
    return [Result("devices", "double", "relative L2 difference of psi from the CPU", apart, 1e-10)]


BAROTROPIC: dict[str, Validation] = {
    "first-step": first_step,
    "symmetry": symmetry,
    "munk": munk,
    "stommel": stommel,
    "basin-mode": mode,
    "conservation": conservation,
    "benchmark-start": benchmark_start,
    "coarse-grid": coarse,
    "precisions": precisions,
    "restart": restart,
    "devices": devices,
    "eddies": eddies,
    "figure-3.3": figure,
}
"""Validations by name; `Callable[[Setting], list[Result]]` each."""
