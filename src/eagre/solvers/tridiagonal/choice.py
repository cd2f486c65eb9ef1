"""Which method solves a batch of systems fastest: rules read off `benchmarks/tridiagonal.py --choice`.

On a GPU the partition method is the fastest for many or long systems, but it takes four launches where
a line is longer than one piece (128 unknowns that are neighbours in memory, 64 along other axes), two
thirds of the 12 to 17 us that small batches need. There one launch of a reduction is faster.
"""

from __future__ import annotations

FEW = 128  # systems that leave most of a GPU idle
SOME = 1024


def best_method(kind: str, outer: int, rows: int, inner: int, itemsize: int) -> str:
    """The method for arrays (outer, n, inner) on the CPU or a GPU."""
    if kind == "cpu":
        return "thomas"
    systems = outer * inner
    if inner == 1:
        if 128 < rows <= (512 if systems <= FEW else 256) and systems <= SOME:
            return "pcr"
    elif itemsize == 8 and systems <= SOME and 64 < rows <= 256:
        if rows & (rows - 1) == 0:  # nothing is padded
            return "pcr"
        if rows < 128:
            return "cr-pcr"
    return "partition"
