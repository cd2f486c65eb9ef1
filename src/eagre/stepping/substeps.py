"""Steps that are split into sweeps along x and along y: their time step is predicted, checked, and redone if need be.

Both sweeps need one time step, and what the second allows is known when the first is done. A step takes what the one
before it allowed, less a margin, in all its sweeps (the clock aims at CFL, less than the Courant number, and accepts
up to TOLERANCE more). The first stage of each sweep finds out what its direction allows; if that is less, the step is
discarded, the gates of its remaining stages stay shut, and it begins anew from its state, which no stage overwrites.

*DS1*: Y(dt) X(dt), each a forward step: 2 stages. *DS2*: X(dt) Y(dt) Y(dt) X(dt), each two stages of Runge-Kutta: 8
stages make two steps of one length, which land, count and are discarded as one. A. B. Amundsen, Auto-tuning shallow
water simulations on GPUs, MSc thesis (2014), section 3.1; G. Strang (1968), doi:10.1137/0705041.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.cells import cell
from eagre.stepping.clock import (
    ACCEPTED,
    CFL,
    COURANT,
    DOUBLE,
    DT,
    FAILED,
    FREE,
    INFINITE_RATE,
    LIMIT,
    PARITY,
    REDONE,
    RUNNING,
    SPLIT,
    TOLERANCE,
    UNTIL,
    T,
    allowed,
    largest_rate,
    min_step,
    move,
    open_gate,
    series_value,
)

STAGES = {"ds1": 2, "ds2": DOUBLE}  # of what a scheme makes as one
SHORTER = 0.5  # of what was allowed: the step after a discarded double one (Amundsen 2014)


@cell
def stage_of(turn):
    """Number of the stage that `turn` is of, 0 .. SPLIT - 1."""
    return turn >> 2


@cell
def across_of(stage):
    """Direction of the sweep that a stage is of: 1 for x, 2 for y."""
    if SPLIT == DOUBLE:
        return 2 if stage >= 2 and stage < 6 else 1
    return 1 + stage


@cell
def is_second(stage):
    """Whether a stage is the second one of its sweep."""
    return SPLIT == DOUBLE and (stage & 1) == 1


@cell
def moment_after(stage):
    """Time in steps from the begin at which the state stands that a stage makes, for the side that is filled next."""
    if SPLIT == DOUBLE:
        return (0.0 if (stage & 3) == 1 else 1.0) + (1.0 if stage >= 4 else 0.0)
    return 1.0


@cell
def evaluate_series_of_stage(forcing, series, clock):
    """Write each series to its slot of the forcing, as the coming stage and the ghosts behind it need it.

    Sources have their mean over the step that the stage is of, ghosts the moment that they belong to.
    """
    now, dt, stage = clock[T], clock[DT], int(clock[ACCEPTED])
    begin = now + dt if stage >= 4 else now
    end = now + moment_after(stage) * dt
    for k in range(series.starts.shape[0] - 1):
        if series.spread[k] == 1:
            forcing[series.slots[k]] = series_value(series, k, begin, dt)
        else:
            forcing[series.slots[k]] = series_value(series, k, end, 0.0)


@cell
def begin_attempt(clock, free, now, until):
    """Set the time step of the next attempt, shortened to land on `until`; flag one that has collapsed."""
    left = 0.5 * (until - now) if SPLIT == DOUBLE else until - now
    clock[ACCEPTED] = 0.0
    clock[FREE] = free
    clock[DT] = min(free, left)
    if np.float32(free) < min_step(now, until):
        clock[FAILED] = 2.0
        clock[RUNNING] = 0.0


@cell
def after_stage(clock, rates, turn):
    """After any stage: what it allows is kept; a step that is too long is discarded; the last stage books it."""
    now, dt, until, courant, longest = clock[T], clock[DT], clock[UNTIL], clock[CFL], clock[LIMIT]
    tolerance, redone, largest, free, parity = (
        clock[TOLERANCE],
        clock[REDONE],
        clock[COURANT],
        clock[FREE],
        clock[PARITY],
    )
    gate, stage = open_gate(clock, turn), stage_of(turn)
    rate = largest_rate(rates)
    if gate:
        limit = courant / rate if rate * longest > courant else longest
        free = limit if stage == 0 else min(free, limit)
        checked = not is_second(stage)
        if rate > INFINITE_RATE:
            clock[FAILED] = 1.0
            clock[RUNNING] = 0.0
        elif checked and not allowed(rate, dt, courant, tolerance):
            clock[REDONE] = redone + 1.0
            begin_attempt(clock, SHORTER * free if SPLIT == DOUBLE else free, now, until)
        else:
            clock[COURANT] = max(largest, rate * dt) if checked else largest
            clock[ACCEPTED] = stage + 1.0
            clock[FREE] = free
            if stage + 1 == SPLIT:
                clock[PARITY] = 1.0 - parity
                now = move(clock, now, dt, until, 2.0 if SPLIT == DOUBLE else 1.0)
                begin_attempt(clock, free, now, until)
