"""Cells that tests build."""

from eagre.backend.cells import cell, real, switch
from eagre.kernels.roots import power_four_thirds, power_seven_sixths

SHIFT = switch("SHIFT", 1.0)
UNKNOWN = object()


@cell
def power_row(j, i, x, out):
    """out = x^(4/3)."""
    out[j, i] = power_four_thirds(x[j, i])


@cell
def shifted(j, i, x, out):
    """out = x + SHIFT."""
    out[j, i] = x[j, i] + real(SHIFT)


@cell
def forbidden(j, i, x, out):
    """Uses what no program can hold."""
    out[j, i] = UNKNOWN


@cell
def sevenths(j, i, x, out):
    out[j, i] = power_seven_sixths(x[j, i])
