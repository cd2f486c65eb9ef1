"""Choice of the fastest method for a batch of systems, from measurements with `benchmarks/tridiagonal.py --choice`.

On a GPU the partition method is the fastest for many or long systems, but it needs four launches if a line is longer
than one partition (128 unknowns if they are contiguous in memory, the rows of a block along other axes). These launches
are two thirds of the 12 to 17 us of small batches, for which one launch of a reduction is faster.
"""

from __future__ import annotations

from eagre.backend.device import Device

CELLS = 128  # rows per warp for contiguous systems


def best_method(device: Device, outer: int, rows: int, inner: int, itemsize: int) -> str:
    """Return the method for arrays (outer, n, inner) on a device."""
    if device.kind == "cpu":
        return "thomas"
    limits, systems = device.parameters("solver:tridiagonal.choice"), outer * inner
    block = device.parameters("solver:tridiagonal.columns")
    if inner == 1:
        longest = limits.longest_of_few if systems <= limits.few else limits.longest
        if CELLS < rows <= longest and systems <= limits.some:
            return "pcr"
    elif itemsize == 8 and systems <= limits.some and block.rows * block.threads < rows <= limits.longest:
        if rows & (rows - 1) == 0:  # no padding
            return "pcr"
        if rows < limits.longest_padded:
            return "cr-pcr"
    return "partition"
