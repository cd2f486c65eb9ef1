"""Outputs of an anelastic model: fields, diagnostics, attributes of output files, notes and rows of the run summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from eagre.fields import Variable
from eagre.local_rows import LocalRows
from eagre.models.anelastic.base.metric import derivative
from eagre.models.anelastic.base.orography import max_slope
from eagre.models.anelastic.engine import COMPONENTS, Engine
from eagre.models.anelastic.setup import Setup
from eagre.models.anelastic.stability import COURANT, max_stable_courant
from eagre.models.anelastic.step_kernels import Velocity
from eagre.models.anelastic.subgrid.surface import Surface
from eagre.time_varying.series import Series

Array = np.ndarray
HIGH_HILL = 0.1  # N h / U above which a thin sponge layer changes the drag
LAYERS = 3  # thickness of the sponge layer over such hills, in vertical wavelengths
MIN_BLOCKED_FRACTION = 0.1  # mean wind between walls that is reported, as a fraction of the maximum wind
STRONG_HEAT = 2.0  # K m/s, about 2400 W/m2: larger values are probably in W/m2
WIND = (
    Variable("u", "m s-1", "x-component of wind", "x_wind", levels=True),
    Variable("v", "m s-1", "y-component of wind", "y_wind", levels=True),
    Variable("w", "m s-1", "vertical velocity", "upward_air_velocity", levels=True),
    Variable("wind_speed", "m s-1", "horizontal wind speed", "wind_speed", levels=True),
    Variable("vorticity", "s-1", "vorticity magnitude", levels=True),
    Variable(
        "pressure",
        "m2 s-2",
        "pressure perturbation divided by the reference density, up to a constant; missing before the first step",
        levels=True,
    ),
)
HEAT = (
    Variable("theta", "K", "potential temperature", "air_potential_temperature", levels=True),
    Variable("theta_perturbation", "K", "potential temperature minus the ambient potential temperature", levels=True),
    Variable("ambient_theta", "K", "ambient potential temperature", levels=True, static=True),
)
AIR = (
    Variable("density", "kg m-3", "reference density", levels=True, static=True),
    Variable("w_max", "m s-1", "maximum vertical velocity of a column"),
    Variable("height", "m", "altitude of the grid points", "altitude", levels=True, static=True),
)


def mass_weights(engine: Engine) -> Array:
    """Return the mass of each point, (nz, ny, nx), kg; points on walls have half a cell."""
    metric = engine.metric
    dz, dy, dx = engine.setup.spacing
    return metric.weights * engine.base_state.density * metric.jacobian * (dx * dy * dz)


def diagnostics_of(engine: Engine) -> Mapping[str, float]:
    """Return kinetic energy, J, and per unit mass, extremes of wind and theta', stability number and divergence.

    Of several processes, only the first has the fields; the others return {}.
    """
    setup, kinetic = engine.setup, np.zeros(())
    for name in COMPONENTS:
        kinetic = kinetic + engine.field(name).astype(np.float64) ** 2
    w = engine.field("w")
    others = engine.fields([*setup.scalars, *(("theta",) if setup.stratified else ())])
    if not engine.device.is_first:
        return {}
    kinetic, mass = 0.5 * kinetic, mass_weights(engine)
    energy = float(np.sum(mass * kinetic))
    results = {
        "kinetic_energy": energy,
        "mean_kinetic_energy": energy / float(mass.sum()),
        "max_speed": float(np.sqrt(2.0 * kinetic.max())),
        "max_w": float(w.max()),
        "min_w": float(w.min()),
        "stability_number": engine.counts["courant"],
        "scaled_divergence": engine.counts["divergence"],
    }
    if setup.stratified:
        theta = others["theta"].astype(np.float64)
        results |= {"max_theta_perturbation": float(theta.max()), "min_theta_perturbation": float(theta.min())}
    for name in setup.scalars:
        values = others[name].astype(np.float64)
        results |= {f"total_{name}": float(np.sum(mass * values)), f"min_{name}": float(values.min())}
    return results


def vorticity(engine: Engine, velocity: Velocity | None = None) -> tuple[Array, Array, Array]:
    """Return the vorticity (w_y - v_z, u_z - w_x, v_x - u_y), s-1, of the current or a given wind, for flat terrain."""
    setup, (u, v, w) = engine.setup, velocity or engine.velocity()
    stretch = (1.0 / engine.metric.stretch)[:, None, None]

    def along(a: Array, axis: int) -> Array:
        gradient = derivative(a, axis, setup.spacing[axis], setup.boundaries[axis] == "periodic")
        return gradient * stretch if axis == 0 else gradient

    return along(w, 1) - along(v, 0), along(u, 0) - along(w, 2), along(v, 2) - along(u, 1)


def enstrophy(engine: Engine) -> float:
    """Return the mean enstrophy, half of the square of the vorticity, s-2, for flat terrain."""
    mass = mass_weights(engine)
    return float(np.sum(0.5 * mass * sum(one**2 for one in vorticity(engine))) / mass.sum())


def fields_of(stratified: bool, scalars: Sequence[str]) -> tuple[Variable, ...]:
    """Return the fields of a model with or without buoyancy."""
    carried = tuple(Variable(name, "1", f"passive scalar {name}", levels=True) for name in scalars)
    return (*WIND, *(HEAT if stratified else ()), *carried, *AIR)


def variables_of(setup: Setup) -> tuple[Variable, ...]:
    """Return the fields of a model."""
    return fields_of(setup.stratified, setup.scalars)


def needed_for(engine: Engine, name: str) -> tuple[str, ...]:
    """Return the names of the engine arrays from which a field is computed."""
    sources = {
        "w_max": ("w",),
        "wind_speed": ("u", "v"),
        "theta_perturbation": ("theta",),
        "pressure": ("phi",),
        "vorticity": COMPONENTS,
    }
    return sources.get(name, (name,) if name in (*COMPONENTS, "theta", *engine.setup.scalars) else ())


def compute_field(engine: Engine, name: str, raw: Mapping[str, np.ndarray], last_step: float) -> np.ndarray:
    """Compute a field, (nz, ny, nx), or (ny, nx) without levels, from host copies of the arrays of `needed_for`.

    last_step : length of the last step, s; 0 before the first step.
    """
    base = engine.base_state
    if name in (*COMPONENTS, *engine.setup.scalars):
        return raw[name]
    if name == "w_max":
        return raw["w"].max(axis=0)
    if name == "wind_speed":
        return np.hypot(raw["u"], raw["v"])
    if name == "theta_perturbation":
        return raw["theta"]
    if name == "theta":
        return base.theta + raw["theta"]
    if name == "pressure":
        return raw["phi"] * pressure_factor(last_step)
    if name == "vorticity":
        wind = Velocity(*(raw[one].astype(np.float64) for one in COMPONENTS))
        return np.sqrt(sum(one**2 for one in vorticity(engine, wind)))
    static = {"ambient_theta": base.theta, "density": base.density, "height": engine.setup.levels.z}
    return np.broadcast_to(static[name], engine.setup.shape).astype(np.float64)


def pressure_factor(last_step: float) -> float:
    """Return the ratio of pressure to potential for a last step, s; NaN before the first step (0)."""
    return 2.0 / last_step if last_step else float("nan")


def field_of(engine: Engine, name: str) -> np.ndarray:
    """Return a host copy of a current field; `name` is one of `variables_of`; empty in processes but the first."""
    raw = engine.fields(needed_for(engine, name))
    if not engine.device.is_first:
        return np.empty(0)
    return compute_field(engine, name, raw, engine.steps.previous_dt)


def snapshot_of(engine: Engine, names: Sequence[str], real: np.dtype) -> Callable[[], dict[str, np.ndarray]]:
    """Start a copy of the current fields; return a function that waits for the copy and computes the fields."""
    needed = list(dict.fromkeys(one for name in names for one in needed_for(engine, name)))
    copies, last_step = engine.device.begin_host([engine.array(one) for one in needed]), engine.steps.previous_dt

    def fields() -> dict[str, np.ndarray]:
        raw = dict(zip(needed, copies(), strict=True))
        return {name: compute_field(engine, name, raw, last_step).astype(real) for name in names}

    return fields


def settings_of(setup: Setup) -> dict[str, str | float | int]:
    """Return the resolved configuration, for the attributes of output files."""
    air = setup.air
    return {
        "equations": air.equations,
        "boundaries_z": setup.boundaries[0],
        "boundaries_y": setup.boundaries[1],
        "boundaries_x": setup.boundaries[2],
        "top_height": setup.top_height,
        "levels": setup.levels.height.size,
        "time_step": setup.time_step,
        "coriolis": setup.coriolis,
        "viscosity": setup.viscosity,
        "diffusivity": setup.diffusivity,
        "tolerance": setup.tolerance,
        "third_order": int(setup.advection.third_order),
        "nonoscillatory": int(setup.advection.nonoscillatory),
        "gravity": air.gravity,
        **_air_of(setup),
    }


def _air_of(setup: Setup) -> dict[str, str | float | int]:
    """Return attributes of the ambient state, sponge layers, surface, closure and forcing; N < 0 marks unstable air."""
    air, z = setup.air, setup.levels.z
    stability = air.stability(z, setup.layers)
    attributes: dict[str, str | float | int] = {
        "ambient_wind_x": _range_of(air.wind[0](z)),
        "ambient_wind_y": _range_of(air.wind[1](z)),
        "buoyancy_frequency": _range_of(np.sign(stability) * np.sqrt(np.abs(stability))),
    }
    if setup.top_sponge.any():
        lowest = setup.levels.height[np.flatnonzero(setup.top_sponge)[0]]
        attributes["top_sponge"] = f"up to {setup.top_sponge.max():.6g} s-1 from z = {lowest:.6g} m"
    if setup.side_sponges is not None:
        attributes["side_sponges"] = f"up to {setup.side_sponges.max():.6g} s-1"
    if setup.surface is not None:
        attributes["surface_heat_flux"] = _range_of(Series.of(setup.surface.heat_flux).values)
        if setup.surface.roughness is not None:
            attributes["roughness"] = _range_of(setup.surface.roughness)
    if setup.closure is not None:
        attributes |= {
            "closure": "smagorinsky",
            "closure_constant": setup.closure.constant,
            "prandtl": setup.closure.prandtl,
        }
    return attributes | {name: _range_of(profile(z)) for name, profile in setup.forcing.profiles().items()}


def _range_of(values: np.ndarray) -> str | float:
    """Return a single value, or the range of the values as a string."""
    low, high = (float(f"{bound:.6g}") for bound in (values.min(), values.max()))
    return low if low == high else f"{low:g} to {high:g}"


def notes_of(setup: Setup) -> list[str]:
    """Return the notes of a run: grid spacings, terrain, sponge layers, boundaries, surface and viscosity."""
    dz, dy, dx = setup.spacing
    apart = np.diff(setup.levels.height) if setup.shape[0] > 1 else np.array([dz])
    up = f"{dz:.4g}" if np.ptp(apart) < 1e-6 * dz else f"{apart.min():.4g} to {apart.max():.4g}"
    notes = [f"spacings {dx:.4g}, {dy:.4g} and {up} m; {setup.air.equations} equations"]
    if (terrain := setup.levels.terrain_height) is not None:
        notes += [_ground_of(setup, terrain), *_thin_sponge(setup, terrain)]
    z = setup.levels.z
    ambient = {axis: profile(z) for axis, profile in zip("xy", setup.air.wind, strict=True)}
    notes += blocked_wind(setup, ambient, "ambient wind")
    ends = zip("yx", setup.boundaries[1:], strict=True)
    if setup.side_sponges is None and (lateral := [axis for axis, side in ends if side == "open"]):
        notes.append(
            f"open boundaries along {' and '.join(lateral)} without side sponge layers: the boundaries reflect waves"
        )
    if setup.surface is not None and (flux := strongest_heat(setup.surface)) > STRONG_HEAT:
        per_watt = float(np.max(setup.air.heat_capacity(np.zeros(1))))
        notes.append(
            f"heat_flux up to {flux:.4g} K m/s is {flux * per_watt:.2g} W/m2; use sensible_heat_flux for W/m2 "
            f"(factor {per_watt:.4g})"
        )
    if not setup.viscous:
        notes.append("no viscosity: the advection scheme provides the subgrid-scale dissipation (implicit LES)")
    return notes


def blocked_wind(
    setup: Setup, wind: Mapping[str, np.ndarray | float], name: str, local: LocalRows | None = None
) -> list[str]:
    """Return a note for each axis between walls along which a wind has a mean: the pressure removes this mean.

    The mass flux through every section between two walls is 0.

    Parameters
    ----------
    wind : mapping of "x", "y", "z" to arrays that broadcast to (nz, ny, nx), m/s
    name : str
        Name of the wind in the note.
    local : LocalRows, optional
        Rows of this process, which the wind has; by default the whole domain.
    """
    walls = {axis: "zyx".index(axis) for axis in wind}
    walls = {axis: n for axis, n in walls.items() if setup.boundaries[n] == "wall" and setup.shape[n] > 1}
    if not walls:
        return []
    depth = np.ones(setup.shape[0])  # of the levels, with half cells on walls
    if setup.shape[0] > 1 and setup.boundaries[0] == "wall":
        depth = np.gradient(setup.levels.height)
        depth[[0, -1]] *= 0.5
    rows = LocalRows.whole(local or setup.grid)
    shape = (setup.shape[0], *rows.shape_of("centre"))
    mass = setup.air.density(rows.held_levels(setup.levels).z) * depth[:, None, None] + np.zeros(shape)
    notes = []
    for axis, along in walls.items():
        values, others = wind[axis], tuple(one for one in range(3) if one != along)
        each = rows.each(((values * mass).sum(axis=others), mass.sum(axis=others), float(np.abs(values).max())))
        flux, total, fastest = zip(*each, strict=True)
        joined = np.concatenate if along == 1 else np.add.reduce
        mean = joined(flux) / joined(total)
        max_mean = float(mean.flat[np.abs(mean).argmax()])
        if abs(max_mean) > MIN_BLOCKED_FRACTION * max(fastest):
            use = f'; use boundaries_{axis} = "open" or "periodic" for a wind through the domain'
            also = "" if axis == "z" else use
            notes.append(
                f"{name}: the mean of {max_mean:.3g} m/s along {axis} has no effect between walls, because the "
                f"pressure removes it{also}"
            )
    return notes


def _ground_of(setup: Setup, ground: np.ndarray) -> str:
    """Return the range and maximum slope of the terrain, and whether it has a step at the ends of a periodic axis."""
    grid = setup.grid
    maximum = max_slope(ground, grid, (setup.boundaries[1] == "periodic", setup.boundaries[2] == "periodic"))
    j, i = maximum.cell
    where = f"x = {grid.x[i]:.6g} m, y = {grid.y[j]:.6g} m"
    note = f"terrain height {ground.min():.4g} to {ground.max():.4g} m, "
    note += f"maximum slope {maximum.slope:.3g} along {maximum.axis} at {where}"
    if maximum.cliff:
        note += f", between the ends of a periodic axis ({maximum.inside:.3g} elsewhere): use blend in [domain]"
    return note


def _thin_sponge(setup: Setup, ground: np.ndarray) -> list[str]:
    """Return a note if waves of the hill reflect from the top, or if a thin sponge layer changes the drag."""
    height, absorbed = setup.levels.height, setup.top_sponge > 0.0
    below = height[~absorbed]
    if below.size < 2:
        return []
    squared = float(setup.air.stability(below, setup.spacing[0]).mean())
    speed = float(np.hypot(setup.air.wind[0](below), setup.air.wind[1](below)).mean())
    if squared <= 0.0 or speed <= 0.0:
        return []
    length, steep = 2.0 * np.pi * speed / squared**0.5, squared**0.5 * float(np.ptp(ground)) / speed
    needed = LAYERS if steep > HIGH_HILL else 1
    layers = float(height[-1] - below[-1]) / length
    fix = f'thickness = "{1e-3 * needed * length:.3g} km" in [sponge]'
    label = f"N h / U = {steep:.2g}"
    if not absorbed.any():
        return [f"{label}: without a sponge layer, mountain waves reflect from the top; use {fix}"]
    if needed == 1 or layers >= 0.9 * LAYERS:  # one level less than required
        return []
    thick = f"{layers:.2g} wavelengths of {1e-3 * length:.3g} km (2 pi U / N) thick"
    return [f"{label}: the sponge layer is {thick}, which changes the drag; use {LAYERS} wavelengths: {fix}"]


def strongest_heat(surface: Surface) -> float:
    """Return the maximum magnitude of the surface heat flux over time and points, K m/s."""
    pattern = 1.0 if surface.pattern is None else float(np.abs(surface.pattern).max())
    return float(np.abs(Series.of(surface.heat_flux, "heat_flux").values).max()) * pattern


def summary_rows_of(engine: Engine) -> list[tuple[str, str]]:
    """Return rows of the run summary."""
    counts = engine.counts
    per_step = counts["iterations"] / max(1.0, counts["steps"])
    name = "Courant number" if engine.setup.closure is None else "Courant or diffusion number"
    return [
        (
            "pressure",
            f"{per_step:.1f} iterations per step, dt max |div| {counts['divergence']:.2g} after the last step",
        ),
        (name, f"{counts['courant']:.3g} in the last step, maximum {engine.fastest:.3g}{_warning(engine)}"),
    ]


def _warning(engine: Engine) -> str:
    """Return a warning if the Courant number of a run with constant steps exceeded the stability limit."""
    limit = max_stable_courant(engine.setup.shape)
    if engine.setup.adaptive or engine.fastest <= limit:
        return ""
    its = "a value " if engine.setup.closure is None else "a Courant number "
    safe = f"courant_number = {COURANT:g} is stable"
    return f": {its}above {limit:g} can amplify short waves in winds oblique to the grid; {safe}"
