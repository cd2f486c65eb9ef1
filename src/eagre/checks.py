"""Checks of model arguments."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from eagre.arguments import array_copy
from eagre.backend.device import Device, check_host_memory, check_precision
from eagre.backend.group import Group
from eagre.errors import InputError, MemoryNeededError
from eagre.grid import Grid, centre_bed
from eagre.local_rows import LocalRows
from eagre.names import unknown_field
from eagre.plausible import check_plausible

DEVICE_WORDS = 12  # values per cell in the precision of the run: two or three states, bed, Manning map
HUGE = 1e300  # largest number that counts as finite
HOST_WORDS = 6  # double-precision values per cell during model set-up: bed, initial state, temporary arrays


def check_memory(
    grid: Grid, device: Device | Group, precision: str, arrays: int = DEVICE_WORDS, padding: tuple[int, int] = (5, 5)
) -> None:
    """Raise `MemoryNeededError` if a model on `grid` does not fit the device, or its input data do not fit the host.

    grid : of the rows of this process, for a model whose input is local.
    arrays : number of device arrays of the model; padding : additional rows and columns of these arrays.
    """
    needed = arrays * (grid.ny + padding[0]) * (grid.nx + padding[1]) * np.dtype(check_precision(precision)).itemsize
    if device.kind == "cuda" and needed > device.free_memory():
        raise MemoryNeededError(needed, device.free_memory(), str(device))
    check_input_memory(grid, needed if device.kind == "cpu" else 0)


def check_input_memory(grid: Grid, more: int = 0) -> None:
    """Raise `MemoryNeededError` if the host cannot hold the input data of a model on `grid` and `more` bytes."""
    check_host_memory(HOST_WORDS * 8 * (grid.ny + 5) * (grid.nx + 5) + more)


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    """Return `value` if it is one of `allowed`; otherwise raise `InputError` with the closest match."""
    if value in allowed:
        return value
    near = difflib.get_close_matches(str(value), allowed, 1) or [allowed[0]]
    raise InputError(f"{name} = {value!r}", allowed=", ".join(map(repr, allowed)), fix=f'{name} = "{near[0]}"')


def checked_number(name: str, value: Any, low: float = -HUGE, high: float = HUGE, above: float = -math.inf) -> float:
    """Return `value` as a float within [low, high] and above `above`."""
    try:
        number = math.nan if isinstance(value, (bool, np.bool_)) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (low <= number <= high and number > above):
        bound = f" > {above:g}" if above > -math.inf else f" >= {low:g}" if low > -HUGE else ""
        allowed = f"a number from {low:g} to {high:g}" if high < HUGE else f"a finite number{bound}"
        raise InputError(f"{name} = {value!r}", allowed=allowed)
    return number


def checked_switch(name: str, value: Any) -> bool:
    """Return `value` as a bool if it is True, False, 1 or 0; a text such as "off" would count as True."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and value in (0, 1)):
        return bool(value)
    raise InputError(f"{name} = {value!r}", allowed="True or False", fix=f"{name} = True")


def checked_count(name: str, value: Any, low: int, high: int) -> int:
    """Return `value` if it is an integer within [low, high]."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not low <= int(value) <= high:
        raise InputError(f"{name} = {value!r}", allowed=f"an integer from {low} to {high}")
    return int(value)


def _wrong_shape(name: str, shape: tuple[int, ...], grid: Grid, location: str) -> InputError:
    """Return the error for an array of wrong shape, with a correction for cell-centred or transposed arrays."""
    expected = grid.shape_of(location)
    where = "cell corners, (ny + 1, nx + 1)" if location == "corner" else "cells, (ny, nx)"
    fix = ""
    if shape == grid.shape and location == "corner":
        dem = "eagre.io.Dem(values, grid.x0, grid.y0, grid.dx, grid.dy)"
        fix = f"eagre.io.dem_to_corners({dem}, grid)  # values at cell centres"
    elif shape == expected[::-1]:
        fix = f"{name} = {name}.T  # values are in the order (x, y)"
    return InputError(
        f"{name} of shape {shape}",
        allowed=f"a number, or shape {expected}: values at {where}",
        fix=fix,
        problem=f"The shape of {name} does not match the grid.",
    )


def checked_field(
    name: str, value: Any, grid: Grid | LocalRows, location: str, quantity: str = "", *, low: float = -math.inf
) -> np.ndarray:
    """Return `value` as a float64 array of the shape of `location`; a scalar is broadcast.

    grid : with `LocalRows`, an array has these rows or all rows of the domain, and the result has these rows.
    quantity : key of `eagre.plausible.QUANTITIES`, for the plausible range; low : lower bound.

    Raises
    ------
    InputError
        For a wrong shape, or values that are not finite, below `low` or implausible. The message names a cell.
    """
    rows = LocalRows.whole(grid)
    value, shape = rows.held(value, location), rows.shape_of(location)
    array = array_copy(name, value)
    if array.ndim == 0:
        array = np.full(shape, float(array))
    if array.shape != shape:
        raise _wrong_shape(name, array.shape, rows.grid, location)
    bad = ~((array >= low) & np.isfinite(array))
    if bad.any():
        j, i = (int(k) for k in np.argwhere(bad)[0])
        first, count, j = array[j, i], int(bad.sum()), j + rows.low
        bound = f" below {low:g}" if low > -math.inf else ""
        raise InputError(
            f"{name} with {count} bad values, the first {first} at (j, i) = ({j}, {i})",
            allowed="finite numbers" + (f" >= {low:g}" if low > -math.inf else ""),
            fix="" if np.isfinite(first) else f"{name} = np.nan_to_num({name}, nan=...)",
            problem=f"The array {name} contains values that are not finite{' or are' + bound if bound else ''}.",
        )
    if quantity:
        check_plausible(quantity, array if np.ndim(value) else array.flat[0], name)
    return array


def check_until(until: float, time: float) -> None:
    """Raise `InputError` if a target time is not a number or precedes the current model time `time`, s."""
    if not isinstance(until, Real) or not time <= until < math.inf:
        got = f"{float(until):g} s" if isinstance(until, Real) else repr(until)
        allowed = f"a number, {time:g} s (the current model time) or later"
        raise InputError(f"until = {got}", allowed=allowed, fix=f"until = {time + 60.0:g}")


def check_sample(
    names: Iterable[str], points: Sequence[tuple[int, int]], variables: Iterable[str], grid: Grid
) -> tuple[np.ndarray, np.ndarray]:
    """Return j and i of the cells to sample, (n,) each.

    Raises
    ------
    InputError
        For unknown fields and cells outside the grid.
    """
    known = list(variables)
    if isinstance(names, str):
        raise InputError(
            f"names = {names!r}", allowed="a list", fix=f'["{names}"]', problem="The argument names is not a list."
        )
    for name in names:
        if name not in known:
            raise unknown_field(name, known)
    cells = np.array(points, np.int64).reshape(-1, 2)
    outside = ((cells < 0) | (cells >= grid.shape)).any(axis=1)
    if outside.any():
        j, i = (int(k) for k in cells[outside][0])
        raise InputError(
            f"the cell (j, i) = ({j}, {i})",
            problem="The cell is outside the grid.",
            allowed=f"j from 0 to {grid.ny - 1}, i from 0 to {grid.nx - 1}",
            fix="model.sample(names, [grid.cell_of(x, y)])",
        )
    return cells[:, 0], cells[:, 1]


def initial_surface(surface: Any, depth: Any, bed: np.ndarray, grid: Grid | LocalRows) -> tuple[np.ndarray, np.ndarray]:
    """Return the initial surface elevation and depth, m, (ny, nx), from one of the two; grid : see `checked_field`."""
    if surface is not None and depth is not None:
        raise InputError(
            "surface_elevation and depth", allowed="one of the two", fix="ShallowWater(..., surface_elevation=0.0)",
            problem="Two initial conditions are given for the water depth.",
        )  # fmt: skip
    bed_mean = centre_bed(bed)
    if depth is not None:
        thickness = checked_field("depth", depth, grid, "centre", "depth")
        return bed_mean + thickness, thickness
    level = checked_field("surface_elevation", 0.0 if surface is None else surface, grid, "centre", "elevation")
    level = np.maximum(level, bed_mean)
    return level, level - bed_mean


def is_finite(values: np.ndarray) -> bool:
    """Return whether all values are finite, without a temporary array of their shape."""
    return np.size(values) == 0 or bool(np.isfinite([np.min(values), np.max(values)]).all())
