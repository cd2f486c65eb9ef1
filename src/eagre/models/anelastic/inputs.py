"""Checks of the arguments of the anelastic model, of its forcing and mixing, and of their limit of the time step."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from operator import index
from typing import Any, NamedTuple

import numpy as np

from eagre.arguments import array_copy, of_type
from eagre.backend.device import Device
from eagre.backend.group import Group
from eagre.checks import checked_number, one_of
from eagre.decomposition import check_memory_of_each, equal_parts
from eagre.errors import InputError, MemoryNeededError
from eagre.grid import Grid, Levels
from eagre.local_rows import LocalRows
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.forcing.profile_forcing import Forcing, profile_of
from eagre.models.anelastic.setup import EQUAL, Setup
from eagre.models.anelastic.stability import forcing_rate, forcing_rows, longest_explicit_step
from eagre.models.anelastic.subgrid.closure import Smagorinsky, stiffness_of
from eagre.models.anelastic.subgrid.surface import Surface
from eagre.plausible import check_plausible

SIDES = {"x": ("periodic", "wall", "open"), "y": ("periodic", "wall", "open"), "z": ("wall", "periodic")}
WIDEST = 14  # maximum number of halo rows per device
WORDS = 24  # values per point: 3 velocities at 3 times, theta' at 2 times, fluxes, phi, work arrays of the solver
TERRAIN = 15  # additional values over terrain: base state, C and densities at every point, search directions, phi
CLOSURE = 14  # additional values with a closure: K, total theta, stress
SCALAR = 3  # additional values per scalar: current and advected field
COPY = 2  # additional values on a CPU: in-memory checkpoint and transforms
FLUXES_OVER_TERRAIN = 3  # additional values on a CPU over terrain: fluxes of the pressure operator
COPY_OF_HEAT = 8  # additional values on a CPU with theta', including initial forces
DOUBLES = 4  # float64 values on the host during construction on a CPU
DOUBLES_OVER_TERRAIN = 28  # additional float64 values over terrain: profiles at every point
FIELDS = ("u", "v", "w", "theta", "phi", "pressure", "density", "vorticity", "height")
DERIVED = ("wind_speed", "theta_perturbation", "ambient_theta", "w_max")
IN_RESTARTS = ("clock", "counts", "grid", "heights", "terrain_height")
RESERVED = (*FIELDS, *DERIVED, *IN_RESTARTS)  # names that scalars cannot have
HELD = ("past_", "force_", "drag_", "inflow_", "air_", "boundaries_", "averages", "maps")  # prefixes in restart files


def bytes_of_point(
    precision: str, on_cpu: bool, *, forced: int = 0, stratified: bool = False, terrain: bool = False, scalars: int = 0,
    closure: bool = False, averaged: float = 0.0,
) -> int:  # fmt: skip
    """Return the memory of a run per grid point, bytes.

    forced : number of fields with explicit tendencies; averaged : number of fields of the time statistics.
    """
    values = averaged + WORDS + TERRAIN * terrain + CLOSURE * closure + SCALAR * scalars + 2 * forced
    if on_cpu:
        values += COPY + COPY_OF_HEAT * stratified + FLUXES_OVER_TERRAIN * terrain + scalars + forced
    doubles = DOUBLES + DOUBLES_OVER_TERRAIN * terrain if on_cpu else 0
    return ceil(values * (4 if precision == "single" else 8)) + 8 * doubles


def check_memory(shape: tuple[int, ...], device: Device | Group, precision: str, **run: Any) -> None:
    """Raise `MemoryNeededError` if the run does not fit the devices; run: arguments of `bytes_of_point`."""
    size = bytes_of_point(precision, device.kind != "cuda", **run)
    if isinstance(device, Group):
        nz, ny, nx = shape
        rows = [count + WIDEST for count in equal_parts(ny, len(device.devices))]
        check_memory_of_each(device, [size * nz * nx * count for count in rows])
    elif size * int(np.prod(shape)) > device.free_memory():
        raise MemoryNeededError(size * int(np.prod(shape)), device.free_memory(), str(device))


def checked_boundaries(boundaries: Any) -> tuple[str, str, str]:
    """Return the boundary conditions of z, y and x, from a mapping by axis name."""
    boundaries = of_type("boundaries", boundaries or {}, Mapping, 'boundaries={"x": "wall"}')
    conditions = {"x": "periodic", "y": "periodic", "z": "wall"} | dict(boundaries)
    for name in conditions:
        one_of("boundaries", name, ("x", "y", "z"))
    each = (one_of(f"boundaries of {axis}", conditions[axis], SIDES[axis]) for axis in "zyx")
    return tuple(each)  # type: ignore[return-value]


def checked_levels(levels: Any, top_height: float | None, terrain_height: Any, grid: Grid, periodic: bool) -> Levels:
    """Return levels from their number and the domain height, or from heights; terrain_height : (ny, nx), m, or None."""
    if np.ndim(levels) == 0:
        count = _checked_count(levels)
        top = 1.0 if top_height is None and count == 1 else top_height
        if top is None:
            raise InputError(
                "levels without top_height",
                allowed="top_height, m, with a number of levels",
                fix="top_height = 1000.0",
                problem="The domain height is missing.",
            )
        top = checked_number("top_height", top, 1e-6, 1e9)
        heights = np.arange(count) * (top / (count if periodic else max(count - 1, 1)))
    else:
        heights = array_copy("levels", levels)
        if top_height is not None:
            raise InputError(
                "levels as heights and top_height",
                allowed="heights of levels without top_height",
                problem="The domain height is given twice.",
            )
    if heights.ndim != 1 or heights.size < 1 or heights[0] != 0.0 or not (np.diff(heights) > 0.0).all():
        raise InputError(
            "these levels",
            allowed="increasing heights that start at 0, m",
            fix="levels = np.linspace(0, 1000, 41)",
            problem="The levels do not increase from 0.",
        )
    if periodic and heights.size > 1 and np.ptp(np.diff(heights)) > EQUAL * heights[-1]:
        raise InputError(
            "unequal levels and boundaries of z = 'periodic'",
            allowed="a number of levels with top_height, the period, or walls in z",
            fix=f"levels = {heights.size}",
            problem="Levels along a periodic axis are equidistant.",
        )
    return Levels(heights) if terrain_height is None else _over_terrain(heights, terrain_height, grid)


def _over_terrain(heights: np.ndarray, terrain_height: Any, grid: Grid) -> Levels:
    """Return terrain-following levels; heights : above flat terrain, m; terrain_height : a number or (ny, nx), m."""
    hill = array_copy("terrain_height", terrain_height)
    hill = np.full(grid.shape, float(hill)) if hill.ndim == 0 else hill
    if hill.shape != grid.shape or not np.isfinite(hill).all():
        raise InputError(
            f"terrain_height of shape {hill.shape}",
            allowed=f"finite heights of shape {grid.shape}, m",
            problem="The terrain height has another shape than the grid, or is not finite.",
        )
    check_plausible("elevation", hill, "terrain_height")
    if not hill.any():
        return Levels(heights)
    if not hill.max() < heights[-1]:
        j, i = np.unravel_index(int(hill.argmax()), hill.shape)
        raise InputError(
            f"terrain_height of {hill.max():g} m at x = {grid.x[i]:g} m, y = {grid.y[j]:g} m",
            allowed=f"heights below the top, {heights[-1]:g} m",
            fix=f"top_height = {3.0 * hill.max():g}",
            problem="The terrain is higher than the domain top.",
        )
    return Levels(heights, 1.0 - heights / heights[-1], hill)


def _checked_count(levels: Any) -> int:
    """Return a valid number of levels."""
    try:
        count = index(levels)
    except TypeError:
        likely = int(levels) if isinstance(levels, (float, np.floating)) and 1 <= levels < 2**20 else 41
        allowed = "a whole number of levels, or their heights, m"
        raise InputError(
            f"levels = {levels!r}",
            allowed=allowed,
            fix=f"levels = {likely}",
            problem="The levels are neither a whole number nor heights.",
        ) from None
    return int(checked_number("levels", count, 1, 2**20))


def checked_volume(name: str, value: Any, nz: int, rows: LocalRows) -> np.ndarray:
    """Return a number, profile (nz, 1, 1) or field (nz, ny, nx) in the rows of this process, finite, float64."""
    array, shape = array_copy(name, rows.held(value)), (nz, *rows.grid.shape)
    try:
        field = np.array(np.broadcast_to(array, (nz, *rows.shape_of("centre"))))
    except ValueError:
        field = None
    if field is None or array.ndim not in (0, 3):
        raise InputError(
            f"{name} of shape {array.shape}",
            allowed=f"a number, or shape {shape}: (nz, ny, nx)",
            problem=f"The shape of {name} is not the shape of the grid.",
        )
    if not np.isfinite(field).all():
        k, j, i = (int(n) for n in np.argwhere(~np.isfinite(field))[0])
        raise InputError(
            f"{name} with {field[k, j, i]} at (k, j, i) = ({k}, {j + rows.low}, {i})",
            allowed="finite numbers",
            problem=f"The field {name} is not finite.",
        )
    return field


def checked_scalars(scalars: Mapping[str, Any] | None, nz: int, rows: LocalRows) -> dict[str, np.ndarray]:
    """Return the initial passive scalars by name, in the rows of this process."""
    fields = {}
    for name, value in (scalars or {}).items():
        if not str(name).isidentifier() or name in RESERVED or str(name).startswith(HELD):
            allowed_names = f"not one of {', '.join(RESERVED)}, without the prefixes {', '.join(HELD)}"
            raise InputError(
                f"a scalar {name!r}",
                allowed=f"a Python identifier, {allowed_names}",
                fix="dye = 1.0",
                problem="The name of a passive scalar is not allowed.",
            )
        fields[str(name)] = checked_volume(name, value, nz, rows)
    return fields


def checked_top_sponge(top_sponge: Any, heights: np.ndarray) -> np.ndarray:
    """Return the damping rates of the top sponge layer, (nz,), s-1.

    Parameters
    ----------
    top_sponge : (thickness, m, rate at the top, s-1), (nz,) array of rates, or None
        From a pair, the rate increases as sin^2 from the lower edge of the layer to the top.
    heights : (nz,), m
        Heights of the levels above flat terrain.
    """
    if top_sponge is None:
        return np.zeros(heights.size)
    if isinstance(top_sponge, tuple):
        thickness = checked_number("thickness of the top_sponge", top_sponge[0], 1e-6, float(heights[-1]) or 1.0)
        rate = checked_number("rate of the top_sponge", top_sponge[1], 0.0, 1e3)
        fraction = np.clip((heights - heights[-1]) / thickness + 1.0, 0.0, 1.0)
        return rate * np.sin(0.5 * np.pi * fraction) ** 2
    rates = array_copy("top_sponge", top_sponge)
    if rates.shape != heights.shape or not (np.isfinite(rates) & (rates >= 0.0)).all():
        raise InputError(
            "this top_sponge",
            allowed=f"(thickness, rate), or an array of {heights.size} rates >= 0, s-1",
            problem="The damping rates of top_sponge are not allowed.",
        )
    return rates


def checked_side_sponges(side_sponges: Mapping[str, Any] | None, grid: Grid) -> np.ndarray | None:
    """Return the damping rates of side sponge layers, (ny, nx), s-1, or None without layers.

    `side_sponges` maps axes to (thickness, m, rate at the boundary, s-1). The rate increases as sin^2 from the inner
    edge of a layer; where layers overlap the larger rate applies.
    """
    total = np.zeros(grid.shape)
    for axis, layer in (side_sponges or {}).items():
        one_of("side_sponges", axis, ("x", "y"))
        points = grid.x if axis == "x" else grid.y
        if points.size == 1:
            raise InputError(
                f"side_sponges along {axis}, which has one point",
                allowed="axes with at least two points",
                problem=f"There is no space for side_sponges along {axis}.",
            )
        half = 0.5 * float(points[-1] - points[0])
        thickness = checked_number(f"thickness of the side_sponges along {axis}", layer[0], 1e-6, half)
        rate = checked_number(f"rate of the side_sponges along {axis}", layer[1], 0.0, 1e3)
        from_end = half - np.abs(points - 0.5 * (points[0] + points[-1]))
        fraction = np.clip(1.0 - from_end / thickness, 0.0, 1.0)
        along = rate * np.sin(0.5 * np.pi * fraction) ** 2
        total = np.maximum(total, along[None, :] if axis == "x" else along[:, None])
    return total if total.any() else None


def checked_perturbation(setup: Setup, theta: Any, perturbation: Any, rows: LocalRows) -> np.ndarray:
    """Return the initial perturbation of potential temperature, (nz, ny, nx), K, also from the total; 0 by default.

    rows : rows of this process, which the arrays have.

    Raises
    ------
    InputError
        For both arguments, for either in incompressible flow, for a perturbation as large as a total potential
        temperature, and for a total as small as a perturbation.
    """
    if theta is not None and perturbation is not None:
        raise InputError(
            "theta and theta_perturbation", allowed="one of them", fix="theta_perturbation = 2.0",
            problem="The initial potential temperature is given twice.",
        )  # fmt: skip
    name, value = ("theta", theta) if theta is not None else ("theta_perturbation", perturbation)
    values = checked_volume(name, 0.0 if value is None else value, setup.shape[0], rows)
    if not setup.stratified:
        if theta is not None or values.any():
            raise InputError(
                f"{name} in incompressible flow", allowed="an atmosphere with buoyancy",
                fix="atmosphere = Atmosphere.boussinesq()", problem="Incompressible flow has no potential temperature.",
            )  # fmt: skip
        return values
    ambient = setup.air.ambient(rows.held_levels(setup.levels).z) + np.zeros(values.shape)
    excess = np.abs(values) - 0.5 * ambient if theta is None else 0.5 * ambient - values
    n = int(excess.argmax())
    if excess.flat[n] < 0.0:
        return values if theta is None else values - ambient
    got = f"{name} = {values.flat[n]:g} K in ambient air of {ambient.min():g} K"
    if theta is None:
        problem = "theta_perturbation is as large as a total potential temperature."
        raise InputError(got, allowed="less than half of it", fix="theta = ...  # total", problem=problem)
    problem = "theta is the total potential temperature, and this value is as small as a perturbation."
    fix = "theta_perturbation = ...  # minus the ambient potential temperature"
    raise InputError(got, allowed="more than half of it", fix=fix, problem=problem)


def checked_start(
    setup: Setup, velocity: Any, theta: Any, perturbation: Any, scalars: Any, rows: LocalRows
) -> dict[str, np.ndarray]:
    """Return the initial fields by name, (nz, ny, nx): wind (the ambient wind by default), theta', scalars.

    rows : rows of this process, which the fields have.
    """
    nz = setup.shape[0]
    if velocity is None:
        z = rows.held_levels(setup.levels).z
        velocity = (*(profile(z) + np.zeros(z.shape) for profile in setup.air.wind), 0.0)
    if not isinstance(velocity, (tuple, list)) or len(velocity) != 3:
        raise InputError(
            "this velocity",
            allowed="three numbers or arrays: u, v, w",
            fix="velocity = (10.0, 0.0, 0.0)",
            problem="The initial velocity does not have three components.",
        )
    fields = {
        name: checked_volume(f"velocity {name}", one, nz, rows) for name, one in zip("uvw", velocity, strict=True)
    }
    for name, values in fields.items():
        check_plausible("wind", values, f"velocity {name}")
    heat = checked_perturbation(setup, theta, perturbation, rows)
    if setup.stratified:
        fields["theta"] = heat
    return fields | checked_scalars(scalars, nz, rows)


class ForcingAndMixing(NamedTuple):
    """Checked forcing and mixing, by the names of `Setup`."""

    viscosity: float
    diffusivity: float
    side_sponges: np.ndarray | None
    forcing: Forcing
    surface: Surface | None
    closure: Smagorinsky | None
    forcing_rates: np.ndarray  # (nz, ny)

    def fields(self, scalars: int) -> int:
        """Return the number of fields with explicit tendencies."""
        forcing = self.forcing.profiles().keys() - {"geostrophic_wind_x", "geostrophic_wind_y"}
        if not (self.viscosity or self.diffusivity or forcing or self.surface or self.closure) and (
            self.side_sponges is None
        ):
            return 0
        return 4 + scalars

    def longest_step(self, metric: Metric, levels: Levels, atmosphere: Atmosphere) -> float:
        """Return the maximum stable time step of constant viscosity, forcing and drag, s.

        The drag is evaluated with the ambient or geostrophic wind. With a closure, its limit and the limit of the drag
        are evaluated during the run.
        """
        stiffness = 1.0 if self.closure is None else self.closure.stiffness
        max_viscosity = max(self.viscosity, self.diffusivity) * stiffness
        rate = 4.0 * max_viscosity * float(stiffness_of(metric).max())
        if self.surface is not None and self.closure is None:
            rate += self.surface.decay(levels, self._wind(levels, atmosphere))
        return longest_explicit_step(rate + forcing_rate(self.forcing, self.side_sponges, levels))

    def _wind(self, levels: Levels, atmosphere: Atmosphere) -> np.ndarray:
        """Return the maximum of ambient and geostrophic wind speed at the first level above the surface, m/s."""
        z, speeds = levels.z[1], []
        for u, v in filter(None, (atmosphere.wind, self.forcing.geostrophic)):
            speeds.append(np.hypot(profile_of("u", u)(z), profile_of("v", v)(z)) + np.zeros(z.shape))
        return np.max(speeds, axis=0)


def checked_forcing(
    levels: Levels,
    grid: Grid,
    *,
    stratified: bool,
    scalars: tuple[str, ...],
    coriolis: float,
    viscosity: float,
    diffusivity: float | None,
    side_sponges: Mapping[str, Any] | None,
    forcing: Forcing | None,
    surface: Surface | None,
    closure: Smagorinsky | None,
    walled: bool,
) -> ForcingAndMixing:
    """Return checked values; raise `InputError` for invalid values and combinations."""
    nu = checked_number("viscosity", viscosity, 0.0, 1e9)
    diffusion = nu if diffusivity is None else checked_number("diffusivity", diffusivity, 0.0, 1e9)
    drive = of_type("forcing", forcing or Forcing(), Forcing, "Forcing(geostrophic=(10.0, 0.0))")
    surface = surface and of_type("surface", surface, Surface, "Surface(roughness=0.1)")
    closure = closure and of_type("closure", closure, Smagorinsky, "Smagorinsky()")
    if drive.geostrophic is not None and coriolis == 0.0:
        got = "geostrophic wind without a Coriolis parameter"
        raise InputError(
            got,
            allowed="geostrophic wind with coriolis or latitude",
            fix="latitude = 45.0",
            problem="A geostrophic wind requires a Coriolis parameter.",
        )
    drive.check(levels.z, stratified, scalars)
    ground = None if surface is None else surface.checked(grid, levels, stratified, walled)
    sides = checked_side_sponges(side_sponges, grid)
    rates = forcing_rows(drive, sides, levels, (levels.height.size, grid.ny))
    return ForcingAndMixing(nu, diffusion, sides, drive, ground, closure and closure.checked(), rates)
