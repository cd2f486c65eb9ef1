"""Output fields, particle positions, notes, summary rows and settings of the barotropic model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from eagre.config.options import attributes
from eagre.fields import Variable
from eagre.models.barotropic.options import Boundaries, Numerics, Physics
from eagre.models.barotropic.sampling.diagnostics import relative_vorticity, velocity
from eagre.models.barotropic.sampling.scales import layer_note, munk_width, numbers_note, radius_note
from eagre.models.barotropic.setup import Setup
from eagre.models.barotropic.stability import step_note

ALWAYS = (
    Variable("streamfunction", "m2 s-1", "streamfunction: u = -psi_y, v = psi_x"),
    Variable("relative_vorticity", "s-1", "relative vorticity", "ocean_relative_vorticity"),
    Variable("potential_vorticity", "s-1", "potential vorticity excluding beta y and topography"),
    Variable("velocity_x", "m s-1", "x-component of velocity", "sea_water_x_velocity"),
    Variable("velocity_y", "m s-1", "y-component of velocity", "sea_water_y_velocity"),
    Variable("speed", "m s-1", "speed", "sea_water_speed"),
)
LOWER = (
    Variable("streamfunction_lower", "m2 s-1", "streamfunction of the lower layer"),
    Variable("relative_vorticity_lower", "s-1", "relative vorticity of the lower layer"),
    Variable(
        "potential_vorticity_lower", "s-1", "potential vorticity of the lower layer excluding beta y and topography"
    ),
)
TRACER = Variable("tracer", "1", "passive tracer concentration")
WIND = Variable("wind_forcing", "s-2", "curl of wind stress divided by density and depth", static=True)


def fields_of(layers: bool, tracer: bool, time_varying: bool = False) -> tuple[Variable, ...]:
    """Return the output fields of a model with or without a lower layer, a tracer and time-varying wind."""
    return (*ALWAYS, *(LOWER if layers else ()), *((TRACER,) if tracer else ()), replace(WIND, static=not time_varying))


def field_of(engine: Any, name: str, time: float) -> np.ndarray:
    """Return a host copy of a field of `fields_of` at the points, (ny, nx); time : model time, s."""
    setup = engine.setup
    if name == "wind_forcing":
        return engine.curl(time).astype(engine.real)
    if name == "tracer":
        return engine.points("tracer")
    layer = 1 if name.endswith("_lower") else 0
    if name.startswith("streamfunction"):
        return engine.points("psi", layer)
    if name.startswith("potential_vorticity"):
        return engine.points("q", layer)
    if name.startswith("relative_vorticity"):
        psi, q = ([engine.points(field, k) for k in range(engine.count)] for field in ("psi", "q"))
        return relative_vorticity(setup, layer, psi, q)
    psi = engine.padded("psi")
    if not psi.size:  # in processes other than the first
        return psi
    wrap_x, wrap_y = setup.periodic
    inner = (slice(wrap_y, psi.shape[0] - wrap_y), slice(wrap_x, psi.shape[1] - wrap_x))
    u, v = (values[inner] for values in velocity(psi, setup.grid.dx, setup.grid.dy))
    found: np.ndarray = {"velocity_x": u, "velocity_y": v, "speed": np.hypot(u, v)}[name]
    return found.astype(engine.real)


def particle_coordinates(engine: Any) -> np.ndarray:
    """Return x, y of the particles, (n, 2), m."""
    setup, grid = engine.setup, engine.setup.grid
    axes = zip(engine.particle_positions, ((grid.x, grid.dx), (grid.y, grid.dy)), setup.periodic, strict=True)
    return np.stack([x[0] + (p - wrap) * h for p, (x, h), wrap in axes], axis=1)


def notes_of(setup: Setup) -> list[str]:
    """Return notes on boundary-layer resolution, nondimensional numbers (initial wind) and limits of the time step."""
    grid = setup.grid
    length = (grid.nx - 1) * grid.dx / math.pi
    numbers = numbers_note(setup.max_curl, setup.beta, setup.viscosity, setup.bottom_friction, length)
    if setup.time_varying_wind is not None:
        numbers = [f"time-varying wind forcing: {setup.time_varying_wind.instants.name}", *numbers]
    radius = radius_note(setup.baroclinic_radius, max(grid.dx, grid.dy))
    return [layer_note(setup.viscosity, setup.beta, grid.dx), *numbers, *radius, step_note(setup)]


def unused_field_notes(setup: Setup, state: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """Return notes on fields of a restored state that the run does not use."""
    carried = {"tracer": setup.diffusivity is not None, "particles": setup.particles > 0}
    left = (name for name, in_use in carried.items() if name in state and not in_use)
    return tuple(f"{name} of the restart file dropped: the case defines no {name}" for name in left)


def summary_rows_of(diagnostics: Mapping[str, float], budget: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return the rows of the run summary from `diagnostics` and `energy_budget`, in the units of the model."""
    low, high = diagnostics["min_streamfunction"], diagnostics["max_streamfunction"]
    terms = ("wind", "viscosity", "biharmonic", "friction")
    drains = ", ".join(f"{name} {budget[name]:+.4g}" for name in terms if budget[name] != 0.0)
    return [
        ("energy", f"{diagnostics['energy']:.6g}, enstrophy {diagnostics['enstrophy']:.6g}"),
        (
            "budget",
            f"{drains or 'no sources or sinks'}; residual of the Jacobian {budget['residual']:.1e} of the largest term",
        ),
        ("streamfunction", f"{low:.5g} to {high:.5g}, transport per depth {diagnostics['transport_per_depth']:.5g}"),
        ("velocity", f"maximum |u| {diagnostics['max_velocity_x']:.4g}, |v| {diagnostics['max_velocity_y']:.4g}"),
    ]


def settings_of(setup: Setup) -> dict[str, str | float | int]:
    """Return the resolved configuration, for the attributes of output files."""
    settings: dict[str, str | float | int] = {
        **attributes(setup, Boundaries, Numerics, Physics),
        "screening": setup.screening,
        "layers": 2 if setup.layers else 1,
    }
    if setup.beta != 0.0 and setup.viscosity > 0.0:
        settings["points_per_munk_width"] = munk_width(setup.viscosity, setup.beta) / setup.grid.dx
    return settings
