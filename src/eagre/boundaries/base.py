"""What a boundary condition is."""

from __future__ import annotations

import math
from functools import cache
from numbers import Real
from typing import Any, ClassVar, NamedTuple, get_args, get_type_hints

import numpy as np

from eagre.backend.cells import Cell
from eagre.errors import InputError
from eagre.plausible import check_plausible
from eagre.series import Series

LARGEST_CHANGE = 0.1  # of what goes on with its slope inside, from cell to cell across a boundary, over the wave speed


class InitialWater(NamedTuple):
    """Initial water in the cells along a part of a side, and the bed there.

    surface, depth : (n,) arrays, m, of the cells next to the boundary. lowest_bed, relief : float, m, lowest bed and
    range of the bed at the two outermost lines of corners. time : float, s, start of the run.
    """

    surface: np.ndarray
    depth: np.ndarray
    lowest_bed: float
    relief: float
    time: float

    @property
    def level(self) -> float | None:
        """Median surface of the wet cells, m; None if all are dry."""
        wet = self.depth > 0.0
        return float(np.median(self.surface[wet])) if wet.any() else None


class Key(NamedTuple):
    """What a case file must know of a condition's argument, as the metadata of its type.

    ``rate: Annotated[float | Series, Key("flow, m3/s", "discharge", "0.5 m3/s")]`` may change with time, because its
    type has a `Series`; a default makes the key optional.
    """

    what: str  # with its unit and sign
    dimension: str  # of `eagre.config.units.DIMENSIONS`
    example: float | str | None = None  # a value to write
    quantity: str = ""  # of `eagre.plausible.QUANTITIES`; empty if it has no range there


@cache
def keys_of(kind: type) -> dict[str, tuple[Any, Key]]:
    """Type and `Key` of each argument of a condition's class that has one."""
    found = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        for one in getattr(hint, "__metadata__", ()):
            if isinstance(one, Key):
                found[name] = get_args(hint)[0], one
    return found


class Condition:
    """A condition on a side of the domain or on a part of it: a frozen dataclass of the user's arguments (`Key`).

    For the explicit model a subclass gives a cell
    ``ghost(near, second, copied, bed_1, bed_k, m, value, level, p)`` that returns
    (w, n, t) of a ghost cell: surface elevation, m, and unit discharges across and along the
    boundary, m2 s-1, n positive *into* the domain. It gets the same of the cell next to the boundary
    (`near`) and of the interior cell as far inside as the ghost is outside (`copied`), (w, n, bed)
    of the second cell inside, the bed of `near` and of the ghost, the distance m = 1, 2 of the ghost
    from `near` in cells, the condition's numbers at the time of the state, and the model's
    parameters. All elevations are over one level, the base of the ghost (`eagre.kernels.elevation`):
    only their differences mean anything. The bed of the ghosts mirrors the domain beside a closed condition
    and goes on with its slope beside an open one.

    For the implicit model it gives a cell ``line_end(value, inward, z, d, p_here, carried, r, factor, p)`` that returns
    (B, E, D) of the face on the boundary in B P + E P_inner = D, P the new flux and P_inner that of the
    next face inside. It gets the number of `line_series`, 1 at the low end of the line and -1 at the high
    one, the surface z and the bed d of the cell inside, the old flux, the factors of P and of P_inner in the momentum
    that this cell passes on along the line, times dt / dx, its `known_surface` r, the factor of friction and the
    parameters of the sweep. A wall needs no such cell; any other condition
    without one is refused by the implicit model.
    """

    ghost: ClassVar[Cell]
    gives_level: ClassVar[bool] = False  # whether `value` is an elevation, which moves with the datum
    keeps_level: ClassVar[bool] = True  # whether `still_level` is one
    line_end: ClassVar[Cell | None] = None
    line_end_in_corner: ClassVar[Cell | None] = None  # in place of `line_end` in a cell with another open end
    gives_flux: ClassVar[bool] = False  # whether the number of `line_series` is the flux itself, m2 s-1
    periodic: ClassVar[bool] = False
    closed: ClassVar[bool] = False
    may_be_inside: ClassVar[bool] = False  # whether its discharge may be poured into cells inside the domain

    def __post_init__(self) -> None:
        for name, (_, key) in keys_of(type(self)).items():
            self._check_argument(name, key)

    def _check_argument(self, name: str, key: Key) -> None:
        """Refuse an argument that is neither a number nor a series, such as a text with a unit."""
        value = getattr(self, name)
        if value is None and getattr(type(self), name, 0.0) is None:
            return
        if isinstance(value, (Real, Series)) or (isinstance(value, np.ndarray) and value.ndim == 0):
            if not isinstance(value, Series) and not math.isfinite(float(value)):
                raise InputError(
                    f"{name} = {value} of {type(self).__name__}", allowed="a finite number",
                    problem=f"The argument {name} is not finite.",
                )  # fmt: skip
            if key.quantity:
                values, source = (value.values, value.name) if isinstance(value, Series) else (value, "")
                check_plausible(key.quantity, values, name, source)
            return
        likely = str(key.example if key.example is not None else 0.0).split()[0]
        if callable(value):
            likely = "Series.sampled(function, end=86400.0, every=60.0)"
        elif isinstance(value, np.ndarray | list | tuple):
            likely = "Series(times, values)"
        raise InputError(
            f"{name} = {value!r} of {type(self).__name__}", allowed=f"{key.what}: a number, or a Series",
            fix=f"{type(self).__name__}({name}={likely})",
            problem=f"The argument {name} is neither a number nor a Series.",
        )  # fmt: skip

    def check(self, side: str, width: float, gravity: float) -> None:
        """Raise `InputError` for arguments that cannot be on a part `width` m wide of a side of that name."""

    def settled(self, water: InitialWater) -> Condition:
        """The condition with its defaults taken from the initial water; raise `InputError` if they contradict."""
        return self

    def initial_note(self, water: InitialWater) -> str:
        """Return a note for the user on this condition and the initial water, or an empty string."""
        return ""

    def note(self, depth: np.ndarray, outwards: np.ndarray, gravity: float) -> str:
        """What a run should say of this side, from depths, m, and velocities out of the domain, m s-1, beside it."""
        return ""

    def value(self, width: float) -> Series:
        """The time-dependent number that `ghost` gets; `width` is the length of the part, m."""
        return Series.constant(0.0)

    def line_series(self, width: float) -> Series:
        """The time-dependent number that `line_end` gets."""
        return self.value(width)

    @property
    def line_gives_level(self) -> bool:
        """Whether the number of `line_series` is an elevation, which moves with the datum."""
        return self.gives_level

    def given_discharge(self) -> Series | None:
        """Water that it is to bring, m3 s-1; None where that is not given."""
        return None

    def deepest_arrival(self, width: float, lowest_bed: float, gravity: float) -> float:
        """Largest depth, m, of the water that a series brings in later; 0 if nothing changes with time.

        It bounds the time step before that water is there to do so. `lowest_bed` is that of the part, m.
        """
        return 0.0

    def highest_level(self) -> float:
        """Highest head, m, of the water that it may bring in; -inf if it brings none, or a discharge."""
        return -math.inf

    def largest_inflow(self) -> float:
        """Largest discharge that it prescribes, m3 s-1, positive into the domain."""
        return 0.0

    def level_over(self, datum: float) -> float:
        """`still_level` over a datum, m, or as it is where that is no elevation."""
        return self.still_level() - (datum if self.keeps_level else 0.0)

    @property
    def elevations(self) -> int:
        """Which numbers of the condition are elevations: 1 `value`, 2 `still_level`, 3 both."""
        return int(self.gives_level) + 2 * int(self.keeps_level)

    def still_level(self) -> float:
        """The constant number that `ghost` gets."""
        return 0.0


class GivenDischarge(Condition):
    """A condition whose number is a discharge `rate`, m3 s-1, positive into the domain, spread over its width."""

    rate: float | Series

    def value(self, width: float) -> Series:
        rate = Series.of(self.rate)
        return Series(rate.times, rate.values / width, rate.name)

    def largest_inflow(self) -> float:
        return max(float(Series.of(self.rate).values.max()), 0.0)

    def given_discharge(self) -> Series | None:
        return Series.of(self.rate)
