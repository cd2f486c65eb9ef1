"""Validation of the barotropic model: Bleichrodt (2011), linear gyres, basin modes, decaying eddies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from eagre.backend.select import select, select_devices
from eagre.grid import Grid
from eagre.laboratory.cases.gyres import (
    SCHEME,
    basin_mode,
    mode_frequency,
    munk_profile,
    munk_profile_discrete,
    stommel_profile,
)
from eagre.laboratory.validation.measures import draw_flow, observed_orders, relative_norms
from eagre.laboratory.validation.result import BOTH, Check, Run, Validation, each, once
from eagre.solvers.poisson import reference, solve_poisson

if TYPE_CHECKING:
    from eagre.models.barotropic.model import BarotropicVorticity


TEN_YEARS = 0.1783  # in units of L / U
COARSE_TEN_YEARS = {33: 34.8, 65: 6.48}
BENCHMARK_START = {33: (6.2027, 999.98, 3.18031e5), 65: (5.9268, 982.45, 8.91960e5), 129: (4.8463, 958.87, 1.825253e6)}


def gyre(run: Run, points: int, **options: Any) -> BarotropicVorticity:
    """Return the double gyre on the device and in the precision of the run, unless `options` override them."""
    from eagre.models.barotropic.model import BarotropicVorticity

    return BarotropicVorticity.double_gyre(points, **{**run.options, **options})


def benchmark_start(run: Run) -> Iterator[Check]:
    """Benchmark of the source, 10,000 steps: psi_max, energy and enstrophy of a reference run."""
    for points, expected in BENCHMARK_START.items():
        model = gyre(run, points, **SCHEME)
        model.advance(1e-3)
        diagnostics = model.diagnostics()
        names = ("max_streamfunction", "energy", "enstrophy")
        apart = max(abs(diagnostics[name] / value - 1.0) for name, value in zip(names, expected, strict=True))
        yield Check("difference from the reference", apart, 1e-5, detail=f"{points} points")


def precisions(run: Run) -> Iterator[Check]:
    """Single against double precision, and psi_max against a reference run: 257 points, Re = 10 / 64, 10,000 steps."""
    fields = {}
    for precision in ("double", "single"):
        model = gyre(run, 257, precision=precision, reynolds=10.0 / 64.0, time_step=2e-6, **SCHEME)
        model.advance(0.02)
        fields[precision] = (model.field("streamfunction"), model.field("relative_vorticity"))
    psi_max = float(fields["double"][0].max())
    yield Check("psi_max - 3.986730, relative", abs(psi_max / 3.986730 - 1.0), 2e-7, precision="double")
    for k, name in enumerate(("psi", "zeta")):
        apart = relative_norms(fields["single"][k], fields["double"][k]).l2
        yield Check(f"relative L2 difference of {name}", apart, 1e-5)


def figure(run: Run) -> Iterator[Check]:
    """Figure 3.3: ten years at Re = 10 with 1025 points.

    A CPU runs 257 points at Re = 10 / 64, which has the same number of points per boundary layer.
    """
    large = select(run.setting.device).kind == "cuda"
    points, reynolds, end, step = (1025, 10.0, TEN_YEARS, 5e-7) if large else (257, 10.0 / 64.0, 0.02, 2e-6)
    model = gyre(run, points, reynolds=reynolds, time_step=step, **SCHEME)
    model.advance(end)
    diagnostics = model.diagnostics()
    title = f"Re = {reynolds:.4g}, t = {end:g}, {points} points"
    run.picture(draw_flow, title, model.field("streamfunction"), model.grid, "psi")
    psi_max = diagnostics["max_streamfunction"]
    detail = f"{points} points, {model.steps} steps"
    yield Check("psi_max (bleichrodt2011: close to 4)", abs(psi_max - 3.9), 0.1, detail=detail)
    yield Check("psi_max", psi_max, detail=detail)
    yield Check("energy", diagnostics["energy"], detail=detail)
    yield Check("enstrophy", diagnostics["enstrophy"], detail=detail)
    if large:
        yield Check("psi_max - 3.8687 (reference, AB3)", abs(psi_max - 3.8687), 5e-3)


def coarse(run: Run) -> Iterator[Check]:
    """Divergence in the source: under-resolved boundary layers give a far too strong circulation."""
    model = gyre(run, 33, time_step=5e-7, **SCHEME)
    model.advance(0.02)
    computed = model.diagnostics()["max_streamfunction"]
    yield Check("psi_max (resolved: about 4)", computed, 5.0, True, detail="33 points")


def coarse_ten_years(run: Run) -> Iterator[Check]:
    """The same to the end: grid-scale noise without overflow; values of reference runs."""
    for points, expected in COARSE_TEN_YEARS.items():
        model = gyre(run, points, time_step=5e-7, **SCHEME)
        model.advance(TEN_YEARS)
        computed = model.diagnostics()["max_streamfunction"]
        detail = f"{points} points, {model.steps} steps"
        yield Check("psi_max (resolved: about 4)", computed, 5.0, True, detail=detail)
        quantity = f"psi_max - {expected:g} (reference), relative"
        yield Check(quantity, abs(computed / expected - 1.0), 2e-3, detail=detail)


def eddies(run: Run) -> Iterator[Check]:
    """Decaying eddies at a Reynolds number of 10^4 on a beta plane develop zonal jets.

    Energy is conserved, enstrophy is lost to small scales, and the inverse wavenumber of the jets is the Rhines scale
    sqrt(2 U / beta) (P. B. Rhines, J. Fluid Mech. 69, 417-443 (1975), doi:10.1017/S0022112075001504).
    """
    from eagre.models.barotropic.model import BarotropicVorticity

    n, beta, viscosity = 192, 60.0, 1e-3
    grid = Grid(n, n, 2 * math.pi / n, 2 * math.pi / n)
    model = BarotropicVorticity(
        grid, time_step=1e-3, beta=beta, viscosity=viscosity, basin="periodic",
        relative_vorticity=ring_of_eddies(n, 20.0), **run.options,
    )  # fmt: skip
    first = model.diagnostics()
    speed = math.sqrt(2.0 * first["energy"]) / (2.0 * math.pi)  # root mean square
    model.advance(4.0)
    last = model.diagnostics()
    u = model.field("velocity_x").astype(np.float64)
    jets = np.abs(np.fft.rfft(u.mean(axis=1))) ** 2
    zonal = float((u.mean(axis=1) ** 2).mean() / (u**2).mean())
    centroid = float((np.arange(jets.size) * jets).sum() / jets.sum())
    rhines = math.sqrt(beta / (2.0 * math.sqrt((u**2).mean())))
    run.picture(draw_flow, f"beta = {beta:g}, t = 4", model.field("relative_vorticity"), grid, "zeta")
    detail = f"{n} points, Re = {2.0 * math.pi * speed / viscosity:.0f}"
    yield Check("remaining energy, relative", last["energy"] / first["energy"], 0.5, True, detail=detail)
    yield Check("remaining enstrophy, relative", last["enstrophy"] / first["enstrophy"], 0.7)
    yield Check("fraction of u^2 in the zonal mean", zonal, 0.3, True)
    yield Check("jet wavenumber / Rhines wavenumber, log2", abs(math.log2(centroid / rhines)), 1.0)


def ring_of_eddies(n: int, size: float) -> np.ndarray:
    """Return vorticity of random phases at wavenumbers 6 to 12 with standard deviation `size`, (n, n)."""
    k = np.fft.fftfreq(n, 1.0 / n)
    wavenumber = np.hypot(k, k[:, None])
    noise = np.fft.fft2(np.random.default_rng(7).standard_normal((n, n)))
    zeta = np.fft.ifft2(noise * (wavenumber > 6) * (wavenumber < 12)).real
    return zeta * (size / zeta.std())


GYRES: dict[str, Validation] = {
    "benchmark-start": once("double", benchmark_start),
    "coarse-grid": once("double", coarse),
    "coarse-ten-years": once("double", coarse_ten_years),
    "precisions": once(BOTH, precisions),
    "eddies": once("double", eddies),
    "figure-3.3": once("double", figure),
}


MUNK = {33: (1.52e-2, 3.217), 65: (3.66e-3, 3.229), 129: (9.06e-4, 3.233)}
"""By number of points: relative Linf error of a reference run, and psi_max beta / alpha of the exact gyre there."""
BASIN_MODE = {33: ("2.8e-2", 3e-2), 65: ("6.9e-3", 7.5e-3), 129: ("1.6e-3", 2e-3)}
"""By number of points: relative L2 error of a reference run, and the limit."""


def vorticity_of(psi: np.ndarray, h: float) -> np.ndarray:
    """Return the five-point Laplacian at interior points, 0 on walls."""
    zeta = np.zeros_like(psi)
    inner = psi[1:-1, 1:-1]
    zeta[1:-1, 1:-1] = (psi[1:-1, 2:] + psi[1:-1, :-2] + psi[2:, 1:-1] + psi[:-2, 1:-1] - 4.0 * inner) / h**2
    return zeta


def munk(run: Run) -> Iterator[Check]:
    """Steady linear gyre with lateral viscosity, against the discrete and the exact solution.

    From 65 points on viscosity is implicit, which has the same steady state and allows longer time steps.
    """
    alpha, beta, reynolds = 1e-9, 1000.0, 0.314
    errors, heights, apart = [], [], 0.0
    for points in MUNK:
        h = math.pi / (points - 1)
        steps = (
            {"time_step": reynolds * h**2 / 16} if points == 33 else {"time_step": 1e-3, "viscosity_scheme": "implicit"}
        )
        model = gyre(run, points, reynolds=reynolds, alpha=alpha, beta=beta, **steps)
        model.advance(3.0)
        psi, sine = model.field("streamfunction"), np.sin(2.0 * model.grid.y)[:, None]
        discrete = munk_profile_discrete(points - 1, alpha, beta, 1.0 / reynolds) * sine
        exact = munk_profile(model.grid.x, alpha, beta, 1.0 / reynolds) * sine
        apart = max(apart, relative_norms(psi, discrete).l2)
        errors.append(relative_norms(psi, exact).linf)
        heights.append(float(exact.max()) * beta / alpha)
    yield Check("difference from the discrete solution", apart, 1e-10, detail=f"points {tuple(MUNK)}")
    yield Check("order of convergence to the exact gyre", observed_orders(errors)[-1], 1.9, True)
    for (points, (error, height)), computed, high in zip(MUNK.items(), errors, heights, strict=True):
        detail = f"{points} points"
        quantity = f"relative Linf error - {error:g} (reference), relative"
        yield Check(quantity, abs(computed / error - 1.0), 5e-3, detail=detail)
        quantity = f"psi_max beta / alpha of the exact gyre on the grid - {height:g} (reference)"
        yield Check(quantity, abs(high - height), 6e-4, detail=detail)


def stommel(run: Run) -> Iterator[Check]:
    """Steady linear gyre with bottom friction: order of convergence to the exact solution."""
    errors = []
    for points in (17, 33, 65):
        model = gyre(run, points, reynolds=1e12, alpha=1e-9, beta=20.0, mu=2.0, time_step=4e-3, scheme="ab3")
        model.advance(16.0)
        exact = stommel_profile(model.grid.x, 1e-9, 20.0, 2.0) * np.sin(2.0 * model.grid.y)[:, None]
        errors.append(relative_norms(model.field("streamfunction"), exact).l2)
    yield Check("order of convergence to the exact gyre", observed_orders(errors)[-1], 1.8, True)
    yield Check("relative L2 error, 65 points", errors[-1], 5e-3)


def no_slip(run: Run) -> Iterator[Check]:
    """Steady flow psi = 1 - cos 2y in a channel with walls at rest, and the wall vorticity 4."""
    from eagre.models.barotropic.model import BarotropicVorticity

    for walls in ("no-slip", "no-slip-thom"):
        errors, at_walls = [], []
        for n in (12, 24, 48):
            grid = Grid(6, n + 1, math.pi / n, math.pi / n)
            y = grid.y - grid.y[0]
            wind = np.repeat(16.0 * np.cos(2.0 * y)[:, None], 6, axis=1)
            model = BarotropicVorticity(
                grid, time_step=0.06 * grid.dy**2, viscosity=1.0, basin="channel", walls=walls, wind_forcing=wind,
                **run.options,
            )  # fmt: skip
            model.advance(6.0)
            errors.append(float(np.abs(model.field("streamfunction")[:, 0] - 1.0 + np.cos(2.0 * y)).max()))
            at_walls.append(float(np.abs(model.field("relative_vorticity")[[0, -1], 0] - 4.0).max()))
        yield Check(f"order of psi, {walls}", observed_orders(errors)[-1], 1.85, True)
        yield Check(f"order of the wall vorticity, {walls}", observed_orders(at_walls)[-1], 1.85, True)


def mode(run: Run) -> Iterator[Check]:
    """Gravest basin mode over one period of 800 steps."""
    from eagre.models.barotropic.model import BarotropicVorticity

    beta, errors = 1000.0, []
    period = 2.0 * math.pi / mode_frequency(beta)
    for points, (expected, limit) in BASIN_MODE.items():
        grid = Grid.from_points(points, points, math.pi, math.pi)
        start = 1e-9 * basin_mode(grid.x, grid.y, 0.0, beta)
        zeta = vorticity_of(start, grid.dx)
        model = BarotropicVorticity(grid, time_step=period / 800, beta=beta, relative_vorticity=zeta, **run.options)
        model.advance(period)
        errors.append(relative_norms(model.field("streamfunction"), start).l2)
        yield Check(f"relative L2 error, {points} points (reference {expected})", errors[-1], limit)
    yield Check("order", observed_orders(errors)[-1], 1.9, True)


LINEAR: dict[str, Validation] = {
    "munk": once("double", munk),
    "stommel": once("double", stommel),
    "no-slip": once("double", no_slip),
    "basin-mode": once("double", mode),
}


ROUND_OFF = {"single": 2e-6, "double": 1e-13}


def conservation(run: Run) -> Iterator[Check]:
    """Energy and enstrophy conservation of Arakawa's Jacobian; the residual is due to the time scheme."""
    from eagre.models.barotropic.model import BarotropicVorticity

    rng = np.random.default_rng(4)
    grid = Grid.from_points(49, 41, 3.0, 2.5)
    zeta = np.zeros(grid.shape)
    zeta[1:-1, 1:-1] = rng.standard_normal((39, 47))
    for name, jacobian in (("Arakawa's", "arakawa"), ("J++", "advective")):
        model = BarotropicVorticity(grid, time_step=1e-3, relative_vorticity=zeta, jacobian=jacobian, **run.options)
        psi = model.field("streamfunction")
        model.advance(1e-3)
        tendency = model.state()["tendency0_0"]  # initial -J
        for what, field in (("psi", psi), ("zeta", zeta)):
            left = abs(float((field * tendency).sum())) / float(np.abs(field * tendency).sum())
            yield Check(f"sum of {what} J, {name}, relative", left, 1e-13 if jacobian == "arakawa" else None)
    changes: dict[str, list[float]] = {"energy": [], "enstrophy": []}
    for steps in (100, 200, 400):
        model = BarotropicVorticity(grid, time_step=4.0 / steps, relative_vorticity=zeta, **run.options)
        model.advance(4.0 / steps * 2)  # after the low-order start
        first = model.diagnostics()
        model.advance(4.0)
        last = model.diagnostics()
        for name, values in changes.items():
            values.append(abs(last[name] - first[name]) / first[name])
    for name, computed in changes.items():
        yield Check(f"order in dt of the change of {name}", observed_orders(computed)[-1], 2.7, True)
    yield Check("relative change of energy, 400 steps", changes["energy"][-1], 1e-4)


def first_step(run: Run) -> Iterator[Check]:
    """After one step from rest the vorticity is that of the wind forcing; a zero history would give 1.5 times it."""
    model = gyre(run, 65)
    model.advance(1e-7)
    expected = -1e-7 * 1.36e5 * np.sin(2.0 * model.grid.y)[1:-1, None] * np.ones((1, 63))
    apart = relative_norms(model.field("relative_vorticity")[1:-1, 1:-1], expected).linf
    yield Check("relative difference from dt curl", apart, ROUND_OFF[run.precision])


def symmetry(run: Run) -> Iterator[Check]:
    """The two gyres are symmetric; the boundary currents are in the west."""
    model = gyre(run, 129)
    model.advance(1e-4)
    psi = model.field("streamfunction").astype(np.float64)
    apart = float(np.abs(psi + psi[::-1]).max() / np.abs(psi).max())
    yield Check(
        "psi + mirrored psi, relative", apart, {"single": 1e-5, "double": 1e-12}[run.precision], False, "1000 steps"
    )
    v = np.abs(model.field("velocity_y")).max(axis=0)
    yield Check("column of the maximum |v|, from the west", float(v.argmax()), 3)


def restart(run: Run) -> Iterator[Check]:
    """A repeated run, and an interrupted and restarted run, are bitwise identical to the first."""
    whole, again, shortened, on = (gyre(run, 65, walls="no-slip") for _ in range(4))
    for model in (whole, again):
        model.advance(2.01e-5)
    shortened.advance(7e-6)
    on.restore(shortened.state())
    on.advance(2.01e-5)
    for other, what in ((again, "a repeated run"), (on, "a restarted run")):
        state = other.state()
        differs = sum(not np.array_equal(v, state[k], equal_nan=True) for k, v in whole.state().items())
        yield Check(f"arrays that differ in {what}", float(differs), 0.0)


def order_in_space(run: Run) -> Iterator[Check]:
    """Order of the tendency of psi = sin x sin 2y + sin 3x sin y / 2 against the analytic tendency."""
    from eagre.models.barotropic.model import BarotropicVorticity

    physics = {"beta": 3.0, "viscosity": 0.02, "bottom_friction": 0.3}
    for jacobian in ("arakawa", "advective"):
        errors = []
        for n in (16, 32, 64):
            grid = Grid.from_points(n + 1, n * 3 // 2 + 1, math.pi, math.pi)
            exact, zeta = tendency_of_waves(grid, *physics.values())
            options = {**physics, **run.options}
            model = BarotropicVorticity(grid, time_step=1e-4, relative_vorticity=zeta, jacobian=jacobian, **options)
            model.advance(1e-4)
            errors.append(float(np.abs(model.state()["tendency0_0"] - exact)[1:-1, 1:-1].max()))
        apart = max(abs(order - 2.0) for order in observed_orders(errors))
        yield Check(f"order of the tendency - 2, {jacobian}", apart, 0.1)


def tendency_of_waves(grid: Grid, beta: float, viscosity: float, friction: float) -> tuple[np.ndarray, np.ndarray]:
    """Return F and zeta of psi = sin x sin 2y + sin 3x sin y / 2 on [0, pi] x [0, pi], without wind."""
    x, y = grid.mesh()
    zeta, psi_x, psi_y, zeta_x, zeta_y, lap = np.zeros((6, *grid.shape))
    for a, k, m in ((1.0, 1, 2), (0.5, 3, 1)):
        both, along_x, along_y = (
            np.sin(k * x) * np.sin(m * y),
            np.cos(k * x) * np.sin(m * y),
            np.sin(k * x) * np.cos(m * y),
        )
        square = k * k + m * m
        zeta -= square * a * both
        lap += square**2 * a * both
        psi_x += k * a * along_x
        psi_y += m * a * along_y
        zeta_x -= square * k * a * along_x
        zeta_y -= square * m * a * along_y
    return psi_y * zeta_x - psi_x * (zeta_y + beta) + viscosity * lap - friction * zeta, zeta


def poisson(run: Run) -> Iterator[Check]:
    """Transforms of Bleichrodt (2011) against the plain sum; round trip of the solver, also in single precision."""
    rng = np.random.default_rng(0)
    worst = 0.0
    for n in (*range(2, 66), 128, 256, 512):
        x = rng.standard_normal(n - 1)
        expected = np.sin(np.pi * np.outer(np.arange(1, n), np.arange(1, n)) / n) @ x
        for transform in (reference.sine_by_odd_extension, reference.sine_by_half_length):
            worst = max(worst, float(np.abs(transform(x) - expected).max() / np.abs(expected).max()))
    yield Check("sine transforms against direct summation, relative", worst, 1e-13)
    for n in (16, 256, 2048):
        h = math.pi / n
        y = h * np.arange(1, n)
        f = -1.36e5 * np.sin(2.0 * y)[:, None] * (math.pi - y) / math.pi + 100.0 * rng.standard_normal((n - 1, n - 1))
        double = solve_poisson(f, (h, h))
        detail = f"{n} intervals"
        if n <= 256:  # on larger grids rounding errors of the differences exceed those of the solver
            apart = relative_norms(vorticity_of(np.pad(double, 1), h)[1:-1, 1:-1], f).l2
            yield Check("Lap psi - zeta, relative", apart, 1e-12, detail=detail)
        apart = relative_norms(solve_poisson(f.astype(np.float32), (h, h)), double).l2
        yield Check("relative L2 difference of psi", apart, 1e-6, detail=detail, precision=BOTH)


def devices(run: Run) -> Iterator[Check]:
    """Results on the device of the run against the CPU after 1000 steps; skipped on a CPU."""
    if select_devices(run.setting.device).kind == "cpu":
        yield Check("not run: the device is the CPU", 0.0, detail="write: --device cuda")
        return
    apart = 0.0
    for points in (129, 257):
        models = [gyre(run, points), gyre(run, points, device="cpu")]
        for model in models:
            model.advance(1e-4)
        apart = max(apart, relative_norms(*(model.field("streamfunction") for model in models)).l2)
    yield Check("relative L2 difference of psi from the CPU", apart, 1e-10)


BAROTROPIC: dict[str, Validation] = {
    "first-step": each(first_step),
    "symmetry": each(symmetry),
    **LINEAR,
    "conservation": once("double", conservation),
    "order": once("double", order_in_space),
    "poisson": once("double", poisson),
    "restart": each(restart),
    "devices": once("double", devices),
    **GYRES,
}
