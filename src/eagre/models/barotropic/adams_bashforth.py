"""Adams-Bashforth: weights of the tendencies, and restarts that hold a sum in place of one (decision 0029)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from eagre.models.barotropic.setup import Setup

WEIGHTS = {1: (1.0, 0.0, 0.0), 2: (1.5, -0.5, 0.0), 3: (23.0 / 12.0, -16.0 / 12.0, 5.0 / 12.0)}
"""Of the present and the older tendencies by order (Bleichrodt 2011, eq. 2.17)."""
SUM, TENDENCY = "sum0_0", "tendency0_0"


def weights(setup: Setup, step: int) -> list[float]:
    """Of the tendencies by age in step number `step`, times dt: of as high an order as there is history."""
    return [setup.time_step * weight for weight in WEIGHTS[min(setup.order, step + 1)]]


def convert_state(setup: Setup, state: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    """A state whose sum q + c1 F_old, as "ab2" kept it on a GPU for a while, has become the tendency F_old."""
    if SUM not in state:
        return state
    c1 = weights(setup, int(state["steps"]))[1]
    rest = state[SUM] - state["q0"]
    return {**state, TENDENCY: rest / c1 if c1 else np.zeros_like(rest)}
