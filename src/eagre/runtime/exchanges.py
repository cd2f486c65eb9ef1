"""Halo exchanges and barriers of a step, derived from the rows that its stages read and write.

The plan depends on the declarations only, which are the same in all processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from eagre.errors import EagreError
from eagre.runtime.stage import ALL

Sync = tuple[str, ...]
"""Arrays that are exchanged after a barrier; without arrays only the barrier."""


class Access(NamedTuple):
    """Declaration of a stage, with names of arrays; see `eagre.runtime.stage.Stage`."""

    stage: str
    reads: Mapping[str, int]
    writes: Sequence[str]
    extent: int = 0

    def needs(self, array: str) -> int:
        """Return the number of valid halo rows that the stage needs, or `ALL`."""
        return min(self.reads[array] + self.extent, ALL) if array in self.reads else 0


def planned(steps: Sequence[Sequence[Access]], halo: int, repeats: bool = True) -> list[list[list[Sync]]]:
    """Return the synchronisations before each stage of consecutive steps.

    Parameters
    ----------
    steps : sequence of sequences of Access
    halo : int
        Halo rows of a rank.
    repeats : bool
        Whether the first step follows the last one. Otherwise halo rows are invalid at the start.

    Raises
    ------
    EagreError
        If a stage needs more rows than the halo has.
    """
    stages = [stage for step in steps for stage in step]
    for stage in stages:
        for array in stage.reads:
            if halo < stage.needs(array) < ALL:
                raise EagreError(f"{stage.stage} needs {stage.needs(array)} halo rows of {array}; there are {halo}")
    valid = dict.fromkeys((array for one in stages for array in (*one.reads, *one.writes)), ALL if repeats else 0)
    exchanged: list[Sync] = []
    for _ in range(len(stages) + 2):  # until the halo rows at the end agree with those at the start
        previous, exchanged = exchanged, _exchanged(stages, valid, halo, repeats)
        if exchanged == previous or not repeats:
            break
    else:
        raise EagreError("The exchanges of a step depend on the exchanges of all steps before it.")
    syncs = iter(_with_barriers(stages, exchanged, repeats))
    return [[next(syncs) for _ in step] for step in steps]


def _exchanged(stages: list[Access], valid: dict[str, int], halo: int, repeats: bool) -> list[Sync]:
    """Return the arrays that are exchanged before each stage; `valid` : numbers of valid halo rows, updated."""
    with_slots = {array for stage in stages for array in stage.reads if stage.reads[array] >= ALL}
    exchanged = []
    for k, stage in enumerate(stages):
        stale = any(valid[array] < stage.needs(array) for array in stage.reads)
        # An exchange includes all arrays that will be read with more rows before they are written again.
        together = [array for array in valid if valid[array] < _next_need(stages, k, array, repeats)] if stale else []
        valid |= {array: ALL if array in with_slots else halo for array in together}
        valid |= dict.fromkeys(stage.writes, stage.extent)
        exchanged.append(tuple(together))
    return exchanged


def _next_need(stages: list[Access], k: int, array: str, repeats: bool) -> int:
    """Return the halo rows that stages from number k on need of an array before it is written again."""
    needed = 0
    for stage in (*stages[k:], *(stages[:k] if repeats else ())):
        needed = max(needed, stage.needs(array))
        if array in stage.writes:
            break
    return needed


def _with_barriers(stages: list[Access], exchanged: list[Sync], repeats: bool) -> list[list[Sync]]:
    """Return the synchronisations of all stages: exchanges and barriers, after which rows can be overwritten."""
    syncs: list[list[Sync]] = [[one] if one else [] for one in exchanged]
    copied: set[str] = set()
    for _ in range(2 if repeats else 1):
        for stage, preceding in zip(stages, syncs, strict=True):
            copied = set(preceding[-1]) if preceding else copied
            if copied & set(stage.writes):
                preceding.append(())
                copied = set()
    return syncs
