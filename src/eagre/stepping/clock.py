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

from eagre.backend.cells import cell, real, switch
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
PARITY = 15  # which of two buffers holds the state, where steps alternate between them
FREE = 16  # next time step before it was shortened to land, s
ATTEMPTED = 17  # 1 if a whole step was made whose time step has not been looked at yet
NEXT_UNTIL = 18  # orders of the host for the next leg: the time to land on, s, and steps at most
NEXT_STEPS = 19
SIZE = 20

INFINITE_RATE = 1e30
COLLAPSED = 1e-14  # a time step below this times the time of the run has collapsed
DAY = 86400.0  # s: a later end does not raise that limit, so that the end may be as late as one likes


EITHER = 2  # `turn` is the parity for which a stage and its tail run, or this: for both
GATE_ACCEPTED = switch("GATE_ACCEPTED", False)  # whether they also need an accepted step
SPLIT = switch("SPLIT", 0)  # stages of a step that is split into sweeps, each with a gate of its own; see `substeps`
DOUBLE = 8  # stages of the split scheme that makes two equal steps as one


@cell
def open_gate(clock, turn):
    """Whether a stage and its tail have something to do.

    In a step that is split into sweeps, ACCEPTED counts the stages made, and `turn` is the parity plus 4 times the
    number of the stage.
    """
    if SPLIT > 0:
        gate = clock[RUNNING] > 0.0 and clock[PARITY] == (turn & 3) and clock[ACCEPTED] == (turn >> 2)
    else:
        gate = clock[RUNNING] > 0.0 and (turn == EITHER or clock[PARITY] == turn)
    if GATE_ACCEPTED:
        gate = gate and clock[ACCEPTED] > 0.0
    return gate


@cell
def rate_of(bits):
    """A rate, s-1, from the bit pattern that a stage left.

    Whatever is above INFINITE_RATE or not a number, which fast-math arithmetic could not be
    trusted to see, comes out as 2 INFINITE_RATE.
    """
    if bits > to_bits(real(INFINITE_RATE)):
        return 2.0 * INFINITE_RATE
    return float(from_bits(bits))


@cell
def largest_rate(rates):
    """Maximum of the rates that a stage left as bit patterns, s-1, and reset them."""
    top = rates[0]
    for k in range(rates.shape[0]):
        top = max(top, rates[k])
        rates[k] = 0
    return rate_of(top)


@cell
def min_step(now, until):
    """Return the time step, s, below which steps have collapsed: it is negligible compared with the time of the run.

    The limit is rough and in single precision, which is faster on GPUs. Ends beyond the range of single precision count
    as 1e30 s.
    """
    late = min(np.float32(min(until, INFINITE_RATE)), max(abs(np.float32(now)), np.float32(DAY)))
    return np.float32(COLLAPSED) * late


@cell
def choose(clock, rate, now, until, courant, longest):
    """Set the next time step from the rate, shortened to land on `until`; flag what is not a number."""
    limit = longest
    if rate * longest > courant:
        limit = courant / rate
    if rate > INFINITE_RATE:
        clock[FAILED] = 1.0
        clock[RUNNING] = 0.0
    elif np.float32(limit) < min_step(now, until):
        clock[FAILED] = 2.0
        clock[RUNNING] = 0.0
    clock[FREE] = limit
    clock[DT] = min(limit, until - now)


@cell
def allowed(rate, dt, courant, tolerance):
    """Whether a time step respects the rate that its own first stage found."""
    return rate * dt <= courant * (1.0 + max(0.0, tolerance)) * (1.0 + 1e-12)


@cell
def moved(now, dt, until):
    """The time after a step of dt, s, towards `until`: that one if the step lands."""
    return until if dt >= until - now else now + dt


@cell
def move(clock, now, dt, until, count):
    """Book `count` accepted steps of dt; returns the new time."""
    steps, left, shortest, longest = clock[STEPS], clock[STEPS_LEFT], clock[DT_MIN], clock[DT_MAX]
    time = moved(now, count * dt, until)
    clock[T] = time
    clock[STEPS] = steps + count
    clock[STEPS_LEFT] = left - count
    clock[DT_MIN] = min(shortest, dt)
    clock[DT_MAX] = max(longest, dt)
    if time >= until or left <= count:
        clock[RUNNING] = 0.0
    return time


# The tails read all that they need before they write: on a GPU one thread runs them, and reads that
# wait for one another are what it spends its time on.


@cell
def verdict(clock, rates, turn):
    """After the first of several stages: accept, or refuse and set the time step that is allowed."""
    now, dt, until, courant, longest = clock[T], clock[DT], clock[UNTIL], clock[CFL], clock[LIMIT]
    tolerance, redone, largest = clock[TOLERANCE], clock[REDONE], clock[COURANT]
    gate = open_gate(clock, turn)
    rate = largest_rate(rates)
    if gate:
        if allowed(rate, dt, courant, tolerance):
            clock[ACCEPTED] = 1.0
            clock[COURANT] = max(largest, rate * dt)
        else:
            clock[ACCEPTED] = 0.0
            clock[REDONE] = redone + 1.0
            choose(clock, rate, now, until, courant, longest)


@cell
def finish(clock, rates, turn):
    """After the last of several stages: book the step if it was accepted and choose the next."""
    now, dt, until, courant, longest = clock[T], clock[DT], clock[UNTIL], clock[CFL], clock[LIMIT]
    tolerance, parity = clock[TOLERANCE], clock[PARITY]
    gate = open_gate(clock, turn)
    rate = largest_rate(rates)
    if gate:
        clock[ACCEPTED] = 0.0
        if turn != EITHER:
            clock[PARITY] = 1.0 - parity
        now = move(clock, now, dt, until, 1.0)
        choose(clock, rate if tolerance >= 0.0 else 0.0, now, until, courant, longest)


@cell
def judge(clock, found, following):
    """After a whole step: book it and choose the next time step, or refuse it.

    found : the largest rate that its first stage found, s-1; following : what its last one did.
    """
    now, dt, until, courant, longest = clock[T], clock[DT], clock[UNTIL], clock[CFL], clock[LIMIT]
    tolerance, redone, largest, parity = clock[TOLERANCE], clock[REDONE], clock[COURANT], clock[PARITY]
    if allowed(found, dt, courant, tolerance):
        clock[COURANT] = max(largest, found * dt)
        clock[PARITY] = 1.0 - parity
        now = move(clock, now, dt, until, 1.0)
        choose(clock, following if tolerance >= 0.0 else 0.0, now, until, courant, longest)
    else:
        clock[REDONE] = redone + 1.0
        choose(clock, found, now, until, courant, longest)


@cell
def verdict_and_finish(clock, rates, turn):
    """After the only stage of a step: accept and book, or refuse."""
    gate = open_gate(clock, turn)
    rate = largest_rate(rates)
    if gate:
        judge(clock, rate, rate)


@cell
def judge_attempt(clock, found, following):
    """Judge the step that was attempted, if one was; `found`, `following` : the rates of its two stages, s-1."""
    if clock[ATTEMPTED] > 0.0:
        clock[ATTEMPTED] = 0.0
        judge(clock, found, following)


@cell
def parity_after(clock, found):
    """PARITY as `judge_attempt` will leave it."""
    dt, courant, tolerance, parity = clock[DT], clock[CFL], clock[TOLERANCE], clock[PARITY]
    if clock[ATTEMPTED] > 0.0 and allowed(found, dt, courant, tolerance):
        parity = 1.0 - parity
    return parity


@cell
def start_leg(clock, rates, turn):
    """Begin a leg: a stretch towards a new UNTIL, with the time step that was left over."""
    now, until, steps, free = clock[T], clock[NEXT_UNTIL], clock[NEXT_STEPS], clock[FREE]
    left = until - now
    clock[UNTIL] = until
    clock[STEPS_LEFT] = steps
    clock[ACCEPTED] = 0.0
    clock[RUNNING] = 1.0 if left > 0.0 and steps > 0.0 else 0.0
    if SPLIT == DOUBLE and clock[STEPS] > 0.0:
        left = 0.5 * left
    clock[DT] = left if free >= left else free


@cell
def no_tail(clock, rates, turn):
    """Nothing: ghosts are filled, and the clock stays."""


class SeriesTable(NamedTuple):
    """The series that change with time; series k has rows starts[k] .. starts[k + 1] - 1."""

    times: np.ndarray  # s
    values: np.ndarray
    starts: np.ndarray  # one more than there are series
    slots: np.ndarray  # where in the forcing each goes
    spread: np.ndarray  # 1 if the mean over the coming step is taken, 0 if the value at its end
    cursors: np.ndarray  # row of the last look-up, one a series: where the next one begins to search


def series_table(series: Sequence[Series], boundaries: int) -> SeriesTable:
    """Pack the series that are not constant for the device; arrays are never empty.

    The first `boundaries` of them belong to ghost cells, which are filled for the time of their state, the
    end of a stage. The rest are factors of sources, the same in both stages: their mean over the step
    integrates them exactly, however long it is.
    """
    slots = [k for k, one in enumerate(series) if not one.is_constant]
    packed = [series[k] for k in slots]
    nothing = [np.zeros(1)]
    starts = np.cumsum([0] + [one.times.size for one in packed]).astype(np.int64)
    return SeriesTable(
        np.concatenate([one.times for one in packed] or nothing),
        np.concatenate([one.values for one in packed] or nothing),
        starts,
        np.array(slots or [0], np.int64),
        np.array([k >= boundaries for k in slots or [0]], np.int64),
        starts.copy(),
    )


@cell
def value_beside(series, row, last, time):
    """Value at `time`, linear from row to the next; held before the one and behind the other."""
    value = series.values[row]
    if row < last:
        part = (time - series.times[row]) / (series.times[row + 1] - series.times[row])
        value += (series.values[row + 1] - value) * min(1.0, max(0.0, part))
    return value


@cell
def mean_from(series, row, last, time, dt):
    """Mean from `time`, which lies beside `row` or before the first row, over dt."""
    end = time + dt
    value, total = value_beside(series, row, last, time), 0.0
    following = row
    while following <= last and series.times[following] < end:
        if series.times[following] > time:
            total += 0.5 * (value + series.values[following]) * (series.times[following] - time)
            time, value = series.times[following], series.values[following]
        following += 1
    at_end = value_beside(series, max(following - 1, row), last, end)
    return (total + 0.5 * (value + at_end) * (end - time)) / dt if dt > 0.0 else value


@cell
def series_value(series, k, now, dt):
    """Series k at the end of the step, or its mean over the step; held at its ends.

    A time on a row belongs to the row before, from wherever the search begins: the bits do not depend on that.
    """
    time = now if series.spread[k] == 1 else now + dt
    first = series.starts[k]
    last = series.starts[k + 1] - 1
    row = series.cursors[k]
    while row > first and series.times[row] >= time:
        row -= 1
    while row + 1 < last and series.times[row + 1] < time:
        row += 1
    series.cursors[k] = row
    if series.spread[k] == 1:
        return mean_from(series, row, last, time, dt)
    return value_beside(series, row, last, time)


@cell
def evaluate_series(forcing, series, now, dt):
    """Write each series to its slot of the forcing (see `series_value`)."""
    for k in range(series.starts.shape[0] - 1):
        forcing[series.slots[k]] = series_value(series, k, now, dt)
