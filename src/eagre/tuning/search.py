"""Search strategy: exhaustive for small search spaces, otherwise coordinate descent from the shipped choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eagre.tuning.space import Choice, identity

SMALL_SPACE = 48  # maximum size of spaces that are searched exhaustively
LEAST_STEP = 0.003  # minimum relative gain of a change along an axis; smaller gains are noise
Cost = Callable[[Choice], float]
Ahead = Callable[[Sequence[Choice]], None]


def search(choices: Sequence[Choice], cost: Cost, ahead: Ahead = lambda choices: None) -> list[Choice]:
    """Return the tried choices, the best first.

    Parameters
    ----------
    choices : sequence
        All allowed choices; a descent starts at the first.
    cost : callable
        Returns the seconds of a choice, infinite for a failure; called once per choice.
    ahead : callable
        Called with the choices that are tried next.
    """
    costs: dict[str, float] = {}

    def known(choice: Choice) -> float:
        if identity(choice) not in costs:
            costs[identity(choice)] = cost(choice)
        return costs[identity(choice)]

    if len(choices) <= SMALL_SPACE:
        ahead(choices)
        for choice in choices:
            known(choice)
    else:
        descend(choices[0], choices, known, ahead)
    tried = [choice for choice in choices if identity(choice) in costs]
    return sorted(tried, key=known)


def descend(start: Choice, choices: Sequence[Choice], cost: Cost, ahead: Ahead = lambda choices: None) -> Choice:
    """Return the best choice found by changing one axis at a time, in order, until no change helps."""
    best, axes = start, tuple(max(choices, key=len))
    while True:
        before = best
        for axis in axes:
            rest = _without(best, axis)
            beside = [choice for choice in choices if _without(choice, axis) == rest]
            ahead(beside)
            found = min((best, *beside), key=cost)
            best = found if cost(found) < (1.0 - LEAST_STEP) * cost(best) else best
        if best == before:
            return best


def _without(choice: Choice, axis: str) -> dict[str, object]:
    return {name: value for name, value in choice.items() if name != axis}
