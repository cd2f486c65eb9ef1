"""Steady waves by the stream-function method of Rienecker and Fenton, to rounding error.

Gauss-Newton solver for the nonlinear equations of a steady wave, in units of 1/k and gravity.

The equations are overdetermined: more points than modes. With equal numbers the equations of steep waves are nearly
singular, and rounding errors between the points grow by a factor of 1e6.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from eagre.constants import GRAVITY
from eagre.waves.checked import exactly_one, positive, whole
from eagre.waves.dispersion import checked_current, eulerian_from, longest_wave, small_wave_number
from eagre.waves.steady import Array, Profile, RegularWave, check_height, check_steepness, too_high

_MOST = 16  # maximum iterations; three to five suffice from a good guess
_SMALL = 1e-10  # convergence: the remaining error is the square of this change, or rounding error
_WEIGHT = 10.0  # weight of the conditions on mean level, height and period relative to a point


class Problem(NamedTuple):
    """Given parameters, scaled by a length l and gravity g; k l = lam is 1 if the length is known, else an unknown.

    Parameters
    ----------
    height, depth : float
        H / l and h / l (infinite: `numpy.inf`).
    current : float
        Given mean velocity divided by sqrt(g l) if the period is known; otherwise unused.
    kind : str
        ``"length"``, or for a given period the type of current, ``"eulerian"`` or ``"stokes"``.
    """

    height: float
    depth: float
    current: float = 0.0
    kind: str = "length"


class State(NamedTuple):
    """Unknowns of the problem.

    Parameters
    ----------
    eta : (2 n + 1,) array
        Elevation at theta = m pi / (2 n), from crest to trough.
    rest : (n + 3,) or (n + 4,) array
        B_1 .. B_n, mean speed, -transport, Bernoulli constant, and ln lam if the length is not given.
    error : float
        Largest residual of the pressure at the points.
    """

    eta: Array
    unknowns: Array
    error: float = 0.0

    def towards(self, other: State, factor: float) -> State:
        """Return the linear inter- or extrapolation between this state (factor 0) and another one (factor 1)."""
        change = (other.eta - self.eta) * factor, (other.unknowns - self.unknowns) * factor
        return State(self.eta + change[0], self.unknowns + change[1])


@lru_cache(maxsize=64)
def fourier_basis(n: int) -> tuple[Array, Array, Array]:
    """Return cosines and sines of j theta at the points, (2 n + 1, n), and j, (n,)."""
    j = np.arange(1.0, n + 1)
    angles = np.outer(np.arange(2 * n + 1), j) * (0.5 * np.pi / n)
    return np.cos(angles), np.sin(angles), j


def newton(guess: State, problem: Problem, n: int) -> State | None:
    """Return the wave with n modes, or None if the iteration does not converge to a regular wave."""
    eta, unknowns, last = guess.eta.copy(), guess.unknowns.copy(), np.inf
    with np.errstate(all="ignore"):
        for _ in range(_MOST):
            change = _change(eta, unknowns, problem, n)
            if change is None:
                return None
            eta, unknowns = eta + change.eta, unknowns + change.unknowns
            size = max(np.abs(change.eta).max(), np.abs(change.unknowns).max())
            if size < _SMALL or (size < 1e-7 and size > 0.3 * last):
                error = float(np.abs(surface_conditions(eta, unknowns, problem, n)[2]).max())
                return State(eta, unknowns, error) if _is_regular(eta, unknowns, n) else None
            if not size < 1e3:
                return None
            last = size
    return None


def _change(eta: Array, unknowns: Array, problem: Problem, n: int) -> State | None:
    """Return the next update; None if the equations are singular.

    M. M. Rienecker and J. D. Fenton (1981), doi:10.1017/S0022112081002851, equations 7 to 13, with the stream function
    and the Bernoulli constant relative to the mean level, so that infinite depth needs no special case. The change of
    eta at a point follows from the stream function there; the remaining pressure residual is solved by least squares.
    """
    stream, stream_p, head, head_p, u, head_eta = surface_conditions(eta, unknowns, problem, n)
    scale = u / np.hypot(u, head_eta)
    ratio = head_eta / u
    size = unknowns.size
    matrix, right = np.zeros((eta.size + 3, size)), np.zeros(eta.size + 3)
    matrix[:-3] = scale[:, None] * (head_p - ratio[:, None] * stream_p)
    right[:-3] = scale * (head - ratio * stream)
    slope, shift = stream_p / u[:, None], stream / u  # of eta: its change is -shift - slope @ (change of the unknowns)
    weights = np.full(eta.size, 0.5 / n)
    weights[[0, -1]] *= 0.5
    lam = float(np.exp(unknowns[-1])) if problem.kind != "length" else 1.0
    right[-3], matrix[-3] = weights @ (eta - shift), -weights @ slope
    right[-2] = (eta[0] - shift[0]) - (eta[-1] - shift[-1]) - lam * problem.height
    matrix[-2] = slope[-1] - slope[0]
    if problem.kind != "length":
        matrix[-2, -1] -= lam * problem.height
        right[-1], matrix[-1] = _period(problem, unknowns, lam, n)
    matrix[-3:] *= _WEIGHT
    right[-3:] *= _WEIGHT
    if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
        return None
    q, triangle = np.linalg.qr(matrix)
    try:
        change = -np.linalg.solve(triangle, q.T @ right)
    except np.linalg.LinAlgError:
        return None
    return State(-shift - slope @ change, np.asarray(change, np.float64))


def surface_conditions(eta: Array, unknowns: Array, problem: Problem, n: int) -> tuple[Array, ...]:
    """Residuals of streamfunction and pressure at the points, their derivatives by `unknowns` and by eta.

    Returns
    -------
    stream, (2n+1,); its derivatives (2n+1, size); head, (2n+1,); its derivatives; d stream / d eta; d head / d eta.
    """
    cosines, sines, j = fourier_basis(n)
    b, speed, q, r = unknowns[:n], unknowns[n], unknowns[n + 1], unknowns[n + 2]
    depth = problem.depth * (float(np.exp(unknowns[-1])) if problem.kind != "length" else 1.0)
    even, odd, tanh = _hyperbolic(eta, j, depth)
    cosh_cos, sinh_cos, sinh_sin, cosh_sin = even * cosines, odd * cosines, odd * sines, even * sines
    jb, jjb = j * b, j * j * b
    u, w = cosh_cos @ jb - speed, sinh_sin @ jb
    stream_p, head_p = np.zeros((2, eta.size, unknowns.size))
    stream_p[:, :n], stream_p[:, n], stream_p[:, n + 1] = sinh_cos, -eta, 1.0
    head_p[:, :n] = j * (u[:, None] * cosh_cos + w[:, None] * sinh_sin)
    head_p[:, n], head_p[:, n + 2] = -u, -1.0
    if problem.kind != "length" and np.isfinite(depth):
        stream_p[:, -1] = depth * ((cosh_cos - tanh * sinh_cos) @ jb)
        u_d, w_d = (sinh_cos - tanh * cosh_cos) @ jjb, (cosh_sin - tanh * sinh_sin) @ jjb
        head_p[:, -1] = depth * (u * u_d + w * w_d)
    stream, head = sinh_cos @ b - speed * eta + q, 0.5 * (u * u + w * w) + eta - r
    return stream, stream_p, head, head_p, u, u * (sinh_cos @ jjb) + w * (cosh_sin @ jjb) + 1.0


def _hyperbolic(eta: Array, j: Array, depth: float) -> tuple[Array, Array, Array]:
    """Return cosh j (eta + h) / cosh j h and sinh / cosh, (points, n), and tanh j h, without overflow."""
    down = np.exp(np.outer(eta, j))
    if np.isinf(depth):
        return down, down, np.ones_like(j)
    up = np.exp(np.outer(-eta - 2.0 * depth, j))
    scale = 1.0 + np.exp(-2.0 * j * depth)
    return (down + up) / scale, (down - up) / scale, np.tanh(j * depth)


def _period(problem: Problem, unknowns: Array, lam: float, n: int) -> tuple[float, Array]:
    """Return residual and derivatives by `unknowns` of c = 2 pi / (k T) with l = g T^2 / (4 pi^2)."""
    row, root, depth = np.zeros(unknowns.size), np.sqrt(lam), lam * problem.depth
    transport = unknowns[n + 1] / depth if problem.kind == "stokes" else 0.0
    row[n] = 1.0
    row[-1] = 0.5 * problem.current * root + 0.5 / root - transport
    if problem.kind == "stokes":
        row[n + 1] = 1.0 / depth
    return unknowns[n] + problem.current * root + transport - 1.0 / root, row


def _is_regular(eta: Array, unknowns: Array, n: int) -> bool:
    """Return whether the wave decreases from crest to trough and no water is faster than the wave."""
    crest_head = unknowns[n + 2] - eta[0]  # q^2 / 2 there
    falls = np.diff(eta) < 1e-7 * eta[0] + 1e-14
    return bool(unknowns[n] > 0.0 and crest_head > 0.0 and eta[0] > 0.0 and falls.all())


def linear_guess(height: float, depth: float, n: int, log_lam: float | None) -> State:
    """Return the linear wave of height k H in depth k h."""
    tanh = np.tanh(depth)
    speed, a = np.sqrt(tanh), 0.5 * height
    unknowns = np.zeros(n + 3 + (log_lam is not None))
    unknowns[0], unknowns[n], unknowns[n + 1], unknowns[n + 2] = a / speed, speed, -0.5 * a * a / speed, 0.5 * tanh
    if log_lam is not None:
        unknowns[-1] = log_lam
    return State(a * np.cos(np.arange(2 * n + 1) * (0.5 * np.pi / n)), unknowns)


def more_modes(state: State, n: int, m: int) -> State:
    """Return a wave of n modes as initial guess for m modes."""
    angles = np.outer(np.arange(2 * m + 1) * (0.5 * np.pi / m), np.arange(1, 2 * n + 1))
    unknowns = np.concatenate([state.unknowns[:n], np.zeros(m - n), state.unknowns[n:]])
    return State(np.cos(angles) @ elevation_modes(state.eta), unknowns)


def elevation_modes(eta: Array) -> Array:
    """Return E_1 .. E_n of sum E_j cos(j theta) through n + 1 points from crest to trough."""
    n = eta.size - 1
    weights = np.full(n + 1, 2.0 / n)
    weights[[0, -1]] = 1.0 / n
    modes = np.cos(np.outer(np.arange(1, n + 1), np.arange(n + 1)) * (np.pi / n)) @ (weights * eta)
    modes[-1] *= 0.5
    return modes


def profile_of(state: State, n: int) -> Profile:
    """Return the unknowns as a profile, without elevation modes at rounding level."""
    modes = elevation_modes(state.eta)
    count = int(np.flatnonzero(np.abs(modes) > 1e-17 * abs(modes[0]))[-1]) + 1
    return Profile(
        modes[:count], state.unknowns[:n].copy(),
        float(state.unknowns[n]), float(-state.unknowns[n + 1]), float(state.unknowns[n + 2]),
    )  # fmt: skip


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
