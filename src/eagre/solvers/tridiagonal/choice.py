"""Which method solves a batch of systems fastest."""

from __future__ import annotations


def best_method(kind: str, outer: int, rows: int, inner: int, itemsize: int) -> str:
    """The method for arrays (outer, n, inner) on the CPU or a GPU."""
    if kind == "cpu":
        return "thomas"
    return "partition"
