"""The clock: the few numbers that drive a run, in double precision, on the device.

The time loop needs no host between outputs: every stage reads the time step here, and a short
tail after its boundary pass accepts or refuses the step, moves the time, chooses the next time
step and evaluates the forcing series for it. A refused step has overwritten nothing: its stages
run again with the time step that they found to be allowed.

The limit of a step is ``CFL / rate``, rate = max over faces of (wave speed / cell size), s-1. It
is known exactly only when the first stage has run. *Predicted* time steps take the rate that the
previous step's last stage found; a step that turns out longer than its own limit by more than
`TOLERANCE` is refused and redone. *Exact* time steps let the first stage find the rate, refuse,
and redo: half as dear again, and never above the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eagre.backend.cells import Switch, cell, real
from eagre.kernels.bits import from_bits, to_bits
from eagre.series import Series

T = 0  # model time, s
DT = 1  # time step in use, s
UNTIL = 2  # the time to land on, s
STEPS = 3  # accepted steps
REDONE = 4  # refused steps
COURANT = 5  # largest rate x time step of an accepted step
DT_MIN = 6  # smallest and largest accepted time step, s
DT_MAX = 7
RUNNING = 8  # 1 while there is something left to do
ACCEPTED = 9  # 1 if the first stage found the time step allowed
FAILED = 10  # 1 if the rate or the time step stopped being a number, 2 if the step collapsed
CFL = 11  # Courant number to aim at
LIMIT = 12  # largest time step that the user allows, s
STEPS_LEFT = 13  # steps until the host wants to look
TOLERANCE = 14  # relative excess over the limit that is accepted; below 0: exact time steps
PARITY = 15  # which of two buffers holds the state (one-stage schemes)
FREE = 16  # next time step before it was shortened to land, s
SIZE = 17

INFINITE_RATE = 1e30
COLLAPSED = 1e-14  # a time step below this times the time to go has collapsed


GATE = Switch("GATE", 0)
"""When a stage runs: 0 while running, 1 if also accepted, 2 or 3 if also the parity is 0 or 1."""


@cell
def open_gate(clock):
    """Whether the stage of this `GATE` has something to do."""
    if GATE == 1:
        return clock[RUNNING] > 0.0 and clock[ACCEPTED] > 0.0
    if GATE == 2:
        return clock[RUNNING] > 0.0 and clock[PARITY] < 0.5
    if GATE == 3:
        return clock[RUNNING] > 0.0 and clock[PARITY] > 0.5
    return clock[RUNNING] > 0.0


@cell
def largest_rate(rates):
    """Maximum of the rates that a stage left as bit patterns, s-1, and reset them.

    Whatever is above INFINITE_RATE or not a number, which fast-math arithmetic could not be
    trusted to see, comes out as 2 INFINITE_RATE.
    """
    top = rates[0]
    for k in range(rates.shape[0]):
        top = max(top, rates[k])
        rates[k] = 0
    if top > to_bits(real(INFINITE_RATE)):
        return 2.0 * INFINITE_RATE
    return float(from_bits(top))


@cell
def choose(clock, rate):
    """Set the next time step from the rate, shortened to land on UNTIL; flag what is not a number."""
    limit = clock[LIMIT]
    if rate * limit > clock[CFL]:
        limit = clock[CFL] / rate
    left = clock[UNTIL] - clock[T]
    if rate > INFINITE_RATE:
        clock[FAILED] = 1.0
        clock[RUNNING] = 0.0
    elif limit < COLLAPSED * clock[UNTIL]:
        clock[FAILED] = 2.0
        clock[RUNNING] = 0.0
    clock[FREE] = limit
    clock[DT] = left if limit >= left else limit


@cell
def allowed(clock, rate):
    """Whether the time step in use respects the rate that its own first stage found."""
    return rate * clock[DT] <= clock[CFL] * (1.0 + max(0.0, clock[TOLERANCE])) * (1.0 + 1e-12)


@cell
def move(clock, rate):
    """Book an accepted step."""
    dt = clock[DT]
    clock[T] = clock[UNTIL] if dt >= clock[UNTIL] - clock[T] else clock[T] + dt
    clock[STEPS] += 1.0
    clock[STEPS_LEFT] -= 1.0
    clock[COURANT] = max(clock[COURANT], rate * dt)
    clock[DT_MIN] = min(clock[DT_MIN], dt)
    clock[DT_MAX] = max(clock[DT_MAX], dt)
    if clock[T] >= clock[UNTIL] or clock[STEPS_LEFT] <= 0.0:
        clock[RUNNING] = 0.0


@cell
def verdict(clock, rates):
    """After the first of several stages: accept, or refuse and set the time step that is allowed."""
    rate = largest_rate(rates)
    if clock[RUNNING] > 0.0:
        if allowed(clock, rate):
            clock[ACCEPTED] = 1.0
            clock[COURANT] = max(clock[COURANT], rate * clock[DT])
        else:
            clock[ACCEPTED] = 0.0
            clock[REDONE] += 1.0
            choose(clock, rate)


@cell
def finish(clock, rates):
    """After the last of several stages: book the step if it was accepted and choose the next."""
    rate = largest_rate(rates)
    if clock[RUNNING] > 0.0 and clock[ACCEPTED] > 0.0:
        move(clock, 0.0)
        choose(clock, rate if clock[TOLERANCE] >= 0.0 else 0.0)
        clock[ACCEPTED] = 0.0


@cell
def verdict_and_finish(clock, rates):
    """After the only stage of a step: accept and book, or refuse."""
    rate = largest_rate(rates)
    if open_gate(clock):
        if allowed(clock, rate):
            move(clock, rate)
            clock[PARITY] = 1.0 - clock[PARITY]
            choose(clock, rate if clock[TOLERANCE] >= 0.0 else 0.0)
        else:
            clock[REDONE] += 1.0
            choose(clock, rate)


@cell
def start_leg(clock, rates):
    """Begin a stretch towards a new UNTIL with the time step that was left over."""
    left = clock[UNTIL] - clock[T]
    clock[DT] = left if clock[FREE] >= left else clock[FREE]


class SeriesTable(NamedTuple):
    """All series of a run; series k has rows starts[k] .. starts[k + 1] - 1."""

    times: np.ndarray  # s
    values: np.ndarray
    starts: np.ndarray  # one more than there are series
    cursors: np.ndarray  # row of the last look-up, one a series


def series_table(series: Sequence[Series]) -> SeriesTable:
    """Pack series for the device; at least one row, so that the arrays are never empty."""
    packed = list(series) or [Series.constant(0.0)]
    starts = np.cumsum([0] + [s.times.size for s in packed]).astype(np.int64)
    return SeriesTable(
        np.concatenate([s.times for s in packed]),
        np.concatenate([s.values for s in packed]),
        starts,
        starts[:-1].copy(),
    )


@cell
def evaluate_series(forcing, series, time):
    """forcing[k] = series k at `time`, linear between rows, held at its ends."""
    for k in range(forcing.shape[0]):
        first = series.starts[k]
        last = series.starts[k + 1] - 1
        row = series.cursors[k]
        while row > first and series.times[row] > time:
            row -= 1
        while row + 1 < last and series.times[row + 1] < time:
            row += 1
        series.cursors[k] = row
        value = series.values[row]
        if row < last:
            part = (time - series.times[row]) / (series.times[row + 1] - series.times[row])
            value += (series.values[row + 1] - value) * min(1.0, max(0.0, part))
        forcing[k] = value
