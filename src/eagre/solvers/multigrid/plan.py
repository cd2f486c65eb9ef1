"""Plan of a multigrid solver: parameters, grids, and the number of grids per layer from convergence rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.checks import checked_number, one_of
from eagre.errors import InputError
from eagre.solvers.multigrid.grids import STRETCHED, Axis, Grid, advice, sequence

CYCLES = ("V", "W", "F")
SMOOTHERS = ("red-black", "jacobi")
ENOUGH = 0.1  # error reduction by the sweeps on the coarsest grid
MAX_SWEEPS = 200
TOO_WEAK = "a screening that hardly controls the mean on this grid"


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
