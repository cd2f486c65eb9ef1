"""Output of the potential-flow model: fields, settings, notes before a run, rows of the run summary."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from eagre.fields import Variable
from eagre.models.potential_waves.boundaries.sides import depth_along
from eagre.models.potential_waves.boundaries.wave_checks import (
    MAX_CELERITY_ERROR,
    MAX_REFLECTION,
    MIN_POINTS,
    better_layers,
    celerity_error,
    wave_notes,
    wavemaker_reflection,
)
from eagre.models.potential_waves.engine import Engine
from eagre.models.potential_waves.sampling.diagnostics import maximum_slope, surface_velocity
from eagre.models.potential_waves.setup import Setup
from eagre.models.potential_waves.stability import longest_step
from eagre.models.potential_waves.surface.breaking import Breaker

if TYPE_CHECKING:
    from eagre.models.potential_waves.boundaries.relaxation_zones import RelaxationZone
    from eagre.models.potential_waves.boundaries.sides import SpongeLayer, Wavemaker

VARIABLES = (
    Variable(
        "surface_elevation", "m", "surface elevation above still water", "sea_surface_height_above_mean_sea_level"
    ),
    Variable("surface_potential", "m2 s-1", "velocity potential at the surface"),
    Variable("velocity_x", "m s-1", "x-component of water velocity at the surface", "sea_water_x_velocity"),
    Variable("velocity_y", "m s-1", "y-component of water velocity at the surface", "sea_water_y_velocity"),
    Variable("velocity_z", "m s-1", "upward water velocity at the surface", "upward_sea_water_velocity"),
    Variable("still_water_depth", "m", "still-water depth", "sea_floor_depth_below_mean_sea_level", static=True),
)
STATISTICS = (
    Variable("max_surface_elevation", "m", "maximum surface elevation", cell_methods="time: maximum"),
    Variable("min_surface_elevation", "m", "minimum surface elevation", cell_methods="time: minimum"),
    Variable("mean_surface_elevation", "m", "mean surface elevation", cell_methods="time: mean"),
    Variable(
        "significant_height",
        "m",
        "significant wave height, 4 standard deviations of the surface elevation",
        "sea_surface_wave_significant_height",
        cell_methods="time: mean",
    ),
)
BREAKING_COLUMNS = (
    "time (s)", "x (m)", "y (m)", "ratio (1)", "slope (1)", "speed (m s-1)", "crest (m)", "length (m)", "steepness (1)",
)  # fmt: skip
"""Columns of the log of breaking events.

The ratio is the speed of the water divided by that of the crest, the steepness k times the crest height.
"""

HIGHEST_OF_1000 = 1.86  # highest of 1000 waves, relative to Hs
MAX_BREAKERS_SHOWN = 5  # breaking events listed in the summary
MAX_WALL_SLOPE = 1e-3  # bed slope normal to a wall above which the order of accuracy drops to 2


def variables_of(setup: Setup) -> tuple[Variable, ...]:
    """Return the fields of a model, with the surface statistics if they are enabled."""
    return VARIABLES if setup.statistics is None else (*VARIABLES, *STATISTICS)


def field_of(engine: Engine, name: str) -> np.ndarray:
    """Return a host copy of a field at the points, (ny, nx), float64; `name` is one of `variables_of`.

    Surface statistics are empty in processes other than the first.
    """
    if name == "still_water_depth":
        return engine.setup.depth
    if name in (variable.name for variable in STATISTICS):
        return np.nan_to_num(engine.statistics_now().get(name, np.empty(0)))  # 0 before they begin
    if name == "velocity_z":
        return engine.vertical_velocity() + engine.velocity_of_wavemakers()[2]
    surface = engine.surface()
    if name in ("surface_elevation", "surface_potential"):
        return surface[int(name == "surface_potential")]
    w = engine.vertical_velocity()
    component = int(name == "velocity_y")
    return surface_velocity(surface, w, engine.setup)[component] + engine.velocity_of_wavemakers()[component]


def settings_of(setup: Setup) -> dict[str, str | float | int]:
    """Return the resolved setup, for the attributes of output files."""
    settings: dict[str, str | float | int] = {
        "periodic": {(False, False): "none", (False, True): "x", (True, False): "y", (True, True): "both"}[
            setup.periodic
        ],
        "order": setup.vertical.order,
        "vertical_points": setup.vertical.nz,
        "vertical_clustering": int(setup.vertical.clustered),
        "linear": int(setup.linear),
        "time_step": setup.time_step,
        "tolerance": setup.tolerance,
        "absolute_tolerance": setup.absolute_tolerance,
        "max_iterations": setup.max_iterations,
        "on_nonconvergence": setup.on_nonconvergence,
        "preconditioner": setup.preconditioner,
        "correction_precision": setup.correction,
        "gravity": setup.gravity,
    }
    settings |= {f"multigrid_{name}": value for name, value in setup.multigrid.items() if value is not None}
    if setup.surface_filter:
        settings["surface_filter"] = setup.surface_filter
    if setup.breaking is not None:
        names = ("breaking_max_crest_speed_ratio", "breaking_max_front_slope", "breaking_strength")
        settings |= dict(zip(names, setup.breaking, strict=True))
    if setup.statistics is not None:
        settings["statistics_from"] = setup.statistics.start
    for number, zone in enumerate(setup.relaxation_zones, 1):
        settings[f"relaxation_zone_{number}"] = _zone_description(zone)
        seeds = getattr(zone.waves, "seeds", None)
        if seeds:
            settings[f"relaxation_zone_{number}_seeds"] = " ".join(map(str, seeds))
    for number, wavemaker in enumerate(setup.wavemakers, 1):
        settings[f"wavemaker_{number}"] = _wavemaker_description(wavemaker)
    for number, layer in enumerate(setup.sponges, 1):
        settings[f"sponge_{number}"] = _sponge_description(layer)
    return settings


def _zone_description(zone: RelaxationZone) -> str:
    action = "absorbs waves" if zone.waves is None else f"generates {zone.waves}"
    return f"{zone.side}, {zone.width:g} m, {action}"


def _wavemaker_description(wavemaker: Wavemaker) -> str:
    return f"{wavemaker.side}{', active absorption' if wavemaker.active_absorption else ''}"


def _movement(wavemaker: Wavemaker, setup: Setup) -> str:
    """Describe the motion of a wavemaker."""
    if not wavemaker.is_piston(depth_along(wavemaker.side, setup.depth)):
        return "flux inlet"
    low, high = wavemaker.excursion()
    return f"piston, displacement {low:.3g} to {high:.3g} m"


def _sponge_description(layer: SpongeLayer) -> str:
    return f"{layer.side}, {layer.width:g} m, {layer.period:g} s, strength {layer.strength:g}"


def notes_of(setup: Setup) -> list[str]:
    """Return notes on the time step, the wave conditions and sources of error."""
    grid = setup.grid
    longest = longest_step(setup.depth, grid, setup.vertical, setup.gravity, setup.sponges)
    notes = [f"time step {setup.time_step:.4g} s, {setup.time_step / longest:.0%} of the stability limit"]
    for zone in setup.relaxation_zones:
        notes += [f"relaxation zone in the {_zone_description(zone)}", *_zone_wave_notes(zone, setup)]
    notes += _overlaps(setup)
    notes += [f"wavemaker in the {_wavemaker_description(one)}: {_movement(one, setup)}" for one in setup.wavemakers]
    notes += [f"sponge in the {_sponge_description(layer)}" for layer in setup.sponges]
    return notes + _celerity_notes(setup) + _reflection_notes(setup) + _wall_notes(setup)


def _waves_of(setup: Setup) -> list[tuple[str, float]]:
    """Return name and wave number, 1/m, in the deepest water of generated, absorbed and initial waves."""
    from eagre.waves import wave_number

    depth, gravity = float(setup.depth.max()), setup.gravity
    frequencies = [
        (f"relaxation zone in the {zone.side}", 2.0 * math.pi / zone.period) for zone in setup.relaxation_zones
    ]
    pistons = [one for one in setup.wavemakers if one.is_piston(depth_along(one.side, setup.depth))]
    frequencies += [(f"wavemaker in the {one.side}", one.mean_frequency()) for one in pistons]
    waves = [(name, float(wave_number(omega, depth, gravity))) for name, omega in frequencies if omega > 0.0]
    return waves + [("initial waves", setup.initial_wave_number)] * (setup.initial_wave_number > 0.0)


def _celerity_notes(setup: Setup) -> list[str]:
    """Return a note for each wave whose celerity error on this vertical grid exceeds the limit."""
    depth, vertical, notes = float(setup.depth.max()), setup.vertical, []
    for name, k in _waves_of(setup):
        error = celerity_error(vertical, k * depth)
        if abs(error) <= MAX_CELERITY_ERROR:
            continue
        better = better_layers(vertical, k * depth)
        advice = f"depth = {2.0 * math.pi / k:.3g} gives the same waves (deep water)"
        if better is not None:
            advice = f"write vertical_points = {better.nz}" + (
                "" if vertical.clustered else " and vertical_clustering = true"
            )
        notes.append(
            f"{name}: the celerity is {abs(error):.2%} too {'low' if error < 0.0 else 'high'} "
            f"with {vertical.nz} vertical points in {depth:g} m, kh {k * depth:.3g}; {advice}"
        )
    return notes


def _reflection_notes(setup: Setup) -> list[str]:
    """Return a note for each wavemaker with active absorption whose predicted reflection exceeds the limit."""
    from eagre.waves import angular_frequency, wave_number

    notes, gravity, deepest = [], setup.gravity, float(setup.depth.max())
    for wavemaker in setup.wavemakers:
        depth = depth_along(wavemaker.side, setup.depth)
        for name, k in _waves_of(setup) if wavemaker.active_absorption else []:
            omega = float(angular_frequency(k, deepest, gravity))
            kh = float(wave_number(omega, depth, gravity)) * depth
            reflection = wavemaker_reflection(kh)
            if reflection > MAX_REFLECTION:
                notes.append(
                    f"wavemaker in the {wavemaker.side}: reflects about {reflection:.0%} of waves of "
                    f"period {2.0 * math.pi / omega:.3g} s ({name}, kh {kh:.2g}); "
                    "a sponge or a relaxation zone reflects less"
                )
    return list(dict.fromkeys(notes))


def _overlaps(setup: Setup) -> list[str]:
    """Return a note for relaxation zones of opposite sides that overlap, so that one damps the waves of the other."""
    grid, notes = setup.grid, []
    widths = {zone.side: zone.width for zone in setup.relaxation_zones}
    rooms = ("west", "east", (grid.nx - 1) * grid.dx), ("south", "north", (grid.ny - 1) * grid.dy)
    for low, high, basin_size in rooms:
        if low in widths and high in widths and widths[low] + widths[high] >= basin_size:
            notes.append(
                f"the relaxation zones in the {low} and the {high} overlap: no free water remains between them"
            )
    return notes


def _zone_wave_notes(zone: RelaxationZone, setup: Setup) -> list[str]:
    """Return notes on the points per wave length, the time step and the width of a relaxation zone."""
    from eagre.waves import LinearWaves, RegularWave, wave_number

    grid, notes = setup.grid, []
    depth = float(setup.depth.max())
    length = 2.0 * math.pi / float(wave_number(2.0 * math.pi / zone.period, depth, setup.gravity))
    steps = zone.period / setup.time_step
    if not isinstance(zone.waves, (LinearWaves, RegularWave)):
        spacing = max(step for step, count in ((grid.dx, grid.nx), (grid.dy, grid.ny)) if count > 1)
        if (points := length / spacing) < MIN_POINTS:
            few = f"{points:.1f} points per wave length of {length:.4g} m ({zone.period:g} s)"
            notes.append(f"relaxation zone in the {zone.side}: {few}; {MIN_POINTS:g} or more are needed")
    else:
        notes += wave_notes(zone.waves, grid, f"relaxation zone in the {zone.side}")
    if zone.width < length:
        wide = f"{zone.width / length:.2g} wave lengths wide"
        notes.append(f"relaxation zone in the {zone.side}: {wide}; one wave length reflects 8 %, two less than 1 %")
    notes += _steep_sea(zone, length, depth)
    if steps < 16.0:
        notes.append(f"{steps:.1f} time steps per period of {zone.period:g} s; 30 or more preserve height and phase")
    return notes


def _steep_sea(zone: RelaxationZone, length: float, depth: float) -> list[str]:
    """Return a note for a sea whose highest wave of 1000 exceeds the limiting wave height.

    The highest of 1000 Rayleigh-distributed waves is 1.86 Hs: M. S. Longuet-Higgins, J. Mar. Res. 11, 245-266 (1952).
    """
    from eagre.waves import Sea, highest_wave

    if not isinstance(zone.waves, Sea):
        return []
    high, max_height = HIGHEST_OF_1000 * zone.waves.significant_height, highest_wave(length, depth)
    if high <= max_height:
        return []
    return [
        f"relaxation zone in the {zone.side}: the highest of 1000 waves of the sea, {high:.3g} m, "
        f"exceeds the limiting height of {max_height:.3g} m; use [breaking] or a lower Hs"
    ]


def _wall_notes(setup: Setup) -> list[str]:
    """Return a note for each wall with a sloping bed, where mirroring reduces the order of accuracy."""
    notes = []
    for axis, sides in ((1, ("west", "east")), (0, ("south", "north"))):
        if setup.periodic[axis] or setup.depth.shape[axis] < 3:
            continue
        for side, near in ((sides[0], (0, 1, 2)), (sides[1], (-1, -2, -3))):
            first, second, third = (np.take(setup.depth, k, axis) for k in near)
            worst = float(np.abs(3.0 * first - 4.0 * second + third).max()) / (2.0 * setup.spacing[axis])
            if worst > MAX_WALL_SLOPE and side not in [zone.side for zone in setup.relaxation_zones]:
                level = f"make the last {setup.vertical.order // 2} spacings level"
                notes.append(f"the bed slopes into the wall in the {side} by {worst:.2g}: order 2 there; {level}")
    return notes


def summary_rows_of(engine: Engine) -> list[tuple[str, str]]:
    """Return the rows of the run summary."""
    setup, eta = engine.setup, engine.surface()[0]
    slope, (j, i) = maximum_slope(eta, setup)
    grid = setup.grid
    where = f"x = {grid.x[i]:.5g} m" + (f", y = {grid.y[j]:.5g} m" if grid.ny > 1 else "")
    return [
        ("iterations", f"{engine.iterations_a_solve:.1f} per Laplace solve, 4 solves per step"),
        *_unconverged_rows(engine),
        ("surface", f"{eta.min():.4g} to {eta.max():.4g} m, maximum slope {slope:.3g} at {where}"),
        *_breaking_rows(engine),
        *_statistics_rows(engine),
    ]


def _unconverged_rows(engine: Engine) -> list[tuple[str, str]]:
    """Return the number of Laplace solves that did not converge; no row without such solves."""
    count = engine.laplace.unconverged
    text = f"{count} Laplace solve{'' if count == 1 else 's'} reached max_iterations = {engine.setup.max_iterations}"
    return [("not converged", text)] if count else []


def breaking_row(one: Breaker) -> tuple[float, ...]:
    """Return the values of a breaking event in the order of `BREAKING_COLUMNS`."""
    return one.time, one.x, one.y, one.ratio, one.slope, one.speed, one.crest, one.length, one.steepness


def _breaking_rows(engine: Engine) -> list[tuple[str, str]]:
    """Return the number of breaking events and a row for each of the first ones."""
    if engine.breaking is None:
        return []
    log = engine.breaking.log
    rows = [("breaking", f"{len(log)} event{'' if len(log) == 1 else 's'}{':' if log else ''}")]
    for one in log[:MAX_BREAKERS_SHOWN]:
        location = f"x = {one.x:.5g} m" + (f", y = {one.y:.5g} m" if engine.setup.grid.ny > 1 else "")
        crest = f"crest height {one.crest:.3g} m, k a = {one.steepness:.2f}"
        rows.append(("", f"t = {one.time:.5g} s, {location}, {crest}"))
    return rows if len(log) <= MAX_BREAKERS_SHOWN else [*rows, ("", f"and {len(log) - MAX_BREAKERS_SHOWN} more")]


def _statistics_rows(engine: Engine) -> list[tuple[str, str]]:
    """Return a row with the maxima of significant wave height and surface elevation, and their locations."""
    statistics = engine.statistics_now()
    if engine.statistics is None or (lasted := engine.statistics.lasted) == 0.0 or not statistics:
        return []
    grid, maxima = engine.setup.grid, []
    for what, name in (("maximum Hs", "significant_height"), ("maximum elevation", "max_surface_elevation")):
        values = statistics[name]
        j, i = np.unravel_index(int(values.argmax()), values.shape)
        location = f"x = {grid.x[i]:.5g} m" + (f", y = {grid.y[j]:.5g} m" if grid.ny > 1 else "")
        maxima.append(f"{what} {values[j, i]:.4g} m at {location}")
    return [("statistics", f"{'; '.join(maxima)}; over {lasted:.5g} s")]
