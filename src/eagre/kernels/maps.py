"""Kernel formulas of maps: maxima, their times, arrival times and durations per cell, updated at every step.

A state can be accumulated repeatedly: nothing changes after the first time. Rejected and repeated steps therefore need
no special treatment. A run accumulates the initial state of each step, and the last state on request.
"""

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, load_early, real, switch
from eagre.kernels.roots import larger, root, select

TAKEN = switch("TAKEN", False)  # whether maps are accumulated
AT_HIGHEST = switch("AT_HIGHEST", -1)  # array indices of the quantities, -1: not requested
AT_TIME = switch("AT_TIME", -1)
AT_FIRST = switch("AT_FIRST", -1)
AT_FASTEST = switch("AT_FASTEST", -1)
AT_STRONGEST = switch("AT_STRONGEST", -1)
AT_RATING = switch("AT_RATING", -1)
AT_ARRIVALS = switch("AT_ARRIVALS", 0)  # first of several arrays, one per threshold
AT_RISES = switch("AT_RISES", 0)
AT_DURATIONS = switch("AT_DURATIONS", 0)
ARRIVALS = switch("ARRIVALS", 0)  # number of thresholds
RISES = switch("RISES", 0)
DURATIONS = switch("DURATIONS", 0)

SINCE, WET, THRESHOLDS = 0, 1, 2  # indices of `MapArrays.numbers`: start, s; wet depth; thresholds, m
UNSET = -1.0  # initial value of times
ROUNDING = 1e-5  # relative tolerance, above the rounding of a depth
UNSET_SURFACE = -1e30  # initial value of the highest surface, for cells never wet


class MapArrays(NamedTuple):
    """Accumulated maps of interior cells.

    planes : (count, ny, nx): highest stored surface, m; times, s since the start; surface at the start; squares of the
    maximum speed, m2 s-2, and unit discharge, m4 s-2; h (v + 0.5), m2 s-1. Durations are stored as the time above a
    threshold minus, if the depth is above it now, the time of the last crossing. above : (ny, nx), uint8: bit n is set
    if the depth exceeds threshold n of the durations.
    """

    planes: np.ndarray
    above: np.ndarray
    numbers: np.ndarray


class Held(NamedTuple):
    """Maxima of a cell so far; when : time of the highest surface, if it has changed since it was read."""

    highest: float
    when: float
    fastest: float
    strongest: float
    rating: float


class Moment(NamedTuple):
    """Time of accumulation, s since the start of the maps, and the wet depth, m."""

    time: float
    wet: float


@cell
def held(maps, j, i):
    """Return the maxima of interior cell (j, i) so far."""
    zero = real(0.0)
    return Held(
        maps.planes[AT_HIGHEST, j, i] if AT_HIGHEST >= 0 else zero,
        zero,
        maps.planes[AT_FASTEST, j, i] if AT_FASTEST >= 0 else zero,
        maps.planes[AT_STRONGEST, j, i] if AT_STRONGEST >= 0 else zero,
        maps.planes[AT_RATING, j, i] if AT_RATING >= 0 else zero,
    )


@cell
def held_early(maps, j, i):
    """Return `held` on a GPU, with loads issued early."""
    zero = real(0.0)
    return Held(
        load_early(maps.planes, AT_HIGHEST, j, i) if AT_HIGHEST >= 0 else zero,
        zero,
        load_early(maps.planes, AT_FASTEST, j, i) if AT_FASTEST >= 0 else zero,
        load_early(maps.planes, AT_STRONGEST, j, i) if AT_STRONGEST >= 0 else zero,
        load_early(maps.planes, AT_RATING, j, i) if AT_RATING >= 0 else zero,
    )


@cell
def moment_of(maps, time):
    """Return the accumulation time of a state at `time`, s."""
    return Moment(real(time - maps.numbers[SINCE]), real(maps.numbers[WET]))


@cell
def arrive(maps, plane, j, i, time):
    """Store the arrival time at the first arrival."""
    if maps.planes[plane, j, i] < real(0.0):
        maps.planes[plane, j, i] = time


@cell
def rise_to(maps, j, i, eta, h, highest, time):
    """Update arrivals for a cell with a new maximum of the surface; implied arrivals are not checked."""
    apart = eta - highest
    near = real(ROUNDING) * (abs(eta) + h)
    for n in range(ARRIVALS):
        level = real(maps.numbers[THRESHOLDS + n])
        if h > level and h - apart <= level + near:
            arrive(maps, np.uint32(AT_ARRIVALS + n), j, i, time)
    if RISES > 0:
        rise = eta - maps.planes[AT_FIRST, j, i]
        for n in range(RISES):
            level = real(maps.numbers[THRESHOLDS + ARRIVALS + n])
            if rise > level and rise - apart <= level + near:
                arrive(maps, np.uint32(AT_RISES + n), j, i, time)


@cell
def count_wet(maps, j, i, n, h, time):
    """Start or end the intervals in which a cell is deeper than threshold n."""
    previous, bit, plane = maps.above[j, i], np.uint8(1 << n), np.uint32(AT_DURATIONS + n)
    over = h > real(maps.numbers[THRESHOLDS + ARRIVALS + RISES + n])
    was = (previous & bit) != 0
    if over != was:
        maps.planes[plane, j, i] += -time if over else time
        maps.above[j, i] = previous ^ bit


class MapState(NamedTuple):
    """State of a cell for the maps."""

    eta: Any  # stored surface, m
    h: Any  # depth, m
    u: Any  # m s-1
    v: Any
    hu: Any  # m2 s-1
    hv: Any


@cell
def with_state(maps, j, i, state, maxima, moment):
    """Return the maxima of a cell after one more `MapState`; arrivals and durations are stored here, maxima by `keep`.

    maxima : so far
    """
    highest, when, fastest, strongest, rating = maxima
    eta, h, u, v, hu, hv = state
    for n in range(DURATIONS):
        count_wet(maps, j, i, n, h, moment.time)
    if h > moment.wet:
        if AT_HIGHEST >= 0:
            if eta > highest:
                if ARRIVALS + RISES > 0:
                    rise_to(maps, j, i, eta, h, highest, moment.time)
                highest, when = eta, moment.time
        if AT_FASTEST >= 0:
            fastest = max(fastest, u * u + v * v)
        if AT_STRONGEST >= 0:
            strongest = max(strongest, hu * hu + hv * hv)
        if AT_RATING >= 0:
            rating = max(rating, h * (root(u * u + v * v) + real(0.5)))
    return Held(highest, when, fastest, strongest, rating)


@cell
def keep(maps, j, i, previous, updated):
    """Store the maxima that have increased."""
    if AT_HIGHEST >= 0:
        if updated.highest > previous.highest:
            maps.planes[AT_HIGHEST, j, i] = updated.highest
            if AT_TIME >= 0:
                maps.planes[AT_TIME, j, i] = updated.when
    if AT_FASTEST >= 0:
        if updated.fastest > previous.fastest:
            maps.planes[AT_FASTEST, j, i] = updated.fastest
    if AT_STRONGEST >= 0:
        if updated.strongest > previous.strongest:
            maps.planes[AT_STRONGEST, j, i] = updated.strongest
    if AT_RATING >= 0:
        if updated.rating > previous.rating:
            maps.planes[AT_RATING, j, i] = updated.rating


@cell
def take_up(maps, j, i, state, maxima, moment):
    """Accumulate the `MapState` of interior cell (j, i), see `with_state`; maxima : result of `held`."""
    keep(maps, j, i, maxima, with_state(maps, j, i, state, maxima, moment))


# -- on CPUs -----------------------------------------------------------------------------------------------------------
#
# One loop per array and no branches: LLVM does not vectorise a loop that stores to several planes of an array.


@cell
def no_state(j, i, fields):
    """Placeholder of STATE_OF."""
    return MapState(real(0.0), real(0.0), real(0.0), real(0.0), real(0.0), real(0.0))


STATE_OF = switch("STATE_OF", no_state)  # (j, i, fields) -> `MapState` of an interior cell


@cell
def arrive_row(maps, j, n, fields, moment):
    """Store the arrivals at threshold n in a row; the loop of the maximum comes later."""
    level, planes, plane = real(maps.numbers[THRESHOLDS + n]), maps.planes, np.uint32(AT_ARRIVALS + n)
    for i in range(planes.shape[2]):
        state = STATE_OF(j, i, fields)
        apart, previous = state.eta - planes[AT_HIGHEST, j, i], planes[plane, j, i]
        rise = state.h if n < ARRIVALS else state.eta - planes[AT_FIRST, j, i]
        near = real(ROUNDING) * (abs(state.eta) + state.h)
        arrives = (state.h > moment.wet) & (apart > real(0.0)) & (rise > level) & (rise - apart <= level + near)
        planes[plane, j, i] = select(arrives & (previous < real(0.0)), moment.time, previous)


@cell
def raise_to(planes, plane, j, i, wet, value):
    """Update a maximum with the value of a wet cell."""
    previous = planes[plane, j, i]
    planes[plane, j, i] = select(wet, larger(previous, value), previous)


@cell
def take_row(maps, j, fields, moment):
    """Accumulate a row of states, as `take_up` does for a cell."""
    planes = maps.planes
    for n in range(DURATIONS):
        for i in range(planes.shape[2]):
            count_wet(maps, j, i, n, STATE_OF(j, i, fields).h, moment.time)
    for n in range(ARRIVALS + RISES):
        arrive_row(maps, j, n, fields, moment)
    if AT_TIME >= 0:
        for i in range(planes.shape[2]):
            state, previous = STATE_OF(j, i, fields), planes[AT_TIME, j, i]
            higher = (state.h > moment.wet) & (state.eta > planes[AT_HIGHEST, j, i])
            planes[AT_TIME, j, i] = select(higher, moment.time, previous)
    if AT_HIGHEST >= 0:
        for i in range(planes.shape[2]):
            state = STATE_OF(j, i, fields)
            raise_to(planes, AT_HIGHEST, j, i, state.h > moment.wet, state.eta)
    if AT_FASTEST >= 0:
        for i in range(planes.shape[2]):
            state = STATE_OF(j, i, fields)
            raise_to(planes, AT_FASTEST, j, i, state.h > moment.wet, state.u * state.u + state.v * state.v)
    if AT_STRONGEST >= 0:
        for i in range(planes.shape[2]):
            state = STATE_OF(j, i, fields)
            raise_to(planes, AT_STRONGEST, j, i, state.h > moment.wet, state.hu * state.hu + state.hv * state.hv)
    if AT_RATING >= 0:
        for i in range(planes.shape[2]):
            state = STATE_OF(j, i, fields)
            rating = state.h * (root(state.u * state.u + state.v * state.v) + real(0.5))
            raise_to(planes, AT_RATING, j, i, state.h > moment.wet, rating)
