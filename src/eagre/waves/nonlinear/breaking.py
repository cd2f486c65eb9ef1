"""Height of the highest steady wave (limiting wave)."""

from __future__ import annotations

import math

import numpy as np

from eagre.errors import InputError

_ABOVE = (0.0077829, 0.0095721, 0.141063, 0.0)
_BELOW = (0.0093407, 0.0317567, 0.0788340, 1.0)
_LEAST_STEEPNESS = 1e-6


def highest_wave(length: float, depth: float) -> float:
    """Return the height, m, of the highest steady wave of a length, m, in a depth, m (``math.inf``: 0.141063 length).

    J. D. Fenton (1990), Nonlinear wave theories, in The Sea 9A, equation 32: a fit of the results of
    J. M. Williams (1981), doi:10.1098/rsta.1981.0159. Real waves break earlier.
    """
    if math.isinf(depth):
        return _ABOVE[2] * length
    ratio = length / depth
    return depth * float(np.polyval(_ABOVE, ratio) / np.polyval(_BELOW, ratio))


def check_height(height: float, length: float, depth: float) -> None:
    """Reject a wave above `highest_wave`; arguments in m."""
    highest = highest_wave(length, depth)
    if height > highest:
        raise too_high(height, length, depth)


def check_steepness(height: float, length: float) -> None:
    """Reject a wave so low that rounding errors dominate the nonlinear equations; arguments in m."""
    if height < _LEAST_STEEPNESS * length:
        raise InputError(
            f"a wave with H/L = {height / length:.3g}", allowed=f"at least {_LEAST_STEEPNESS:g} for this theory",
            fix="AiryWave(...)",
        )  # fmt: skip


def too_high(height: float, length: float, depth: float, reached: float = 0.0) -> InputError:
    """Return the error for a wave above the highest one, or so close to it that the solver failed.

    reached : largest height, m, with a solution; 0 if unknown.
    """
    highest = highest_wave(length, depth)
    relative = "" if math.isinf(depth) else f", H/h = {height / depth:.4f} (limit {highest / depth:.4f})"
    what = f"a wave of height {height:g} m and length {length:.6g} m in {depth:g} m of water: "
    if height < 0.9 * highest and length > 50.0 * depth:
        return InputError(
            f"{what}L/h = {length / depth:.4g}{relative}", allowed="waves up to about 100 depths long",
            fix=f"length = {50.0 * depth:g}",
        )  # fmt: skip
    hint = f"; solutions were found up to H = {reached:.4g} m" if 0.0 < reached < highest else ""
    return InputError(
        f"{what}H/L = {height / length:.5f} (limit {highest / length:.5f}){relative}{hint}",
        allowed="waves below the highest one (Fenton 1990)",
        fix=f"height = {0.95 * min(highest, reached or highest):.3g}",
    )
