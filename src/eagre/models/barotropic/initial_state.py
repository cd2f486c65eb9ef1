"""Potential vorticity of the initial state, from relative or potential vorticity."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.errors import InputError
from eagre.models.barotropic.inputs import field_at_points
from eagre.models.barotropic.setup import Setup
from eagre.solvers.poisson import PoissonSolver

RELATIVE, POTENTIAL, LOWER = "relative_vorticity", "potential_vorticity", "_lower"
MAX_MEAN = 1e-3  # largest mean of a relative vorticity in a periodic basin, as a fraction of its maximum


def initial_vorticity(setup: Setup, relative: tuple[Any, Any], potential: tuple[Any, Any]) -> list[np.ndarray]:
    """Return the potential vorticity of each layer at the points, (ny, nx), 1/s.

    Parameters
    ----------
    setup : Setup
    relative, potential : tuple of value or None
        Relative and potential vorticity of the upper (or only) and the lower layer, 1/s.

    Raises
    ------
    InputError
        For a mix of relative and potential vorticity, a lower layer in a one-layer model, and mismatched shapes.
    """
    inputs: dict[str, Any] = dict(
        zip((RELATIVE, RELATIVE + LOWER, POTENTIAL, POTENTIAL + LOWER), (*relative, *potential), strict=True)
    )
    names = [name for name, value in inputs.items() if value is not None]
    if setup.layers is None and (lower := [name for name in names if name.endswith(LOWER)]):
        raise InputError(
            f"{lower[0]} without layers", allowed=f"{lower[0].removesuffix(LOWER)}, or two layers",
            fix="layers = Layers(upper=4e-10, lower=1e-10)",
            problem="The initial state has a lower layer, but the model has one layer.",
        )  # fmt: skip
    kinds = [RELATIVE if name.startswith(RELATIVE) else POTENTIAL for name in names] or [POTENTIAL]
    if len({*kinds}) > 1:
        first, other = names[0], names[kinds.index(POTENTIAL)]
        raise InputError(
            f"{first} and {other}", allowed="relative or potential vorticity, the same for all layers",
            fix=f"{first} = ...  # without {other}",
            problem="The initial state mixes relative and potential vorticity.",
        )  # fmt: skip
    kind, suffixes = kinds[0], ("",) if setup.layers is None else ("", LOWER)
    fields = []
    for name in (kind + suffix for suffix in suffixes):
        value = inputs[name]
        fields.append(field_at_points(name, 0.0 if value is None else value, setup.grid))
    if kind == POTENTIAL or (setup.layers is None and setup.screening == 0.0):
        return fields
    fields = [_without_mean(setup, RELATIVE + suffix, zeta) for suffix, zeta in zip(suffixes, fields, strict=True)]
    psi = [_streamfunction(setup, zeta) for zeta in fields]
    if setup.layers is None:
        return [fields[0] - setup.screening * psi[0]]
    return [fields[k] - setup.layers.coupling_parameter(k) * (psi[k] - psi[1 - k]) for k in (0, 1)]


def _without_mean(setup: Setup, name: str, zeta: np.ndarray) -> np.ndarray:
    """Return a relative vorticity, in a periodic basin minus its mean; a mean above MAX_MEAN is an error."""
    if not all(setup.periodic):
        return zeta
    mean, max_value = float(zeta.mean()), float(np.abs(zeta).max())
    if abs(mean) > MAX_MEAN * max_value:
        raise InputError(
            f"{name} with a mean of {mean:.3g} 1/s, at most {max_value:.3g} 1/s", allowed="a mean of 0",
            fix=f"{name} = zeta - zeta.mean()",
            problem="The mean relative vorticity of a periodic basin is 0, because it is the curl of the velocity.",
        )  # fmt: skip
    return zeta - mean


def _streamfunction(setup: Setup, zeta: np.ndarray) -> np.ndarray:
    """Return psi of Lap psi = zeta at the points, (ny, nx), m2/s: 0 on walls, zero mean in a periodic basin."""
    wrap_x, wrap_y = setup.periodic
    inner = (slice(None) if wrap_y else slice(1, -1), slice(None) if wrap_x else slice(1, -1))
    kinds = ["periodic" if wrap else "dirichlet" for wrap in (wrap_y, wrap_x)]
    psi = np.zeros(zeta.shape)
    psi[inner] = PoissonSolver(zeta[inner].shape, (setup.grid.dy, setup.grid.dx), kinds).solve(zeta[inner])
    return psi
