"""The divergence term of MPDATA: a correction of the advector that makes the scheme second order in divergent flow.

A step of second order needs the flux v x at the middle of the step. By then x has changed by
-dt/2 (v grad x + x div v) / h. The pseudo velocities of `eagre.kernels.mpdata` contain the first part. The second part
multiplies the advector by 1 - dt div(v) / (2 h), which is the term of Smolarkiewicz (1984) moved from the corrective
pass to the donor cell. There the flux-corrected transport does not limit it, and kernels need no term for it.

Source: P. K. Smolarkiewicz, J. Comput. Phys. 54, 325-362 (1984), doi:10.1016/0021-9991(84)90121-9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eagre.advection.ghosts import Open
from eagre.backend.arrays import array_module

ROUNDING = 64  # in units of the last place of the largest flux: a divergence below this is taken as 0


def with_divergence_term(faces: Sequence[Any], h: Any, sides: Sequence[str | Open]) -> list[Any]:
    """Return the advector with its divergence term; the same arrays if its divergence is 0 to rounding.

    Parameters
    ----------
    faces : arrays, one per axis
        Fluxes through faces, times dt/dx; see `eagre.advection.Mpdata`.
    h : array or None
        Density times Jacobian at the points; None for 1.
    sides : str or Open, one per axis
        Boundaries. The outer faces of open boundaries are not corrected: inflow has a fixed value during the step.
    """
    kinds = [side if isinstance(side, str) else "open" for side in sides]
    axes = [axis for axis, a in enumerate(faces) if a.shape[axis] > 2]  # nothing flows along axes of one point
    if not axes or not faces[0].size:
        return list(faces)
    xp = array_module(faces[0])
    div: Any = sum(xp.diff(_as_read(faces[axis], axis, kinds[axis]), axis=axis) for axis in axes)
    max_flux = max(float(abs(faces[axis]).max()) for axis in axes)
    if float(abs(div).max()) <= ROUNDING * float(xp.finfo(div.dtype).eps) * max_flux:
        return list(faces)
    return [
        _corrected(a, div, h, axis, kinds[axis]) if axis in axes else a  # type: ignore[arg-type]
        for axis, a in enumerate(faces)
    ]


def _as_read(a: Any, axis: int, kind: str) -> Any:
    """Fluxes along an axis with the outer faces that kernels use in their place; see `eagre.advection.ghosts.faces`."""
    if kind == "open":
        return a
    known = array_module(a).moveaxis(a.copy(), axis, 0)
    if kind == "periodic":
        known[-1] = known[0]
    else:
        known[0], known[-1] = -known[1], -known[-2]
    return array_module(a).moveaxis(known, 0, axis)


def _corrected(a: Any, div: Any, h: Any, axis: int, kind: str) -> Any:
    """Fluxes along one axis times 1 - (sum of div) / (2 (sum of h)), the sums over the two points of a face."""
    xp = array_module(a)
    result = a.copy()
    flux, d = xp.moveaxis(result, axis, 0), xp.moveaxis(div, axis, 0)
    mass = None if h is None else xp.moveaxis(h, axis, 0)
    half = a.dtype.type(0.5)

    def factor(left: Any, right: Any) -> Any:
        total = a.dtype.type(2.0) if mass is None else mass[left] + mass[right]
        return 1 - half * (d[left] + d[right]) / total

    flux[1:-1] *= factor(slice(None, -1), slice(1, None))
    if kind == "periodic":
        flux[0] *= factor(-1, 0)
        flux[-1] = flux[0]
    return result
