"""Global fields, and the parts of them that the subdomains of a `Decomposition` hold and own, on the host."""

from __future__ import annotations

import numpy as np


def scatter(parts, values, rank, location="centre"):
    """Return the cells that a subdomain holds of a global field, whose last axes are the grid axes."""
    held = parts.held(rank, location)
    for axis, one in enumerate(held):
        values = values.take(range(*one), axis=axis - len(held), mode="wrap")
    return values


def gather(parts, subdomains, location="centre"):
    """Return a global field from the cells that each subdomain owns."""
    sizes = [size + parts._extra(axis, location) for axis, size in enumerate(parts.shape)]
    whole = np.empty((*subdomains[0].shape[: -len(sizes)], *sizes), subdomains[0].dtype)
    for rank, subdomain in enumerate(subdomains):
        whole[(..., *(slice(*one) for one in parts.owned(rank, location)))] = subdomain
    return whole


def owned_cells(parts, rank, array, location="centre"):
    """Return the owned cells of a field from a host copy of a subdomain array."""
    starts = [first for first, _ in (parts.held(rank) if parts.overlap else parts.owned(rank))]
    ranges = zip(parts.owned(rank, location), starts, parts.leading, strict=True)
    return array[(..., *(slice(first - start + k, last - start + k) for (first, last), start, k in ranges))]
