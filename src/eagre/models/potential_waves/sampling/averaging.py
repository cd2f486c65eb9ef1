"""Quantities of the potential-flow waves for time averages (`eagre.kernels.averages`): surface and surface velocity.

The surface velocity is ``u = phi~_x - w~ eta_x``, ``v = phi~_y - w~ eta_y`` and w~, plus the velocity due to
wavemakers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eagre.backend.compilation.cells import cell, switch
from eagre.checks import checked_number
from eagre.fields import Variable
from eagre.kernels.averages import Quantities
from eagre.models.potential_waves.surface.reference_kernels import NONLINEAR, along_x, along_y
from eagre.stepping.averages import StatisticsPlan, TimeStatistics, statistics_plan_of
from eagre.stepping.averaging import MomentAverages


@cell
def surface_elevation(j, i, fields, w, paddle_velocity, lines):
    """Surface elevation above still water, m."""
    return fields[0, j, i]


@cell
def surface_potential(j, i, fields, w, paddle_velocity, lines):
    """Surface potential phi~, m2 s-1."""
    return fields[1, j, i]


@cell
def velocity_x(j, i, fields, w, paddle_velocity, lines):
    """Velocity u at the surface, m s-1."""
    velocity = along_x(fields, 1, j, i, lines.x, lines.periodic_x)
    if NONLINEAR:
        velocity -= w[0, j, i] * along_x(fields, 0, j, i, lines.x, lines.periodic_x)
    if PADDLES:
        velocity += paddle_velocity[0, j, i]
    return velocity


@cell
def velocity_y(j, i, fields, w, paddle_velocity, lines):
    """Velocity v at the surface, m s-1."""
    velocity = along_y(fields, 1, j, i, lines.y, lines.periodic_y)
    if NONLINEAR:
        velocity -= w[0, j, i] * along_y(fields, 0, j, i, lines.y, lines.periodic_y)
    if PADDLES:
        velocity += paddle_velocity[1, j, i]
    return velocity


@cell
def velocity_z(j, i, fields, w, paddle_velocity, lines):
    """Vertical velocity w~ at the surface, m s-1."""
    velocity = w[0, j, i]
    if PADDLES:
        velocity += paddle_velocity[2, j, i]
    return velocity


PADDLES = switch("PADDLES", False)  # whether `paddle_velocity`, (3, ny, nx), holds the velocity due to wavemakers
QUANTITIES = Quantities(
    "fields, w, paddle_velocity, lines",
    {
        "surface_elevation": surface_elevation, "surface_potential": surface_potential, "velocity_x": velocity_x,
        "velocity_y": velocity_y, "velocity_z": velocity_z,
    },
)  # fmt: skip
OF_THE_SURFACE = {"surface_elevation", "surface_potential"}
"""Quantities that need no vertical velocity, and therefore no Laplace solve."""


ANY = (-1e12, 1e12)  # s


def requested_averages(
    variables: Sequence[Variable], time_statistics: TimeStatistics | None, statistics_from: float | None
) -> dict[str, StatisticsPlan | None]:
    """Return the requested averages and the surface statistics; `statistics_from` is their start time, s."""
    known, possible = {one.name: one for one in variables}, QUANTITIES.cells
    surface_statistics, eta = None, ["surface_elevation"]
    if statistics_from is not None:
        checked_number("statistics_from", statistics_from, *ANY)
        surface_statistics = TimeStatistics(eta, eta, start=statistics_from, maximum=eta, minimum=eta)
    return {
        "time_statistics": statistics_plan_of(time_statistics, known, possible),
        "statistics": statistics_plan_of(surface_statistics, known, possible),
    }


class SurfaceAverages(MomentAverages):
    """Time averages of a run, in double precision like the surface."""

    def __init__(self, engine: Any, requested: StatisticsPlan | None) -> None:
        laplace, paddle_velocity = engine.laplace, engine.paddle_velocity
        switches = {"NONLINEAR": not engine.setup.linear, "PADDLES": paddle_velocity is not None}
        fields = laplace.fields, laplace.w, laplace.w if paddle_velocity is None else paddle_velocity, laplace.lines
        super().__init__(engine, QUANTITIES, *fields, plan=requested, precision="double", switches=switches)
