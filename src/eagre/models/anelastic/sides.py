"""Open lateral sides: the wind through them, and what flows in with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eagre.advection.plan import Advector
from eagre.backend.device import Device, Work, check_precision
from eagre.errors import InputError
from eagre.models.anelastic import forces
from eagre.models.anelastic.rest import RestState
from eagre.models.anelastic.setup import Setup

Array = np.ndarray
NEARLY_BALANCED = 0.1  # of the fastest wind through a side
ACROSS = {"x": 2, "y": 1}


def ends_of(field: Array, axis: int) -> Array:
    """Values at the two ends of an axis, (2, and the others)."""
    return np.moveaxis(np.take(field, [0, -1], axis), axis, 0)


def set_wind_through(projection: Any, setup: Setup, rest: RestState) -> None:
    """Give a projection the ambient wind through open sides, changed so that as much air leaves as enters.

    Raises
    ------
    InputError
        If more than a tenth of the wind would have to change so that as much leaves as enters.
    """
    given = {
        axis: ends_of(rest.wind["xy".index(axis)] + np.zeros(setup.shape), ACROSS[axis]) for axis in open_axes(setup)
    }
    if not given:
        return
    balance = projection.set_normal(**given)
    if balance.share > NEARLY_BALANCED:
        raise InputError(
            f"sides that are open to an ambient wind of which {100.0 * balance.share:.0f} % would have to change, "
            "so that as much air leaves as enters",
            allowed="ground and wind at one side as at the other, to a tenth",
            fix="ground that is as high at one side as at the other, as blend in [domain] makes it",
        )


def open_axes(setup: Setup) -> list[str]:
    """Which of x and y have open sides."""
    return [axis for axis, place in ACROSS.items() if setup.boundaries[place] == "open" and setup.shape[place] > 1]


def ambient_inflow(setup: Setup, rest: RestState, names: Sequence[str]) -> dict[str, Array]:
    """Values of fields that flow in with the ambient air, by the names of `Inflow.arrays`."""
    ambient = {"u": rest.wind[0], "v": rest.wind[1]}
    return {
        f"inflow_{axis}_{name}": ends_of(ambient.get(name, 0.0) + np.zeros(setup.shape), ACROSS[axis])
        for axis in open_axes(setup)
        for name in names
    }


def inflow_of(setup: Setup, fields: Mapping[str, Array]) -> dict[str, Array]:
    """Values of scalars that flow in as they are at the sides now, by the names of `Inflow.arrays`."""
    return {
        f"inflow_{axis}_{name}": ends_of(fields[name], ACROSS[axis])
        for axis in open_axes(setup)
        for name in setup.scalars
    }


class Inflow:
    """Values of fields where air enters: ambient wind and theta, scalars as at the start.

    Attributes
    ----------
    arrays : dict
        Values on the device by ``"inflow_x_u"`` and so on, (2, nz, ny) across x, (2, nz, nx) across y.
    """

    def __init__(self, setup: Setup, device: Device, precision: str, rest: RestState, names: list[str]) -> None:
        self._setup, self._device, self._precision = setup, device, precision
        self._axes, real = open_axes(setup), check_precision(precision)
        self.arrays: dict[str, Any] = {
            name: device.array(values.astype(real)) for name, values in ambient_inflow(setup, rest, names).items()
        }

    def start(self, fields: Mapping[str, Array]) -> None:
        """Take what scalars have on open sides for what flows in."""
        for name, values in inflow_of(self._setup, fields).items():
            self._device.fill(self.arrays[name], values.astype(self.arrays[name].dtype))

    def launches(self, name: str, x: Any, faces: Advector) -> list[Work]:
        """Launches that set a field at points where air enters."""
        nz, ny, nx = self._setup.shape
        found: list[Work] = []
        for axis in self._axes:
            cell, v, region = (
                (forces.hold_x, faces.v1, (nz, ny, 2)) if axis == "x" else (forces.hold_y, faces.v2, (nz, 2, nx))
            )
            loop = self._device.loop(cell, self._precision)
            found.append(self._device.over(loop, region, (x, v, self.arrays[f"inflow_{axis}_{name}"])))
        return found
