"""Named probes under the surface of a run: what they are, and what they measure at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from eagre.errors import ConvergenceError, InputError
from eagre.fields import Variable
from eagre.models.potential_waves.kinematics import Flow, Kinematics
from eagre.models.potential_waves.probes import Probes
from eagre.models.potential_waves.setup import Setup

MEASURED = (
    Variable("z", "m", "height of the probe above still water", "height_above_mean_sea_level"),
    Variable("velocity_x", "m s-1", "velocity, x-component", "sea_water_x_velocity"),
    Variable("velocity_y", "m s-1", "velocity, y-component", "sea_water_y_velocity"),
    Variable("velocity_z", "m s-1", "upward velocity", "upward_sea_water_velocity"),
    Variable("acceleration_x", "m s-2", "acceleration of the water D/Dt, x-component"),
    Variable("acceleration_y", "m s-2", "acceleration of the water D/Dt, y-component"),
    Variable("acceleration_z", "m s-2", "upward acceleration of the water, D/Dt"),
    Variable("dynamic_pressure", "Pa", "pressure that the motion adds to still water"),
    Variable("pressure", "Pa", "pressure above that of the air", "sea_water_pressure_due_to_sea_water"),
)
LEVELS = {"z": "m", "below": "m", "sigma": "1"}
"""How the level of a probe is given, with its unit."""


class ProbeGroup:
    """Probes with names, as stations of a file.

    Parameters
    ----------
    setup : Setup
    flow : callable
        Gives the flow of the present surface.
    probes : mapping of str to mapping
        Of each name: x, y (0 without it), m, and one of z, below and sigma, as of `eagre.PotentialWaves.kinematics`,
        each a number or several: a column, a row or a plane has a station ``"NAME x=12 z=-0.2"`` at each of its points.

    Attributes
    ----------
    names : list of str
        Of all stations.
    coordinates : dict
        Values, (n,), and attributes of x, y, level and kind of level of the stations.

    Raises
    ------
    InputError
        For points beside the grid, or levels below the bed.
    """

    variables = MEASURED

    def __init__(self, setup: Setup, flow: Callable[[], Flow], probes: Mapping[str, Mapping[str, Any]]) -> None:
        self._flow, self.names = flow, list[str]()
        self._probes: list[Probes] = []
        places = setup.grid.x, setup.grid.y
        rows: list[tuple[float, float, float, str]] = []
        for name, given in probes.items():
            level = {key: np.atleast_1d(value) for key, value in given.items() if key in LEVELS and value is not None}
            (kind, values) = next(iter(level.items()))
            several = {"x": np.atleast_1d(given["x"]), "y": np.atleast_1d(given.get("y", 0.0)), kind: values}
            points = [
                (float(x), float(y), float(value)) for y in several["y"] for x in several["x"] for value in values
            ]
            along_x, along_y, at = np.transpose(points)
            known = (setup.depth, places, setup.vertical, setup.periodic)
            self._probes.append(Probes(*known, along_x, along_y, **{kind: at}))
            rows += [(*point, kind) for point in points]
            named = [key for key, of_key in several.items() if of_key.size > 1]
            for point in points:
                of_point = dict(zip(several, point, strict=True))
                self.names.append(" ".join([name, *(f"{key}={of_point[key]:g}" for key in named)]))
        for name, times in Counter(self.names).items():
            if times > 1:
                raise InputError(f"two probes {name!r}", allowed="a name of its own for each point")
        self.coordinates = _coordinates(rows)

    def sample(self) -> dict[str, np.ndarray]:
        """`MEASURED` at the present time, (n,) each; not a number where there is no water or the flow is not found."""
        try:
            flow = self._flow()
        except ConvergenceError:
            return {one.name: np.full(len(self.names), np.nan) for one in MEASURED}
        found = [_row(flow.at(probes)) for probes in self._probes]
        return {one.name: np.concatenate([row[k] for row in found]) for k, one in enumerate(MEASURED)}


def _row(found: Kinematics) -> list[np.ndarray]:
    """Values in the order of `MEASURED`."""
    return [found.z, *found.velocity, *found.acceleration, found.dynamic_pressure, found.pressure]


def _coordinates(rows: list[tuple[float, float, float, str]]) -> dict[str, tuple[np.ndarray, dict[str, Any]]]:
    """Coordinates of stations by (x, y, level, kind of level)."""
    x, y, level, kind = zip(*rows, strict=True)
    place = {"units": "m"}
    units = {LEVELS[one] for one in kind}  # of levels of several kinds there is none
    about = {"long_name": "level of the probe as given; level_kind says of what"}
    kinds = "z: above still water, m; below: under the surface, m; sigma: share of the depth of the time"
    return {
        "x": (np.array(x), {"standard_name": "projection_x_coordinate", "long_name": "x of the probe", **place}),
        "y": (np.array(y), {"standard_name": "projection_y_coordinate", "long_name": "y of the probe", **place}),
        "level": (np.array(level), about | ({"units": units.pop()} if len(units) == 1 else {})),
        "level_kind": (np.array(kind, dtype=object), {"long_name": kinds}),
    }
