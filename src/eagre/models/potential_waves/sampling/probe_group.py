"""Groups of named probes below the surface, and the quantities that they sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from eagre.errors import ConvergenceError, InputError
from eagre.fields import Variable
from eagre.models.potential_waves.sampling.kinematics import Flow, Kinematics
from eagre.models.potential_waves.sampling.probes import Probes
from eagre.models.potential_waves.setup import Setup

MEASURED = (
    Variable("z", "m", "height of the probe above still-water level", "height_above_mean_sea_level"),
    Variable("velocity_x", "m s-1", "x-component of water velocity", "sea_water_x_velocity"),
    Variable("velocity_y", "m s-1", "y-component of water velocity", "sea_water_y_velocity"),
    Variable("velocity_z", "m s-1", "upward water velocity", "upward_sea_water_velocity"),
    Variable("acceleration_x", "m s-2", "x-component of material acceleration"),
    Variable("acceleration_y", "m s-2", "y-component of material acceleration"),
    Variable("acceleration_z", "m s-2", "upward material acceleration"),
    Variable("dynamic_pressure", "Pa", "dynamic pressure (deviation from hydrostatic)"),
    Variable("pressure", "Pa", "pressure relative to atmospheric pressure", "sea_water_pressure_due_to_sea_water"),
)
LEVELS = {"z": "m", "below": "m", "sigma": "1"}
"""Vertical coordinates of probes, with their units."""


class ProbeGroup:
    """Named probes, as stations of an output file.

    Parameters
    ----------
    setup : Setup
    flow : callable
        Function that returns the flow below the present surface.
    probes : mapping of str to mapping
        Probes by name: x, y (default 0), m, and one of z, below and sigma of `eagre.PotentialWaves.kinematics`, each a
        number or a list. Lists define a row, column or plane with a station ``"NAME x=12 z=-0.2"`` at each point.

    Attributes
    ----------
    names : list of str
        Names of all stations.
    coordinates : dict
        Values, (n,), and attributes of the station coordinates x, y, level and level_kind.

    Raises
    ------
    InputError
        If a point is outside the grid or a level is below the bed.
    """

    variables = MEASURED

    def __init__(self, setup: Setup, flow: Callable[[], Flow], probes: Mapping[str, Mapping[str, Any]]) -> None:
        self._flow, self.names = flow, list[str]()
        self._probes: list[Probes] = []
        grid_points = setup.grid.x, setup.grid.y
        rows: list[tuple[float, float, float, str]] = []
        for name, probe in probes.items():
            level = {key: np.atleast_1d(value) for key, value in probe.items() if key in LEVELS and value is not None}
            (kind, values) = next(iter(level.items()))
            coordinates = {"x": np.atleast_1d(probe["x"]), "y": np.atleast_1d(probe.get("y", 0.0)), kind: values}
            points = [
                (float(x), float(y), float(value))
                for y in coordinates["y"]
                for x in coordinates["x"]
                for value in values
            ]
            along_x, along_y, levels = np.transpose(points)
            known = (setup.depth, grid_points, setup.vertical, setup.periodic)
            self._probes.append(Probes(*known, along_x, along_y, **{kind: levels}))
            rows += [(*point, kind) for point in points]
            named = [key for key, of_key in coordinates.items() if of_key.size > 1]
            for point in points:
                of_point = dict(zip(coordinates, point, strict=True))
                self.names.append(" ".join([name, *(f"{key}={of_point[key]:g}" for key in named)]))
        for name, times in Counter(self.names).items():
            if times > 1:
                raise InputError(f"two probes {name!r}", allowed="a unique name for each point")
        self.coordinates = _coordinates(rows)

    def sample(self) -> dict[str, np.ndarray]:
        """Return `MEASURED` at the present time, (n,) each; NaN above the surface or if the flow solver fails."""
        try:
            flow = self._flow()
        except ConvergenceError:
            return {one.name: np.full(len(self.names), np.nan) for one in MEASURED}
        rows = [_row(flow.sample(probes)) for probes in self._probes]
        return {one.name: np.concatenate([row[k] for row in rows]) for k, one in enumerate(MEASURED)}


def _row(flow: Kinematics) -> list[np.ndarray]:
    """Return the values in the order of `MEASURED`."""
    return [flow.z, *flow.velocity, *flow.acceleration, flow.dynamic_pressure, flow.pressure]


def _coordinates(rows: list[tuple[float, float, float, str]]) -> dict[str, tuple[np.ndarray, dict[str, Any]]]:
    """Return the station coordinates from rows of (x, y, level, kind of level)."""
    x, y, level, kind = zip(*rows, strict=True)
    metres = {"units": "m"}
    units = {LEVELS[one] for one in kind}  # no common unit for levels of several kinds
    about = {"long_name": "vertical coordinate of the probe; level_kind defines its type"}
    kinds = "z: height above still water, m; below: depth below the surface, m; sigma: relative height above the bed"
    return {
        "x": (
            np.array(x),
            {"standard_name": "projection_x_coordinate", "long_name": "x coordinate of the probe", **metres},
        ),
        "y": (
            np.array(y),
            {"standard_name": "projection_y_coordinate", "long_name": "y coordinate of the probe", **metres},
        ),
        "level": (np.array(level), about | ({"units": units.pop()} if len(units) == 1 else {})),
        "level_kind": (np.array(kind, dtype=object), {"long_name": kinds}),
    }
