"""Grid hierarchy of a multigrid cycle."""

from __future__ import annotations

from typing import NamedTuple

from eagre.errors import InputError

STRETCHED = 4.0 / 3.0  # maximum ratio of spacings for coarsening: red-black sweeps do not smooth the coarser axis


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
