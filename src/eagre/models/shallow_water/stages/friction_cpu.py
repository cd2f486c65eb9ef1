"""Bed friction on a row of the new state on the CPU, in separate loops with independent square roots."""

from eagre.backend.compilation.cells import cell
from eagre.kernels.elevation import depth
from eagre.models.shallow_water.kernels import (
    FRICTION,
    bed_centre,
    friction_duration,
    kept_momentum,
    manning_of,
    with_friction,
    with_friction_across,
)


@cell
def apply_friction(out, bed, manning, row, i0, n, second, dt, p):
    """Apply bed friction to interior row `row` of the new state, after a stage of both directions."""
    if FRICTION != 0:
        j, dt = row + 2, friction_duration(dt, second)
        for i in range(n):
            c = i0 + i + 2
            h = depth(out[0, j, c], bed_centre(bed, j, c))
            hu, hv = with_friction(out[1, j, c], out[2, j, c], h, manning_of(manning, row, i0 + i, p), dt, p)
            out[1, j, c] = hu
            out[2, j, c] = hv


@cell
def apply_friction_across(q, out, bed, manning, across_row, along_row, s, row, i0, n, across, second, dt, p):
    """Apply bed friction to the normal momentum after a stage of a sweep from q; see `apply_friction`.

    across_row, along_row : positions of the velocities normal and tangential to the faces in the scratch s.
    """
    if FRICTION != 0:
        j, dt = row + 2, friction_duration(dt, second)
        for i in range(n):
            c = i0 + i + 2
            b, g_n2 = bed_centre(bed, j, c), manning_of(manning, row, i0 + i, p)
            h = depth(q[0, j, c], b)
            m = kept_momentum(h, q[across, j, c], s[across_row + i + 2], p)
            t = kept_momentum(h, q[3 - across, j, c], s[along_row + i + 2], p)
            out[across, j, c] = with_friction_across(out[across, j, c], m, t, depth(out[0, j, c], b), g_n2, dt, p)
