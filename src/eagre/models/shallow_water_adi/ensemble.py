"""Ensemble of ADI shallow-water simulations: members on one grid, stacked along y, with a row of land between them.

A face at land has the equation P = 0, which couples to no other face. So each line along x belongs to one member, and
the lines along y decouple at the land. The kernels of one large grid advance all members in the same launches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from eagre.arguments import all_of_type, of_type
from eagre.boundaries import Boundaries, BoundarySegment
from eagre.checks import checked_count
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.shallow_water_adi.inputs import wrong_land
from eagre.models.shallow_water_adi.model import ShallowWaterADI
from eagre.terms.base import Term
from eagre.terms.collect import checked_sources

MAX_COUNT = 1_000_000  # of simulations
FIELDS = ("surface_elevation", "depth", "velocity_x", "velocity_y", "manning", "chezy", "land_mask")


class ShallowWaterADIEnsemble:
    """Ensemble of simulations on one grid with one time step, advanced together.

    Parameters
    ----------
    grid : Grid
        Grid of one member.
    bed_elevation : float, (ny + 1, nx + 1) or (members, ny + 1, nx + 1) array, m
        Bed elevation at the cell corners, for all members or per member.
    time_step : float, s
        Fixed time step of all members.
    members : int
        Number of members.
    boundaries : Boundaries or sequence of Boundaries, optional
        Boundary conditions for all members or one object per member. The west and east sides are those of
        `eagre.ShallowWaterADI`. The south and north sides must be walls.
    sources : sequence of source terms
        Source terms, the same for all members.
    **options
        Options of `eagre.ShallowWaterADI`. The fields surface_elevation, depth, velocity_x, velocity_y, manning, chezy
        and land_mask can have a leading axis of members. Scalar options apply to all members.

    Raises
    ------
    InputError
        If the south or north side is open, a source term couples the members (beta plane, air pressure), or
        `ShallowWaterADI` rejects an option.

    Notes
    -----
    Each member gives the results of a separate run; with drying on a CPU the results are bitwise identical. The default
    of `dry_depth` follows from the deepest member. If one member blows up, all members stop: `BlowUpError` gives the
    cell of the stacked grid, whose row j belongs to member j // (ny + 1).

    Attributes
    ----------
    model : ShallowWaterADI
        Model of the stacked grid, with the state, the restart and the sums over all members.
    """

    def __init__(
        self,
        grid: Grid,
        bed_elevation: Any,
        time_step: float,
        members: int,
        *,
        boundaries: Boundaries | Sequence[Boundaries] | None = None,
        sources: Sequence[Term] = (),
        **options: Any,
    ) -> None:
        checked_count("members", members, 1, MAX_COUNT)
        grid = of_type("grid", grid, Grid, "eagre.Grid(200, 100, 10.0, 10.0)")
        self.grid, self.members = grid, members
        stacked = replace(grid, ny=members * (grid.ny + 1) - 1)
        bed = _each("bed_elevation", bed_elevation, members, grid.shape_of("corner")).reshape(-1, grid.nx + 1)
        for name in FIELDS:
            if options.get(name) is not None and (name == "land_mask" or np.ndim(options[name])):
                options[name] = self._stack(name, options[name])
        land = options.pop("land_mask", None)
        if land is not None and land.dtype != bool:
            raise wrong_land(land, grid)
        between = self._stack("land_mask", np.zeros(grid.shape, bool), gap=True)
        terms = [term.for_ensemble(partial(self._stack, "map of a source term")) for term in checked_sources(sources)]
        self.model = ShallowWaterADI(
            stacked, bed, time_step, land_mask=between if land is None else land | between,
            boundaries=_side_by_side(boundaries, grid, members), sources=terms, **options,
        )  # fmt: skip

    @property
    def time(self) -> float:
        """Model time, s."""
        return self.model.time

    def advance(self, until: float, max_steps: int | None = None) -> None:
        """Advance all members to `until`, s; see `ShallowWaterADI.advance`."""
        self.model.advance(until, max_steps)

    def field(self, name: str) -> np.ndarray:
        """Return a host copy of a field of all members, (members, ny, nx)."""
        values = self.model.field(name)
        padded = np.concatenate([values, values[:1]])
        return padded.reshape(self.members, self.grid.ny + 1, self.grid.nx)[:, :-1].copy()

    def _stack(self, name: str, values: Any, gap: Any = None) -> np.ndarray:
        """Stack the maps of the members along y; the rows between members repeat the row below or equal `gap`."""
        each = _each(name, values, self.members, self.grid.shape)
        row = each[:, -1:] if gap is None else np.full_like(each[:, -1:], gap)
        return np.concatenate([each, row], axis=1).reshape(-1, self.grid.nx)[:-1]


def _each(name: str, values: Any, members: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return the values of every member, (members, ...)."""
    array = np.asarray(values)
    if array.shape not in ((), shape, (members, *shape)):
        allowed = f"a number, {shape} for all members, or {(members, *shape)}"
        raise InputError(
            f"{name} of shape {array.shape}", allowed=allowed,
            problem=f"The shape of {name} fits neither one member nor all members.",
        )  # fmt: skip
    return np.broadcast_to(array, (members, *shape))


def _side_by_side(boundaries: Boundaries | Sequence[Boundaries] | None, grid: Grid, members: int) -> Boundaries:
    """Return the boundary conditions of the stacked grid: the west and east sides of the members as segments."""
    if boundaries is None or isinstance(boundaries, Boundaries):
        each = [boundaries or Boundaries()] * members
    else:
        each = all_of_type("boundaries", boundaries, Boundaries, "boundaries=[Boundaries(west=Wall())]")
    if len(each) != members:
        raise InputError(
            f"{len(each)} Boundaries for {members} members", allowed="one for all members, or one per member",
            problem="The number of Boundaries differs from the number of members.",
        )  # fmt: skip
    if any(member.internal for member in each):
        raise InputError(
            "internal lines or areas in an ensemble", allowed="no internal lines and areas",
            fix="one ShallowWaterADI per member", problem="Ensembles do not support internal lines and areas.",
        )  # fmt: skip
    sides: dict[str, Any] = {"west": [], "east": []}
    for m, member in enumerate(each):
        for segment in member.segments(grid):
            if segment.side in sides:
                start = grid.y0 + (m * (grid.ny + 1) + segment.first) * grid.dy
                stop = grid.y0 + (m * (grid.ny + 1) + segment.last) * grid.dy
                sides[segment.side].append(BoundarySegment(start, stop, segment.condition))
            elif not segment.condition.closed or segment.condition.periodic:
                raise InputError(
                    f"{type(segment.condition).__name__} on the {segment.side} side of an ensemble",
                    allowed="Wall on the south and north sides",
                    fix="x and y exchanged, or one ShallowWaterADI per member",
                    problem="The south and north sides of an ensemble must be walls: the members are stacked along y.",
                )
    return Boundaries(**sides)
