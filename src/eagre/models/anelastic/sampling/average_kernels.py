"""Point functions of horizontal averages at a height: sums along y at every x, then along x, in double precision.

Regions are (heights, x) and (quantities, heights), so that threads of a GPU read along x. The summation order is fixed,
so that repeated runs are bitwise identical.
"""

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, real, switch

INTERPOLATED = switch("INTERPOLATED", False)

WIND = ("uu", "vv", "ww", "uv", "uw", "vw", "www", "we", "wp")
CARRIED = ("wc", "cc", "ccc")


class Columns(NamedTuple):
    """Heights of averages, levels and terrain of the columns.

    heights (n,), levels (nz,) above flat terrain, m; ground : terrain height, (ny, nx), m; over_fraction (ny, nx):
    1 / (1 - ground / H); weights_y (ny,), weights_x (nx,): 1/2 on a boundary. If the heights are the levels, only the
    weights are read.
    """

    heights: Any
    levels: Any
    ground: Any
    over_fraction: Any
    weights_y: Any
    weights_x: Any


class ColumnPosition(NamedTuple):
    """Height in a column: level below, fraction of the distance to the next level, weight (0 below the terrain)."""

    k: Any
    fraction: Any
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
        mid = (low + high) // 2
        if levels[mid] <= target:
            low = mid
        else:
            high = mid
    return low


@cell
def position_of(m, n, i, columns):
    """Return the position of height m in the column (n, i)."""
    weight = columns.weights_y[n] * columns.weights_x[i]
    if INTERPOLATED:
        if columns.heights[m] < columns.ground[n, i]:
            return ColumnPosition(np.int64(0), real(0.0), real(0.0))
        target = (columns.heights[m] - columns.ground[n, i]) * columns.over_fraction[n, i]
        k = level_below(target, columns.levels)
        fraction = (target - columns.levels[k]) / (columns.levels[k + 1] - columns.levels[k])
        return ColumnPosition(k, fraction, weight)
    return ColumnPosition(np.int64(m), real(0.0), weight)


@cell
def value(q, position, n, i):
    """Return a field at a height, interpolated linearly between levels."""
    if INTERPOLATED:
        return (real(1.0) - position.fraction) * q[position.k, n, i] + position.fraction * q[position.k + 1, n, i]
    return real(1.0) * q[position.k, n, i]


@cell
def sum_field(j, i, q, scale, columns, row, out):
    """Compute the sum along y of scale q at height j; region (heights, nx). scale : (1,)."""
    total = real(0.0)
    for n in range(q.shape[1]):
        position = position_of(j, n, i, columns)
        total += position.weight * value(q, position, n, i)
    out[row, j, i] = scale[0] * total


@cell
def sum_wind(j, i, fields, scale, columns, mean, row, out):
    """Compute sums along y of the products `WIND` of fluctuations; `mean` : `Winds`, pressure is scale p."""
    uu = vv = ww = uv = uw = vw = www = we = wp = real(0.0)
    for n in range(fields.u.shape[1]):
        position = position_of(j, n, i, columns)
        u = value(fields.u, position, n, i) - mean.u[j]
        v = value(fields.v, position, n, i) - mean.v[j]
        w = value(fields.w, position, n, i) - mean.w[j]
        uu += position.weight * u * u
        vv += position.weight * v * v
        ww += position.weight * w * w
        uv += position.weight * u * v
        uw += position.weight * u * w
        vw += position.weight * v * w
        www += position.weight * w * w * w
        we += position.weight * w * (real(0.5) * (u * u + v * v + w * w))
        wp += position.weight * w * (scale[0] * value(fields.p, position, n, i) - mean.p[j])
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
        position = position_of(j, n, i, columns)
        fluctuation = value(c, position, n, i) - mean_c[j]
        wc += position.weight * (value(w, position, n, i) - mean_w[j]) * fluctuation
        cc += position.weight * fluctuation * fluctuation
        ccc += position.weight * fluctuation * fluctuation * fluctuation
    out[row, j, i] = wc
    out[row + 1, j, i] = cc
    out[row + 2, j, i] = ccc


@cell
def average(j, i, sums, over_weight, averages):
    """Compute averages: sums along x divided by the weight above the terrain; region (quantities, heights)."""
    total = real(0.0)
    for n in range(sums.shape[2]):
        total += sums[j, i, n]
    averages[j, i] = total * over_weight[i]


@cell
def set_shear(i, mean, stress, below, above, over, out):
    """Compute the shear production at height i: -(u'w' dU/dz + v'w' dV/dz + w'w' dW/dz)."""
    low, high = below[i], above[i]
    total = stress.u[i] * (mean.u[high] - mean.u[low]) + stress.v[i] * (mean.v[high] - mean.v[low])
    total += stress.w[i] * (mean.w[high] - mean.w[low])
    out[i] = -total * over[i]


@cell
def accumulate(j, i, averages, weight, accumulated):
    """Accumulate the averages times a weight, (1,)."""
    accumulated[j, i] += weight[0] * averages[j, i]
