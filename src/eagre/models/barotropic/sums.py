"""A sum in place of vorticity and tendency: second-order steps of large boxes in double precision on a GPU.

A step of Adams-Bashforth of second order, q' = q + c0 F + c1 F_old, needs of all that is old the sum S = q + c1 F_old
alone: q' = S + c0 F, and then S' = q' + c1 F stands where S stood. F itself needs psi and q = Lap psi - lambda psi:
psi was found from q by the inverse of that very operator, so that in double precision nothing is lost that matters
(about 1e-16 |psi| / dx^2 of q: 1e-9 of it with 4097 points a side, and no sum takes that up). The update moves four
words a point in place of six (docs/decisions/0029-a-sum-in-place-of-vorticity-and-tendency.md).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from eagre.models.barotropic.setup import Setup

ADAMS_BASHFORTH = {1: (1.0, 0.0, 0.0), 2: (1.5, -0.5, 0.0), 3: (23.0 / 12.0, -16.0 / 12.0, 5.0 / 12.0)}
"""Weights of the present and the older tendencies by order."""
LEAST = 1024
"""Intervals of a row from which bytes are what an update waits for (measured on an H200)."""
NAME, TENDENCY = "sum0_0", "tendency0_0"


def kept_for(setup: Setup, precision: str) -> bool:
    """Whether a box on a GPU keeps the sum."""
    plain = not (setup.gathers or setup.compensated or setup.implicit) and setup.walls == "free-slip"
    return plain and setup.order == 2 and precision == "double" and setup.grid.nx - 1 >= LEAST


def weights(setup: Setup, step: int) -> list[float]:
    """Of the tendencies by age in step number `step`, times dt: as many as there is history."""
    return [setup.time_step * weight for weight in ADAMS_BASHFORTH[min(setup.order, step + 1)]]


def weights_of_sum(setup: Setup, step: int) -> list[float]:
    """Of F in step number `step`: c0 for the new vorticity, and the next step's c1 for the sum that is left to it."""
    return [weights(setup, step)[0], weights(setup, step + 1)[1], 0.0]


def as_kept(setup: Setup, state: Mapping[str, np.ndarray], summed: bool) -> Mapping[str, np.ndarray]:
    """A state with its sum, or with the tendency that gives the next step what its sum gives: bit for bit neither."""
    if (NAME in state) == summed:
        return state
    c1 = weights(setup, int(state["steps"]))[1]
    if summed:
        return {**state, NAME: state["q0"] + c1 * state[TENDENCY]}
    rest = state[NAME] - state["q0"]
    return {**state, TENDENCY: rest / c1 if c1 else np.zeros_like(rest)}
