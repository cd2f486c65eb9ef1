"""Savitzky-Golay filter of the surface: removes the shortest waves of the grid and leaves resolved waves.

A polynomial of degree 10 through 13 points is fitted at each point, along x and then along y, to the elevation and to
the potential on the surface. On evenly spaced points that is::

    f <- f - C (delta^2)^6 f,   C = binomial(12, 6) / binomial(24, 12)

A wave of wave number k keeps 1 - 1.40 sin^12(k dx / 2) of its amplitude: all but 1e-6 at 10 points per wave length,
-0.4 at two. At walls the surface is continued as its mirror image. The mean is conserved.

Sources: A. Savitzky, M. J. E. Golay, Anal. Chem. 36, 1627-1639 (1964), doi:10.1021/ac60214a047; for steep waves
A. P. Engsig-Karup, H. B. Bingham, O. Lindberg, J. Comput. Phys. 228, 2100-2118 (2009), doi:10.1016/j.jcp.2008.11.028.
"""

from __future__ import annotations

import math
from typing import Any

from eagre.backend.compilation.cells import cell, real
from eagre.errors import InputError
from eagre.kernels.neighbour_indices import neighbour
from eagre.models.potential_waves.laplace.base import Laplace

PASSES = 6
FACTOR = math.comb(12, 6) / math.comb(24, 12)


@cell
def second_difference_x(k, j, i, a, out, periodic):
    """Second difference along x."""
    east, west = neighbour(i, 1, a.shape[2], periodic), neighbour(i, -1, a.shape[2], periodic)
    out[k, j, i] = (a[k, j, east] - a[k, j, i]) + (a[k, j, west] - a[k, j, i])


@cell
def second_difference_y(k, j, i, a, out, periodic):
    """Second difference along y."""
    north, south = neighbour(j, 1, a.shape[1], periodic), neighbour(j, -1, a.shape[1], periodic)
    out[k, j, i] = (a[k, north, i] - a[k, j, i]) + (a[k, south, i] - a[k, j, i])


@cell
def subtract(k, j, i, a, difference):
    """Remove the part of the field that the polynomial does not represent."""
    a[k, j, i] -= real(FACTOR) * difference[k, j, i]


def checked_interval(steps: int) -> int:
    """Return the number of steps between two applications; 0 for none."""
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
        raise InputError(
            f"surface_filter = {steps!r}",
            problem="surface_filter is the number of steps between two applications of the filter.",
            allowed="0 (no filter) or a positive integer",
            fix="surface_filter = 10",
        )
    return steps


class SurfaceFilter:
    """Filter of the elevation and the potential of a Laplace problem's surface, on one device or several.

    Parameters
    ----------
    laplace : Laplace
    """

    def __init__(self, laplace: Laplace) -> None:
        device, region = laplace.device, (2, *laplace.shape)
        work = [laplace.surface_zeros(2) for _ in range(2)]
        launches: list[Any] = []
        for axis, entry, periodic in (
            (1, second_difference_x, laplace.lines.periodic_x),
            (0, second_difference_y, laplace.lines.periodic_y),
        ):
            if laplace.shape[axis] == 1:
                continue
            source, loop = laplace.fields, device.loop(entry, "double")
            for n in range(PASSES):
                launches += laplace.halos(source) if axis == 0 else []
                launches.append(device.over(loop, region, (source, work[n % 2], periodic)))
                source = work[n % 2]
            launches.append(device.over(device.loop(subtract, "double"), region, (laplace.fields, source)))
        self.apply = device.repeated(launches, 1)
