"""Point functions of horizontal averages at a height: sums along y at every x, then along x, in double precision.

Regions are (heights, x) and (quantities, heights), so that threads of a GPU read along x. The summation order is fixed,
so that repeated runs are bitwise identical.
"""

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import cell, real, switch

INTERPOLATED = switch("INTERPOLATED", False)

WIND = ("uu", "vv", "ww", "uv", "uw", "vw", "www", "we", "wp")
CARRIED = ("wc", "cc", "ccc")


class Columns(NamedTuple):
    """Heights of averages, levels and terrain of the columns.

    heights (n,), levels (nz,) above flat terrain, m; ground : terrain height, (ny, nx), m; over_share (ny, nx):
    1 / (1 - ground / H); weights_y (ny,), weights_x (nx,): 1/2 on a boundary. If the heights are the levels, only the
    weights are read.
    """

    heights: Any
    levels: Any
    ground: Any
    over_share: Any
    weights_y: Any
    weights_x: Any


class Spot(NamedTuple):
    """Height in a column: level below, fraction of the distance to the next level, weight (0 below the terrain)."""

    k: Any
    share: Any
    weight: Any


class Winds(NamedTuple):
    """Wind and pressure, (nz, ny, nx), or their averages, (heights,)."""

    u: Any
    v: Any
    w: Any
    p: Any


@cell
def level_below(target, levels):
    """Return the last level, except the top, that is not above a height."""
    low, high = np.int64(0), np.int64(levels.shape[0] - 1)
    while high - low > 1:
        middle = (low + high) // 2
        if levels[middle] <= target:
            low = middle
        else:
            high = middle
    return low


@cell
def spot_of(m, n, i, columns):
    """Return the position of height m in the column (n, i)."""
    weight = columns.weights_y[n] * columns.weights_x[i]
    if INTERPOLATED:
        if columns.heights[m] < columns.ground[n, i]:
            return Spot(np.int64(0), real(0.0), real(0.0))
        target = (columns.heights[m] - columns.ground[n, i]) * columns.over_share[n, i]
        k = level_below(target, columns.levels)
        share = (target - columns.levels[k]) / (columns.levels[k + 1] - columns.levels[k])
        return Spot(k, share, weight)
    return Spot(np.int64(m), real(0.0), weight)


@cell
def value(q, spot, n, i):
    """Return a field at a height, interpolated linearly between levels."""
    if INTERPOLATED:
        return (real(1.0) - spot.share) * q[spot.k, n, i] + spot.share * q[spot.k + 1, n, i]
    return real(1.0) * q[spot.k, n, i]


@cell
def sum_field(j, i, q, scale, columns, row, out):
    """Compute the sum along y of scale q at height j; region (heights, nx). scale : (1,)."""
    total = real(0.0)
    for n in range(q.shape[1]):
        spot = spot_of(j, n, i, columns)
        total += spot.weight * value(q, spot, n, i)
    out[row, j, i] = scale[0] * total


@cell
def sum_wind(j, i, fields, scale, columns, mean, row, out):
    """Compute sums along y of the products `WIND` of fluctuations; `mean` : `Winds`, pressure is scale p."""
    uu = vv = ww = uv = uw = vw = www = we = wp = real(0.0)
    for n in range(fields.u.shape[1]):
        spot = spot_of(j, n, i, columns)
        u = value(fields.u, spot, n, i) - mean.u[j]
        v = value(fields.v, spot, n, i) - mean.v[j]
        w = value(fields.w, spot, n, i) - mean.w[j]
        uu += spot.weight * u * u
        vv += spot.weight * v * v
        ww += spot.weight * w * w
        uv += spot.weight * u * v
        uw += spot.weight * u * w
        vw += spot.weight * v * w
        www += spot.weight * w * w * w
        we += spot.weight * w * (real(0.5) * (u * u + v * v + w * w))
        wp += spot.weight * w * (scale[0] * value(fields.p, spot, n, i) - mean.p[j])
    out[row, j, i] = uu
    out[row + 1, j, i] = vv
    out[row + 2, j, i] = ww
    out[row + 3, j, i] = uv
    out[row + 4, j, i] = uw
    out[row + 5, j, i] = vw
    out[row + 6, j, i] = www
    out[row + 7, j, i] = we
    out[row + 8, j, i] = wp


@cell
def sum_carried(j, i, c, w, mean_c, mean_w, columns, row, out):
    """Compute sums along y of the products `CARRIED` of fluctuations of a scalar c and of w."""
    wc = cc = ccc = real(0.0)
    for n in range(c.shape[1]):
        spot = spot_of(j, n, i, columns)
        apart = value(c, spot, n, i) - mean_c[j]
        wc += spot.weight * (value(w, spot, n, i) - mean_w[j]) * apart
        cc += spot.weight * apart * apart
        ccc += spot.weight * apart * apart * apart
    out[row, j, i] = wc
    out[row + 1, j, i] = cc
    out[row + 2, j, i] = ccc


@cell
def average(j, i, sums, over_weight, found):
    """Compute averages: sums along x divided by the weight above the terrain; region (quantities, heights)."""
    total = real(0.0)
    for n in range(sums.shape[2]):
        total += sums[j, i, n]
    found[j, i] = total * over_weight[i]


@cell
def set_shear(i, mean, stress, below, above, over, out):
    """Compute the shear production at height i: -(u'w' dU/dz + v'w' dV/dz + w'w' dW/dz)."""
    low, high = below[i], above[i]
    total = stress.u[i] * (mean.u[high] - mean.u[low]) + stress.v[i] * (mean.v[high] - mean.v[low])
    total += stress.w[i] * (mean.w[high] - mean.w[low])
    out[i] = -total * over[i]


@cell
def gather(j, i, found, weight, gathered):
    """Accumulate the averages times a weight, (1,)."""
    gathered[j, i] += weight[0] * found[j, i]
