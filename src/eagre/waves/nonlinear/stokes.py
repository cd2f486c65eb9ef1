"""Stokes waves: waves of moderate height in deep and intermediate water."""

from __future__ import annotations

import math
from collections.abc import Callable

from eagre.constants import GRAVITY
from eagre.errors import InputError
from eagre.waves.checked import exactly_one, positive, whole
from eagre.waves.currents import checked_current, eulerian_from, longest_wave, small_wave_number
from eagre.waves.nonlinear.breaking import check_height, too_high
from eagre.waves.nonlinear.steady import Profile, RegularWave
from eagre.waves.nonlinear.stokes_series import stokes_series

MAX_URSELL = 40.0
"""Largest valid Ursell number H L^2 / h^3: T. S. Hedges (1995), doi:10.1680/iwtme.1995.27656."""


class StokesWave(RegularWave):
    """Steady wave by the Stokes expansion, of fifth order by default.

    Parameters
    ----------
    height, depth, length, period, eulerian_current, stokes_current, gravity, direction, phase
        See `StreamFunctionWave`.
    order : int
        Order of the expansion in k H / 2, 1 to 9.

    Raises
    ------
    InputError
        If the wave is higher than the highest steady wave, or too long for the expansion (H L^2 / h^3 > 40).

    Notes
    -----
    J. D. Fenton (1985), doi:10.1061/(ASCE)0733-950X(1985)111:2(216). The coefficients are computed for the
    depth and not taken from the published tables. The error of the surface conditions is of order
    (k H / 2)^(order + 1).

    Good values: H / L below 0.08. Limits: at order 5 the error of the celerity is 1e-4 at H / L = 0.1 in deep water and
    larger in shallow water; `StreamFunctionWave` has no such error.
    """

    def __init__(
        self, height: float, depth: float, *, length: float | None = None, period: float | None = None,
        eulerian_current: float | None = None, stokes_current: float | None = None, gravity: float = GRAVITY,
        direction: float = 0.0, phase: float = 0.0, order: int = 5,
    ) -> None:  # fmt: skip
        height, depth = positive("height", height, "m"), positive("depth", depth, "m", infinite=True)
        gravity = positive("gravity", gravity, "m s-2", GRAVITY)
        self.order = whole("order", order, 1, 9)
        current, kind = checked_current(eulerian_current, stokes_current, depth)

        def profile(k: float) -> Profile:
            return stokes_series(k * depth, self.order).evaluate(0.5 * k * height)

        if exactly_one({"length": length, "period": period}, "length = 10.0, or period = 2.5") == "length":
            k = 2.0 * math.pi / positive("length", length, "m")
        else:
            k = _of_period(profile, positive("period", period, "s"), height, depth, gravity, current, kind)
        length = 2.0 * math.pi / k
        check_height(height, length, depth)
        ursell = height * length**2 / depth**3
        if ursell > MAX_URSELL:
            raise InputError(
                f"H L^2 / h^3 = {ursell:.4g} of a wave of height {height:g} m and length {length:.6g} m",
                allowed=f"up to {MAX_URSELL:g} for the Stokes expansion",
                fix='StreamFunctionWave(...); kind = "stream_function" in a case file',
            )  # fmt: skip
        series = profile(k)
        super().__init__(
            series, height=height, depth=depth, gravity=gravity, wave_number=k, direction=direction, phase=phase,
            eulerian_current=eulerian_from(current, kind, series.transport, 1.0 / k, depth, gravity),
        )  # fmt: skip


def _of_period(
    profile: Callable[[float], Profile], period: float, height: float, depth: float, gravity: float,
    current: float, kind: str,
) -> float:  # fmt: skip
    """Return the wave number, rad/m, for a period, s, by the secant method from the linear wave."""

    def excess(k: float) -> float:
        series = profile(k)
        eulerian = eulerian_from(current, kind, series.transport, 1.0 / k, depth, gravity)
        return k * (series.mean_speed * math.sqrt(gravity / k) + eulerian) * period / (2.0 * math.pi) - 1.0

    a = small_wave_number(period, depth, gravity, current)
    check_height(height, longest_wave(period, depth, gravity, current), depth)
    b, f_a = 0.98 * a, excess(a)
    for _ in range(40):
        f_b = excess(b)
        if abs(f_b) < 1e-14 or f_b == f_a:
            return b
        a, b, f_a = b, b - max(min(f_b * (b - a) / (f_b - f_a), 0.3 * b), -0.3 * b), f_b
        if abs(b - a) < 1e-15 * b:
            return b
    raise too_high(height, 2.0 * math.pi / b, depth)
