"""Validation of the barotropic model: benchmark, figure and coarse grids of Bleichrodt (2011), decaying eddies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from eagre.backend.select import select
from eagre.cases.bleichrodt2011 import SCHEME
from eagre.grid import Grid
from eagre.validation.comparison.norms import relative_norms
from eagre.validation.comparison.pictures import draw_flow
from eagre.validation.comparison.setting import BOTH, Check, Run, Validation, once

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
