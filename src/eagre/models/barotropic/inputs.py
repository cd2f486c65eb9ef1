"""Validation of model arguments, and the potential vorticity of the initial state."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.arguments import array_copy
from eagre.backend.device import Device, check_precision
from eagre.backend.group import Group
from eagre.errors import InputError, MemoryNeededError
from eagre.grid import Grid, check_metres
from eagre.local_rows import LocalRows
from eagre.models.barotropic.setup import Setup
from eagre.plausible import check_plausible
from eagre.solvers.poisson import PoissonSolver

MIN_RADIUS = 0.1  # grid spacings: smaller deformation radii are errors; below 1 a note reports an unresolved radius


def local_rows(device: Any, grid: Grid) -> LocalRows:
    """Return the rows of this process, with the halo rows or walls of its slab."""
    return LocalRows.of(device, grid, margin=1, walls=1)


def field_at_points(name: str, value: Any, grid: Grid | LocalRows) -> np.ndarray:
    """Return `value` as a float64 array (ny, nx); scalars are broadcast.

    grid : with `LocalRows`, an array has these rows or all rows of the basin, and the result has these rows.
    """
    rows = LocalRows.whole(grid)
    array, grid = array_copy(name, rows.held(value)), rows.grid
    if array.ndim == 0:
        array = np.full(rows.shape_of("centre"), float(array))
    if array.shape != rows.shape_of("centre") or not np.isfinite(array).all():
        raise InputError(
            f"{name} of shape {array.shape}{'' if np.isfinite(array).all() else ' with values that are not finite'}",
            allowed=f"a number, or an array of shape {grid.shape} of finite values at the points",
        )
    return array


def curl_of_stress(
    stress_x: Any, stress_y: Any, grid: Grid, periodic: tuple[bool, bool] = (False, False)
) -> np.ndarray:
    """Return the curl of a stress at the points, (ny, nx), by central differences, one-sided at walls.

    Parameters
    ----------
    stress_x, stress_y : float or (ny, nx) array, N m-2
        Eastward and northward stress.
    grid : Grid
    periodic : (bool, bool)
        Whether x and y are periodic.

    Returns
    -------
    (ny, nx) array, N m-3
        d stress_y / dx - d stress_x / dy. Divide it by density and depth to obtain `wind_forcing`.

    Raises
    ------
    InputError
        For arrays of another shape, and for values that are not finite or not plausible as a stress.
    """
    along_x, along_y = field_at_points("stress_x", stress_x, grid), field_at_points("stress_y", stress_y, grid)
    for name, values in (("stress_x", along_x), ("stress_y", along_y)):
        check_plausible("wind_stress", values, name)
    return curl_at_points(along_x, along_y, grid, periodic)


def curl_at_points(along_x: np.ndarray, along_y: np.ndarray, grid: Grid, periodic: tuple[bool, bool]) -> np.ndarray:
    """Return the curl of a vector field at the points, (ny, nx); see `curl_of_stress`."""
    return _slope(along_y, grid.dx, 1, periodic[0]) - _slope(along_x, grid.dy, 0, periodic[1])


def _slope(a: np.ndarray, spacing: float, axis: int, periodic: bool) -> np.ndarray:
    if periodic:
        return (np.roll(a, -1, axis) - np.roll(a, 1, axis)) / (2.0 * spacing)
    return np.gradient(a, spacing, axis=axis, edge_order=2)


def grid_positions(particles: Any, grid: Grid, periodic: tuple[bool, bool]) -> np.ndarray:
    """Return the particle positions x, y, (n, 2), in grid units of the padded arrays, (2, n)."""
    xy = array_copy("particles", particles)
    if xy.ndim != 2 or xy.shape[1:] != (2,) or not np.isfinite(xy).all():
        raise InputError(f"particles of shape {xy.shape}", allowed="finite x, y, shape (n, 2)")
    axes = ((grid.x, grid.dx), (grid.y, grid.dy))
    check_metres("particles", xy, grid, wall_points(grid, periodic))
    for k, (x, _) in enumerate(axes):
        if not periodic[k] and not ((xy[:, k] >= x[0]) & (xy[:, k] <= x[-1])).all():
            raise InputError(
                f"particles with {'xy'[k]} from {xy[:, k].min():g} to {xy[:, k].max():g} m",
                allowed=f"{x[0]:g} to {x[-1]:g} m: between the walls",
                fix=f"[[{grid.x.mean():g}, {grid.y.mean():g}]]",
                problem="A particle lies outside the basin.",
            )
    return np.stack([(xy[:, k] - x[0]) / h + periodic[k] for k, (x, h) in enumerate(axes)])


def wall_points(grid: Grid, periodic: tuple[bool, bool]) -> np.ndarray:
    """Return the mask (ny, nx) of wall points; periodic : whether x and y are periodic."""
    mask = np.zeros(grid.shape, bool)
    if not periodic[0]:
        mask[:, [0, -1]] = True
    if not periodic[1]:
        mask[[0, -1]] = True
    return mask


def check_size(grid: Grid) -> None:
    """Raise `InputError` for grids of fewer than 5 points along an axis."""
    if min(grid.nx, grid.ny) < 5:
        raise InputError(f"{grid.nx} x {grid.ny} points", allowed="5 or more points along each axis", fix="nx = 129")


def check_deformation_radius(setup: Setup) -> None:
    """Raise `InputError` for a deformation radius far below the grid spacing."""
    radius, spacing = setup.baroclinic_radius, max(setup.grid.dx, setup.grid.dy)
    if radius >= MIN_RADIUS * spacing:
        return
    in_kilometres = 1e3 * radius >= MIN_RADIUS * spacing
    resolved = 1e3 * radius if in_kilometres else 2.0 * spacing
    got, fix = f"deformation_radius = {radius:.4g} m", f"deformation_radius = {resolved:.6g}"
    if setup.layers is not None:
        factor, layers = (radius / resolved) ** 2, setup.layers
        got = f"upper = {layers.upper:g}, lower = {layers.lower:g} of layers: deformation radius {radius:.4g} m"
        fix = f"upper = {factor * layers.upper:.4g}, lower = {factor * layers.lower:.4g}"
    raise InputError(
        f"{got}, {radius / spacing:.3g} of a grid spacing of {spacing:g} m",
        allowed=f"{MIN_RADIUS:g} grid spacings or more; 1 or more to resolve it", fix=fix,
        problem="The deformation radius is given in kilometres; it must be in metres." if in_kilometres else
        "The deformation radius is far below the grid spacing.",
    )  # fmt: skip


def check_memory(grid: Grid, device: Device | Group, precision: str, layers: int, more: int = 0) -> None:
    """Raise `MemoryNeededError` if the device has too little memory; more : arrays in addition to the layers."""
    needed = (9 * layers + more) * grid.cells * np.dtype(check_precision(precision)).itemsize
    if needed > device.free_memory():
        raise MemoryNeededError(needed, device.free_memory(), str(device))


def check_together(setup: Setup, precision: str) -> None:
    """Raise `InputError` for incompatible options and for a deformation radius far below the grid spacing."""
    check_deformation_radius(setup)
    if setup.implicit and (setup.layers or setup.screening or setup.walls != "free-slip" or setup.viscosity == 0.0):
        raise InputError(
            'viscosity_scheme = "implicit" with layers, a deformation radius, no-slip walls or no viscosity',
            allowed="one layer with a rigid lid, free slip and a viscosity",
            fix='viscosity_scheme = "explicit"',
        )
    if setup.slip_length > 0.0 and setup.walls == "free-slip":
        raise InputError(
            f'slip_length = {setup.slip_length:g} with walls = "free-slip"',
            allowed="a slip length of no-slip walls",
            fix='walls = "no-slip"',
        )
    if setup.layers is not None and setup.screening:
        raise InputError("layers and deformation_radius", allowed="one of them: layers define the deformation radius")
    if setup.compensated_summation and (setup.implicit or precision == "double"):
        raise InputError(
            'compensated_summation = true with viscosity_scheme = "implicit" or precision = "double"',
            allowed="explicit viscosity in single precision",
            fix="compensated_summation = false",
        )


RELATIVE, POTENTIAL, LOWER = "relative_vorticity", "potential_vorticity", "_lower"
MAX_MEAN = 1e-3  # largest mean of a relative vorticity in a periodic basin, as a fraction of its maximum


def initial_vorticity(setup: Setup, relative: tuple[Any, Any], potential: tuple[Any, Any]) -> list[np.ndarray]:
    """Return the potential vorticity of each layer at the points of the rows of this process, (ny, nx), 1/s.

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
    rows, fields = LocalRows.whole(setup.local or setup.grid), []
    is_solved = kind == RELATIVE and (setup.layers is not None or setup.screening > 0.0)  # q depends on the whole psi
    for name in (kind + suffix for suffix in suffixes):
        value = inputs[name]
        fields.append(field_at_points(name, 0.0 if value is None else value, setup.grid if is_solved else rows))
    if not is_solved:
        return fields
    fields = [_without_mean(setup, RELATIVE + suffix, zeta) for suffix, zeta in zip(suffixes, fields, strict=True)]
    psi = [_streamfunction(setup, zeta) for zeta in fields]
    if setup.layers is None:
        return [rows.held(fields[0] - setup.screening * psi[0])]
    factors = [setup.layers.coupling_parameter(k) for k in (0, 1)]
    return [rows.held(fields[k] - factors[k] * (psi[k] - psi[1 - k])) for k in (0, 1)]


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
