"""Cells that tests build."""

from eagre.backend.compilation.cells import cell, real, switch
from eagre.kernels.roots import power_four_thirds, power_seven_sixths

SHIFT = switch("SHIFT", 1.0)
UNKNOWN = object()


@cell
def power_row(j, i, x, out):
    """out = x^(4/3)."""
    out[j, i] = power_four_thirds(x[j, i])


@cell
def powers_twice(j, i, x, out):
    """out = 2 x^(4/3)."""
    out[j, i] = real(2.0) * power_four_thirds(x[j, i])


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


@cell
def counted_1(i, out, base):
    out[i] += 1.0 + i


@cell
def counted_2(j, i, out, base):
    out[j, i] += 1.0 + i + base * j


@cell
def counted_3(k, j, i, out, base):
    out[k, j, i] += 1.0 + i + base * (j + base * k)


COUNTERS = {1: counted_1, 2: counted_2, 3: counted_3}


@cell
def without_index(out, i):
    out[i] = 0.0


@cell
def out_of_order(i, j, out):
    out[j, i] = 0.0


@cell
def halved(j, i, x, out):
    """out = x / 2."""
    out[j, i] = real(0.5) * x[j, i]
