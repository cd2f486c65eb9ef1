"""Solutions of linear gyres and basin modes on [0, pi] x [0, pi], and the double gyre of Bleichrodt (2011).

F. Bleichrodt, Accelerating finite differences for solving a barotropic ocean model on the GPU, MSc thesis, Utrecht
University (2011).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np


def munk_profile(x: np.ndarray, alpha: float, beta: float, viscosity: float) -> np.ndarray:
    """Return phi of the steady linear free-slip gyre psi = phi(x) sin 2y with the wind-stress curl -alpha sin 2y.

    A (phi'''' - 8 phi'' + 16 phi) - beta phi' = alpha, phi = phi'' = 0 at 0 and pi: four exponentials and
    a constant (W. H. Munk, J. Meteorol. 7, 80-93 (1950)).
    """
    roots = np.roots([1.0, 0.0, -8.0, -beta / viscosity, 16.0])
    constant = alpha / (16.0 * viscosity)
    # Scaled so that each exponential is at most 1 within the basin.
    shift = np.where(roots.real > 0.0, np.pi, 0.0)
    rows = [roots**power * np.exp(roots * (end - shift)) for end in (0.0, np.pi) for power in (0, 2)]
    weights = np.linalg.solve(np.array(rows), np.array([-constant, 0.0, -constant, 0.0]))
    return (np.exp(roots * (x[:, None] - shift)) @ weights).real + constant


def munk_profile_discrete(n: int, alpha: float, beta: float, viscosity: float) -> np.ndarray:
    """Return the same with second differences on n intervals, (n + 1,): the discrete steady state of the model."""
    h = np.pi / n
    size = n - 1
    second = (np.diag(np.ones(size - 1), 1) + np.diag(np.ones(size - 1), -1) - 2.0 * np.eye(size)) / h**2
    first = (np.diag(np.ones(size - 1), 1) - np.diag(np.ones(size - 1), -1)) / (2.0 * h)
    wave = second - (2.0 / h * np.sin(h)) ** 2 * np.eye(size)  # the second difference of sin 2y is exact
    phi = np.linalg.solve(viscosity * wave @ wave - beta * first, np.full(size, alpha))
    return np.concatenate([[0.0], phi, [0.0]])


def stommel_profile(x: np.ndarray, alpha: float, beta: float, friction: float) -> np.ndarray:
    """Return phi of the linear gyre with bottom friction: mu (phi'' - 4 phi) + beta phi' = -alpha, phi = 0 at the ends.

    H. Stommel, Trans. AGU 29, 202-206 (1948), doi:10.1029/TR029i002p00202.
    """
    roots = np.roots([friction, beta, -4.0 * friction])
    constant = alpha / (4.0 * friction)
    shift = np.where(roots > 0.0, np.pi, 0.0)
    rows = np.array([np.exp(roots * (end - shift)) for end in (0.0, np.pi)])
    weights = np.linalg.solve(rows, [-constant, -constant])
    return np.exp(roots * (x[:, None] - shift)) @ weights + constant


def basin_mode(x: np.ndarray, y: np.ndarray, t: float, beta: float) -> np.ndarray:
    """Return the inviscid Rossby mode cos(beta x / 2w + w t) sin(x) sin(y), w = beta / (2 sqrt(2))."""
    w = mode_frequency(beta)
    return np.cos(beta * x / (2.0 * w) + w * t) * np.sin(x) * np.sin(y)[:, None]


def mode_frequency(beta: float) -> float:
    """Return the angular frequency of `basin_mode`."""
    return beta / (2.0 * np.hypot(1.0, 1.0))


if TYPE_CHECKING:
    from eagre.backend.device import Device
    from eagre.models.barotropic.model import BarotropicVorticity

SCHEME: dict[str, Any] = {"jacobian": "advective", "scheme": "ab2"}
"""Options of the source."""
VARIANTS: dict[str, dict[str, Any]] = {"bleichrodt2011": SCHEME, "default": {}}


def double_gyre(
    points: int, device: str | Device, precision: str, variant: str = "default", **options: Any
) -> BarotropicVorticity:
    """The model at rest: `points` per side, Re = 20.83, dt = 1e-7, free slip; options : of `BarotropicVorticity`."""
    from eagre.models.barotropic.model import BarotropicVorticity

    return BarotropicVorticity.double_gyre(points, device=device, precision=precision, **VARIANTS[variant], **options)
