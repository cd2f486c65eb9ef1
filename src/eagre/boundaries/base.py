"""What a boundary condition is."""

from __future__ import annotations

from typing import ClassVar

from eagre.backend.cells import Cell
from eagre.series import Series

LARGEST_CHANGE = 0.1  # of what goes on with its slope inside, from cell to cell across a boundary, over the wave speed


class Condition:
    """A condition on a side of the domain or on a part of it.

    A subclass gives a cell ``ghost(near, second, copied, bed_1, bed_k, m, value, level, p)`` that returns
    (w, n, t) of a ghost cell: surface elevation, m, and unit discharges across and along the
    boundary, m2 s-1, n positive *into* the domain. It gets the same of the cell next to the boundary
    (`near`) and of the interior cell as far inside as the ghost is outside (`copied`), (w, n, bed)
    of the second cell inside, the bed of `near` and of the ghost, the distance m = 1, 2 of the ghost
    from `near` in cells, the condition's numbers at the time of the state, and the model's
    parameters. All elevations are over one level, the base of the ghost (`eagre.models.shallow_water.kernels`):
    only their differences mean anything. The bed of the ghosts mirrors the domain beside a closed condition
    and goes on with its slope beside an open one.
    """

    ghost: ClassVar[Cell]
    gives_level: ClassVar[bool] = False  # whether `value` is an elevation, which moves with the datum
    periodic: ClassVar[bool] = False
    closed: ClassVar[bool] = False

    def value(self, width: float) -> Series:
        """The time-dependent number that `ghost` gets; `width` is the length of the part, m."""
        return Series.constant(0.0)

    def deepest_arrival(self, width: float, lowest_bed: float, gravity: float) -> float:
        """Largest depth, m, of the water that a series brings in later; 0 if nothing changes with time.

        It bounds the time step before that water is there to do so. `lowest_bed` is that of the part, m.
        """
        return 0.0

    def still_level(self) -> float:
        """The constant number that `ghost` gets."""
        return 0.0
