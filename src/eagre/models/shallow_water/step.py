"""Steps of the explicit shallow-water model after A. Kurganov and G. Petrova (2007); equations: README.md.

    Q* (1 + dt a*)   = Q + dt R(Q)                    2.9, first stage of SSP-RK2, or forward Euler
    Q' (1 + dt a'/2) = (Q + Q* + dt R(Q*)) / 2        2.9, second stage
    R   = S - dF/dx - dG/dy                           2.4: fluxes 2.6 of reconstructed faces 2.7 and 2.8, and terms
    dt  = courant_number / max(speed / cell size)     2.10, checked after the first stage, set after the last

The ghost cells of a state are filled after the stage that computes it (2.11). The launches of a stage are in
`schedules`.

Dimensionally split schemes compute R of x and of y separately: `ds1`, `ds2`. For their time step see
`eagre.stepping.substeps`.
"""

from __future__ import annotations

from typing import Any, Protocol

from eagre.backend.device import Launch
from eagre.stepping import clock as ck


class Stages(Protocol):
    """Parts of a step; q, old, out : buffers; phase : phase of the step, see `eagre.stepping.clock.open_gate`."""

    def stage(self, phase: int, q: Any, old: Any, out: Any, **switches: Any) -> list[Launch]:
        """Return the launches of a stage from q to `out`; in the second stage `old` is the state before the step."""
        ...

    def boundary(self, phase: int, q: Any, **switches: Any) -> list[Launch]:
        """Return the launches that fill the ghosts of q and update the clock."""
        ...

    def maps(self, phase: int) -> list[Launch]:
        """Return the launches that accumulate the initial state of a step in the maps of the run."""
        ...

    def balance(self, phase: int, q: Any, **switches: Any) -> list[Launch]:
        """Return the launches that accumulate the inflow through open boundaries and the rain."""
        ...

    def infiltration(self, phase: int, q: Any, out: Any, **switches: Any) -> list[Launch]:
        """Return the launches that remove the infiltration of a step from q to `out` from the new state."""
        ...


def rk2(stages: Stages, phase: int, q_n: Any, q_stage: Any, q_np1: Any) -> list[Launch]:
    """Return the launches of an SSP-RK2 step from the state `q_n` via `q_stage` to `q_np1`."""
    return [
        *stages.maps(phase),
        *stages.stage(phase, q_n, q_n, q_stage, SECOND=False),
        *stages.boundary(phase, q_stage, TAIL=ck.check_first_stage),
        *stages.balance(phase, q_n, TWO_STAGES=True, GATE_ACCEPTED=True),
        *stages.stage(phase, q_stage, q_n, q_np1, SECOND=True, GATE_ACCEPTED=True),
        *stages.infiltration(phase, q_n, q_np1, GATE_ACCEPTED=True),
        *stages.boundary(phase, q_np1, TAIL=ck.finish, GATE_ACCEPTED=True),
    ]


def euler(stages: Stages, phase: int, q_n: Any, q_stage: Any, q_np1: Any) -> list[Launch]:
    """Return the launches of a forward Euler step from the state `q_n` to `q_np1`."""
    return [
        *stages.maps(phase),
        *stages.balance(phase, q_n, TWO_STAGES=False),
        *stages.stage(phase, q_n, q_n, q_np1, SECOND=False),
        *stages.infiltration(phase, q_n, q_np1),
        *stages.boundary(phase, q_np1, TAIL=ck.check_and_finish),
    ]


SCHEMES = {"rk2": rk2, "euler": euler, "srk2": rk2}


class Sweeps(Protocol):
    """Parts of a step that is split into sweeps; phase : phase of the stage, see `eagre.stepping.substeps`."""

    def sweep(self, phase: int, q: Any, old: Any, out: Any) -> list[Launch]:
        """Return the launches of a stage from q to `out`; in a second stage `old` is the state before the sweep."""
        ...

    def after_sweep(self, phase: int, q: Any) -> list[Launch]:
        """Return the launches that fill the ghosts of q and update the clock."""
        ...

    def maps_of_sweeps(self, phase: int) -> list[Launch]:
        """Return the launches that accumulate the initial state of a step in the maps of the run."""
        ...

    def balance_of_sweep(self, phase: int, q: Any, q_stage: Any) -> list[Launch]:
        """Return the launches that accumulate the inflow through boundaries normal to the sweep, and the rain."""
        ...

    def infiltration_of_sweeps(self, phase: int, q: Any, out: Any) -> list[Launch]:
        """Return the launches that remove the infiltration after the last sweep; see `Stages.infiltration`."""
        ...


def ds1(sweeps: Sweeps, parity: int, q_n: Any, q_stage: Any, q_work: Any, q_np1: Any) -> list[Launch]:
    """Return the launches of a step Y(dt) X(dt) with forward Euler sweeps from the state `q_n` to `q_np1`."""
    x, y = parity, parity + 4
    return [
        *sweeps.maps_of_sweeps(x),
        *sweeps.balance_of_sweep(x, q_n, q_n),
        *sweeps.sweep(x, q_n, q_n, q_stage),
        *sweeps.after_sweep(x, q_stage),
        *sweeps.balance_of_sweep(y, q_stage, q_stage),
        *sweeps.sweep(y, q_stage, q_stage, q_np1),
        *sweeps.infiltration_of_sweeps(y, q_n, q_np1),
        *sweeps.after_sweep(y, q_np1),
    ]


def ds2(sweeps: Sweeps, parity: int, q_n: Any, q_stage: Any, q_work: Any, q_np1: Any) -> list[Launch]:
    """Return the launches of two steps X(dt) Y(dt) Y(dt) X(dt) of SSP-RK2 from `q_n`, which is kept, to `q_np1`."""
    work = sweeps.maps_of_sweeps(parity)
    for number, (q, out) in enumerate(((q_n, q_work), (q_work, q_np1), (q_np1, q_work), (q_work, q_np1))):
        first, second = parity + 8 * number, parity + 8 * number + 4
        work += [
            *sweeps.sweep(first, q, q, q_stage),
            *sweeps.after_sweep(first, q_stage),
            *sweeps.balance_of_sweep(second, q, q_stage),
            *sweeps.sweep(second, q_stage, q, out),
            *(sweeps.infiltration_of_sweeps(second, q_n, q_np1) if number == 3 else []),
            *sweeps.after_sweep(second, out),
        ]
    return work


SPLIT_SCHEMES = {"ds1": ds1, "ds2": ds2}
