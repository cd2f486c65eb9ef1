"""Device clock: the scalars that control time stepping, in double precision, on the device.

The time loop needs no host synchronisation between outputs. Every stage reads the time step from the clock. A tail
after the boundary kernel accepts or rejects the step, advances the time, sets the next time step and evaluates the
forcing series for it. A rejected step overwrites nothing: its stages run again with the time step limit they computed.

The limit of a step is ``CFL / rate``, rate = max over faces of (wave speed / cell size), s-1. It is known only after
the first stage. *Predicted* time steps use the rate of the last stage of the previous step; a step that exceeds its own
limit by more than `TOLERANCE` is rejected and repeated. *Exact* time steps let the first stage compute the rate, reject
the step and repeat it: they cost half as much again and never exceed the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, real, switch
from eagre.kernels.bits import from_bits, to_bits
from eagre.time_varying.series import Series

T = 0  # model time, s
DT = 1  # time step in use, s
UNTIL = 2  # time at which a step must end, s
STEPS = 3  # accepted steps
REDONE = 4  # rejected steps
COURANT = 5  # maximum of rate x time step of accepted steps
DT_MIN = 6  # minimum and maximum accepted time step that was not shortened to end at UNTIL, s
DT_MAX = 7
RUNNING = 8  # 1 until UNTIL is reached or no steps are left
ACCEPTED = 9  # 1 if the time step respects the limit of the first stage
FAILED = 10  # 1 if the rate or the time step is not finite, 2 if the step collapsed
CFL = 11  # target Courant number
LIMIT = 12  # maximum time step set by the user, s
STEPS_LEFT = 13  # steps until the next host synchronisation
TOLERANCE = 14  # accepted relative excess of the limit; below 0: exact time steps
PARITY = 15  # index of the buffer that holds the state, if steps alternate between two
FREE = 16  # next time step before clipping to UNTIL, s
ATTEMPTED = 17  # 1 if a whole step was made whose time step has not been checked yet
NEXT_UNTIL = 18  # set by the host for the next batch: UNTIL, s, and maximum number of steps
NEXT_STEPS = 19
SIZE = 20

UNCUT = 1.0 - 1e-9  # a step up to `until` is not shortened if it exceeds this fraction of FREE
INFINITE_RATE = 1e30
COLLAPSED = 1e-14  # a time step below this fraction of the run time has collapsed
DAY = 86400.0  # s: upper bound of the run time in this limit, so that it does not depend on late ends


EITHER = 2  # value of `turn` for stages that run for both parities
GATE_ACCEPTED = switch("GATE_ACCEPTED", False)  # whether stages also require an accepted step
SPLIT = switch("SPLIT", 0)  # number of stages of a directionally split step; see `substeps`
DOUBLE = 8  # stages of the split scheme that makes two equal steps together


@cell
def open_gate(clock, phase):
    """Return whether a stage and its tail must run.

    In a directionally split step, ACCEPTED counts the completed stages, and `phase` is the parity plus 4 times the
    stage number.
    """
    if SPLIT > 0:
        gate = clock[RUNNING] > 0.0 and clock[PARITY] == (phase & 3) and clock[ACCEPTED] == (phase >> 2)
    else:
        gate = clock[RUNNING] > 0.0 and (phase == EITHER or clock[PARITY] == phase)
    if GATE_ACCEPTED:
        gate = gate and clock[ACCEPTED] > 0.0
    return gate


@cell
def rate_of(bits):
    """Return a rate, s-1, from the bit pattern stored by a stage.

    Values above INFINITE_RATE and NaN, which fast-math arithmetic may not detect, return 2 INFINITE_RATE.
    """
    if bits > to_bits(real(INFINITE_RATE)):
        return 2.0 * INFINITE_RATE
    return float(from_bits(bits))


@cell
def max_rate_of(rates):
    """Return the maximum rate, s-1, from the bit patterns of a stage, and reset them."""
    top = rates[0]
    for k in range(rates.shape[0]):
        top = max(top, rates[k])
        rates[k] = 0
    return rate_of(top)


@cell
def min_step(time, until):
    """Return the time step, s, below which steps have collapsed: it is negligible compared with the time of the run.

    The limit is rough and in single precision, which is faster on GPUs. Ends beyond the range of single precision count
    as 1e30 s.
    """
    late = min(np.float32(min(until, INFINITE_RATE)), max(abs(np.float32(time)), np.float32(DAY)))
    return np.float32(COLLAPSED) * late


@cell
def choose(clock, rate, time, until, courant, longest):
    """Set the next time step from the rate, clipped to `until`; set FAILED if it is not finite."""
    limit = longest
    if rate * longest > courant:
        limit = courant / rate
    if rate > INFINITE_RATE:
        clock[FAILED] = 1.0
        clock[RUNNING] = 0.0
    elif np.float32(limit) < min_step(time, until):
        clock[FAILED] = 2.0
        clock[RUNNING] = 0.0
    clock[FREE] = limit
    clock[DT] = min(limit, until - time)


@cell
def allowed(rate, dt, courant, tolerance):
    """Return whether a time step respects the limit of its first stage."""
    return rate * dt <= courant * (1.0 + max(0.0, tolerance)) * (1.0 + 1e-12)


@cell
def advanced_time(time, dt, until):
    """Return the time after a step of dt, s; exactly `until` if the step ends there."""
    return until if dt >= until - time else time + dt


@cell
def move(clock, start, dt, until, count):
    """Record `count` accepted steps of dt, and return the new time.

    Steps that are shortened to end at `until` do not count in the range of time steps.
    """
    steps, left, shortest, longest = clock[STEPS], clock[STEPS_LEFT], clock[DT_MIN], clock[DT_MAX]
    free = clock[FREE]
    time = advanced_time(start, count * dt, until)
    clock[T] = time
    clock[STEPS] = steps + count
    clock[STEPS_LEFT] = left - count
    if time < until or dt >= UNCUT * free:
        clock[DT_MIN] = min(shortest, dt)
        clock[DT_MAX] = max(longest, dt)
    if time >= until or left <= count:
        clock[RUNNING] = 0.0
    return time


# The tails read all inputs before they write: one GPU thread runs them, and dependent loads dominate its run time.


@cell
def check_first_stage(clock, rates, phase):
    """After the first of several stages: accept the step, or reject it and set the allowed time step."""
    start, dt, until, courant, longest = clock[T], clock[DT], clock[UNTIL], clock[CFL], clock[LIMIT]
    tolerance, redone, max_courant = clock[TOLERANCE], clock[REDONE], clock[COURANT]
    gate = open_gate(clock, phase)
    rate = max_rate_of(rates)
    if gate:
        if allowed(rate, dt, courant, tolerance):
            clock[ACCEPTED] = 1.0
            clock[COURANT] = max(max_courant, rate * dt)
        else:
            clock[ACCEPTED] = 0.0
            clock[REDONE] = redone + 1.0
            choose(clock, rate, start, until, courant, longest)


@cell
def finish(clock, rates, phase):
    """After the last of several stages: record the step if it was accepted, and set the next time step."""
    start, dt, until, courant, longest = clock[T], clock[DT], clock[UNTIL], clock[CFL], clock[LIMIT]
    tolerance, parity = clock[TOLERANCE], clock[PARITY]
    gate = open_gate(clock, phase)
    rate = max_rate_of(rates)
    if gate:
        clock[ACCEPTED] = 0.0
        if phase != EITHER:
            clock[PARITY] = 1.0 - parity
        start = move(clock, start, dt, until, 1.0)
        choose(clock, rate if tolerance >= 0.0 else 0.0, start, until, courant, longest)


@cell
def check_whole_step(clock, first_rate, following):
    """After a whole step: accept and record it and set the next time step, or reject it.

    first_rate : maximum rate of its first stage, s-1; following : maximum rate of its last stage, s-1.
    """
    start, dt, until, courant, longest = clock[T], clock[DT], clock[UNTIL], clock[CFL], clock[LIMIT]
    tolerance, redone, max_courant, parity = clock[TOLERANCE], clock[REDONE], clock[COURANT], clock[PARITY]
    if allowed(first_rate, dt, courant, tolerance):
        clock[COURANT] = max(max_courant, first_rate * dt)
        clock[PARITY] = 1.0 - parity
        start = move(clock, start, dt, until, 1.0)
        choose(clock, following if tolerance >= 0.0 else 0.0, start, until, courant, longest)
    else:
        clock[REDONE] = redone + 1.0
        choose(clock, first_rate, start, until, courant, longest)


@cell
def check_and_finish(clock, rates, phase):
    """After the only stage of a step: accept and record it, or reject it."""
    gate = open_gate(clock, phase)
    rate = max_rate_of(rates)
    if gate:
        check_whole_step(clock, rate, rate)


@cell
def check_attempt(clock, first_rate, following):
    """Accept or reject the attempted step, if any; `first_rate`, `following` : rates of its two stages, s-1."""
    if clock[ATTEMPTED] > 0.0:
        clock[ATTEMPTED] = 0.0
        check_whole_step(clock, first_rate, following)


@cell
def parity_after(clock, rate):
    """Return PARITY as `judge_attempt` will set it."""
    dt, courant, tolerance, parity = clock[DT], clock[CFL], clock[TOLERANCE], clock[PARITY]
    if clock[ATTEMPTED] > 0.0 and allowed(rate, dt, courant, tolerance):
        parity = 1.0 - parity
    return parity


@cell
def start_batch(clock, rates, phase):
    """Start a batch of steps towards a new UNTIL, with the unclipped time step."""
    time, until, steps, free = clock[T], clock[NEXT_UNTIL], clock[NEXT_STEPS], clock[FREE]
    left = until - time
    clock[UNTIL] = until
    clock[STEPS_LEFT] = steps
    clock[ACCEPTED] = 0.0
    clock[RUNNING] = 1.0 if left > 0.0 and steps > 0.0 else 0.0
    if SPLIT == DOUBLE and clock[STEPS] > 0.0:
        left = 0.5 * left
    clock[DT] = left if free >= left else free


@cell
def no_tail(clock, rates, phase):
    """Do nothing: ghost cells are filled without a change of the clock."""


class SeriesTable(NamedTuple):
    """Time series that are not constant; series k has rows starts[k] .. starts[k + 1] - 1."""

    times: np.ndarray  # s
    values: np.ndarray
    starts: np.ndarray  # number of series + 1
    slots: np.ndarray  # index of each series in the forcing array
    spread: np.ndarray  # 1: mean over the next step, 0: value at its end
    cursors: np.ndarray  # row of the last look-up of each series, where the next search starts


def series_table(series: Sequence[Series], boundaries: int) -> SeriesTable:
    """Pack the series that are not constant for the device; the arrays are never empty.

    The first `boundaries` series belong to ghost cells, which are filled for the time of their state, the end of a
    stage. The others are factors of source terms, equal in both stages: their exact mean over the step is used.
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
def interpolated_value(series, row, last, time):
    """Return the value at `time`, interpolated linearly between a row and the next; constant outside the rows."""
    value = series.values[row]
    if row < last:
        weight = (time - series.times[row]) / (series.times[row + 1] - series.times[row])
        value += (series.values[row + 1] - value) * min(1.0, max(0.0, weight))
    return value


@cell
def mean_from(series, row, last, time, dt):
    """Return the mean over dt from `time`, which lies after `row` or before the first row."""
    end = time + dt
    value, total = interpolated_value(series, row, last, time), 0.0
    following = row
    while following <= last and series.times[following] < end:
        if series.times[following] > time:
            total += 0.5 * (value + series.values[following]) * (series.times[following] - time)
            time, value = series.times[following], series.values[following]
        following += 1
    at_end = interpolated_value(series, max(following - 1, row), last, end)
    return (total + 0.5 * (value + at_end) * (end - time)) / dt if dt > 0.0 else value


@cell
def series_value(series, k, start, dt):
    """Return series k at the end of the step, or its mean over the step; constant outside its rows.

    A time equal to a row belongs to the previous interval, so the result does not depend on where the search starts.
    """
    time = start if series.spread[k] == 1 else start + dt
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
    return interpolated_value(series, row, last, time)


@cell
def evaluate_series(forcing, series, start, dt):
    """Write each series to its element of the forcing array (see `series_value`)."""
    for k in range(series.starts.shape[0] - 1):
        forcing[series.slots[k]] = series_value(series, k, start, dt)
