"""Search strategy: exhaustive for small search spaces, otherwise coordinate descent from the shipped choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eagre.tuning.space import Choice, identity

SMALL_SPACE = 48  # maximum size of spaces that are searched exhaustively
MIN_STEP_GAIN = 0.003  # minimum relative gain of a change along an axis; smaller gains are noise
Cost = Callable[[Choice], float]
CompileNext = Callable[[Sequence[Choice]], None]


def search(choices: Sequence[Choice], cost: Cost, compile_next: CompileNext = lambda choices: None) -> list[Choice]:
    """Return the tried choices, the best first.

    Parameters
    ----------
    choices : sequence
        All allowed choices; a descent starts at the first.
    cost : callable
        Returns the seconds of a choice, infinite for a failure; called once per choice.
    compile_next : callable
        Called with the choices that are tried next.
    """
    costs: dict[str, float] = {}

    def known(choice: Choice) -> float:
        if identity(choice) not in costs:
            costs[identity(choice)] = cost(choice)
        return costs[identity(choice)]

    if len(choices) <= SMALL_SPACE:
        compile_next(choices)
        for choice in choices:
            known(choice)
    else:
        descend(choices[0], choices, known, compile_next)
    tried = [choice for choice in choices if identity(choice) in costs]
    return sorted(tried, key=known)


def descend(
    start: Choice, choices: Sequence[Choice], cost: Cost, compile_next: CompileNext = lambda choices: None
) -> Choice:
    """Return the best choice found by changing one axis at a time, in order, until no change helps."""
    best, axes = start, tuple(max(choices, key=len))
    while True:
        previous = best
        for axis in axes:
            others = _without(best, axis)
            variants = [choice for choice in choices if _without(choice, axis) == others]
            compile_next(variants)
            candidate = min((best, *variants), key=cost)
            best = candidate if cost(candidate) < (1.0 - MIN_STEP_GAIN) * cost(best) else best
        if best == previous:
            return best


def _without(choice: Choice, axis: str) -> dict[str, object]:
    return {name: value for name, value in choice.items() if name != axis}
