"""Advection problems that tests share."""

from __future__ import annotations

import numpy as np

from eagre.advection import Open
from oracle.mpdata import mpdata


def faces(shape, axis):
    return tuple(n + (axis == a) for a, n in enumerate(shape))


def rough(shape, seed=0, low=0.0, dtype=np.float64):
    """A random field in [low, 1), random face fluxes along z, y, x of Courant numbers below 1, and random h."""
    rng = np.random.default_rng(seed)
    v = []
    for axis in range(len(shape)):
        a = rng.uniform(-0.12, 0.12, faces(shape, axis))
        np.moveaxis(a, axis, 0)[-1] = np.moveaxis(a, axis, 0)[0]  # as periodic axes need
        v.append(a.astype(dtype))
    return rng.uniform(low, 1.0, shape).astype(dtype), v, rng.uniform(0.8, 1.2, shape).astype(dtype)


def solenoidal(shape, courant=0.3, seed=0):
    """Random face fluxes without divergence on a periodic grid of three axes, by a vector potential on edges."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((3, *shape))

    def ahead(f, axis):
        return np.roll(f, -1, axis) - f

    v = [
        ahead(a[2], 1) - ahead(a[1], 2),
        ahead(a[0], 2) - ahead(a[2], 0),
        ahead(a[1], 0) - ahead(a[0], 1),
    ]
    most = max(np.abs(one).max() for one in v)
    return [
        np.take(one * (courant / 3 / most), [*range(n), 0], axis)
        for axis, (one, n) in enumerate(zip(v, shape, strict=True))
    ]


def expected(x, v, h, sides, odd=(), **options):
    """The transcription's answer for arguments of `Mpdata`; x of three axes."""
    told = [side if isinstance(side, str) else ("open", *side) for side in sides]
    mirrored = [axis in odd for axis in range(3)]
    return mpdata(x, v[::-1], h, sides=told, odd=mirrored, **{"divergent": True, **options})


SIDES = {
    "rings": ("periodic",) * 3,
    "walls": ("wall",) * 3,
    "open": ("open",) * 3,
    "mixed": ("wall", "periodic", Open(0.3, None)),
    "outside": (Open(None, 0.9), Open(0.1, 0.2), "wall"),
}
