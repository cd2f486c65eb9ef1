"""Maps that a run gathers step by step: what was largest in a cell, when, how soon and how long it was deep.

A state may be taken up any number of times: nothing changes after the first. So a step that is refused and made again
needs no care, and a run takes up the state that each of its steps begins from, and the last one when it is asked.
"""

from typing import NamedTuple

import numpy as np

from eagre.backend.cells import cell, load_ahead, real, switch
from eagre.kernels.roots import root

TAKEN = switch("TAKEN", False)  # whether there is anything to gather
AT_HIGHEST = switch("AT_HIGHEST", -1)  # planes of what is gathered, -1: not asked for
AT_TIME = switch("AT_TIME", -1)
AT_FIRST = switch("AT_FIRST", -1)
AT_FASTEST = switch("AT_FASTEST", -1)
AT_STRONGEST = switch("AT_STRONGEST", -1)
AT_RATING = switch("AT_RATING", -1)
AT_ARRIVALS = switch("AT_ARRIVALS", 0)  # the first of a row of planes, one a threshold
AT_RISES = switch("AT_RISES", 0)
AT_DURATIONS = switch("AT_DURATIONS", 0)
ARRIVALS = switch("ARRIVALS", 0)  # how many thresholds
RISES = switch("RISES", 0)
DURATIONS = switch("DURATIONS", 0)

SINCE, WET, THRESHOLDS = 0, 1, 2  # of `Kept.numbers`: when they began, s; depth that counts as wet; thresholds, m
UNSET = -1.0  # of a time that has not come
ROUNDING = 1e-5  # more than that of a depth
NOTHING = -1e30  # of a highest surface where there was no water


class Kept(NamedTuple):
    """What is gathered, of interior cells.

    planes : (count, ny, nx): highest surface as the model stores it, m; times, s since the start; the surface at the
    start; squares of the largest speed, m2 s-2, and unit discharge, m4 s-2; h (v + 0.5), m2 s-1. Of a duration the time
    for which the depth was above a threshold, less the time since which it is if it is now. above : (ny, nx), uint8:
    bit n tells whether the depth is above threshold n of the durations.
    """

    planes: np.ndarray
    above: np.ndarray
    numbers: np.ndarray


class Held(NamedTuple):
    """What a cell has so far; when : of the highest surface, if it has risen since it was read."""

    highest: float
    when: float
    fastest: float
    strongest: float
    rating: float


class Moment(NamedTuple):
    """When a state is taken up, s since the start of the maps, and the depth that counts as wet, m."""

    now: float
    wet: float


@cell
def held(kept, j, i):
    """What interior cell (j, i) has so far."""
    zero = real(0.0)
    return Held(
        kept.planes[AT_HIGHEST, j, i] if AT_HIGHEST >= 0 else zero,
        zero,
        kept.planes[AT_FASTEST, j, i] if AT_FASTEST >= 0 else zero,
        kept.planes[AT_STRONGEST, j, i] if AT_STRONGEST >= 0 else zero,
        kept.planes[AT_RATING, j, i] if AT_RATING >= 0 else zero,
    )


@cell
def held_ahead(kept, j, i):
    """`held` on a GPU, asked for now and needed later."""
    zero = real(0.0)
    return Held(
        load_ahead(kept.planes, AT_HIGHEST, j, i) if AT_HIGHEST >= 0 else zero,
        zero,
        load_ahead(kept.planes, AT_FASTEST, j, i) if AT_FASTEST >= 0 else zero,
        load_ahead(kept.planes, AT_STRONGEST, j, i) if AT_STRONGEST >= 0 else zero,
        load_ahead(kept.planes, AT_RATING, j, i) if AT_RATING >= 0 else zero,
    )


@cell
def moment_of(kept, time):
    """The moment of a state at `time`, s."""
    return Moment(real(time - kept.numbers[SINCE]), real(kept.numbers[WET]))


@cell
def arrive(kept, at, j, i, now):
    """Note that something has come, unless it came before."""
    if kept.planes[at, j, i] < real(0.0):
        kept.planes[at, j, i] = now


@cell
def rise_to(kept, j, i, eta, h, highest, now):
    """A cell has a higher surface than ever: note arrivals; what surely came with the highest one needs no look."""
    apart = eta - highest
    near = real(ROUNDING) * (abs(eta) + h)
    for n in range(ARRIVALS):
        level = real(kept.numbers[THRESHOLDS + n])
        if h > level and h - apart <= level + near:
            arrive(kept, np.uint32(AT_ARRIVALS + n), j, i, now)
    if RISES > 0:
        rise = eta - kept.planes[AT_FIRST, j, i]
        for n in range(RISES):
            level = real(kept.numbers[THRESHOLDS + ARRIVALS + n])
            if rise > level and rise - apart <= level + near:
                arrive(kept, np.uint32(AT_RISES + n), j, i, now)


@cell
def count_wet(kept, j, i, h, now):
    """Begin or end the stretches for which a cell is deeper than each threshold."""
    before, bits = np.int64(kept.above[j, i]), np.int64(0)
    for n in range(DURATIONS):
        bit = 1 << n
        over = h > real(kept.numbers[THRESHOLDS + ARRIVALS + RISES + n])
        was = (before & bit) != 0
        if over:
            bits += bit
        if over and not was:
            kept.planes[np.uint32(AT_DURATIONS + n), j, i] -= now
        elif was and not over:
            kept.planes[np.uint32(AT_DURATIONS + n), j, i] += now
    if bits != before:
        kept.above[j, i] = np.uint8(bits)


@cell
def with_state(kept, j, i, eta, h, u, v, hu, hv, own, moment):
    """What a cell has, `own` so far, with one more state; arrivals and durations are stored, the rest is not yet.

    eta, h : surface as the model stores it, and depth, m; u, v : m s-1; hu, hv : m2 s-1.
    """
    highest, when, fastest, strongest, rating = own
    if DURATIONS > 0:
        count_wet(kept, j, i, h, moment.now)
    if h > moment.wet:
        if AT_HIGHEST >= 0:
            if eta > highest:
                if ARRIVALS + RISES > 0:
                    rise_to(kept, j, i, eta, h, highest, moment.now)
                highest, when = eta, moment.now
        if AT_FASTEST >= 0:
            fastest = max(fastest, u * u + v * v)
        if AT_STRONGEST >= 0:
            strongest = max(strongest, hu * hu + hv * hv)
        if AT_RATING >= 0:
            rating = max(rating, h * (root(u * u + v * v) + real(0.5)))
    return Held(highest, when, fastest, strongest, rating)


@cell
def keep(kept, j, i, before, after):
    """Store what has become larger."""
    if AT_HIGHEST >= 0:
        if after.highest > before.highest:
            kept.planes[AT_HIGHEST, j, i] = after.highest
            if AT_TIME >= 0:
                kept.planes[AT_TIME, j, i] = after.when
    if AT_FASTEST >= 0:
        if after.fastest > before.fastest:
            kept.planes[AT_FASTEST, j, i] = after.fastest
    if AT_STRONGEST >= 0:
        if after.strongest > before.strongest:
            kept.planes[AT_STRONGEST, j, i] = after.strongest
    if AT_RATING >= 0:
        if after.rating > before.rating:
            kept.planes[AT_RATING, j, i] = after.rating


@cell
def take_up(kept, j, i, eta, h, u, v, hu, hv, own, moment):
    """Take up the state of interior cell (j, i), see `with_state`; own : `held`."""
    keep(kept, j, i, own, with_state(kept, j, i, eta, h, u, v, hu, hv, own, moment))
