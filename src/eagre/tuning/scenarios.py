"""Kernel fusion of stencil stages: memory traffic times the overhead of tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

StencilRadius = tuple[int, int]  # stencil radius towards the low and the high end of an axis


@dataclass(frozen=True)
class Stage:
    """Stencil kernel: for each array written, the arrays read with their stencil radius along an axis."""

    name: str
    formulas: dict[str, dict[str, StencilRadius]]

    @property
    def writes(self) -> tuple[str, ...]:
        """Arrays written by the stage."""
        return tuple(self.formulas)

    @property
    def reads(self) -> dict[str, StencilRadius]:
        """Arrays read by the stage."""
        radii: dict[str, StencilRadius] = {}
        for formula in self.formulas.values():
            for name, radius in formula.items():
                radii[name] = _farther(radii.get(name, HERE), radius)
        return radii

    @property
    def accesses(self) -> int:
        """Number of values per cell that pass through memory."""
        return len(self.reads) + len(self.writes)

    @property
    def halo(self) -> int:
        """Return the halo width of a tile, elements."""
        return max(max(radius) for radius in self.reads.values())


def _farther(a: StencilRadius, b: StencilRadius) -> StencilRadius:
    """Return the union of two stencil radii."""
    return max(a[0], b[0]), max(a[1], b[1])


HERE, LOW, HIGH, BOTH = (0, 0), (1, 0), (0, 1), (1, 1)
_BETA = {"x": BOTH, "xp": BOTH, "a1": HIGH, "a2": HERE, "a3": HERE, "h": HERE}

# Stencil radii along the first axis; on the other axes the components are permuted. The lower element of a face is its
# left neighbour (Figure 3 of the paper).
MPDATA = (
    Stage("A", {"xp": {"x": BOTH, "v1": HIGH, "v2": HERE, "v3": HERE, "h": HERE}}),
    Stage(
        "B",
        {
            "a1": {"xp": LOW, "v1": HERE, "v2": LOW, "v3": LOW, "h": LOW},
            "part": {"xp": BOTH, "v1": HIGH, "v2": HERE, "h": HERE},
        },
    ),
    Stage(
        "C",
        {
            "a2": {"part": HERE, "xp": HERE, "v2": HERE, "v3": HERE, "h": HERE},
            "a3": {"xp": BOTH, "v1": HIGH, "v2": HERE, "v3": HERE, "h": HERE},
        },
    ),
    Stage("D", {"cp": _BETA, "cn": _BETA}),
    Stage(
        "E",
        {
            "l1": {"a1": HERE, "cp": LOW, "cn": LOW},
            "l2": {"a2": HERE, "cp": HERE, "cn": HERE},
            "l3": {"a3": HERE, "cp": HERE, "cn": HERE},
        },
    ),
    Stage("F", {"new": {"xp": HERE, "l1": HIGH, "l2": HERE, "l3": HERE, "h": HERE}}),
)
"""The six kernels of the paper: donor cell, antidiffusive fluxes (twice), limiter factors, limiter, update."""


def fused(stages: Sequence[Stage], outside: Sequence[Stage] = ()) -> Stage:
    """Return one kernel that replaces consecutive stages.

    It reads all input of the stages that they do not compute themselves. It writes the arrays that the following stages
    `outside` read, and arrays that no stage reads: the result.
    """
    formulas = {name: formula for stage in stages for name, formula in stage.formulas.items()}
    used = {name for formula in formulas.values() for name in formula}
    needed = {name for stage in outside for name in stage.reads}
    writes = [name for name in formulas if name in needed or name not in used]
    far: dict[str, StencilRadius] = dict.fromkeys(writes, HERE)
    for array in reversed(formulas):
        low, high = far[array]
        for name, radius in formulas[array].items():
            far[name] = _farther(far.get(name, HERE), (low + radius[0], high + radius[1]))
    reads = {name: radius for name, radius in far.items() if name not in formulas}
    return Stage("".join(stage.name for stage in stages), dict.fromkeys(writes, reads))


def grouped(stages: Sequence[Stage], ends: Sequence[int]) -> list[Stage]:
    """Return fused kernels for the groups of stages that end before each of `ends` and at the last stage."""
    edges = [0, *ends, len(stages)]
    return [fused(stages[a:b], stages[b:]) for a, b in pairwise(edges)]


def words(kernels: Sequence[Stage]) -> int:
    """Return the number of values per cell that pass through memory."""
    return sum(one.accesses for one in kernels)


def best_groups(stages: Sequence[Stage], count: int) -> list[Stage]:
    """Return consecutive stages in `count` kernels with minimum memory traffic."""
    choices = [grouped(stages, ends) for ends in combinations(range(1, len(stages)), count - 1)]
    return min(choices, key=words)


def cost(accesses: int, overhead: float) -> float:
    """Return the cost of a scenario as in the paper: number of arrays moved times the overhead of tiles."""
    return accesses * overhead


def cells_per_second(kernels: Sequence[Stage], bandwidth: float, word: int = 8, overhead: float = 1.0) -> float:
    """Return the cells per second allowed by a memory bandwidth, bytes/s (upper bound)."""
    return bandwidth / (words(kernels) * word * overhead)
