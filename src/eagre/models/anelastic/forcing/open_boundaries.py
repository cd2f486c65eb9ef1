"""Open lateral boundaries: normal wind, and inflow values of fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eagre.advection.plan import Advector
from eagre.backend.device import Device, Work, check_precision
from eagre.errors import InputError
from eagre.models.anelastic.base.base_state import BaseState
from eagre.models.anelastic.forcing import tendencies
from eagre.models.anelastic.setup import Setup

Array = np.ndarray
NEARLY_BALANCED = 0.1  # maximum correction, as a fraction of the maximum normal wind
ACROSS = {"x": 2, "y": 1}


def ends_of(field: Any, setup: Setup, axis: int) -> Array:
    """Return a field at the two ends of an axis, (2, and the other axes), from its planes there or a profile."""
    shape = [2 if n == axis else size for n, size in enumerate(setup.shape)]
    return np.moveaxis(np.broadcast_to(field, shape), axis, 0).copy()


def set_wind_through(projection: Any, setup: Setup, base: BaseState) -> None:
    """Set the normal wind of open boundaries to the ambient wind, corrected for equal inflow and outflow of mass.

    Raises
    ------
    InputError
        If the correction exceeds a tenth of the wind.
    """
    normal_wind = {
        axis: ends_of(base.at_ends(ACROSS[axis]).wind["xy".index(axis)], setup, ACROSS[axis])
        for axis in open_axes(setup)
    }
    if not normal_wind:
        return
    balance = projection.set_normal(**normal_wind)
    if (correction := balance.relative_correction) > NEARLY_BALANCED:
        raise InputError(
            f"open boundaries with an ambient wind that needs a correction of {100.0 * correction:.0f} % for equal "
            "inflow and outflow of mass",
            allowed="terrain and wind that agree at opposite boundaries to 10 %",
            fix="terrain of equal height at opposite boundaries; see blend in [domain]",
            problem="The ambient wind through the open boundaries does not conserve mass.",
        )


def open_axes(setup: Setup) -> list[str]:
    """Return the axes with open boundaries."""
    return [axis for axis, index in ACROSS.items() if setup.boundaries[index] == "open" and setup.shape[index] > 1]


def ambient_inflow(setup: Setup, base: BaseState, names: Sequence[str]) -> dict[str, Array]:
    """Return the inflow values of the ambient state, by the names of `Inflow.arrays`."""
    winds = {axis: dict(zip("uv", base.at_ends(ACROSS[axis]).wind, strict=True)) for axis in open_axes(setup)}
    return {
        f"inflow_{axis}_{name}": ends_of(wind.get(name, 0.0), setup, ACROSS[axis])
        for axis, wind in winds.items()
        for name in names
    }


def inflow_of(setup: Setup, fields: Mapping[str, Any], plane: Callable[[Any, int, int], Array]) -> dict[str, Array]:
    """Return the current boundary values of scalars as inflow values, by the names of `Inflow.arrays`.

    fields : arrays of scalars on the device; plane : returns plane n normal to an axis of an array.
    """
    axes = {axis: (ACROSS[axis], setup.shape[ACROSS[axis]] - 1) for axis in open_axes(setup)}
    return {
        f"inflow_{axis}_{name}": np.stack([plane(fields[name], across, n) for n in (0, last)])
        for axis, (across, last) in axes.items()
        for name in setup.scalars
    }


class Inflow:
    """Inflow values of fields: ambient wind and theta, initial scalars.

    Attributes
    ----------
    arrays : dict
        Values on the device by ``"inflow_x_u"`` and so on, (2, nz, ny) across x, (2, nz, nx) across y.
    """

    def __init__(self, setup: Setup, device: Device, precision: str, base: BaseState, names: list[str]) -> None:
        self._setup, self._device, self._precision = setup, device, precision
        self._axes, real = open_axes(setup), check_precision(precision)
        self.arrays: dict[str, Any] = {
            name: device.array(values.astype(real)) for name, values in ambient_inflow(setup, base, names).items()
        }

    def start(self, fields: Mapping[str, Any], plane: Callable[[Any, int, int], Array]) -> None:
        """Set the inflow values of scalars to their values at open boundaries; see `inflow_of`."""
        for name, values in inflow_of(self._setup, fields, plane).items():
            self._device.fill(self.arrays[name], values.astype(self.arrays[name].dtype))

    def launches(self, name: str, x: Any, faces: Advector) -> list[Work]:
        """Return launches that set a field at inflow points."""
        nz, ny, nx = self._setup.shape
        launches: list[Work] = []
        for axis in self._axes:
            cell, v, region = (
                (tendencies.hold_x, faces.v1, (nz, ny, 2))
                if axis == "x"
                else (tendencies.hold_y, faces.v2, (nz, 2, nx))
            )
            loop = self._device.loop(cell, self._precision)
            launches.append(self._device.over(loop, region, (x, v, self.arrays[f"inflow_{axis}_{name}"])))
        return launches
