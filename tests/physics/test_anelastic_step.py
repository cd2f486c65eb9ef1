"""Steps of the anelastic model against their transcription: everything at once, on small grids."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from eagre import Forcing, Nudging, Smagorinsky
from eagre.grid import Grid
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.base.vertical_profiles import TableProfile
from eagre.models.anelastic.model import AnelasticFlow
from eagre.models.anelastic.subgrid import surface as ground
from oracle import anelastic as oracle
from oracle.anelastic_forcing import Drive, Surface
from oracle.anelastic_stress import Closure, Space, tendency
from oracle.mpdata import mpdata

RNG = np.random.default_rng(11)


def advect(sides):
    """MPDATA of the oracle with limited fluxes, as the oracle of a step calls it."""

    def moved(x, v1, v2, v3, h, signs):
        odd = tuple(sign < 0 for sign in reversed(signs))
        return mpdata(x, (v1, v2, v3), np.broadcast_to(h, x.shape), sides=sides, fct=True, odd=odd)

    return moved


def slope_of(ground, axis, spacing, side):
    """Differences over two spacings, one-sided on sides that are not periodic."""
    if ground.shape[axis] == 1:
        return np.zeros(ground.shape)
    if side == "periodic":
        return (np.roll(ground, -1, axis) - np.roll(ground, 1, axis)) / (2.0 * spacing)
    return np.gradient(ground, spacing, axis=axis)


def pair(
    shape,
    sides,
    hill,
    *,
    coriolis=0.0,
    viscosity=0.0,
    equations=Atmosphere.boussinesq,
    push=None,
    geostrophic=None,
    **more,
):
    """A model with all that it has, and the oracle's air and state beside it."""
    nz, ny, nx = shape
    wraps = sides[2] == "periodic", sides[1] == "periodic"
    grid = Grid.from_points(nx, ny, 700.0, 500.0, periodic=wraps)
    height, dt = 400.0, 3.0
    air = equations(buoyancy_frequency=0.05, wind=(3.0, -2.0))
    around = np.sin(2.0 * np.pi * (grid.x - grid.x[0]) / 700.0 + 0.3) * np.cos(2.0 * np.pi * grid.y / 500.0)[:, None]
    if hill and sides[2] != "periodic":
        around = np.cos((2.0 if sides[2] == "open" else 1.0) * np.pi * (grid.x - grid.x[0]) / 700.0) * np.ones((ny, 1))
    bottom = 40.0 * (1.2 + around) if hill else None
    wind = [RNG.standard_normal(shape) for _ in range(3)]
    theta = RNG.standard_normal(shape)
    levels = np.linspace(0.0, height, nz)[:, None, None]
    slopes, jacobian, z = {}, 1.0, levels
    model = AnelasticFlow(
        grid, nz, top_height=height, atmosphere=air, velocity=tuple(wind), theta_perturbation=theta,
        terrain_height=bottom, boundaries=dict(zip("zyx", sides, strict=True)), coriolis=coriolis, viscosity=viscosity,
        diffusivity=0.5 * viscosity,
        top_sponge=(250.0, 0.1), time_step=dt, tolerance=1e-13, device="cpu", precision="double", **more,
    )  # fmt: skip
    if bottom is not None:
        walls = [side != "periodic" for side in sides]
        flat = oracle.Air((1.0, grid.dy, grid.dx), (False, walls[1], walls[2]), dt, np.ones(1))
        h_x, h_y = (slope_of(bottom, axis - 1, flat.spacing[axis], sides[axis]) for axis in (2, 1))
        share = 1.0 - bottom / height
        z, jacobian = bottom + share * levels, share
        fade = -(1.0 - levels / height) / share
        slopes = {"g13": fade * h_x, "g23": fade * h_y, "g33": np.broadcast_to(1.0 / share, shape)}
    spacing, flat = height / (nz - 1), float(bottom is None)  # the oracle's own viscosity is that of flat ground
    at = np.sin(0.5 * np.pi * np.clip((levels - height) / 250.0 + 1.0, 0.0, 1.0)) ** 2
    ambient = (air.ambient(z + 0.5 * spacing) - air.ambient(z - 0.5 * spacing)) / spacing
    theirs = oracle.Air(
        (spacing, grid.dy, grid.dx), tuple(side != "periodic" for side in sides), dt,
        np.broadcast_to(air.density(z) * jacobian, shape), **slopes, stability=9.81 * ambient / air.reference(z),
        lapse=ambient, buoyancy=9.81 / air.reference(z), coriolis=coriolis, absorber=0.1 * at, wind=(3.0, -2.0),
        is_open=tuple(side == "open" for side in sides), geostrophic=geostrophic,
        viscosity=flat * viscosity, diffusivity=0.5 * flat * viscosity, advect=advect(sides),
    )  # fmt: skip
    if push is not None:
        theirs.push = push(grid, z, air, theirs)
    return model, oracle.start(wind, theta, theirs), theirs


def layered(**options):
    """Air whose reference is stratified too: theta_b rises by 4 % to the top."""
    return Atmosphere.anelastic(reference_frequency=0.03, **options)


CASES = {
    "flat": (((5, 4, 6), ("wall", "periodic", "periodic"), False), {"viscosity": 2.0}),
    "turning": (((4, 5, 5), ("wall", "periodic", "periodic"), False), {"coriolis": 0.2, "equations": layered}),
    "box": (((5, 4, 6), ("wall", "wall", "wall"), False), {"equations": layered}),
    "plane": (((6, 1, 7), ("wall", "periodic", "wall"), False), {}),
    "hill": (((5, 4, 6), ("wall", "periodic", "periodic"), True), {"equations": layered}),
    "turning-hill": (((4, 5, 5), ("wall", "periodic", "periodic"), True), {"coriolis": 0.2}),
    "hill-at-wall": (((5, 1, 6), ("wall", "periodic", "wall"), True), {}),
    "open": (((5, 1, 6), ("wall", "periodic", "open"), False), {"equations": layered}),
    "open-box": (((4, 5, 5), ("wall", "open", "open"), False), {"coriolis": 0.2}),
    "open-hill": (((5, 1, 7), ("wall", "periodic", "open"), True), {"equations": layered}),
}


def forced(grid, z, air, theirs):
    """The oracle's side of `FORCED`."""
    half = 0.5 * (grid.x[-1] - grid.x[0])
    part = np.clip(1.0 - (half - np.abs(grid.x - 0.5 * (grid.x[0] + grid.x[-1]))) / 200.0, 0.0, 1.0)
    return Drive(
        z, theirs.lapse, air.ambient(z), (3.0, -2.0), -0.8, 0.05, 40.0, (5.0, 1.0), 301.0 + 0.2 * z,
        0.03 * np.sin(0.5 * np.pi * part) ** 2,
    )  # fmt: skip


WARMER = TableProfile(np.array([0.0, 400.0]), np.array([301.0, 381.0]))
FORCED = {
    "forcing": Forcing(
        (4.0, -1.0),
        -0.8,
        0.05,
        Nudging(40.0, u=5.0, v=1.0, theta=TableProfile(np.array([0.0, 400.0]), np.array([301.0, 381.0]))),
    ),
    "side_sponges": {"x": (200.0, 0.03)},
    "geostrophic": (4.0, -1.0),
    "coriolis": 0.2,
    "push": forced,
}
CASES |= {
    "forced": (((5, 1, 6), ("wall", "periodic", "periodic"), False), {"viscosity": 2.0, **FORCED}),
    "forced-hill": (((4, 4, 5), ("wall", "periodic", "periodic"), True), FORCED),
}


def grounded(grid, z, air, theirs):
    """The oracle's side of `GROUNDED`."""
    shape = (z.shape[0], *grid.shape)
    z = np.broadcast_to(z, shape)
    heat = 0.3 + 0.1 * np.arange(grid.nx) + np.zeros(grid.shape)
    return Surface(z, np.broadcast_to(air.density(z), shape), np.gradient(z, axis=0), heat, 0.5)


def surface_of(nx):
    return {"surface": ground.Surface(0.1, 3.0 + np.arange(nx) + np.zeros((1, nx)), 0.5), "push": grounded}


CASES |= {
    "ground": (((5, 1, 6), ("wall", "periodic", "periodic"), False), {**surface_of(6), "equations": layered}),
    "ground-hill": (((5, 1, 5), ("wall", "periodic", "periodic"), True), {**surface_of(5), "equations": layered}),
}


def closed_with(roughness, constants=(0.0, 0.0)):
    """The oracle's side of a closure, with drag where there is a roughness, beside a viscosity and a diffusivity."""

    def closed(grid, z, air, theirs):
        shape = (z.shape[0], *grid.shape)
        z = np.broadcast_to(z, shape)
        space = Space(theirs.spacing, theirs.walls, theirs.density, theirs.g13, theirs.g23, theirs.g33)
        rest = theirs.stability, theirs.buoyancy, air.ambient(z)
        closure = Closure(space, 0.2, 0.4, *rest, z - z[0], roughness, constants)
        if not roughness:
            return closure
        heat = np.zeros(grid.shape)
        drag = Surface(z, np.broadcast_to(air.density(z), shape), np.gradient(z, axis=0), heat, 0.5, closure.mixing)
        return lambda fields: [a + b for a, b in zip(closure(fields), drag(fields), strict=True)]

    return closed


def viscous(grid, z, air, theirs):
    """A constant viscosity in the oracle of dissipations."""
    space = Space(theirs.spacing, theirs.walls, theirs.density, theirs.g13, theirs.g23, theirs.g33)
    k = np.ones((z.shape[0], *grid.shape))
    return lambda fields: [*tendency(fields[:3], 2.0 * k, space, False), *tendency(fields[3:], k, space, False)]


CLOSED = {"closure": Smagorinsky(0.2, 0.4)}
DRAGGED = {**CLOSED, "surface": ground.Surface(roughness=0.5), "push": closed_with(0.5, (2.0, 1.0)), "viscosity": 2.0}
CASES |= {
    "closure": (((4, 3, 4), ("wall", "periodic", "wall"), False), {**CLOSED, "push": closed_with(0.0)}),
    "closure-hill": (((4, 1, 5), ("wall", "periodic", "periodic"), True), {**DRAGGED, "equations": layered}),
    "viscous-hill": (((4, 1, 5), ("wall", "periodic", "periodic"), True), {"viscosity": 2.0, "push": viscous}),
}
QUICK = ("closure-hill", "forced", "ground", "flat", "plane", "hill", "open")


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(one, marks=pytest.mark.slow) for one in CASES if one not in QUICK)]
)
def test_steps_are_those_of_the_transcription(name):
    (shape, sides, hill), more = CASES[name]
    model, state, air = pair(shape, sides, hill, **more)
    for steps in range(1, 4):
        model.advance(1e6, max_steps=1)
        state = oracle.step(state, air)
        assert model.steps == steps
        for field, expected in zip(("u", "v", "w", "theta_perturbation"), (*state.v, state.theta), strict=True):
            found = model.field(field)
            np.testing.assert_allclose(found, expected, atol=2e-8, err_msg=f"{field} after {steps} steps")


@pytest.mark.parametrize("name", ["plane", "flat"])
def test_steps_of_several_lengths_are_those_of_the_transcription(name):
    (shape, sides, hill), more = CASES[name]
    model, state, air = pair(shape, sides, hill, **more)
    before = None
    for dt, until in ((3.0, 3.0), (1.5, 4.5), (3.0, 7.5), (0.75, 8.25)):
        model.advance(until)
        state, before = oracle.step(state, replace(air, dt=dt), before), dt
        for field, expected in zip(("u", "v", "w", "theta_perturbation"), (*state.v, state.theta), strict=True):
            np.testing.assert_allclose(model.field(field), expected, atol=2e-8, err_msg=f"{field} at {until} s")
