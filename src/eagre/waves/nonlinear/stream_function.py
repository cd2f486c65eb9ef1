"""Steady waves by the stream-function method of Rienecker and Fenton, to rounding error."""

from __future__ import annotations

import math

from eagre.constants import GRAVITY
from eagre.waves.checked import exactly_one, positive, whole
from eagre.waves.currents import checked_current, eulerian_from, longest_wave, small_wave_number
from eagre.waves.nonlinear.breaking import check_height, check_steepness, too_high
from eagre.waves.nonlinear.newton import Problem, State, linear_guess, more_modes, newton, profile_of
from eagre.waves.nonlinear.steady import RegularWave

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


MAX_MODES = 300
_LARGEST_RESIDUAL = 1e-5  # relative to the height


class StreamFunctionWave(RegularWave):
    """Steady periodic wave in any depth, up to nearly the limiting height (stream-function theory).

    Parameters
    ----------
    height : float, m
        Wave height from crest to trough.
    depth : float, m
        Mean water depth; ``math.inf`` for infinite depth.
    length, period : float, m or s
        Exactly one of the two.
    eulerian_current, stokes_current : float, m/s
        Exactly one of the two, positive in the wave direction: the mean velocity at a fixed point below the troughs, or
        the volume flux divided by the depth (mass transport velocity; 0 in a closed flume). They differ by the Stokes
        transport of the wave. In infinite depth they are equal, and only `eulerian_current` is accepted.
    gravity : float, m s-2
        Acceleration of gravity.
    direction : float, rad
        Direction of travel, from the x axis towards the y axis.
    phase : float, rad
        Phase at x = y = t = 0; 0 at a crest.
    order : int, optional
        Number of modes; default: chosen for an error at rounding level.

    Attributes
    ----------
    order : int
        Number of modes.
    residual : float
        Largest residual of the pressure at the surface, as a head, m.

    Raises
    ------
    InputError
        If the wave is higher than the highest steady wave, or so close to it that the solver fails; the message reports
        H/L and H/h with their limits. Also if H/L is below 1e-6.

    Notes
    -----
    M. M. Rienecker and J. D. Fenton (1981), doi:10.1017/S0022112081002851; J. D. Fenton (1988),
    doi:10.1016/0098-3004(88)90066-0. The Gauss-Newton method solves the nonlinear equations in the least-squares sense
    at twice as many points as modes. Steep and long waves are reached in steps of the height.

    Good values: the default `order`. Limits: errors are at rounding level up to 95 % of the limiting height and
    L/h = 50, and 1e-8 of the height at 98 %. Waves with a `residual` above 1e-5 of the height are rejected.
    """

    def __init__(
        self, height: float, depth: float, *, length: float | None = None, period: float | None = None,
        eulerian_current: float | None = None, stokes_current: float | None = None, gravity: float = GRAVITY,
        direction: float = 0.0, phase: float = 0.0, order: int | None = None,
    ) -> None:  # fmt: skip
        height, depth = positive("height", height, "m"), positive("depth", depth, "m", infinite=True)
        gravity = positive("gravity", gravity, "m s-2", GRAVITY)
        order = None if order is None else whole("order", order, 2, MAX_MODES)
        current, kind = checked_current(eulerian_current, stokes_current, depth)
        if exactly_one({"length": length, "period": period}, "length = 10.0, or period = 2.5") == "length":
            problem, unit, log_lam = _of_length(height, depth, positive("length", length, "m"))
        else:
            period = positive("period", period, "s")
            problem, unit, log_lam = _of_period(height, depth, period, gravity, current, kind)
        state, n, reached = solve(problem, order, log_lam)
        if log_lam is not None:
            unit /= math.exp(log_lam if state is None else state.unknowns[-1])
        if (
            state is None
            or reached < 1.0
            or (order is None and state.error > _LARGEST_RESIDUAL * height / unit + 1e-14)
        ):
            raise too_high(height, 2.0 * math.pi * unit, depth, min(reached, 0.99) * height)
        profile = profile_of(state, n)
        self.order, self.residual = n, state.error * unit
        eulerian = eulerian_from(current, kind, profile.transport, unit, depth, gravity)
        super().__init__(
            profile, height=height, depth=depth, gravity=gravity, wave_number=1.0 / unit,
            eulerian_current=eulerian, direction=direction, phase=phase,
        )  # fmt: skip


def _of_length(height: float, depth: float, length: float) -> tuple[Problem, float, None]:
    """Return the equations of a wave of given length, m, and their unit of length 1/k, m."""
    check_height(height, length, depth)
    check_steepness(height, length)
    unit = length / (2.0 * math.pi)
    return Problem(height / unit, depth / unit), unit, None


def _of_period(
    height: float, depth: float, period: float, gravity: float, current: float, kind: str
) -> tuple[Problem, float, float]:
    """Return the equations of a wave of given period, s, their unit, m, and ln(k unit) of the linear wave."""
    k = small_wave_number(period, depth, gravity, current)
    check_steepness(height, 2.0 * math.pi / k)
    check_height(height, longest_wave(period, depth, gravity, current), depth)
    unit = gravity * (period / (2.0 * math.pi)) ** 2
    problem = Problem(height / unit, depth / unit, current / math.sqrt(gravity * unit), kind)
    return problem, unit, math.log(unit * k)
