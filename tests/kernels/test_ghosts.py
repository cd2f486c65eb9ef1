"""Ghost cells: no double arithmetic in single precision, and a discharge whose flux is exact."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import eagre
from eagre.backend.compilation.program import load, source_of
from eagre.backend.device import PlainDevice
from eagre.boundaries import Absorbing, Discharge, Inflow, NormalDepth, Outflow, Stage
from eagre.boundaries.base import GhostCell
from eagre.boundaries.conditions.discharge import balanced_velocity, discharge_ghost, slope_behind
from eagre.boundaries.conditions.stage import stage_ghost
from eagre.boundaries.ghosts import Segments, boundary_pass_cuda
from eagre.kernels.central_upwind import central_upwind
from eagre.models.shallow_water.kernels import Parameters, Slopes, hydrostatic_faces
from eagre.stepping.clock import SeriesTable

P = Parameters(0.65, 1.0 / 2.6, 1e-4, 1e-16, 1e-7, 9.81, 1.0, 1.0, 0.0, 0.0)


def doubles(**ghosts):
    """Double operations in the PTX of the boundary pass in single precision."""
    pytest.importorskip("numba_cuda", reason="pip install 'eagre[sim]'")
    from numba import types

    from eagre.backend.cuda.compiler import ptx

    f4, f8, i8 = types.float32, types.float64, types.int64
    numbers = types.NamedTuple([f4] * len(Parameters._fields), Parameters)
    series = types.NamedTuple([f8[::1], f8[::1], i8[::1], i8[::1], f8[::1], i8[::1]], SeriesTable)
    segments = types.NamedTuple([i8[:, ::1], f8[::1], f4[::1]], Segments)
    tail = types.Tuple([types.int32[::1], series])
    arrays = (f4[:, :, ::1], f4[:, ::1], segments, numbers, f8[::1], tail, i8)
    module = load(source_of(boundary_pass_cuda, "cuda", "single", ghosts), "boundary_pass_cuda")
    text = ptx(module.boundary_pass_cuda, (*arrays, types.uint32[::1]))
    return len(re.findall(r"\b(?:add|sub|mul|div|fma|sqrt|rcp|max|min)[\w.]*\.f64", text))


@pytest.mark.parametrize("of_discharges", [False, True])
def test_conditions_add_no_double_arithmetic_in_single_precision(of_discharges):
    kinds = (Stage, Discharge, Absorbing, Outflow, Inflow, NormalDepth)
    ghosts = {f"GHOST_{k}": kind.ghost for k, kind in enumerate(kinds)}
    assert doubles(**ghosts, OF_DISCHARGES=of_discharges) == doubles()


def flux_of(w_2, w_1, u_2, u_1, q, slope):
    """Mass flux through the face between the first ghost and the first cell of a bed with a given rise outwards."""
    beds = [
        min(slope, 0.0) * 1.5,
        min(slope, 0.0) * 0.5,
        -0.5 * slope,
        -1.5 * slope,
    ]  # of ghosts 2 and 1, cells 1 and 2
    near = (w_1, u_1 * (w_1 - beds[2]), 0.0)
    second = (w_2, u_2 * (w_2 - beds[3]), beds[3])
    ghosts = [
        discharge_ghost(GhostCell(near, second, near, beds[2], beds[2 - k], 0.0, float(k)), q, 0.0, P) for k in (1, 2)
    ]
    surface = [ghosts[1][0], ghosts[0][0], w_1, w_2]
    velocity = [ghosts[1][1] / (ghosts[1][0] - beds[0]), ghosts[0][1] / (ghosts[0][0] - beds[1]), u_1, u_2]
    faces = []
    for k in (1, 2):
        w_l, w_h = (P.theta * (surface[k + m] - surface[k + m - 1]) for m in (0, 1))
        u_l, u_h = (P.theta * (velocity[k + m] - velocity[k + m - 1]) for m in (0, 1))
        h = surface[k] - beds[k]
        rise = 0.5 * slope if k == 2 else min(0.5 * slope, 0.0)
        faces.append(hydrostatic_faces(Slopes(h, w_l, w_h, velocity[k], u_l, u_h, 0.0, 0.0, 0.0), h, rise, -rise, P))
    return central_upwind(*faces[0][4:8], *faces[1][:4], P.g)[0]


@pytest.mark.parametrize("slope", [0.0, 0.02, -0.05])
def test_flux_is_the_prescribed_discharge(slope):
    """Whatever the limiter does inside: rising, falling and peaked velocities and surfaces, slow and fast inflow."""
    changes = (-0.3, -0.05, 0.0, 0.02, 0.25)
    for rise, second, first, q in itertools.product(changes[1:-1], changes, changes, (0.05, 0.8, 2.0)):
        u = q / 1.2
        found = flux_of(1.2 + rise, 1.2, u + first + second, u + first, q, slope)
        assert found == pytest.approx(q, rel=1e-12), (rise, second, first, q)


@pytest.mark.parametrize(
    ("u_in", "u_q"), [(-0.5, 0.5), (0.2, 0.5), (0.5, 0.5), (0.9, 0.5), (1.4, 0.5), (4.0, 0.5), (1.0, 4.0), (3.5, 4.0)]
)
def test_balanced_velocity_solves_the_flux(u_in, u_q):
    h = 0.8  # waves of 2.8 m/s
    c = float(np.sqrt(P.g * h))
    u_out = balanced_velocity(u_in, u_q, c)
    assert central_upwind(h, h, u_out, 0.0, h, h, u_in, 0.0, P.g)[0] == pytest.approx(h * u_q, rel=1e-13)


def test_stage_does_not_reach_into_fast_outflow_and_lets_in_at_most_critical_flow():
    """Outflow at Froude 1.6 is copied whatever the level; inflow is bounded by sqrt(g h) of the ghost."""
    c = float(np.sqrt(P.g * 1.0))
    for level in (-3.0, 0.2, 5.0):
        fast = (1.0, -1.6 * c, 0.5)
        assert stage_ghost(GhostCell(fast, fast, fast, 0.0, 0.0, 0.0, 1.0), level, 0.0, P) == pytest.approx(
            fast, rel=1e-12
        )
    w, n, t = stage_ghost(
        GhostCell((1.0, 3.0 * c, 0.5), (1.0, 3.0 * c, 0.0), (1.0, 0.0, 0.0), 0.0, 0.0, 0.0, 1.0), 1.0, 0.0, P
    )
    assert (w, n, t) == pytest.approx((1.0, c, 0.5), rel=1e-12)
    w, n, _ = stage_ghost(
        GhostCell((1.0, -0.5 * c, 0.0), (1.0, -0.5 * c, 0.0), (1.0, 0.0, 0.0), 0.0, 0.0, 0.0, 1.0), 1.2, 0.0, P
    )
    assert (w, n) == pytest.approx((1.4, -0.5 * c * 1.4), rel=1e-12)


def test_slope_behind_turns_the_limiter_round():
    from eagre.kernels.limiters import half_slope

    for ahead, part in itertools.product((-2.0, 0.4, 3.0), (0.0, 0.2, 0.405, 0.41, 0.6, 0.65)):
        behind = slope_behind(part * ahead, ahead, P)
        assert half_slope(P.theta * behind, P.theta * ahead, P) == pytest.approx(part * ahead, abs=1e-14)


@pytest.mark.parametrize(("axis", "periodic"), [(1, False), (1, True), (2, False), (2, True)])
def test_ghosts_of_closed_sides_are_mirrored_or_wrapped(axis, periodic, rng):
    """On each of the four sides, two deep; a mirror turns the discharge across it, and nothing else."""
    across = ("west", "east") if axis == 2 else ("south", "north")
    conditions = {side: eagre.Periodic() for side in across} if periodic else {}
    model = eagre.ShallowWater(
        eagre.Grid(5, 4, 1.0, 2.0), -2.0, surface_elevation=rng.standard_normal((4, 5)),
        velocity_x=rng.standard_normal((4, 5)), velocity_y=rng.standard_normal((4, 5)),
        boundaries=eagre.Boundaries(**conditions), device=PlainDevice(), precision="double",
    )  # fmt: skip
    state = model.state()["q"]
    inside = state[:, 2:-2, 2:-2]
    width = [(0, 0), (0, 0), (0, 0)]
    width[axis] = (2, 2)
    expected = np.pad(inside, width, mode="wrap" if periodic else "symmetric")
    if not periodic:
        ghosts = np.pad(np.zeros(inside.shape[1:], bool), width[1:], constant_values=True)
        expected[3 - axis, ghosts] *= -1.0
    found = state[:, :, 2:-2] if axis == 1 else state[:, 2:-2, :]
    np.testing.assert_array_equal(found, expected)
