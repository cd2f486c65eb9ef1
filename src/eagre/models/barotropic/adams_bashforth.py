"""Adams-Bashforth weights, and conversion of restart states of other formats, orders or time steps."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from eagre.models.barotropic.setup import Setup

WEIGHTS = {1: (1.0, 0.0, 0.0), 2: (1.5, -0.5, 0.0), 3: (23.0 / 12.0, -16.0 / 12.0, 5.0 / 12.0)}
"""Weights of the current and the older tendencies, by order (Bleichrodt 2011, eq. 2.17)."""
SUM, TENDENCY = "sum0_0", "tendency0_0"


def weights(setup: Setup, step: int) -> list[float]:
    """Return dt times the weights of the tendencies by age; the first steps use a lower order.

    step : number of completed steps.
    """
    return [setup.time_step * weight for weight in WEIGHTS[min(setup.order, step + 1)]]


def convert_state(setup: Setup, state: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    """Return a state with the tendency F_old instead of the sum q + c1 F_old of older restart files (decision 0029)."""
    if SUM not in state:
        return state
    c1 = weights(setup, int(state["steps"]))[1]
    difference = state[SUM] - state["q0"]
    return {**state, TENDENCY: difference / c1 if c1 else np.zeros_like(difference)}


def state_for(setup: Setup, state: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    """Return a state that matches the time step and the order of a configuration.

    Tendencies of another time step or order are dropped: steps count from 0 and the first step is first-order, as at
    the start of a run.
    """
    dt = float(state.get("time_step", setup.time_step))
    older = sum(name.startswith("tendency0_") or name == SUM for name in state)
    completed = {**state, **_nothing_lost(setup, state)}
    if dt == setup.time_step and older == setup.order - 1:
        return completed
    landed = float(state["landed"])
    time = float(state["start"]) + int(state["steps"]) * dt if math.isnan(landed) else landed
    none = np.zeros_like(state["q0"])
    names = [name.replace("q", "tendency") for name in state if name.startswith("q")]
    names += ["tracer_tendency"] if "tracer" in state else []
    history = {f"{name}_{age}": none for name in names for age in range(setup.order - 1)}
    held = {name: value for name, value in completed.items() if "tendency" not in name and name != SUM}
    begun = {"steps": np.array(0), "start": np.array(time), "landed": np.array(math.nan)}
    return {**held, **history, **begun}


def _nothing_lost(setup: Setup, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return zero rounding errors for layers whose state lacks them, if compensated summation is on."""
    layers = [name[1:] for name in state if name.startswith("q")] if setup.compensated_summation else []
    return {f"lost{k}": np.zeros_like(state[f"q{k}"]) for k in layers if f"lost{k}" not in state}
