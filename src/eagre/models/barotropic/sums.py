"""Sums in place of vorticity and tendencies, for large boxes in double precision on a GPU (docs/decisions/0029).

A step of Adams-Bashforth, q' = q + c0 F + c1 F_old + c2 F_older, needs of all that is old the sums

    S1 = q + c1 F_old + c2 F_older,    S2 = c2 F_old    (c2 of the step after),

with which q' = S1 + c0 F, and the next S1 = q' + c1 F + S2, S2 = c2 F, stand where the old ones stood. F itself needs
psi and q = Lap psi - lambda psi: psi was found from q by the inverse of that very operator, so that in double
precision nothing is lost that matters (some 1e-16 |psi| / dx^2 of q, which no sum takes up). In place of six words a
point an update moves four.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from eagre.models.barotropic.setup import Setup

ADAMS_BASHFORTH = {1: (1.0, 0.0, 0.0), 2: (1.5, -0.5, 0.0), 3: (23.0 / 12.0, -16.0 / 12.0, 5.0 / 12.0)}
"""Weights of the present and the older tendencies by order."""
LEAST = 1536
"""Intervals of a row from which fields are too large for the cache, and their bytes are what counts."""


def kept_for(setup: Setup, precision: str) -> bool:
    """Whether a box on a GPU keeps sums."""
    plain = not (setup.gathers or setup.compensated or setup.implicit)
    return plain and setup.walls == "free-slip" and precision == "double" and setup.grid.nx - 1 >= LEAST


def weight(setup: Setup, step: int, age: int) -> float:
    """Of the tendency that is `age` steps old in the step number `step`: as many terms as there is history."""
    return setup.time_step * ADAMS_BASHFORTH[min(setup.order, step + 1)][age]


def from_tendencies(setup: Setup, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays of a state with tendencies as sums."""
    step, q = int(state["steps"]), state["q0"]
    old = [state[f"tendency0_{age}"] for age in range(setup.order - 1)]
    sums = [q + sum(weight(setup, step, age + 1) * f for age, f in enumerate(old))]
    if setup.order == 3:
        sums.append(weight(setup, step + 1, 2) * old[0])
    return {f"sum0_{n}": values for n, values in enumerate(sums)}


def to_tendencies(setup: Setup, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The tendencies that give the next steps what the sums of a state give them."""
    step = int(state["steps"])
    old = np.zeros_like(state["q0"])
    rest = state["sum0_0"] - state["q0"]
    if setup.order == 2:
        first = weight(setup, step, 1)
        return {"tendency0_0": rest / first if first else old}
    later, second = weight(setup, step + 1, 2), weight(setup, step, 2)
    old = state["sum0_1"] / later if later else old
    rest = rest - weight(setup, step, 1) * old
    return {"tendency0_0": old, "tendency0_1": rest / second if second else np.zeros_like(old)}
