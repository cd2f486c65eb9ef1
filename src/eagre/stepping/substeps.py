"""Directionally split time steps: the time step is predicted, checked during the sweeps, and reduced if it is too long.

Both sweeps use one time step, and the limit of the second sweep is known only after the first. The time step is the
limit of the previous step times a margin (the clock aims at CFL, less than the Courant number, and accepts an excess
up to TOLERANCE). The first stage of each sweep determines the limit of its direction. If the limit is exceeded, the
step is rejected, its remaining stages are skipped, and it is repeated from its initial state, which is not overwritten.

*DS1*: Y(dt) X(dt), each a forward step: 2 stages. *DS2*: X(dt) Y(dt) Y(dt) X(dt), each with two Runge-Kutta stages: 8
stages are two equal steps, which are accepted or rejected together. A. B. Amundsen, Auto-tuning shallow water
simulations on GPUs, MSc thesis (2014), section 3.1; G. Strang (1968), doi:10.1137/0705041.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.compilation.cells import cell
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
    max_rate_of,
    min_step,
    move,
    open_gate,
    series_value,
)

STAGES = {"ds1": 2, "ds2": DOUBLE}  # number of stages that are accepted or rejected together
SHORTER = 0.5  # time step after a rejected double step, fraction of its limit (Amundsen 2014)


@cell
def stage_of(phase):
    """Return the stage number of `phase`, 0 .. SPLIT - 1."""
    return phase >> 2


@cell
def across_of(stage):
    """Return the sweep direction of a stage: 1 for x, 2 for y."""
    if SPLIT == DOUBLE:
        return 2 if stage >= 2 and stage < 6 else 1
    return 1 + stage


@cell
def is_second(stage):
    """Return whether a stage is the second one of its sweep."""
    return SPLIT == DOUBLE and (stage & 1) == 1


@cell
def moment_after(stage):
    """Return the time of the state after a stage, in steps from the start, for the boundary that is filled next."""
    if SPLIT == DOUBLE:
        return (0.0 if (stage & 3) == 1 else 1.0) + (1.0 if stage >= 4 else 0.0)
    return 1.0


@cell
def evaluate_series_of_stage(forcing, series, clock):
    """Evaluate each series for the next stage and the ghost cells after it.

    Sources use the mean over the step of the stage; ghost cells use the value at their time.
    """
    start, dt, stage = clock[T], clock[DT], int(clock[ACCEPTED])
    begin = start + dt if stage >= 4 else start
    end = start + moment_after(stage) * dt
    for k in range(series.starts.shape[0] - 1):
        if series.spread[k] == 1:
            forcing[series.slots[k]] = series_value(series, k, begin, dt)
        else:
            forcing[series.slots[k]] = series_value(series, k, end, 0.0)


@cell
def begin_attempt(clock, free, time, until):
    """Set the time step of the next attempt, shortened to end at `until`; set FAILED if it has collapsed."""
    left = 0.5 * (until - time) if SPLIT == DOUBLE else until - time
    clock[ACCEPTED] = 0.0
    clock[FREE] = free
    clock[DT] = min(free, left)
    if np.float32(free) < min_step(time, until):
        clock[FAILED] = 2.0
        clock[RUNNING] = 0.0


@cell
def after_stage(clock, rates, phase):
    """After any stage: store its limit, reject the step if it is too long, and complete it after the last stage."""
    start, dt, until, courant, longest = clock[T], clock[DT], clock[UNTIL], clock[CFL], clock[LIMIT]
    tolerance, redone, max_courant, free, parity = (
        clock[TOLERANCE],
        clock[REDONE],
        clock[COURANT],
        clock[FREE],
        clock[PARITY],
    )
    gate, stage = open_gate(clock, phase), stage_of(phase)
    rate = max_rate_of(rates)
    if gate:
        limit = courant / rate if rate * longest > courant else longest
        free = limit if stage == 0 else min(free, limit)
        checked = not is_second(stage)
        if rate > INFINITE_RATE:
            clock[FAILED] = 1.0
            clock[RUNNING] = 0.0
        elif checked and not allowed(rate, dt, courant, tolerance):
            clock[REDONE] = redone + 1.0
            begin_attempt(clock, SHORTER * free if SPLIT == DOUBLE else free, start, until)
        else:
            clock[COURANT] = max(max_courant, rate * dt) if checked else max_courant
            clock[ACCEPTED] = stage + 1.0
            clock[FREE] = free
            if stage + 1 == SPLIT:
                clock[PARITY] = 1.0 - parity
                start = move(clock, start, dt, until, 2.0 if SPLIT == DOUBLE else 1.0)
                begin_attempt(clock, free, start, until)
