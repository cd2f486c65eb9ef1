"""Checks of the arguments of the model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eagre.arguments import all_of_type
from eagre.backend.device import Device, check_precision
from eagre.backend.group import Group
from eagre.checks import check_memory as check_words
from eagre.checks import checked_count, checked_field, checked_number, one_of
from eagre.constants import SHORTEST
from eagre.decomposition import check_memory_of_each, check_thickness, equal_parts
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.potential_waves.boundaries.relaxation_zones import RelaxationZone
from eagre.models.potential_waves.boundaries.sides import SpongeLayer, Wavemaker
from eagre.models.potential_waves.engine import Engine
from eagre.models.potential_waves.setup import Setup
from eagre.models.potential_waves.surface.breaking import DEFAULTS
from eagre.plausible import check_plausible
from eagre.solvers.multigrid.plan import TOO_WEAK, Axis, near
from eagre.waves import wave_number

SURFACE_WORDS = 40  # values per column, in the precision of the run
VOLUME_WORDS = (
    8  # values per unknown: Psi, its slopes, the residual, two grids of the preconditioner with their coarser ones
)
RESOLVED_POINTS = 64  # wave length, in points, of the smallest Psi that is resolved
OPPOSITE = {"west": "east", "east": "west", "south": "north", "north": "south"}
PERIODIC = {"none": (False, False), "x": (False, True), "y": (True, False), "both": (True, True)}


def check_memory(grid: Grid, device: Device | Group, precision: str, layers: int, more: int) -> None:
    """Raise if the model does not fit into the memory of the devices; more : values per column of averages."""
    size, values = np.dtype(check_precision(precision)).itemsize, SURFACE_WORDS + VOLUME_WORDS * layers + more
    check_words(grid, device, precision, values)
    if isinstance(device, Group):
        rows = equal_parts(grid.ny, len(device.devices))
        check_memory_of_each(device, [values * size * (count + 5) * (grid.nx + 5) for count in rows])


def check_points(grid: Grid, periodic: tuple[bool, bool], order: int) -> None:
    """Reject axes too short for the finite differences, and odd numbers of points along periodic axes."""
    for name, count, is_periodic in (("nx", grid.nx, periodic[1]), ("ny", grid.ny, periodic[0])):
        if 1 < count <= order // 2:
            allowed, fix = (
                f"1, or {order // 2 + 1} or more",
                f"{name} = {max(order // 2 + 1, 17) // 2 * 2 + (not is_periodic)}",
            )
            raise InputError(f"{name} = {count} at order {order}", allowed=allowed, fix=fix)
        if is_periodic and count > 1 and count % 2:
            raise InputError(f"{name} = {count} along a periodic axis", allowed="an even number",
                             fix=f"{name} = {count + 1}")  # fmt: skip
    if grid.cells < 2:
        raise InputError("nx = 1 and ny = 1", allowed="at least two points", fix="nx = 129")


def engine_of(setup: Setup, device: Device | Group, precision: str) -> Engine:
    """Return the engine; errors of the multigrid solver are reworded in terms of case keys."""
    if isinstance(device, Group):
        fewest, what = setup.vertical.order, f"rows of points, at order {setup.vertical.order}"
        check_thickness(device, setup.grid.ny, fewest, what, f"{fewest} rows or more each")
    try:
        return Engine(setup, device, precision)
    except InputError as error:
        if not error.fix.startswith("Multigrid"):
            raise
        if error.what == TOO_WEAK:
            length = max((setup.grid.nx - 1) * setup.grid.dx, (setup.grid.ny - 1) * setup.grid.dy)
            raise InputError(
                f"depth up to {setup.depth.max():g} m in a basin of {length:g} m",
                allowed=f"up to about {4.0 * length:.3g} m; no wave in it feels a bed deeper than {length:.3g} m",
                fix=f"depth = {2.0 * length:.3g}",
            ) from None
        left = f"nx = {setup.grid.nx} and ny = {setup.grid.ny}, of {error.what.partition(', of ')[2]}"
        raise InputError(left, allowed=error.allowed, fix=better_points(setup.grid, setup.periodic)) from None


def better_points(grid: Grid, periodic: tuple[bool, bool]) -> str:
    """Return case lines with numbers of points that multigrid can coarsen, for axes that it cannot coarsen."""
    axes = (("nx", Axis(grid.nx, grid.dx, periodic[1])), ("ny", Axis(grid.ny, grid.dy, periodic[0])))
    better = {name: near(axis)[1] for name, axis in axes if axis.points > 1 and near(axis)[1] != axis.points}
    return ", ".join(f"{name} = {count}" for name, count in better.items())


def check_kinds(zones: Any, wavemakers: Any, sponges: Any) -> None:
    """Reject arguments that are not lists of zones, wavemakers and sponges, and invalid waves of zones."""
    for zone in all_of_type(
        "relaxation_zones", zones, RelaxationZone, 'relaxation_zones=[RelaxationZone("west", width=4.0, period=2.0)]'
    ):
        if zone.waves is not None and not hasattr(zone.waves, "surface_potential"):
            raise InputError(
                f"waves = {zone.waves!r} of a relaxation zone", allowed="a wave or sea of eagre.waves, or None"
            )
    all_of_type("wavemakers", wavemakers, Wavemaker, 'wavemakers=[Wavemaker("west", velocity=series)]')
    all_of_type("sponges", sponges, SpongeLayer, 'sponges=[SpongeLayer("east", width=4.0, period=2.0)]')


def checked_depth(depth: Any, grid: Grid) -> np.ndarray:
    """Return the still-water depth, (ny, nx), m; raise with the location if it is not positive everywhere."""
    field = checked_field("depth", depth, grid, "centre")
    dry = field < SHORTEST
    if dry.any():
        j, i = (int(k) for k in np.argwhere(dry)[0])
        where = f"x = {grid.x[i]:.6g} m, y = {grid.y[j]:.6g} m"
        raise InputError(
            f"depth = {field[j, i]:g} m at {where}, one of {int(dry.sum())} such points",
            allowed="above 0 everywhere: run-up is supported on walls only, not on beaches",
            fix='depth = "maximum(0.1, 0.4 - 0.05 * x)", or a raster whose land is water 0.1 m deep',
        )
    check_plausible("depth", field, "depth")
    return field


def checked_surface(elevation: Any, potential: Any, depth: np.ndarray, grid: Grid) -> np.ndarray:
    """Return the initial surface elevation, m, and surface potential, m2/s, (2, ny, nx)."""
    eta = checked_field("surface_elevation", elevation, grid, "centre", "elevation")
    phi = checked_field("surface_potential", potential, grid, "centre")
    low = depth + eta <= 0.0
    if low.any():
        j, i = (int(k) for k in np.argwhere(low)[0])
        raise InputError(
            f"surface_elevation = {eta[j, i]:g} m at x = {grid.x[i]:.6g} m, y = {grid.y[j]:.6g} m",
            allowed=f"above the bed, {-depth[j, i]:g} m there",
            fix=f"surface_elevation = {-0.1 * depth[j, i]:.2g}",
        )
    return np.stack([eta, phi])


def checked_zones(
    zones: Sequence[RelaxationZone], grid: Grid, periodic: tuple[bool, bool], wavemakers: Sequence[Wavemaker] = ()
) -> tuple[RelaxationZone, ...]:
    """Reject zones along periodic axes, wider than the basin, or along a side in use by another zone or wavemaker."""
    check_sides(zones, wavemakers)
    for zone in zones:
        check_zone_width(zone.side, zone.width, grid, periodic)
    return tuple(zones)


def check_zone_width(side: str, width: float, grid: Grid, periodic: tuple[bool, bool]) -> None:
    """Reject a zone, `width` m wide, along a periodic axis or wider than the basin."""
    across = side in ("west", "east")
    count, step, is_periodic = (grid.nx, grid.dx, periodic[1]) if across else (grid.ny, grid.dy, periodic[0])
    if is_periodic or count < 2:
        why = "periodic" if is_periodic else "of one point"
        what = f"a relaxation zone along the {side} side of an axis that is {why}"
        raise InputError(what, allowed="sides with a wall", fix=wall_of(grid, periodic))
    if width > (count - 1) * step:
        raise InputError(f"width = {width:g} m of the relaxation zone in the {side}",
                         allowed=f"up to {(count - 1) * step:g} m, the size of the basin",
                         fix=f"width = {0.25 * (count - 1) * step:.3g}")  # fmt: skip


def wall_of(grid: Grid, periodic: tuple[bool, bool]) -> str:
    """Return the case line for a side with a wall, or an empty string."""
    walls = (("west", grid.nx, periodic[1]), ("south", grid.ny, periodic[0]))
    return next((f'side = "{side}"' for side, count, is_periodic in walls if count > 1 and not is_periodic), "")


def check_sides(zones: Sequence[RelaxationZone], wavemakers: Sequence[Wavemaker]) -> None:
    """Reject two zones, two wavemakers or one of each along a side: each would overwrite the waves of the other."""
    used: dict[str, str] = {}
    for one in (*zones, *wavemakers):
        name = "relaxation zone" if isinstance(one, RelaxationZone) else "wavemaker"
        if one.side in used:
            both = f"two {name}s" if used[one.side] == name else f"a {used[one.side]} and a {name}"
            fix = "" if OPPOSITE[one.side] in used else f'side = "{OPPOSITE[one.side]}"'
            raise InputError(f"{both} along the {one.side} side", allowed="one per side", fix=fix)
        used[one.side] = name


def checked_breaking(breaking: bool | Mapping[str, float]) -> tuple[float, float, float] | None:
    """Return the limits and the strength of `Breaking`, or None."""
    if breaking is False:
        return None
    options, known = (
        ({} if breaking is True else dict(breaking)),
        DEFAULTS,
    )
    for name in options:
        one_of("breaking", name, tuple(known))
    ratio, slope, strength = (
        checked_number(name, options.get(name, default), 1e-6, 1e6) for name, default in known.items()
    )
    return ratio, slope, strength


ON_NONCONVERGENCE = ("error", "continue")
ITERATION_LIMIT = 100_000  # upper limit of max_iterations
PRECONDITIONERS = ("modes", "lines")
MULTIGRID = ("cycle", "pre", "post", "levels", "stretched", "smoother", "weight")


def checked_multigrid(multigrid: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the options of `Multigrid`, by known names; `Multigrid` checks the values."""
    options = dict(multigrid or {})
    for name in options:
        one_of("multigrid", name, MULTIGRID)
    return options


def checked_preconditioner(name: str, device: Device | Group) -> str:
    """Return the name of the preconditioner; "lines" is not supported on several devices."""
    if one_of("preconditioner", name, PRECONDITIONERS) == "lines" and isinstance(device, Group):
        raise InputError(
            'preconditioner = "lines" on several devices', allowed="one device", fix='preconditioner = "modes"'
        )
    return name


def checked_iteration(absolute_tolerance: float, max_iterations: int, on_nonconvergence: str) -> dict[str, Any]:
    """Return the options of the Laplace iteration by name."""
    return {
        "absolute_tolerance": checked_number("absolute_tolerance", absolute_tolerance, 0.0, 1e6),
        "max_iterations": checked_count("max_iterations", max_iterations, 1, ITERATION_LIMIT),
        "on_nonconvergence": one_of("on_nonconvergence", on_nonconvergence, ON_NONCONVERGENCE),
    }


def correction_of(correction: str, precision: str) -> str:
    """Return the precision of corrections: the requested one, at most the precision of the run."""
    check_precision(correction, "correction_precision")
    return correction if precision == "double" else precision


def min_significant_psi(
    surface: np.ndarray,
    depth: np.ndarray,
    zones: Sequence[RelaxationZone],
    wavemakers: Sequence[Wavemaker],
    grid: Grid,
    gravity: float,
) -> float:
    """Return the smallest significant Psi, m2/s: 64-point waves as high as the initial and the generated waves."""
    step = min(step for step, count in ((grid.dx, grid.nx), (grid.dy, grid.ny)) if count > 1)
    h = float(depth.mean())
    k = 2.0 * math.pi / (RESOLVED_POINTS * step)
    rate = math.sqrt(gravity * k * math.tanh(k * h))
    potential = max(float(surface[1].std()), gravity / rate * float(surface[0].std()))
    for wavemaker in wavemakers:
        potential = max(potential, wavemaker.speed * math.sqrt(gravity * h) / rate)
    fraction = min(1.0, 0.5 * (k * h) ** 2)
    for zone in zones:
        if zone.waves is not None:
            t = np.linspace(0.0, zone.period, 16, endpoint=False)
            values = np.asarray(zone.waves.surface_potential(float(grid.x.mean()), float(grid.y.mean()), t))
            kh = float(wave_number(2.0 * math.pi / zone.period, h, gravity)) * h
            potential, fraction = max(potential, float(values.std())), max(fraction, min(1.0, 0.5 * kh**2))
    return fraction * potential
