"""Plan of a multigrid solver: parameters, grids, and the number of grids per layer from convergence rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.checks import checked_number, one_of
from eagre.errors import InputError

STRETCHED = 4.0 / 3.0  # maximum ratio of spacings for coarsening: red-black sweeps do not smooth the coarser axis
CYCLES = ("V", "W", "F")
SMOOTHERS = ("red-black", "jacobi")
ENOUGH = 0.1  # error reduction by the sweeps on the coarsest grid
MAX_SWEEPS = 200
TOO_WEAK = "a screening that hardly controls the mean on this grid"


class Axis(NamedTuple):
    """Axis of a grid: number of points, spacing, and periodicity.

    factors : factors of the differences, on this and on coarser grids; the last one applies to all further grids.
    """

    points: int
    spacing: float
    periodic: bool
    factors: tuple[float, ...] = (1.0,)

    @property
    def weight(self) -> float:
        """Coefficient of the neighbour differences in the second difference, m^-2; 0 for an axis of one point."""
        return 0.0 if self.points == 1 else self.factors[0] / self.spacing**2

    @property
    def halves(self) -> bool:
        """Flag for an axis on which every second point gives a grid of the same length."""
        if self.periodic:
            half = self.points // 2
            return self.points % 2 == 0 and (half == 1 or half % 2 == 0)  # red-black colouring needs an even number
        return self.points > 2 and self.points % 2 == 1

    def coarser(self) -> Axis:
        """Return the axis of every second point."""
        points = self.points // 2 if self.periodic else self.points // 2 + 1
        return Axis(points, 2.0 * self.spacing, self.periodic, self.factors[1:] or self.factors)


class Grid(NamedTuple):
    """Grid of the hierarchy, and its coarsening factors to the next grid."""

    y: Axis
    x: Axis
    step_y: int = 1
    step_x: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points along y and x."""
        return self.y.points, self.x.points


def sequence(y: Axis, x: Axis, levels: int | None = None, stretched: float = STRETCHED) -> list[Grid]:
    """Return the grids, finest first: both axes are coarsened where possible, or the finer one only if spacings differ.

    Raises
    ------
    InputError
        For an odd number of points along a periodic axis, which does not allow red-black colouring.
    """
    for name, axis in (("y", y), ("x", x)):
        if axis.periodic and axis.points > 1 and axis.points % 2:
            allowed = f"an even number, preferably a multiple of a power of two: {axis.points - 1} or {axis.points + 1}"
            problem = f"The number of points along the periodic axis {name} is odd."
            raise InputError(f"{axis.points} points along periodic {name}", allowed=allowed, problem=problem)
    grids = [Grid(y, x)]
    while levels is None or len(grids) < levels:
        y, x = grids[-1].y, grids[-1].x
        step_y, step_x = (2 if axis.halves and _due(axis, other, stretched) else 1 for axis, other in ((y, x), (x, y)))
        if step_y == step_x == 1:
            break
        grids[-1] = Grid(y, x, step_y, step_x)
        grids.append(Grid(y.coarser() if step_y == 2 else y, x.coarser() if step_x == 2 else x))
    return grids


def _due(axis: Axis, other: Axis, stretched: float) -> bool:
    """Return whether an axis is not much coarser than the other, or the other cannot be coarsened."""
    return other.points == 1 or not other.halves or axis.spacing <= stretched * other.spacing


def advice(grid: Grid) -> str:
    """Return numbers of points that can be halved often, close to the size of a grid."""
    return " and ".join(
        f"{' or '.join(map(str, near(axis)))} along {name}" for name, axis in (("y", grid.y), ("x", grid.x))
        if axis.points > 1
    )  # fmt: skip


def near(axis: Axis) -> list[int]:
    """Return the closest numbers of points below and above that are 2 to 7 times a power of two."""
    end = 0 if axis.periodic else 1
    fine = sorted({factor * 2**power + end for factor in (2, 3, 5, 7) for power in range(30)})
    return [max((n for n in fine if n <= axis.points), default=fine[0]), min(n for n in fine if n >= axis.points)]


class Choices(NamedTuple):
    """Parameters of `Multigrid` with these names."""

    cycle: str = "V"
    pre: int = 1
    post: int = 1
    levels: int | None = None
    stretched: float = STRETCHED
    smoother: str = "red-black"
    weight: float = 0.8
    factors: tuple[float, ...] = (1.0,)

    def rate(self, grid: Grid, screened: float) -> float:
        """Return the reduction factor of the slowest (constant) error per sweep for a screening s q of `screened`."""
        diagonal = 2.0 * (grid.y.weight + grid.x.weight)
        once = diagonal / (diagonal + screened)
        return once**2 if self.smoother == "red-black" else 1.0 - self.weight * (1.0 - once)


class Plan(NamedTuple):
    """Plan: grids, finest first, layers s_m, parameters, and the required error reduction; see `Multigrid`."""

    grids: Sequence[Grid]
    layers: Sequence[float]
    choices: Choices
    enough: float

    def used(self, q: float) -> list[int]:
        """Return the number of grids visited by each layer for a minimum screening q; the first layers visit most."""
        counts = [self._grids_of(s * q) for s in self.layers]
        return np.maximum.accumulate(counts[::-1])[::-1].tolist()

    def _grids_of(self, screened: float) -> int:
        """Return the number of grids that a layer needs for a minimum screening s q of `screened`."""
        choices, enough = self.choices, self.enough
        sweeps = choices.pre + choices.post
        good = (n for n, grid in enumerate(self.grids, 1) if choices.rate(grid, screened) ** sweeps <= enough)
        return next(good, len(self.grids))

    def coarsest_sweeps(self, q: float) -> int:
        """Return the number of sweeps on the coarsest grid, from the rate of its slowest error.

        Raises
        ------
        InputError
            If the number is too large and the number of grids was not given.
        """
        rate = self.choices.rate(self.grids[-1], min(self.layers) * q)
        needed = 1 if rate == 0.0 else math.ceil(math.log(ENOUGH) / math.log(rate)) if rate < 1.0 else 2 * MAX_SWEEPS
        if needed > MAX_SWEEPS and self.choices.levels is None:
            if max(self.grids[-1].shape) <= 2:
                allowed = "a stronger screening, as the grid cannot be coarsened further"
                fix, problem = "Multigrid(..., levels=1), with more sweeps per cycle", "The screening is too weak."
                raise InputError(TOO_WEAK, allowed=allowed, fix=fix, problem=problem)
            raise InputError(
                f"{self.grids[0].shape} points, of which {self.grids[-1].shape} are left on the coarsest grid",
                allowed=f"numbers of points that can be halved more often: {advice(self.grids[0])}",
                fix="Multigrid(..., levels=1), with more sweeps per cycle",
                problem="The coarsest grid is too large.",
            )
        return max(1 if rate == 0.0 else self.choices.pre + self.choices.post, min(needed, MAX_SWEEPS))


def plan_of(
    shape: tuple[int, int],
    spacing: tuple[float, float],
    layers: Sequence[float],
    periodic: tuple[bool, bool],
    choices: Choices,
    enough: float,
) -> Plan:
    """Return the plan of a `Multigrid`.

    Raises
    ------
    InputError
        For invalid grids or cycles.
    """
    cycle, pre, post, levels, stretched, smoother, weight, factors = choices
    one_of("smoother", smoother, SMOOTHERS)
    checked_number("weight", weight, 0.0, 1.0)
    if np.ndim(shape) != 1 or len(shape) != 2 or any(n != int(n) or n < 1 for n in shape) or max(shape) < 2:
        raise InputError(f"shape = {shape}", allowed="(ny, nx), one of them 2 or more", fix="shape = (65, 129)")
    if np.ndim(spacing) != 1 or len(spacing) != 2 or not all(math.isfinite(d) and d > 0.0 for d in spacing):
        raise InputError(f"spacing = {spacing}", allowed="(dy, dx) above 0, m")
    s: Any = np.asarray(layers, float)
    if s.ndim != 1 or not s.size or not (np.isfinite(s) & (s > 0.0)).all():
        problem = "The layers are not a list of positive numbers."
        raise InputError(
            f"layers = {layers!r}", allowed="one or more numbers above 0", fix="layers=[1.0]", problem=problem
        )
    if cycle not in CYCLES:
        raise InputError(f"cycle = {cycle!r}", allowed=", ".join(CYCLES), fix='cycle="V"')
    if min(pre, post) < 0 or pre + post < 1:
        problem = "A cycle needs at least one smoothing sweep."
        raise InputError(
            f"pre, post = {(pre, post)}", allowed="a sum of 1 or more", fix="pre=1, post=1", problem=problem
        )
    if levels is not None and levels < 1:
        raise InputError(f"levels = {levels}", allowed="1 or more")
    if not stretched >= 1.0:
        raise InputError(f"stretched = {stretched}", allowed="1 or more", fix="stretched=1.5")
    if not factors or not all(math.isfinite(one) and one > 0.0 for one in factors):
        raise InputError(f"factors = {factors}", allowed="one or more numbers above 0", fix="factors=(1.0,)")
    y, x = (Axis(n, d, round_, factors) for n, d, round_ in zip(shape, spacing, periodic, strict=True))
    return Plan(sequence(y, x, levels, stretched), s.tolist(), choices, enough)
