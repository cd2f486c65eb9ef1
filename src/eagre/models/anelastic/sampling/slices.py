"""Slices of an anelastic model: planes at a coordinate or an index, for output files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eagre.checks import checked_number
from eagre.errors import InputError
from eagre.fields import Variable
from eagre.io.cf import axis_attributes, level_attributes
from eagre.io.writers.measured import Axis
from eagre.models.anelastic.engine import Engine
from eagre.models.anelastic.sampling.interpolation import (
    Between,
    FieldSampler,
    Plane,
    along,
    checked_names,
    plane_at_height,
)
from eagre.models.anelastic.setup import Setup

Array = np.ndarray
ACROSS = {"x": "x", "y": "y", "z": "z", "i": "x", "j": "y", "k": "z"}
"""Keys of a plane (a coordinate, m, or an index), and the axis normal to the plane."""
USUAL = ("u", "v", "w", "theta_perturbation")


class Slice:
    """Sampler of fields in a plane.

    Parameters
    ----------
    engine : callable
        Returns the current engine.
    variables : sequence of str, optional
        Names of fields; wind and theta' by default.
    location : number
        One of x, y, z, m, or i, j, k. A plane at z is horizontal; values below the terrain are NaN. A plane at k
        follows the terrain.

    Attributes
    ----------
    across : str
        ``"x"``, ``"y"`` or ``"z"``.
    position : float, m
        Coordinate of the plane; for a level k, its height above flat terrain.
    variables, axes, dimensions
        See `eagre.io.writers.measured.Measured`.

    Raises
    ------
    InputError
        For a plane outside the domain, and for unknown fields.
    """

    def __init__(
        self, engine: Callable[[], Engine], variables: Sequence[str] | None = None, **location: float | None
    ) -> None:
        setup = engine().setup
        locations = {name: value for name, value in location.items() if value is not None}
        if len(locations) != 1 or not set(locations) <= set(ACROSS):
            raise InputError(
                " and ".join(locations) or "a slice without a plane",
                allowed="one of x, y, z, i, j, k",
                fix="z = 100.0",
                problem="A slice requires exactly one plane.",
            )
        ((name, value),) = locations.items()
        self.across = ACROSS[name]
        axis = "zyx".index(self.across)
        if name == "z":
            interpolator: Any = plane_at_height(setup, float(value))
        elif name in "xy":
            interpolator = Plane(setup, axis, along(setup, name, float(value)))
        else:
            n = int(checked_number(name, value, 0, setup.shape[axis] - 1))
            interpolator = Plane(setup, axis, Between(n, n, 0.0))
            points = {"x": setup.grid.x, "y": setup.grid.y, "z": setup.levels.height}[self.across]
            value = float(points[n])
        self.position = float(value)
        plane = (
            ("y", "x") if self.across == "z" else ("z", "y", "x")
        )  # of one x or y: as the fields of a flow in a plane
        self.variables: Sequence[Variable] = checked_names(setup, variables, USUAL)
        self.dimensions = {one.name: plane for one in self.variables}
        altitude = interpolator.z if name == "k" and np.ndim(interpolator.z) == 2 else None
        ground = getattr(interpolator, "ground", None)
        self.axes: Sequence[Axis] = axes_of(setup, self.across, self.position, ground, altitude)
        self._fetching = FieldSampler(engine, interpolator)

    def sample(self) -> dict[str, np.ndarray]:
        """Return the current values of each variable."""
        return self._fetching.fetch(one.name for one in self.variables)


def axes_of(
    setup: Setup, across: str, position: float = 0.0, ground: Array | None = None, altitude: Array | None = None,
    levels: Any = slice(None),
) -> list[Axis]:  # fmt: skip
    """Return the coordinates of a slice, with the terms of the terrain-following coordinate; across "": all three axes.

    ground : (n,), terrain height along a slice normal to x or y, m; altitude : (ny, nx), altitude of a level, m;
    levels : indices of the levels.
    """
    indices, axes = levels, list[Axis]()
    levels = setup.levels
    named = {one: axis_attributes(one, f"{one} of the points") for one in "xy"}
    for one, values in (("y", setup.grid.y), ("x", setup.grid.x)):
        axes.append(Axis(one, (one,), np.array([position]) if one == across else values, named[one]))
    if across == "z":
        about = level_attributes() | ({"standard_name": "altitude"} if levels.terrain_height is not None else {})
        if altitude is None:
            return [*axes, Axis("z", (), np.array(position), _without_axis(about))]
        about = {"long_name": "altitude of the level", "units": "m", "standard_name": "altitude", "positive": "up"}
        over_flat = {"long_name": "height of the level above flat terrain", "units": "m"}
        return [*axes, Axis("z", (), np.array(position), over_flat), Axis("altitude", ("y", "x"), altitude, about)]
    height = levels.height[indices]
    if levels.share is None or (across and ground is None):
        return [*axes, Axis("z", ("z",), height, level_attributes())]
    plane = levels.terrain_height if ground is None else ground[:, None] if across == "x" else ground[None]
    fraction_attributes = {"long_name": "fraction of the terrain height in the altitude of the level", "units": "1"}
    hill = {"long_name": "terrain height", "units": "m", "standard_name": "surface_altitude"}
    return [
        *axes,
        Axis("z", ("z",), height, level_attributes("height_a", "height_b", "surface_altitude")),
        Axis("height_a", ("z",), height, {"long_name": "height of the level above flat terrain", "units": "m"}),
        Axis("height_b", ("z",), levels.share[indices], fraction_attributes),
        Axis("surface_altitude", ("y", "x"), plane, hill),
    ]


def _without_axis(attributes: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes of a scalar coordinate."""
    return {name: value for name, value in attributes.items() if name != "axis"}
