"""Interpolation of fields of an anelastic model to planes, columns and points; named probes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from eagre.errors import InputError
from eagre.fields import Variable
from eagre.models.anelastic.engine import Engine
from eagre.models.anelastic.sampling.outputs import pressure_factor, variables_of
from eagre.models.anelastic.setup import Setup
from eagre.names import field_names

Array = np.ndarray
POSITION_TOLERANCE = 1e-9  # tolerance of positions, in grid spacings
USUAL = ("u", "v", "w", "theta")


class Between(NamedTuple):
    """Position along an axis: the two neighbouring points, and the fraction of the distance between them."""

    low: int
    high: int
    fraction: float


class Interpolator(Protocol):
    """Interpolator to fixed points."""

    z: Array  # heights of the points, m

    def values(self, engine: Engine, array: Any) -> Array:
        """Return interpolated host values, float64, of a device array (nz, ny, nx)."""
        ...


def along(setup: Setup, axis: str, value: float) -> Between:
    """Return the position of a coordinate ``"x"`` or ``"y"``, m, or of a height ``"z"`` above flat terrain, m.

    Raises
    ------
    InputError
        If the position is outside the domain.
    """
    points = {"x": setup.grid.x, "y": setup.grid.y, "z": setup.levels.height}[axis]
    n = "zyx".index(axis)
    spacing, count = setup.spacing[n], points.size
    is_periodic = setup.boundaries[n] == "periodic" and count > 1
    ends = float(points[0]), float(points[-1])
    if is_periodic:
        ends = ends[0], ends[0] + count * spacing
    elif count == 1:
        ends = ends[0] - spacing, ends[0] + spacing
    tolerance = POSITION_TOLERANCE * spacing
    if not ends[0] - tolerance <= value <= ends[1] + tolerance:
        allowed = f"from {ends[0]:g} m to {ends[1]:g} m"
        raise InputError(
            f"{axis} = {value:g} m, outside the domain",
            allowed=allowed,
            fix=f"{axis} = {points[0]:g}",
            problem=f"The position {axis} is outside the domain.",
        )
    if count == 1:
        return Between(0, 0, 0.0)
    last = count - (1 if is_periodic else 2)
    low = int(np.clip(np.searchsorted(points, value + tolerance, side="right") - 1, 0, last))
    high = (low + 1) % count
    width = spacing if low == count - 1 else float(points[high] - points[low])
    fraction = float(np.clip((value - points[low]) / width, 0.0, 1.0))
    fraction = 0.0 if fraction < POSITION_TOLERANCE else (1.0 if fraction > 1.0 - POSITION_TOLERANCE else fraction)
    return Between(low, high, fraction)


def ground_between(setup: Setup, y: Between, x: Between) -> float:
    """Return the terrain height at a horizontal position, m."""
    ground = setup.levels.terrain_height
    if ground is None:
        return 0.0
    first, second = ((1.0 - x.fraction) * ground[j, x.low] + x.fraction * ground[j, x.high] for j in (y.low, y.high))
    return float((1.0 - y.fraction) * first + y.fraction * second)


def check_height(setup: Setup, z: float, ground: float, where: str) -> None:
    """Raise `InputError` for a height below the terrain or above the top, m; `where`: position for the message."""
    top, tolerance = float(setup.levels.height[-1]), POSITION_TOLERANCE * setup.spacing[0]
    top = setup.top_height if setup.boundaries[0] == "periodic" else top
    if z < ground - tolerance:
        allowed = f"from the terrain height, {ground:.6g} m, to the top"
        raise InputError(
            f"z = {z:g} m{where}, below the terrain",
            allowed=allowed,
            fix=f"z = {np.ceil(ground):g}",
            problem="The height is below the terrain.",
        )
    if z > top + tolerance:
        raise InputError(
            f"z = {z:g} m{where}, above the top",
            allowed=f"up to {top:g} m",
            fix=f"z = {top:g}",
            problem="The height is above the domain top.",
        )


class Plane:
    """Plane normal to an axis, interpolated between two planes of points. `z` is (n, 1), (n, m) or a number."""

    def __init__(self, setup: Setup, axis: int, position: Between) -> None:
        self._axis, self._position = axis, position
        levels, fraction = setup.levels, position.fraction
        if axis == 0:
            above = levels.height[position.high] if position.high >= position.low else setup.top_height
            height = (1.0 - fraction) * levels.height[position.low] + fraction * above
            self.z = np.asarray(height)
            if levels.terrain_height is not None and levels.share is not None:
                self.z = height + levels.share[position.low] * levels.terrain_height
            return
        self.z = levels.height[:, None]
        if levels.terrain_height is not None and levels.share is not None:
            low, high = (levels.terrain_height.take(n, axis=axis - 1) for n in (position.low, position.high))
            self.ground = (1.0 - fraction) * low + fraction * high
            self.z = self.z + levels.share[:, None] * self.ground

    def values(self, engine: Engine, array: Any) -> Array:
        """Return the values in the plane, (ny, nx), (nz, nx) or (nz, ny)."""
        low, high, fraction = self._position
        if fraction in (0.0, 1.0):
            return engine.plane(array, self._axis, high if fraction else low)
        first, second = (engine.plane(array, self._axis, n) for n in (low, high))
        return (1.0 - fraction) * first + fraction * second


class Scattered:
    """Interpolation to arbitrary points, as weighted sums of grid points.

    Parameters
    ----------
    z : (...) array, m
    corners : sequence of (weight, k, j, i)
        Arrays of the shape of z; a NaN weight gives a NaN value.
    """

    def __init__(self, z: Array, corners: Sequence[tuple[Array, Array, Array, Array]]) -> None:
        self.z = z
        corners = [corner for corner in corners if np.any(corner[0] != 0.0)]
        self._weights, k, j, i = (np.stack(np.broadcast_arrays(*arrays)) for arrays in zip(*corners, strict=True))
        self._indices = k, j, i

    def values(self, engine: Engine, array: Any) -> Array:
        """Return the values at the points."""
        corner_values = engine.values_at(array, *self._indices)
        return (self._weights * corner_values).sum(axis=0)


def under_and_over(setup: Setup, z: Array | float, ground: Array | float) -> tuple[Array, Array]:
    """Return the levels below heights and the fractions to the next level; heights below the terrain: the terrain."""
    height, n = setup.levels.height, setup.levels.height.size
    if n == 1:
        shape = np.broadcast_shapes(np.shape(z), np.shape(ground))
        return np.zeros(shape, np.int64), np.zeros(shape)
    target = np.clip((z - np.asarray(ground)) / (1.0 - np.asarray(ground) / height[-1]), 0.0, height[-1])
    k = np.clip(np.searchsorted(height, target, side="right") - 1, 0, n - 2)
    return k, (target - height[k]) / (height[k + 1] - height[k])


def plane_at_height(setup: Setup, z: float) -> Plane | Scattered:
    """Return a horizontal plane at a height, m; values below the terrain are NaN.

    Raises
    ------
    InputError
        If the plane is entirely below the terrain, or above the top.
    """
    ground = setup.levels.terrain_height
    check_height(setup, z, 0.0 if ground is None else float(ground.min()), "")
    if ground is None:
        return Plane(setup, 0, along(setup, "z", z))
    k, fraction = under_and_over(setup, z, ground)
    fraction = np.where(ground <= z, fraction, np.nan)
    indices = np.indices(ground.shape)
    corners = [(1.0 - fraction, k, indices[0], indices[1]), (fraction, k + 1, indices[0], indices[1])]
    return Scattered(np.full(ground.shape, z), corners)


def points_at(setup: Setup, points: Iterable[tuple[float, float, float]]) -> Scattered:
    """Return an interpolation to points (x, y, z), m.

    Raises
    ------
    InputError
        If a point is outside the domain or below the terrain.
    """
    rows: list[list[tuple[float, int, int, int]]] = []
    heights: list[float] = []
    for x, y, z in points:
        at_x, at_y = along(setup, "x", x), along(setup, "y", y)
        check_height(setup, z, ground_between(setup, at_y, at_x), f" at x = {x:g} m, y = {y:g} m")
        heights.append(z)
        rows.append(_corners(setup, at_x, at_y, z))
    corners = [tuple(np.array(values) for values in zip(*corner, strict=True)) for corner in zip(*rows, strict=True)]
    return Scattered(np.array(heights), corners)  # type: ignore[arg-type]


def _corners(setup: Setup, x: Between, y: Between, z: float) -> list[tuple[float, int, int, int]]:
    """Return weights and indices of the eight grid points around a position."""
    corners = []
    for j, along_y in ((y.low, 1.0 - y.fraction), (y.high, y.fraction)):
        for i, along_x in ((x.low, 1.0 - x.fraction), (x.high, x.fraction)):
            if setup.levels.terrain_height is None:
                low, high, fraction = along(setup, "z", z)
            else:
                below, remainder = under_and_over(setup, z, float(setup.levels.terrain_height[j, i]))
                low, high, fraction = int(below), min(int(below) + 1, setup.shape[0] - 1), float(remainder)
            weight = along_y * along_x
            corners += [(weight * (1.0 - fraction), low, j, i), (weight * fraction, high, j, i)]
    return corners


# -- fields ------------------------------------------------------------------------------------------------


def measurable(setup: Setup) -> dict[str, Variable]:
    """Return the fields that can be interpolated, by name."""
    out = ("vorticity",)
    return {one.name: one for one in variables_of(setup) if one.levels and not one.static and one.name not in out}


def checked_names(setup: Setup, names: Sequence[str] | None, usual: Sequence[str]) -> list[Variable]:
    """Return the fields of `names` (see `eagre.names.field_names`), or the available fields of `usual`.

    Raises
    ------
    InputError
        For a field that cannot be interpolated.
    """
    known = measurable(setup)
    if names:
        return [known[name] for name in field_names(names, known)]
    return [known[name] for name in usual if name in known]


@dataclass(frozen=True)
class FieldSampler:
    """Interpolation of current fields to points."""

    engine: Callable[[], Engine]  # current engine: a copied model has another one
    interpolator: Interpolator

    def fetch(self, names: Iterable[str]) -> dict[str, Array]:
        """Return the current values of `measurable` fields, float64."""
        return {name: self._one(name) for name in names}

    def _one(self, name: str) -> Array:
        engine = self.engine()
        fields = engine.steps.fields
        if name == "pressure":
            phi = self.interpolator.values(engine, engine.steps.projection.phi)
            return pressure_factor(engine.steps.previous_dt) * phi
        if name in ("theta", "theta_perturbation"):
            theta = self.interpolator.values(engine, fields.theta)
            return theta if name == "theta_perturbation" else theta + engine.setup.air.ambient(self.interpolator.z)
        return self.interpolator.values(engine, fields.present[name])


class Probes:
    """Sampler of named points; fields are interpolated linearly.

    Parameters
    ----------
    engine : callable
        Returns the current engine.
    probes : mapping of str to mapping
        Coordinates by name: x, m; y, m, optional for one row; z, m above z = 0, one or several heights. Without z the
        probe is a column of all levels. Several heights give stations ``"NAME z=20"``.
    variables : sequence of str, optional
        Names of fields; wind and theta by default.

    Attributes
    ----------
    names : list of str
    coordinates : dict
        Values, (n,), and attributes of x, y and z of the stations, m.
    variables : sequence of Variable

    Raises
    ------
    InputError
        For points outside the domain or below the terrain, and for unknown fields.
    """

    def __init__(
        self, engine: Callable[[], Engine], probes: Mapping[str, Mapping[str, Any]],
        variables: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        setup = engine().setup
        self.names: list[str] = []
        rows: list[tuple[float, float, float]] = []
        for name, coordinates in probes.items():
            x, y = float(coordinates["x"]), coordinates.get("y")
            y = float(setup.grid.y[0] if y is None and setup.grid.ny == 1 else y or 0.0)
            position = along(setup, "y", y), along(setup, "x", x)
            z = coordinates.get("z")
            ground = ground_between(setup, *position)
            column = setup.levels.height * (1.0 - ground / (setup.levels.height[-1] or 1.0)) + ground
            heights = column if z is None else np.atleast_1d(np.asarray(z, float))
            rows += [(x, y, float(height)) for height in heights]
            self.names += [name if heights.size == 1 else f"{name} z={height:.6g}" for height in heights]
        for name in self.names:
            if self.names.count(name) > 1:
                raise InputError(
                    f"two probes {name!r}", allowed="unique names of probes", problem="Two probes have the same name."
                )
        self.variables = checked_names(setup, variables, USUAL)
        self.coordinates = _coordinates(rows)
        self._fetching = FieldSampler(engine, points_at(setup, rows))

    def sample(self) -> dict[str, np.ndarray]:
        """Return the current values of each variable, (n,)."""
        return self._fetching.fetch(one.name for one in self.variables)


def _coordinates(rows: list[tuple[float, float, float]]) -> dict[str, tuple[np.ndarray, dict[str, Any]]]:
    """Return the coordinates of the stations."""
    x, y, z = np.array(rows).T
    up = {"standard_name": "altitude", "long_name": "altitude of the probe", "positive": "up", "units": "m"}
    return {
        "x": (x, {"standard_name": "projection_x_coordinate", "long_name": "x of the probe", "units": "m"}),
        "y": (y, {"standard_name": "projection_y_coordinate", "long_name": "y of the probe", "units": "m"}),
        "z": (z, up),
    }
