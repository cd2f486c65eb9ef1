"""Small runs of the anelastic model in which everything that it has is switched on somewhere."""

from __future__ import annotations

import numpy as np

from eagre import Forcing, Nudging, Smagorinsky, Surface
from eagre.grid import Grid
from eagre.laboratory.cases.atmosphere import decaying_turbulence, taylor_green
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.base.vertical_profiles import TableProfile
from eagre.models.anelastic.model import AnelasticFlow
from eagre.time_varying.series import Series


def hill_grid(nx=24, ny=12):
    return Grid.from_points(nx, ny, 24e3, 12e3, -12e3, -6e3, (True, True))


def hill_of(grid, height=500.0):
    return height / (1.0 + (grid.x / 3000.0) ** 2 + (grid.y[:, None] / 3000.0) ** 2)


def flow_over_a_hill(**options):
    grid = hill_grid()
    air = Atmosphere.anelastic(buoyancy_frequency=0.01, wind=(10.0, 2.0))
    chosen = {"time_step": 20.0, "top_sponge": (3e3, 0.02), "coriolis": 1e-4, **options}
    return AnelasticFlow(grid, 17, top_height=8e3, atmosphere=air, terrain_height=hill_of(grid), **chosen)


def stratified_bubble(**options):
    grid = Grid.from_points(25, 1, 4800.0, 1.0)
    z = np.linspace(0.0, 3200.0, 17)[:, None, None]
    warm = 2.0 * np.exp(-((np.hypot(grid.x - 2400.0, z - 1000.0) / 600.0) ** 2))
    dye = np.where(z < 1000.0, 1.0, 0.0) * np.ones((17, 1, 25))
    chosen = {"time_step": 10.0, "viscosity": 10.0, "boundaries": {"x": "wall"}, **options}
    air = Atmosphere.boussinesq(buoyancy_frequency=0.01)
    return AnelasticFlow(
        grid, 17, top_height=3200.0, atmosphere=air, theta_perturbation=warm, scalars={"dye": dye}, **chosen
    )


def vortices(**options):
    return taylor_green(17, 0.02, **{"time_step": 0.1, **options})


def turbulence(**options):
    return decaying_turbulence(16, "solenoidal", **{"time_step": 0.1, **options})


def open_sides(**options):
    """A hill between open sides, with layers before them and a scalar that flows in."""
    grid = Grid.from_points(25, 9, 24e3, 12e3, -12e3, -6e3)
    ground = np.maximum(hill_of(grid, 300.0) - 30.0, 0.0)
    ground[[0, -1]], ground[:, [0, -1]] = 0.0, 0.0
    chosen = {"time_step": 20.0, "side_sponges": {"x": (5e3, 0.01), "y": (3e3, 0.01)}, **options}
    return AnelasticFlow(
        grid, 13, top_height=8e3, atmosphere=Atmosphere.anelastic(buoyancy_frequency=0.01, wind=(10.0, 3.0)),
        terrain_height=ground,
        boundaries={"x": "open", "y": "open"}, scalars={"dye": np.where(grid.x < -6e3, 1.0, 0.0) * np.ones((13, 9, 1))},
        **chosen,
    )  # fmt: skip


def forced(**options):
    """Everything that profiles drive, in stratified noise."""
    grid = Grid.from_points(12, 10, 1200.0, 1000.0, periodic=(True, True))
    noise = np.random.default_rng(3).standard_normal((13, 10, 12))
    drive = Forcing(
        (8.0, -2.0), TableProfile(np.array([0.0, 600.0]), np.array([0.0, -0.05])), -1e-3,
        Nudging(300.0, u=6.0, v=0.0, theta=301.0, scalars={"dye": 0.5}),
    )  # fmt: skip
    chosen = {"time_step": 2.0, "viscosity": 1.0, "coriolis": 1e-3, **options}
    return AnelasticFlow(
        grid, 13, top_height=600.0, atmosphere=Atmosphere.boussinesq(buoyancy_frequency=0.01, wind=(8.0, 0.0)),
        theta_perturbation=0.1 * noise, scalars={"dye": noise**2}, forcing=drive, **chosen,
    )  # fmt: skip


def heated(**options):
    """Convection over warm, rough, uneven ground: heat in space and time, drag."""
    grid = Grid.from_points(12, 10, 1200.0, 1000.0, periodic=(True, True))
    noise = np.random.default_rng(4).standard_normal((13, 10, 12))
    flux = Series(np.array([0.0, 100.0]), np.array([0.1, 0.3]), "flux")
    surface = Surface(flux, 1.0 + 0.5 * np.sin(grid.x / 200.0) * np.ones((10, 1)), 0.1)
    ground = 30.0 * (1.0 + np.cos(2.0 * np.pi * grid.x / 1200.0)) * np.ones((10, 1))
    return AnelasticFlow(
        grid, 13, top_height=600.0, atmosphere=Atmosphere.anelastic(wind=(5.0, 0.0)), theta_perturbation=0.1 * noise,
        terrain_height=ground, surface=surface, **{"time_step": 3.0, **options},
    )  # fmt: skip


def closed(hill=30.0, **options):
    """The same with the closure of Smagorinsky, stable air above and a scalar."""
    grid = Grid.from_points(12, 10, 1200.0, 1000.0, periodic=(True, True))
    noise = np.random.default_rng(4).standard_normal((2, 13, 10, 12))
    air = Atmosphere.boussinesq(buoyancy_frequency=0.005, wind=(5.0, 1.0))
    ground = hill * (1.0 + np.cos(2.0 * np.pi * grid.x / 1200.0)) * np.ones((10, 1))
    return AnelasticFlow(
        grid, 13, top_height=600.0, atmosphere=air, theta_perturbation=0.1 * noise[0], terrain_height=ground,
        surface=Surface(0.1, roughness=0.1), velocity=(5.0 + noise[1], 1.0, 0.0), scalars={"dye": noise[0] ** 2},
        closure=Smagorinsky(),
        **{"time_step": 3.0, **options},
    )  # fmt: skip


def viscous_over_a_hill(**options):
    grid = Grid.from_points(24, 1, 1200.0, 1.0, periodic=(True, True))
    ground = 60.0 * (1.0 + np.cos(2.0 * np.pi * grid.x / 1200.0))[None]
    chosen = {"time_step": 2.0, "viscosity": 20.0, **options}
    return AnelasticFlow(grid, 13, top_height=600.0, velocity=(8.0, 2.0, 0.0), terrain_height=ground, **chosen)


def closed_over_flat_ground(**options):
    return closed(0.0, **options)


RUNS = {
    "closed-hill": closed,
    "closed-flat": closed_over_flat_ground,
    "viscous-hill": viscous_over_a_hill,
    "heated": heated,
    "open": open_sides,
    "forced": forced,
    "hill": flow_over_a_hill,
    "bubble": stratified_bubble,
    "vortices": vortices,
    "turbulence": turbulence,
}
STEPS = 12


def fields_of(model):
    """All fields with levels that a step changes."""
    return {name: model.field(name) for name in ("u", "v", "w", *model.setup.scalars)} | (
        {"theta": model.field("theta_perturbation")} if model.setup.stratified else {}
    )


def assert_close(found, expected, share):
    """Fields differ by less than `share` of their own largest size, velocities of the fastest."""
    speed = max(np.abs(expected[name]).max() for name in "uvw")
    for name, field in expected.items():
        size = speed if name in "uvw" else np.abs(field).max()
        apart = np.abs(found[name] - field).max()
        assert apart <= share * size, (name, apart / size)
