"""Gauss-Newton solver for the nonlinear equations of a steady wave, in units of 1/k and gravity.

The equations are overdetermined: more points than modes. With equal numbers the equations of steep waves are nearly
singular, and rounding errors between the points grow by a factor of 1e6.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from eagre.waves.nonlinear.steady import Array, Profile

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
