"""Continuation in the wave height, from a linear wave to the requested height, with adaptive number of modes."""

from __future__ import annotations

import math

from eagre.waves.nonlinear.newton import Problem, State, linear_guess, more_modes, newton

MODES = (8, 12, 16, 22, 30, 40, 54, 72, 96, 128, 170, 224)
_ROUGH, _FINE = 1e-8, 3e-14  # pressure residual relative to the height: for intermediate waves, and for the final one
_SMALLEST_STEP = 1e-3

Path = list[tuple[float, State]]
"""The last two waves, with their fractions of the requested height."""


def solve(problem: Problem, order: int | None, log_lam: float | None) -> tuple[State | None, int, float]:
    """Return the wave, its number of modes, and the fraction of the requested height that was reached.

    problem : problem with the requested height; order : number of modes, or None to refine up to rounding error;
    log_lam : initial guess of ln lam if the length is not given.
    """
    n, path = order or MODES[0], []
    lam = 1.0 if log_lam is None else math.exp(log_lam)
    scaled_height, depth = lam * problem.height, lam * problem.depth
    done, step = 0.0, min(1.0, _nearly_linear(depth) / scaled_height)
    while done < 1.0:
        target = min(1.0, done + step)
        guess = _predicted(path, target) if path else linear_guess(target * scaled_height, depth, n, log_lam)
        solution = newton(guess, problem._replace(height=target * problem.height), n)
        if solution is None:
            step *= 0.5
            if step < _SMALLEST_STEP * min(1.0, target):
                break
            continue
        done, step, path = target, 2.0 * step, [*path[-1:], (target, solution)]
        if order is None:
            path, n = _refined(path, problem, n, _FINE if done == 1.0 else _ROUGH)
    return (path[-1][1] if path else None), n, done


def _nearly_linear(depth: float) -> float:
    """Return the height k H of the first wave of the continuation: steepness 0.08, Ursell number 6."""
    return min(0.5, 2.0 * depth**3 / (4.0 * math.pi**2))


def _predicted(path: Path, target: float) -> State:
    """Return the wave at a fraction of the height, extrapolated linearly from the last two waves."""
    if len(path) == 1:
        return path[0][1]
    (a, previous), (b, last) = path
    return previous.towards(last, (target - a) / (b - a))


def _refined(path: Path, problem: Problem, n: int, tolerance: float) -> tuple[Path, int]:
    """Add modes until the residual between the points is small or no longer decreases."""
    fraction, state = path[-1]
    while state.error > tolerance * float(state.eta[0] - state.eta[-1]):
        wider = next((m for m in MODES if m > n), None)
        target = problem._replace(height=fraction * problem.height)
        better = wider and newton(more_modes(state, n, wider), target, wider)
        if not better or not wider or better.error > 0.7 * state.error:
            break
        path, n, state = [(s, more_modes(u, n, wider)) for s, u in path[:-1]] + [(fraction, better)], wider, better
    return path, n
