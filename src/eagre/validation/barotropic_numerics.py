"""Validation of the barotropic model: first step, symmetry, conservation, orders, transforms."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from eagre.backend.select import select_devices
from eagre.grid import Grid
from eagre.solvers.poisson import reference, solve_poisson
from eagre.validation.barotropic_gyres import GYRES, gyre
from eagre.validation.barotropic_linear import LINEAR, vorticity_of
from eagre.validation.comparison.norms import observed_orders, relative_norms
from eagre.validation.comparison.setting import BOTH, Check, Run, Validation, each, once

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
