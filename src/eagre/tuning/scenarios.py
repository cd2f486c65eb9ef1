"""Which stages of a stencil code to fuse: arrays that pass through memory, times the overhead of tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

Reach = tuple[int, int]  # elements towards the low and towards the high end of an axis


@dataclass(frozen=True)
class Stage:
    """A kernel: of each array that it writes, what it reads and how far from its own element along an axis."""

    name: str
    formulas: dict[str, dict[str, Reach]]

    @property
    def writes(self) -> tuple[str, ...]:
        """Arrays that it writes."""
        return tuple(self.formulas)

    @property
    def reads(self) -> dict[str, Reach]:
        """Arrays that it reads."""
        found: dict[str, Reach] = {}
        for formula in self.formulas.values():
            for name, reach in formula.items():
                found[name] = _farther(found.get(name, HERE), reach)
        return found

    @property
    def accesses(self) -> int:
        """Words of a cell that pass through memory."""
        return len(self.reads) + len(self.writes)

    @property
    def halo(self) -> int:
        """Elements of a tile's halo."""
        return max(max(reach) for reach in self.reads.values())


def _farther(a: Reach, b: Reach) -> Reach:
    """What covers both."""
    return max(a[0], b[0]), max(a[1], b[1])


HERE, LOW, HIGH, BOTH = (0, 0), (1, 0), (0, 1), (1, 1)
_BETA = {"x": BOTH, "xp": BOTH, "a1": HIGH, "a2": HERE, "a3": HERE, "h": HERE}

# Reaches along the first axis: on the others the components change places. That the lower element of a face is its left
# neighbour is Figure 3 of the paper.
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
"""The six kernels of the paper: donor cell, antidiffusive fluxes (twice), factors of the limiter, limiter, update."""


def fused(stages: Sequence[Stage], outside: Sequence[Stage] = ()) -> Stage:
    """One kernel in place of consecutive stages.

    It reads what the stages read and do not make themselves, and writes what `outside`, the stages that follow, reads,
    or what nobody reads: the result.
    """
    formulas = {name: formula for stage in stages for name, formula in stage.formulas.items()}
    used = {name for formula in formulas.values() for name in formula}
    wanted = {name for stage in outside for name in stage.reads}
    writes = [name for name in formulas if name in wanted or name not in used]
    far: dict[str, Reach] = dict.fromkeys(writes, HERE)
    for made in reversed(formulas):
        low, high = far[made]
        for name, reach in formulas[made].items():
            far[name] = _farther(far.get(name, HERE), (low + reach[0], high + reach[1]))
    reads = {name: reach for name, reach in far.items() if name not in formulas}
    return Stage("".join(stage.name for stage in stages), dict.fromkeys(writes, reads))


def grouped(stages: Sequence[Stage], ends: Sequence[int]) -> list[Stage]:
    """Kernels of the stages before each of `ends` and of those after the last one."""
    edges = [0, *ends, len(stages)]
    return [fused(stages[a:b], stages[b:]) for a, b in pairwise(edges)]


def words(kernels: Sequence[Stage]) -> int:
    """Words of a cell that pass through memory."""
    return sum(one.accesses for one in kernels)


def best_groups(stages: Sequence[Stage], count: int) -> list[Stage]:
    """Consecutive stages in so many kernels, with the fewest words through memory."""
    choices = [grouped(stages, ends) for ends in combinations(range(1, len(stages)), count - 1)]
    return min(choices, key=words)


def cost(accesses: int, overhead: float) -> float:
    """Cost of a scenario, as the paper ranks them: arrays moved, times the overhead of tiles."""
    return accesses * overhead


def cells_per_second(kernels: Sequence[Stage], bandwidth: float, word: int = 8, overhead: float = 1.0) -> float:
    """Cells that memory of so many bytes a second lets pass; a bound, where arithmetic does not bind before."""
    return bandwidth / (words(kernels) * word * overhead)
