"""Several simulations at once: members of one grid stacked along y, a row of land between them.

A face beside land has the row P = 0, which couples to nothing: lines along x belong to one member each, and lines
along y fall apart at the land. So the kernels of one large grid step all members in the launches of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from eagre.boundaries import Boundaries, BoundarySegment
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.shallow_water_adi.model import ShallowWaterADI
from eagre.terms.base import Term

FIELDS = ("surface_elevation", "depth", "velocity_x", "velocity_y", "manning", "chezy", "land_mask")


class ShallowWaterADIEnsemble:
    """Members of one grid and one time step that are stepped together.

    Parameters
    ----------
    grid : Grid
        Of one member.
    bed_elevation : float, (ny + 1, nx + 1) or (members, ny + 1, nx + 1) array, m
    time_step : float, s
    members : int
    boundaries : Boundaries, or a sequence of them, one a member
        West and east sides as of `eagre.ShallowWaterADI`; south and north are walls.
    sources : sequence of terms
        For all members alike.
    options
        As of `eagre.ShallowWaterADI`. Fields (surface_elevation, depth, velocity_x, velocity_y, manning, chezy,
        land_mask) may have a first axis of members; of numbers there is one for all.

    Raises
    ------
    InputError
        For open sides in the south or north, a beta plane or air pressure, and all that `ShallowWaterADI` refuses.

    Notes
    -----
    Each member does what it would do alone, to the last bit on a CPU with drying on. `dry_depth`, if it is not given,
    follows the deepest member. A member that blows up stops all: `BlowUpError` names the cell in the stacked
    grid, whose row j belongs to member j // (ny + 1).

    Attributes
    ----------
    model : ShallowWaterADI
        The stacked model: its state, restart and sums over all members.
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
        if members < 1:
            raise InputError(f"members = {members}", allowed="1 or more", fix="members = 8")
        self.grid, self.members = grid, members
        stacked = replace(grid, ny=members * (grid.ny + 1) - 1)
        bed = _each("bed_elevation", bed_elevation, members, grid.shape_of("corner")).reshape(-1, grid.nx + 1)
        for name in FIELDS:
            if options.get(name) is not None and (name == "land_mask" or np.ndim(options[name])):
                options[name] = self._stack(name, options[name])
        land = options.pop("land_mask", None)
        between = self._stack("land_mask", np.zeros(grid.shape, bool), gap=True)
        self.model = ShallowWaterADI(
            stacked, bed, time_step, land_mask=between if land is None else land | between,
            boundaries=_side_by_side(boundaries, grid, members),
            sources=[term.for_members(partial(self._stack, "map of a source term")) for term in sources], **options,
        )  # fmt: skip

    @property
    def time(self) -> float:
        """Model time, s."""
        return self.model.time

    def advance(self, until: float, max_steps: int | None = None) -> None:
        """Step all members to `until`, s, as `ShallowWaterADI.advance`."""
        self.model.advance(until, max_steps)

    def field(self, name: str) -> np.ndarray:
        """Host copy of a field of all members, (members, ny, nx)."""
        values = self.model.field(name)
        padded = np.concatenate([values, values[:1]])
        return padded.reshape(self.members, self.grid.ny + 1, self.grid.nx)[:, :-1].copy()

    def _stack(self, name: str, values: Any, gap: Any = None) -> np.ndarray:
        """Maps of the members in one; the rows between them repeat the row below, or are `gap`."""
        each = _each(name, values, self.members, self.grid.shape)
        row = each[:, -1:] if gap is None else np.full_like(each[:, -1:], gap)
        return np.concatenate([each, row], axis=1).reshape(-1, self.grid.nx)[:-1]


def _each(name: str, values: Any, members: int, shape: tuple[int, ...]) -> np.ndarray:
    """Values of every member, (members, *shape)."""
    array = np.asarray(values)
    if array.shape not in ((), shape, (members, *shape)):
        allowed = f"a number, {shape} for all members, or {(members, *shape)}"
        raise InputError(
            f"{name} of shape {array.shape}", allowed=allowed,
            problem=f"The shape of {name} fits neither one member nor all members.",
        )  # fmt: skip
    return np.broadcast_to(array, (members, *shape))


def _side_by_side(given: Boundaries | Sequence[Boundaries] | None, grid: Grid, members: int) -> Boundaries:
    """The members' west and east sides as parts of the stacked grid's."""
    each = [given or Boundaries()] * members if given is None or isinstance(given, Boundaries) else list(given)
    if len(each) != members:
        raise InputError(
            f"{len(each)} Boundaries for {members} members", allowed="one for all members, or one per member",
            problem="The number of Boundaries differs from the number of members.",
        )  # fmt: skip
    if any(own.internal for own in each):
        raise InputError(
            "internal lines or areas in an ensemble", allowed="no internal lines and areas",
            fix="one ShallowWaterADI per member", problem="Ensembles do not support internal lines and areas.",
        )  # fmt: skip
    sides: dict[str, Any] = {"west": [], "east": []}
    for m, own in enumerate(each):
        for segment in own.segments(grid):
            if segment.side in sides:
                start = grid.y0 + (m * (grid.ny + 1) + segment.first) * grid.dy
                stop = grid.y0 + (m * (grid.ny + 1) + segment.last) * grid.dy
                sides[segment.side].append(BoundarySegment(start, stop, segment.condition))
            elif not segment.condition.closed:
                raise InputError(
                    f"{type(segment.condition).__name__} on the {segment.side} side of an ensemble",
                    allowed="Wall on the south and north sides",
                    fix="x and y exchanged, or one ShallowWaterADI per member",
                    problem="The south and north sides of an ensemble must be walls: the members are stacked along y.",
                )
    return Boundaries(**sides)
