"""A step of the explicit shallow-water model, in the order of A. Kurganov and G. Petrova (2007); equations: README.md.

    Q* (1 + dt a*)   = Q + dt R(Q)                    2.9, first stage of SSP-RK2, or the whole of forward Euler
    Q' (1 + dt a'/2) = (Q + Q* + dt R(Q*)) / 2        2.9, second stage
    R   = S - dF/dx - dG/dy                           2.4: fluxes 2.6 of reconstructed faces 2.7 and 2.8, and terms
    dt  = courant_number / max(speed / cell size)     2.10, judged after the first stage, chosen after the last

Ghost cells of a state are filled after the stage that makes it (2.11). What a stage is on a device: `schedules`.

Dimensionally split steps make R of x and of y apart: `ds1`, `ds2`; their time step: `eagre.stepping.substeps`.
"""

from __future__ import annotations

from typing import Any, Protocol

from eagre.backend.device import Launch
from eagre.stepping import clock as ck


class Stages(Protocol):
    """The parts of a step; q, old, out : buffers; turn : when it runs, see `eagre.stepping.clock.open_gate`."""

    def stage(self, turn: int, q: Any, old: Any, out: Any, **switches: Any) -> list[Launch]:
        """The new state `out` of a stage from q; in the second one `old` is the state of the step."""
        ...

    def boundary(self, turn: int, q: Any, **switches: Any) -> list[Launch]:
        """Ghosts of q, and what the clock does after that."""
        ...

    def maps(self, turn: int) -> list[Launch]:
        """The state that a step begins from is taken up in the maps of the run."""
        ...

    def balance(self, turn: int, q: Any, **switches: Any) -> list[Launch]:
        """What comes in through open sides and as rain is booked."""
        ...


def rk2(stages: Stages, turn: int, now: Any, middle: Any, then: Any) -> list[Launch]:
    """Launches of a step of SSP-RK2 from the state `now` by way of `middle` to `then`."""
    return [
        *stages.maps(turn),
        *stages.stage(turn, now, now, middle, SECOND=False),
        *stages.boundary(turn, middle, TAIL=ck.verdict),
        *stages.balance(turn, now, TWO_STAGES=True, GATE_ACCEPTED=True),
        *stages.stage(turn, middle, now, then, SECOND=True, GATE_ACCEPTED=True),
        *stages.boundary(turn, then, TAIL=ck.finish, GATE_ACCEPTED=True),
    ]


def euler(stages: Stages, turn: int, now: Any, middle: Any, then: Any) -> list[Launch]:
    """Launches of a forward Euler step from the state `now` to `then`."""
    return [
        *stages.maps(turn),
        *stages.balance(turn, now, TWO_STAGES=False),
        *stages.stage(turn, now, now, then, SECOND=False),
        *stages.boundary(turn, then, TAIL=ck.verdict_and_finish),
    ]


SCHEMES = {"rk2": rk2, "euler": euler, "srk2": rk2}


class Sweeps(Protocol):
    """The parts of a step that is split into sweeps; turn : of which stage, see `eagre.stepping.substeps`."""

    def sweep(self, turn: int, q: Any, old: Any, out: Any) -> list[Launch]:
        """The new state `out` of a stage from q; in a second one `old` is the state of the sweep."""
        ...

    def after_sweep(self, turn: int, q: Any) -> list[Launch]:
        """Ghosts of q, and what the clock does after that."""
        ...

    def maps_of_sweeps(self, turn: int) -> list[Launch]:
        """The state that a step begins from is taken up in the maps of the run."""
        ...

    def balance_of_sweep(self, turn: int, q: Any, middle: Any) -> list[Launch]:
        """What comes in through open sides across which the sweep runs, and as rain, is booked."""
        ...


def ds1(sweeps: Sweeps, parity: int, now: Any, middle: Any, spare: Any, then: Any) -> list[Launch]:
    """Launches of a step Y(dt) X(dt) of forward steps from the state `now` to `then`."""
    x, y = parity, parity + 4
    return [
        *sweeps.maps_of_sweeps(x),
        *sweeps.balance_of_sweep(x, now, now),
        *sweeps.sweep(x, now, now, middle),
        *sweeps.after_sweep(x, middle),
        *sweeps.balance_of_sweep(y, middle, middle),
        *sweeps.sweep(y, middle, middle, then),
        *sweeps.after_sweep(y, then),
    ]


def ds2(sweeps: Sweeps, parity: int, now: Any, middle: Any, spare: Any, then: Any) -> list[Launch]:
    """Launches of two steps X(dt) Y(dt) Y(dt) X(dt) of SSP-RK2 from the state `now`, which stays, to `then`."""
    work = sweeps.maps_of_sweeps(parity)
    for number, (q, out) in enumerate(((now, spare), (spare, then), (then, spare), (spare, then))):
        first, second = parity + 8 * number, parity + 8 * number + 4
        work += [
            *sweeps.sweep(first, q, q, middle),
            *sweeps.after_sweep(first, middle),
            *sweeps.balance_of_sweep(second, q, middle),
            *sweeps.sweep(second, middle, q, out),
            *sweeps.after_sweep(second, out),
        ]
    return work


SPLIT_SCHEMES = {"ds1": ds1, "ds2": ds2}
