"""Validation of model arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eagre.arguments import array_copy
from eagre.backend.device import Device, check_precision
from eagre.backend.group import Group
from eagre.errors import InputError, MemoryNeededError
from eagre.grid import Grid, check_metres
from eagre.models.barotropic.setup import Setup
from eagre.plausible import check_plausible

MIN_RADIUS = 0.1  # grid spacings: smaller deformation radii are errors; below 1 a note reports an unresolved radius


def checked_number(name: str, value: Any, low: float = 0.0) -> float:
    """Return `value` as a finite float of at least `low`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not low <= number <= 1e300:
        bound = "" if low <= -1e300 else " >= 0" if low == 0.0 else " > 0"
        raise InputError(f"{name} = {value!r}", allowed=f"a finite number{bound}")
    return number


def screening_of(deformation_radius: float | None) -> float:
    """Return 1 / radius^2, 1/m2; 0 for a rigid lid (None)."""
    return 0.0 if deformation_radius is None else checked_number("deformation_radius", deformation_radius, 1e-300) ** -2


def field_at_points(name: str, value: Any, grid: Grid) -> np.ndarray:
    """Return `value` as a float64 array (ny, nx); scalars are broadcast."""
    array = array_copy(name, value)
    if array.ndim == 0:
        array = np.full(grid.shape, float(array))
    if array.shape != grid.shape or not np.isfinite(array).all():
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
    radius, spacing = setup.deformation_radius, max(setup.grid.dx, setup.grid.dy)
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
    if setup.layers is not None and setup.screening:
        raise InputError("layers and deformation_radius", allowed="one of them: layers define the deformation radius")
    if setup.compensated_summation and (setup.implicit or precision == "double"):
        raise InputError(
            'compensated_summation = true with viscosity_scheme = "implicit" or precision = "double"',
            allowed="explicit viscosity in single precision",
            fix="compensated_summation = false",
        )
