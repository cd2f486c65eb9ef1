"""Base classes of the boundary conditions."""

from __future__ import annotations

import math
from functools import cache
from numbers import Real
from typing import Any, ClassVar, NamedTuple, get_args, get_type_hints

import numpy as np

from eagre.backend.compilation.cells import Cell
from eagre.errors import InputError
from eagre.plausible import check_plausible
from eagre.time_varying.series import Series

MAX_CHANGE = 0.1  # maximum extrapolated change per cell across a boundary, as a fraction of the wave speed


class InitialWater(NamedTuple):
    """Initial water and bed in the cells along a segment of a side.

    surface, depth : (n,) arrays, m, of the cells next to the boundary. lowest_bed, relief : float, m, minimum and range
    of the bed at the two outermost lines of corners. time : float, s, start of the run.
    """

    surface: np.ndarray
    depth: np.ndarray
    lowest_bed: float
    relief: float
    time: float

    @property
    def level(self) -> float | None:
        """Median surface elevation of the wet cells, m; None if all cells are dry."""
        wet = self.depth > 0.0
        return float(np.median(self.surface[wet])) if wet.any() else None


class GhostCell(NamedTuple):
    """Ghost cell of the explicit model with the interior cells that determine it."""

    near: Any  # (w, n, t) of the cell next to the boundary
    second: Any  # (w, n, bed) of the second interior cell
    copied: Any  # (w, n, t) of the interior cell as far inside as the ghost is outside
    bed_1: Any  # bed of `near`
    bed_k: Any  # bed of the ghost
    bed_face: Any  # bed of the boundary face
    m: Any  # distance of the ghost from `near`, 1 or 2 cells


class LineEnd(NamedTuple):
    """Boundary face of the ADI model at an end of a line, with its cell."""

    inward: Any  # 1 at the low end of the line, -1 at the high end
    z: Any  # surface and bed of the cell
    d: Any
    p_here: Any  # old flux
    carried: Any  # factors of P and P_inner in the momentum that the cell advects along the line, times dt / dx
    r: Any  # `known_surface` of the cell
    factor: Any  # friction factor


class Key(NamedTuple):
    """Description of an argument of a condition for case files, as metadata of its type.

    ``rate: Annotated[float | Series, Key("inflow, m3/s", "discharge", "0.5 m3/s")]`` can vary with time, since its type
    includes `Series`. A default makes the key optional.
    """

    what: str  # description with unit and sign convention
    dimension: str  # key of `eagre.config.values.units.DIMENSIONS`
    example: float | str | None = None  # example value
    quantity: str = ""  # key of `eagre.plausible.QUANTITIES`; empty if no plausible range is defined


@cache
def keys_of(kind: type) -> dict[str, tuple[Any, Key]]:
    """Return the type and the `Key` of each argument of a condition class that has a `Key`."""
    keys = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        for one in getattr(hint, "__metadata__", ()):
            if isinstance(one, Key):
                keys[name] = get_args(hint)[0], one
    return keys


class Condition:
    """Base class of the conditions on a side or segment: frozen dataclasses of the user's arguments (`Key`).

    For the explicit model a subclass defines a kernel function
    ``ghost(cell_data, value, level, p)`` that returns the state (w, n, t) of a ghost cell:
    surface elevation, m, and the unit discharges normal and tangential to the boundary, m2 s-1, n positive *into* the
    domain. Its arguments are:

    - cell_data : `GhostCell`;
    - value, level : time-dependent and constant number of the condition at the time of the state;
    - p : parameters of the model.

    All elevations are relative to the base of the ghost (`eagre.kernels.elevation`); only their differences are
    meaningful. At closed conditions the bed of the ghosts mirrors the interior. At open conditions the bed is
    extrapolated linearly; with `level_ghosts` it does not rise outwards.

    For the ADI model a subclass defines a kernel function
    ``line_end(value, end, p)`` that returns (B, E, D) of the boundary face in
    B P + E P_inner = D, where P is the new flux and P_inner the new flux of the next interior face. Its arguments are:

    - value : number of `line_series`;
    - end : `LineEnd`;
    - p : parameters of the sweep.

    A wall requires no `line_end`. The ADI model rejects all other conditions without `line_end`.
    """

    ghost: ClassVar[Cell]
    gives_level: ClassVar[bool] = False  # whether `value` is an elevation relative to the datum
    keeps_level: ClassVar[bool] = True  # whether `still_level` is an elevation
    line_end: ClassVar[Cell | None] = None
    line_end_in_corner: ClassVar[Cell | None] = None  # replaces `line_end` in a cell with two open boundaries
    level_ghosts: ClassVar[bool] = False  # whether the bed of ghosts is level where the bed rises outwards
    gives_flux: ClassVar[bool] = False  # whether `line_series` is the flux, m2 s-1
    periodic: ClassVar[bool] = False
    closed: ClassVar[bool] = False
    may_be_inside: ClassVar[bool] = False  # whether the discharge can be a source inside the domain

    def __post_init__(self) -> None:
        for name, (kind, key) in keys_of(type(self)).items():
            self._check_argument(name, key, varies=Series in get_args(kind))

    def _check_argument(self, name: str, key: Key, varies: bool) -> None:
        """Raise `InputError` if an argument is not a number, such as a string; if it `varies`, it can be a `Series`."""
        value = getattr(self, name)
        if value is None and getattr(type(self), name, 0.0) is None:
            return
        if varies and isinstance(value, Series):
            if key.quantity:
                check_plausible(key.quantity, value.values, name, value.name)
            return
        number = isinstance(value, Real) and not isinstance(value, bool)
        if number or (isinstance(value, np.ndarray) and value.ndim == 0):
            if not math.isfinite(float(value)):  # type: ignore[arg-type]
                raise InputError(
                    f"{name} = {value} of {type(self).__name__}", allowed="a finite number",
                    problem=f"The argument {name} is not finite.",
                )  # fmt: skip
            if key.quantity:
                check_plausible(key.quantity, value, name)
            return
        likely = str(key.example if key.example is not None else 0.0).split()[0]
        if varies and callable(value):
            likely = "Series.sampled(function, end=86400.0, every=60.0)"
        elif varies and isinstance(value, np.ndarray | list | tuple):
            likely = "Series(times, values)"
        raise InputError(
            f"{name} = {value!r} of {type(self).__name__}", allowed=f"{key.what}: a number{', or a Series' * varies}",
            fix=f"{type(self).__name__}({name}={likely})",
            problem=f"The argument {name} is {'neither a number nor a Series' if varies else 'not a number'}.",
        )  # fmt: skip

    def check(self, side: str, width: float, gravity: float) -> None:
        """Raise `InputError` for arguments that are invalid on a segment of `width` m of the named side."""

    def settled(self, water: InitialWater) -> Condition:
        """Return the condition with defaults from the initial water; raise `InputError` if they are inconsistent."""
        return self

    def initial_note(self, water: InitialWater) -> str:
        """Return a note for the user on this condition and the initial water, or an empty string."""
        return ""

    def note(self, depth: np.ndarray, outwards: np.ndarray, gravity: float) -> str:
        """Return a note for the run summary, or an empty string.

        depth : depths of the boundary cells, m. outwards : velocities out of the domain, m s-1.
        """
        return ""

    def value(self, width: float) -> Series:
        """Return the time-dependent number that `ghost` receives; width : length of the segment, m."""
        return Series.constant(0.0)

    def line_series(self, width: float) -> Series:
        """Return the time-dependent number that `line_end` receives."""
        return self.value(width)

    @property
    def line_gives_level(self) -> bool:
        """True if the number of `line_series` is an elevation relative to the datum."""
        return self.gives_level

    def prescribed_discharge(self) -> Series | None:
        """Return the prescribed discharge into the domain, m3 s-1, or None."""
        return None

    def deepest_arrival(self, width: float, lowest_bed: float, gravity: float) -> float:
        """Return the maximum depth, m, of the water that a time-varying series brings in later; 0 for constant values.

        This depth limits the time step before the water arrives. lowest_bed : minimum bed elevation of the segment, m.
        """
        return 0.0

    def highest_level(self) -> float:
        """Return the maximum head of the inflow, m; -inf without inflow or for a prescribed discharge."""
        return -math.inf

    def max_inflow(self) -> float:
        """Return the maximum prescribed discharge, m3 s-1, positive into the domain."""
        return 0.0

    def level_over(self, datum: float) -> float:
        """Return `still_level` relative to a datum, m, or unchanged if it is not an elevation."""
        return self.still_level() - (datum if self.keeps_level else 0.0)

    @property
    def elevations(self) -> int:
        """Numbers of the condition that are elevations: 1 `value`, 2 `still_level`, 3 both."""
        return int(self.gives_level) + 2 * int(self.keeps_level)

    def still_level(self) -> float:
        """Return the constant number that `ghost` receives."""
        return 0.0


class PrescribedDischarge(Condition):
    """Condition with a prescribed discharge `rate`, m3 s-1, positive into the domain, distributed over its width."""

    rate: float | Series

    def value(self, width: float) -> Series:
        rate = Series.of(self.rate)
        return Series(rate.times, rate.values / width, rate.name)

    def max_inflow(self) -> float:
        return max(float(Series.of(self.rate).values.max()), 0.0)

    def prescribed_discharge(self) -> Series | None:
        return Series.of(self.rate)
