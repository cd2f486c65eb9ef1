"""Validations of the barotropic model by runs: benchmark, figure and coarse grids of Bleichrodt (2011), eddies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eagre.cases.bleichrodt2011 import SCHEME
from eagre.grid import Grid
from eagre.validation.norms import relative_norms
from eagre.validation.pictures import draw_flow
from eagre.validation.result import Result
from eagre.validation.setting import Setting

TEN_YEARS = 0.1783  # in units of L / U
COARSE_TEN_YEARS = {33: 34.8, 65: 6.48}
BENCHMARK_START = {33: (6.2027, 999.98, 3.18031e5), 65: (5.9268, 982.45, 8.91960e5), 129: (4.8463, 958.87, 1.825253e6)}


def gyre(points: int, setting: Setting, precision: str, **options: Any) -> Any:
    """The double gyre on the device of the run."""
    from eagre.models.barotropic.model import BarotropicVorticity

    return BarotropicVorticity.double_gyre(points, device=setting.device, precision=precision, **options)


def benchmark_start(setting: Setting) -> list[Result]:
    """The thesis's benchmark, 10,000 steps: psi_max, energy and enstrophy of a reference run."""
    results = []
    for points, expected in BENCHMARK_START.items():
        model = gyre(points, setting, "double", **SCHEME)
        model.advance(1e-3)
        found = model.diagnostics()
        names = ("max_streamfunction", "energy", "enstrophy")
        apart = max(abs(found[name] / value - 1.0) for name, value in zip(names, expected, strict=True))
        results.append(
            Result("benchmark-start", "double", "difference from the reference", apart, 1e-5, detail=f"{points} points")
        )
    return results


def precisions(setting: Setting) -> list[Result]:
    """Single against double precision, and psi_max of a reference run: 257 points, Re = 10 / 64, 10,000 steps."""
    fields = {}
    for precision in ("double", "single"):
        model = gyre(257, setting, precision, reynolds=10.0 / 64.0, time_step=2e-6, **SCHEME)
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
    from eagre.backend.select import select

    large = select(setting.device).kind == "cuda"
    points, reynolds, end, step = (1025, 10.0, TEN_YEARS, 5e-7) if large else (257, 10.0 / 64.0, 0.02, 2e-6)
    model = gyre(points, setting, "double", reynolds=reynolds, time_step=step, **SCHEME)
    model.advance(end)
    found = model.diagnostics()
    psi = model.field("streamfunction")
    name = "figure-3.3"
    setting.picture(draw_flow, name, psi, model.grid, "psi", f"Re = {reynolds:.4g}, t = {end:g}, {points} points")
    psi_max = found["max_streamfunction"]
    detail = f"{points} points, {model.steps} steps"
    results = [
        Result(name, "double", "psi_max (bleichrodt2011: close to 4)", abs(psi_max - 3.9), 0.1, detail=detail),
        Result(name, "double", "psi_max", psi_max, detail=detail),
        Result(name, "double", "energy", found["energy"], detail=detail),
        Result(name, "double", "enstrophy", found["enstrophy"], detail=detail),
    ]
    if large:
        results.append(Result(name, "double", "psi_max - 3.8687 (reference, AB3)", abs(psi_max - 3.8687), 5e-3))
    return results


def coarse(setting: Setting) -> list[Result]:
    """What the thesis calls divergence: under-resolved boundary layers give far too strong gyres."""
    model = gyre(33, setting, "double", time_step=5e-7, **SCHEME)
    model.advance(0.02)
    found = model.diagnostics()["max_streamfunction"]
    return [Result("coarse-grid", "double", "psi_max (resolved: about 4)", found, 5.0, True, detail="33 points")]


def coarse_ten_years(setting: Setting) -> list[Result]:
    """The same to the end: noise on the scale of the grid, but no overflow; numbers of reference runs."""
    results = []
    for points, expected in COARSE_TEN_YEARS.items():
        model = gyre(points, setting, "double", time_step=5e-7, **SCHEME)
        model.advance(TEN_YEARS)
        found = model.diagnostics()["max_streamfunction"]
        detail = f"{points} points, {model.steps} steps"
        quantity = f"psi_max - {expected:g} (reference), relative"
        results += [
            Result("coarse-ten-years", "double", "psi_max (resolved: about 4)", found, 5.0, True, detail=detail),
            Result("coarse-ten-years", "double", quantity, abs(found / expected - 1.0), 2e-3, detail=detail),
        ]
    return results


def eddies(setting: Setting) -> list[Result]:
    """Decaying eddies at a Reynolds number of 10^4 on a beta plane turn into zonal jets.

    Energy stays, enstrophy is lost to small scales, and the jets are as wide as Rhines says: sqrt(2 U / beta) is
    the inverse of their wavenumber (P. B. Rhines, J. Fluid Mech. 69, 417-443 (1975), doi:10.1017/S0022112075001504).
    """
    from eagre.models.barotropic.model import BarotropicVorticity

    n, beta, viscosity = 192, 60.0, 1e-3
    grid = Grid(n, n, 2 * math.pi / n, 2 * math.pi / n)
    precision = setting.precisions[-1]
    model = BarotropicVorticity(
        grid, time_step=1e-3, beta=beta, viscosity=viscosity, basin="periodic", vorticity=ring_of_eddies(n, 20.0),
        device=setting.device, precision=precision,
    )  # fmt: skip
    first = model.diagnostics()
    speed = math.sqrt(2.0 * first["energy"]) / (2.0 * math.pi)  # root of the mean square
    model.advance(4.0)
    last = model.diagnostics()
    u = model.field("velocity_x").astype(np.float64)
    jets = np.abs(np.fft.rfft(u.mean(axis=1))) ** 2
    zonal = float((u.mean(axis=1) ** 2).mean() / (u**2).mean())
    centroid = float((np.arange(jets.size) * jets).sum() / jets.sum())
    rhines = math.sqrt(beta / (2.0 * math.sqrt((u**2).mean())))
    setting.picture(draw_flow, "eddies", model.field("vorticity"), grid, "zeta", f"beta = {beta:g}, t = 4")
    detail = f"{n} points, Re = {2.0 * math.pi * speed / viscosity:.0f}"
    return [
        Result("eddies", precision, "energy left", last["energy"] / first["energy"], 0.5, True, detail=detail),
        Result("eddies", precision, "enstrophy left", last["enstrophy"] / first["enstrophy"], 0.7),
        Result("eddies", precision, "part of u^2 in zonal means", zonal, 0.3, True),
        Result("eddies", precision, "wavenumber of the jets / Rhines', log2", abs(math.log2(centroid / rhines)), 1.0),
    ]


def ring_of_eddies(n: int, size: float) -> np.ndarray:
    """Vorticity of random phases at wavenumbers 6 to 12, its standard deviation `size`, (n, n)."""
    k = np.fft.fftfreq(n, 1.0 / n)
    wavenumber = np.hypot(k, k[:, None])
    noise = np.fft.fft2(np.random.default_rng(7).standard_normal((n, n)))
    zeta = np.fft.ifft2(noise * (wavenumber > 6) * (wavenumber < 12)).real
    return zeta * (size / zeta.std())


GYRES = {
    "benchmark-start": benchmark_start,
    "coarse-grid": coarse,
    "coarse-ten-years": coarse_ten_years,
    "precisions": precisions,
    "eddies": eddies,
    "figure-3.3": figure,
}
"""Validations by name; `Callable[[Setting], list[Result]]` each."""
