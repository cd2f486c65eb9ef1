"""Small set-ups of every model which together use every option of its constructor and every value of its choices.

`SETUPS[class name][set-up name]` is a function (device, precision) that returns a model. The unit test
`test_option_setups.py` fails if an option has no set-up; the GPU test `test_every_option_gpu.py` runs each of them.
"""

from __future__ import annotations

from functools import partial

import numpy as np

import adi_runs
import anelastic_runs
import barotropic_runs
import explicit_runs
import potential_waves_runs
from eagre import (
    AnelasticFlow,
    BodyForce,
    Boundaries,
    Discharge,
    Grid,
    Inflow,
    InternalArea,
    InternalLine,
    Layers,
    Maps,
    NormalDepth,
    Outflow,
    PotentialWaves,
    Series,
    SpongeLayer,
    Stage,
    TimeStatistics,
    Wall,
    Wavemaker,
)
from eagre.models.anelastic.base.atmosphere import Atmosphere

MAPS = Maps()
WATER_AVERAGES = TimeStatistics(mean=("surface_elevation", "velocity_x"), variance=("surface_elevation",))


def inside(wide, high):
    """A closed ring, an open wall and a discharge inside a domain of wide x high metres with a western stage."""
    ring = [(0.3 * wide, 0.3 * high), (0.6 * wide, 0.3 * high), (0.6 * wide, 0.6 * high), (0.3 * wide, 0.6 * high)]
    return Boundaries(
        west=Stage(0.1),
        internal=[
            InternalArea(ring, Wall()),
            InternalLine([(0.75 * wide, 0.2 * high), (0.8 * wide, 0.8 * high)], Wall()),
            InternalLine([(0.2 * wide, 0.5 * high)], Discharge(0.2)),
        ],
    )


def explicit(name, device, precision, **options):
    make = {"bay": explicit_runs.bay, "basin": explicit_runs.basin}[name]
    return make(device, precision, **options)


EXPLICIT = {
    "all sources and open sides": ("bay", {}),
    "reference kernels": ("bay", {"kernels": "reference"}),
    "ring": ("basin", {"sides": "ring"}),
    "torus": ("basin", {"sides": "torus"}),
    "walls inside": ("bay", {"boundaries": inside(74.0, 91.5)}),
    "walls inside, srk2": ("bay", {"boundaries": inside(74.0, 91.5), "scheme": "srk2"}),
    "walls inside, ds2": ("bay", {"boundaries": inside(74.0, 91.5), "scheme": "ds2"}),
    "inflow and normal depth": (
        "bay",
        {"boundaries": Boundaries(Inflow(250.0, 0.5), Outflow(), Discharge(1.0), NormalDepth(0.01, 0.03))},
    ),
    "body force": ("basin", {"sources": [BodyForce(0.01, -0.02)]}),
    "infiltration": ("bay", {"soil": explicit_runs.loam()}),
    "scheme rk2": ("basin", {"scheme": "rk2", "active_tiles": "on"}),
    "scheme euler": ("basin", {"scheme": "euler", "active_tiles": "off"}),
    "scheme srk2": ("basin", {"scheme": "srk2", "active_tiles": "auto"}),
    "scheme ds1": ("basin", {"scheme": "ds1", "predicted_fraction": 0.9}),
    "scheme ds2": ("basin", {"scheme": "ds2"}),
    "exact time step": ("basin", {"time_step_control": "exact", "courant_number": 0.2, "minmod_theta": 1.0}),
    "predicted time step": ("basin", {"time_step_control": "predicted", "max_time_step": 0.05}),
    "fixed time step": ("basin", {"time_step": 0.02, "wet_dry": "hydrostatic"}),
    "kurganov-petrova": ("basin", {"wet_dry": "kurganov-petrova", "desingularisation_depth": 0.01}),
    "maps and averages": ("basin", {"maps": MAPS, "time_statistics": WATER_AVERAGES, "gravity": 9.8}),
    "initial depth": ("basin", {"surface_elevation": None, "depth": 0.4}),
}


def implicit(name, device, precision, **options):
    make = {"bay": adi_runs.bay, "pool": adi_runs.pool}[name]
    return make(device, precision, **({"ny": 61} | options))


IMPLICIT = {
    "all terms and open sides": ("bay", {}),
    "reference kernels": ("bay", {"kernels": "reference"}),
    "walls inside": ("bay", {"boundaries": inside(3330.0, 4270.0), "manning": 0.03}),
    "walls inside, no drying": ("pool", {"boundaries": inside(1900.0, 4270.0), "drying": "off"}),
    "chezy": ("bay", {"manning": 0.0, "chezy": 50.0}),
    "dissipation froude": ("pool", {"dissipation": "froude", "drying": "on"}),
    "dissipation none": ("pool", {"dissipation": "none", "drying": "off"}),
    "convection on": ("pool", {"momentum_advection": "on", "start": "half-step"}),
    "convection off": ("pool", {"momentum_advection": "off", "start": "zero"}),
    "dry depth": ("bay", {"dry_depth": 0.01, "gravity": 9.8}),
    "normal depth": ("pool", {"boundaries": Boundaries(west=Discharge(50.0), east=NormalDepth(0.001, 0.03))}),
    "body force": ("pool", {"sources": [BodyForce(1e-4, -1e-4)]}),
    "infiltration": ("bay", {"soil": adi_runs.loam(ny=61)}),
    "maps and averages": ("bay", {"maps": MAPS, "time_statistics": WATER_AVERAGES}),
    "initial depth": ("pool", {"surface_elevation": None, "depth": 9.0}),
    "tall, all terms and open sides": ("bay", {"ny": 201}),
    "tall, short step": ("pool", {"ny": 200, "time_step": 2.0, "dissipation": "none", "drying": "off"}),
}


def barotropic(device, precision, **options):
    """A gyre; fields of (ny, nx) given as functions of the shape."""
    return barotropic_runs.model_on(device, 33, 29, precision=precision, **options)


POINTS = np.random.default_rng(2).standard_normal((29, 33))
BAROTROPIC = {
    name: {key: value for key, value in case.items() if key != "precision"}
    for name, case in barotropic_runs.CASES.items()
} | {
    "reference kernels": {"kernels": "reference", "all_terms": True},
    "ab3, arakawa, free slip, explicit": {
        "scheme": "ab3", "jacobian": "arakawa", "walls": "free-slip", "viscosity_scheme": "explicit", "basin": "box",
    },
    "averages": {"time_statistics": TimeStatistics(mean=("streamfunction",), variance=("streamfunction",))},
    "tracer": {"tracer": np.abs(POINTS), "tracer_diffusivity": 0.01},
    "two layers, partial slip": {"all_terms": True, "walls": "no-slip", "slip_length": 0.2},
    "relative vorticity": {
        "layers": Layers(3.0, 1.0), "potential_vorticity": None, "relative_vorticity": POINTS,
        "relative_vorticity_lower": POINTS[::-1],
    },
}  # fmt: skip


def waves(name, device, precision, **options):
    make = {"basin": potential_waves_runs.basin, "torus": potential_waves_runs.torus}[name]
    size = {"basin": {"nx": 33, "ny": 17}, "torus": {"nx": 32, "ny": 18}}[name]
    return make(device, precision, **(size | options))


PUSH = Series(np.array([0.0, 1.0, 2.0, 60.0]), np.array([0.0, 0.05, -0.05, 0.0]), "push")
WAVES = {
    "sea, breaking, statistics": ("basin", {}),
    "torus, both": ("torus", {}),
    "surface filter": ("torus", {"surface_filter": 2}),
    "lines": ("torus", {"preconditioner": "lines", "breaking": False}),
    "modes, double corrections": ("torus", {"preconditioner": "modes", "correction_precision": "double"}),
    "single corrections": ("torus", {"correction_precision": "single", "multigrid": {"pre": 2}}),
    "iteration limits": (
        "torus", {"max_iterations": 40, "absolute_tolerance": 1e-6, "on_nonconvergence": "continue"},
    ),
    "linear": ("torus", {"linear": True, "time_step": 0.05, "gravity": 9.8}),
    "order 2": ("torus", {"order": 2, "vertical_clustering": False, "tolerance": 1e-6}),
    "order 4": ("torus", {"order": 4, "courant_number": 0.4}),
    "order 6": ("basin", {"order": 6, "vertical_points": 9}),
    "order 8": ("torus", {"order": 8, "vertical_points": 11}),
    "averages": ("basin", {"time_statistics": TimeStatistics(mean=("surface_elevation",))}),
}  # fmt: skip


def paddle_tank(device, precision):
    """A piston in the west and a sponge in the east of a tank with a level bed."""
    grid = Grid.from_points(33, 9, 32.0, 8.0)
    return PotentialWaves(
        grid, 2.0, wavemakers=[Wavemaker("west", velocity=PUSH)], sponges=[SpongeLayer("east", 10.0, 0.3)], order=4,
        vertical_points=6, device=device, precision=precision,
    )  # fmt: skip


def periodic_waves(axis, device, precision):
    """Waves that are periodic along one axis."""
    grid = Grid.from_points(32, 18, 32.0, 18.0, periodic=(axis == "x", axis == "y"))
    x, y = 2.0 * np.pi * grid.x / 32.0, 2.0 * np.pi * grid.y[:, None] / 18.0
    wave = 0.1 * (np.cos(x) + 0.0 * y if axis == "x" else np.cos(y) + 0.0 * x)
    return PotentialWaves(
        grid, 2.0, surface_elevation=wave, periodic=axis, order=4, vertical_points=6, device=device, precision=precision
    )


AIR = {
    **{name: (run, {}) for name, run in anelastic_runs.RUNS.items()},
    "third order": (anelastic_runs.flow_over_a_hill, {"third_order": True}),
    "not monotone": (anelastic_runs.stratified_bubble, {"nonoscillatory": False}),
    "courant_number": (anelastic_runs.turbulence, {"time_step": None, "courant_number": 0.4, "tolerance": 1e-7}),
    "diffusivity": (anelastic_runs.stratified_bubble, {"diffusivity": 5.0}),
    "averages": (
        anelastic_runs.forced,
        {"time_statistics": TimeStatistics(mean=("u", "theta"), covariance=(("u", "w"),))},
    ),
}


def air(name, device, precision):
    run, options = AIR[name]
    return run(device=device, precision=precision, **options)


def warm_air(device, precision):
    """A warm bubble in neutral air of 300 K."""
    grid = Grid.from_points(12, 1, 1200.0, 1.0, periodic=(True, True))
    z = np.linspace(0.0, 800.0, 9)[:, None, None]
    theta = 300.0 + np.exp(-((np.hypot(grid.x - 600.0, z - 300.0) / 200.0) ** 2))
    return AnelasticFlow(
        grid, 9, top_height=800.0, atmosphere=Atmosphere.boussinesq(theta=300.0), theta=theta, time_step=2.0,
        device=device,
        precision=precision,
    )  # fmt: skip


SETUPS = {
    "ShallowWater": {name: partial(explicit, run, **more) for name, (run, more) in EXPLICIT.items()},
    "ShallowWaterADI": {name: partial(implicit, run, **more) for name, (run, more) in IMPLICIT.items()},
    "BarotropicVorticity": {name: partial(barotropic, **more) for name, more in BAROTROPIC.items()},
    "PotentialWaves": {name: partial(waves, run, **more) for name, (run, more) in WAVES.items()}
    | {f"periodic along {axis}": partial(periodic_waves, axis) for axis in "xy"}
    | {"paddles and sponges": paddle_tank}
    | {"cliff": lambda device, precision: potential_waves_runs.cliff(device, precision=precision)},
    "AnelasticFlow": {name: partial(air, name) for name in AIR} | {"warm bubble": warm_air},
}
SINGLE_ONLY = {("BarotropicVorticity", "compensated")}
ALL = [
    (kind, name, precision)
    for kind, named in SETUPS.items()
    for name in named
    for precision in ("double", "single")
    if precision == "single" or (kind, name) not in SINGLE_ONLY
]
STEPS = 6


def stepped(kind, name, device, precision):
    """The model of a set-up after a few steps."""
    model = SETUPS[kind][name](device, precision)
    model.advance(model.time + 20.0 * model.time_step, max_steps=STEPS)
    return model


def changing_fields(model):
    """Fields that change with time, by name, double."""
    return {name: model.field(name).astype(float) for name, one in model.variables.items() if not one.static}
