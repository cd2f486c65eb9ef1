"""Validation of the ADI shallow-water model: rotation, and errors of single precision."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from eagre.constants import GRAVITY
from eagre.grid import Grid
from eagre.laboratory.cases.mike21 import pool
from eagre.laboratory.validation.adi_flows import adi_model
from eagre.laboratory.validation.comparison.norms import observed_orders
from eagre.laboratory.validation.comparison.pictures import draw_profile
from eagre.laboratory.validation.comparison.setting import BOTH, PRECISIONS, Check, Run, Validation, each, once
from eagre.terms.coriolis import Coriolis


def geostrophic_vortex(run: Run) -> Iterator[Check]:
    """A vortex in geostrophic balance on a flat bottom is steady for a day (linear equations)."""
    grid = Grid(100, 100, 10e3, 10e3)
    x, y = grid.mesh()
    f, depth, radius = 1e-4, 100.0, 100e3
    z = 0.5 * np.exp(-((x - 500e3) ** 2 + (y - 500e3) ** 2) / (2.0 * radius**2))
    u, v = GRAVITY / f * z * (y - 500e3) / radius**2, -GRAVITY / f * z * (x - 500e3) / radius**2
    model = adi_model(
        run, grid, -depth, 600.0, surface_elevation=z, velocity_x=u * depth / (depth + z),
        velocity_y=v * depth / (depth + z), sources=(Coriolis(f=f),), momentum_advection="off",
    )  # fmt: skip
    model.advance(86400.0)
    yield Check("change in a day / amplitude", float(np.abs(model.field("surface_elevation") - z).max()) / 0.5, 0.02)


def geostrophic_adjustment(run: Run) -> Iterator[Check]:
    """Geostrophic adjustment: a hump on a rotating sea emits waves and leaves a vortex; field after 12 hours, linear.

    Each Fourier mode of the surface is z(t) = z(0) (f^2 + g h k^2 cos w t) / w^2 with w^2 = f^2 + g h k^2, as its
    potential vorticity is conserved (A. E. Gill, Atmosphere-Ocean Dynamics, Academic Press (1982), section 7.2). The
    waves do not reach the walls.
    """
    length, depth, f, height, radius, end = 4000e3, 100.0, 1e-4, 0.01, 250e3, 12 * 3600.0
    errors = []
    for n in (40, 80):
        grid = Grid(n, n, length / n, length / n)
        x, y = grid.mesh()
        z = height * np.exp(-((x - 0.5 * length) ** 2 + (y - 0.5 * length) ** 2) / (2.0 * radius**2))
        k = 2.0 * math.pi * np.fft.fftfreq(n, grid.dx)
        waves = GRAVITY * depth * (k**2 + k[:, None] ** 2)
        left = (f**2 + waves * np.cos(np.sqrt(f**2 + waves) * end)) / (f**2 + waves)
        exact = np.fft.ifft2(np.fft.fft2(z) * left).real
        step, turning = end * 15.0 / n / 11.0, (Coriolis(f=f),)
        model = adi_model(run, grid, -depth, step, surface_elevation=z, momentum_advection="off", sources=turning)
        model.advance(end)
        computed = model.field("surface_elevation")
        errors.append(float(np.abs(computed - exact).max()) / height)
    detail = f"{n} x {n} cells, {model.steps} steps"
    yield Check("max |error| / height of the hump", errors[-1], 0.01, detail=detail)
    yield Check("order of the surface", observed_orders(errors)[-1], 1.85, True, "40 to 80 cells per side")
    curves = {"start": z[n // 2], "12 h": computed[n // 2]}
    run.picture(draw_profile, "A hump on a rotating sea after 12 h", grid.x, curves, exact[n // 2])


def precisions(run: Run) -> Iterator[Check]:
    """Single against double precision in the pool of the source: the 1e-5 of its section 9.4, and its growth."""
    models = [pool((64, 64), run.setting.device, precision, "mike21") for precision in PRECISIONS]
    for steps in (100, 1000, 10_000):
        for model in models:
            model.advance(20.0 * steps)
        for field, text in (("surface_elevation", "z [m]"), ("discharge_x", "p [m2 s-1]")):
            single, double = (model.field(field).astype(np.float64) for model in models)
            apart = float(np.abs(single - double).max())
            yield Check(f"largest difference of {text}, {steps} steps", apart, {100: 2e-5, 1000: 1e-4}.get(steps))


ROTATION: dict[str, Validation] = {
    "geostrophic-vortex": each(geostrophic_vortex),
    "geostrophic-adjustment": each(geostrophic_adjustment),
    "precisions": once(BOTH, precisions),
}
