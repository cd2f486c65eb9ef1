"""Schemes that split a step into sweeps along x and y: rows F22 to F28 of the features of the explicit model."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import eagre
from eagre.backend.device import PlainDevice
from eagre.errors import InputError
from eagre.laboratory.cases import amundsen2014, lakes, waves
from eagre.laboratory.validation.measures import convergence_study, observed_orders, run_case
from eagre.models.shallow_water.stages import reference
from eagre.stepping import clock as ck
from oracle.shallow_water_sweeps import SweepsOracle
from physics.test_balance import coast
from physics.test_inside import made, rough
from physics.test_lines import INSIDE, RING, inside_of
from physics.test_maps import assert_right, dam_break, followed
from physics.test_restart import assert_same_bits

SPLIT = ("ds1", "ds2")


def pools(rng):
    """Random bed and water that moves, from 1e-6 m up; the bed is periodic in y."""
    grid = eagre.Grid(10, 7, 1.0, 1.5)
    bed = rng.standard_normal(grid.shape_of("corner"))
    bed[-1] = bed[0]
    depth = np.maximum(rng.standard_normal(grid.shape), 0) * 10.0 ** rng.uniform(-6, 0.5, grid.shape)
    return grid, bed, depth, *(2.0 * rng.standard_normal((2, *grid.shape)))


@pytest.mark.parametrize("treatment", ["hydrostatic", "kurganov-petrova"])
@pytest.mark.parametrize("scheme", SPLIT)
def test_model_equals_the_reference(rng, treatment, scheme, light_device):
    """Friction, walls across x and a ring in y; the same time steps, and the same ones discarded."""
    grid, bed, depth, u, v = pools(rng)
    oracle = SweepsOracle(
        bed, 1.0, 1.5, wet_dry=treatment, scheme=scheme, kappa=0.01, manning=0.03, part=1.0,
        sides={"south": "periodic", "north": "periodic"},
    )  # fmt: skip
    q = np.stack([oracle.bed_centre + depth, depth * u, depth * v])
    model = eagre.ShallowWater(
        grid, bed, depth=depth, velocity_x=u, velocity_y=v, wet_dry=treatment, scheme=scheme, manning=0.03,
        boundaries=eagre.Boundaries(south=eagre.Periodic(), north=eagre.Periodic()), desingularisation_depth=0.01,
        predicted_fraction=1.0, device=light_device, precision="double", active_tiles="off",
    )  # fmt: skip
    for steps in (1, 2, 7):
        model.advance(1e9, max_steps=steps)
        while oracle.steps < model.steps:
            q = oracle.step(q)
        assert model.steps == oracle.steps and model.time == pytest.approx(oracle.time, rel=1e-12)
        assert np.abs(model.field("depth") - oracle.depth(q)).max() < 1e-11
        for name, expected in (("discharge_x", q[1]), ("discharge_y", q[2])):
            wet = oracle.depth(q) > 1e-4
            assert np.abs(np.where(wet, model.field(name) - expected, 0.0)).max() < 1e-11
    assert model.statistics()["redone_steps"] >= oracle.redone > 0


def test_sine_takes_163_steps(device):
    """One unsplit step and 81 double ones, as the thesis prints; none is discarded but the try that finds the first."""
    case = amundsen2014.sine(rows=2)
    model = case.model(device=device, precision="double", scheme="ds2")
    model.advance(case.end_time)
    assert model.steps == amundsen2014.SINE_STEPS_DS2 and model.time == case.end_time
    assert model.statistics()["redone_steps"] == 1
    assert model.statistics()["courant_max"] == pytest.approx(0.95 * 0.25, rel=1e-3)


def test_a_larger_part_of_the_allowed_step_saves_steps_until_they_are_discarded(device):
    """Dam break onto dry ground; the Courant number holds whatever is predicted, and so no depth is negative."""
    case, found = amundsen2014.circular_dam_dry(40, end_time=0.5), {}
    for part in (0.6, 0.9, 1.0):
        model = case.model(device=device, precision="double", scheme="ds2", predicted_fraction=part, active_tiles="off")
        model.advance(case.end_time)
        found[part] = model.statistics()
        assert found[part]["courant_max"] <= 0.25 * (1.0 + 1e-9)
    assert found[0.9]["steps"] < 0.8 * found[0.6]["steps"]
    assert found[1.0]["redone_steps"] > found[0.9]["redone_steps"] + 3


@pytest.mark.parametrize("scheme", SPLIT)
def test_depths_stay_positive_up_to_a_courant_number_of_a_half(rng, scheme, light_device):
    """Twice that of the unsplit schemes; and the volume stays."""
    grid, bed, depth, u, v = pools(rng)
    model = eagre.ShallowWater(
        grid, bed, depth=depth, velocity_x=u, velocity_y=v, scheme=scheme, courant_number=0.5, predicted_fraction=1.0,
        boundaries=eagre.Boundaries(south=eagre.Periodic(), north=eagre.Periodic()), device=light_device,
        precision="double",
    )  # fmt: skip
    model.advance(1e9, max_steps=10)
    assert model.statistics()["courant_max"] > 0.45 and model.diagnostics()["min_depth"] >= -1e-15
    assert abs(model.diagnostics()["volume_error"]) < 1e-13


def test_the_dam_break_is_that_of_the_unsplit_schemes(device):
    """Depths after 1 s, wet circular dam: far nearer to the unsplit scheme of its order than that is to the other."""
    case = amundsen2014.circular_dam_wet(80, end_time=1.0)
    depth = {
        scheme: run_case(case, device=device, precision="double", scheme=scheme).water.depth
        for scheme in ("rk2", "euler", *SPLIT)
    }
    orders = np.abs(depth["rk2"] - depth["euler"]).mean()
    assert np.abs(depth["ds2"] - depth["rk2"]).mean() < 0.05 * orders
    assert np.abs(depth["ds1"] - depth["euler"]).mean() < 0.5 * orders
    for one in SPLIT:
        assert depth[one].sum() == pytest.approx(depth["rk2"].sum(), rel=1e-13)


def test_orders(device):
    """A vortex that travels aslant: of second order, with the error of RK2; DS1 is of first order in time."""
    study = convergence_study(
        waves.travelling_vortex, (32, 64), device=device, precision="double", scheme="ds2", courant_number=0.5
    )
    assert min(study.depth_orders[-1], study.discharge_orders[-1]) > 1.75
    assert study.depth_errors[-1] < 1.01 * 3.982e-4  # that of RK2 at a Courant number of 0.25
    case, steps = waves.travelling_vortex(24), (193, 385, 769)
    runs = [
        run_case(case, device=device, precision="double", scheme="ds1", time_step=case.end_time / count).water.depth
        for count in steps
    ]
    differences = [float(abs(a - b).mean()) for a, b in itertools.pairwise(runs)]
    assert observed_orders(differences)[0] == pytest.approx(1.0, abs=0.3)


def tank(device, dt, **options):
    """A tank whose sides in the west and the north have levels that change."""
    times = np.linspace(0.0, 8.0, 65)
    sides = [eagre.Stage(eagre.Series(times, 0.1 * np.sin(rate * times) ** 2, "level")) for rate in (1.1, 0.9)]
    return eagre.ShallowWater(
        eagre.Grid(4, 3, 2.0, 2.5), -1.0, surface_elevation=0.0, minmod_theta=2.0,
        boundaries=eagre.Boundaries(west=sides[0], north=sides[1]), time_step=dt, device=device,
        precision="double", **options,
    )  # fmt: skip


def test_levels_of_sides_hold_at_the_moments_of_the_sweeps(light_device):
    """Second order in time with sides that change: each ghost is made for the moment that its sweep needs."""
    found = []
    for steps in (17, 33, 65):
        model = tank(light_device, 4.0 / steps, scheme="ds2")
        model.advance(4.0)
        found.append(model.field("depth"))
    differences = [float(abs(a - b).mean()) for a, b in itertools.pairwise(found)]
    assert observed_orders(differences)[0] > 1.6


@pytest.mark.parametrize("scheme", SPLIT)
def test_a_lake_with_shores_stays_at_rest(scheme, light_device):
    case = lakes.rough_shores(9)
    model = case.model(device=light_device, precision="double", scheme=scheme)
    model.advance(1e9, max_steps=5)
    flow = np.hypot(model.field("discharge_x"), model.field("discharge_y"))
    assert flow.max() < 1e-13 and np.abs(model.field("depth") - case.initial.depth).max() < 1e-13


@pytest.mark.parametrize("scheme", SPLIT)
def test_a_steady_current_stays_steady(scheme, light_device):
    """Slope, friction and rotation of a direction are in its sweep: normal flow along x, geostrophic flow along y."""
    n, slope, h, f = 0.03, 1e-3, 1.0, 1e-4
    grid, ring = eagre.Grid(6, 3, 10.0, 10.0), eagre.Periodic()
    u = np.sqrt(slope) / n * h ** (2.0 / 3.0)
    options = {"scheme": scheme, "device": light_device, "precision": "double", "desingularisation_depth": 1e-4}
    channel = eagre.ShallowWater(
        grid, 0.0, depth=h, velocity_x=u, manning=n, boundaries=eagre.Boundaries(ring, ring, ring, ring),
        sources=[eagre.BodyForce(x=9.81 * slope)], **options,
    )  # fmt: skip
    channel.advance(1e9, max_steps=5)
    assert np.abs(channel.field("velocity_x") / u - 1.0).max() < 1e-12
    v, w = 0.5, grid.x[None, :] * 0.5 * f / 9.81
    jet = eagre.ShallowWater(
        grid, 0.0, velocity_y=v, boundaries=eagre.Boundaries(south=ring, north=ring), sources=[eagre.Coriolis(f=f)],
        surface_elevation=h + np.broadcast_to(w, grid.shape), **options,
    )  # fmt: skip
    jet.advance(1e9, max_steps=1)
    before = jet.field("velocity_y")[:, 3]
    jet.advance(1e9, max_steps=2)
    assert np.abs(jet.field("velocity_y")[:, 3] - before).max() < 1e-4 * v * f * 10.0 + 1e-9


@pytest.mark.parametrize("scheme", SPLIT)
def test_a_step_too_long_is_discarded_and_leaves_the_state(scheme, light_device):
    """Water that is fast along y alone: the sweep in x is made, the one in y refuses, and all begins anew."""
    grid = eagre.Grid(6, 5, 1.0, 1.0)
    model = eagre.ShallowWater(
        grid, 0.0, depth=1.0 + 0.1 * np.random.default_rng(1).random(grid.shape), velocity_y=20.0, scheme=scheme,
        boundaries=eagre.Boundaries(south=eagre.Periodic(), north=eagre.Periodic()), device=light_device,
        precision="double",
    )  # fmt: skip
    model.advance(1e9, max_steps=3 if scheme == "ds2" else 2)
    engine, device = model._engine, model._engine.device
    clock, before = engine.read_clock(), device.host(engine.q[engine.current]).copy()
    allowed, first = clock[ck.FREE], clock.copy()
    clock[ck.DT] = clock[ck.FREE] = 1.5 * allowed
    clock[[ck.RUNNING, ck.STEPS_LEFT, ck.UNTIL]] = 1.0, 100.0, 1e9
    engine.write_clock(clock)
    half = engine.launches_per_cycle // 2
    own = engine.launch_cycle[:half] if first[ck.PARITY] == 0.0 else engine.launch_cycle[half:]
    device.run(own)
    after = engine.read_clock()
    assert after[ck.REDONE] == first[ck.REDONE] + 1 and after[ck.ACCEPTED] == 0.0
    for same in (ck.T, ck.STEPS, ck.PARITY):
        assert after[same] == first[same]
    assert np.array_equal(device.host(engine.q[engine.current]), before)
    assert after[ck.DT] == pytest.approx(allowed * (0.5 if scheme == "ds2" else 1.0), rel=0.05)
    device.run(own)
    assert engine.read_clock()[ck.STEPS] == first[ck.STEPS] + (2 if scheme == "ds2" else 1)


def test_the_sweep_in_y_is_that_in_x_of_the_transposed_field(rng):
    """Bit for bit, walls at the ends included: what a scheme with transposed fields would make."""
    grid = eagre.Grid(5, 4, 2.0, 2.0)
    bed = rng.integers(-64, 64, grid.shape_of("corner")) / 64.0  # whose means are exact in any order
    depth = np.maximum(0.0, rng.standard_normal(grid.shape))
    u, v = rng.standard_normal((2, *grid.shape))
    made = []
    for across, turned in ((2, False), (1, True)):
        own = [a.T for a in (bed, depth, v, u)] if turned else [bed, depth, u, v]
        one = eagre.Grid(4, 5, 2.0, 2.0) if turned else grid
        model = eagre.ShallowWater(
            one, own[0], depth=own[1], velocity_x=own[2], velocity_y=own[3], device=PlainDevice(), precision="double",
            scheme="ds1", kernels="reference",
        )  # fmt: skip
        engine = model._engine
        given = engine.q[0], engine.domain
        rows, columns = range(one.ny), range(one.nx)
        found = np.array(
            [[reference.divergence(*given, j, i, across, engine.parameters) for i in columns] for j in rows]
        )
        made.append(found.transpose(1, 0, 2) if turned else found)
    assert np.array_equal(*made) and np.abs(made[0]).max() > 0.1


@pytest.mark.parametrize("scheme", SPLIT)
def test_inflow_and_rain_explain_the_volume(scheme, light_device):
    model = coast(light_device, scheme=scheme, courant_number=0.5)
    model.advance(1.5)
    found = model.diagnostics()
    assert abs(found["volume_error"]) < 1e-14 * model.steps + 1e-13
    assert min(abs(volume) for volume in model.inflow.values()) > 0.01


@pytest.mark.parametrize("scheme", SPLIT)
def test_rain_is_integrated_exactly(scheme, light_device):
    """Over kinks of its series, within either half of a double step."""
    times, rates = np.array([0.0, 0.11, 0.35, 0.41, 1.0]), np.array([0.0, 6e-4, 0.0, 9e-4, 3e-4])
    model = eagre.ShallowWater(
        eagre.Grid(4, 3, 2.0, 2.0), 0.0, depth=0.5, sources=[eagre.Rain(eagre.Series(times, rates, "rain"))],
        scheme=scheme, device=light_device, precision="double",
    )  # fmt: skip
    model.advance(1.0)
    assert model.field("depth").mean() - 0.5 == pytest.approx(np.trapezoid(rates, times), rel=1e-12)


@pytest.mark.parametrize("scheme", SPLIT)
def test_restarted_run_equals_the_unbroken_one(scheme, light_device):
    """Sides and rain that change; the break comes after any step."""
    whole, cut, on = (coast(light_device, scheme=scheme, courant_number=0.5) for _ in range(3))
    whole.advance(0.6)
    cut.advance(0.6, max_steps=3)
    on.restore(cut.state())
    on.advance(0.6)
    assert on.time == 0.6
    assert_same_bits(whole, on)


def test_maps_are_those_of_every_accepted_step():
    model = dam_break(scheme="ds2", active_tiles="off", device=PlainDevice())
    times, fields = followed(model, 0.15)
    assert len(times) > 3 and model.statistics()["redone_steps"] > 1
    assert_right(model, times, fields, 1e-12)


def test_a_ring_of_lines_closes_the_balance_of_what_it_holds():
    grid = eagre.Grid(10, 8, 8.0, 8.0)
    model = eagre.ShallowWater(
        grid, 0.1 * np.random.default_rng(2).random((9, 11)), surface_elevation=0.6, manning=0.02, precision="double",
        device=PlainDevice(), boundaries=eagre.Boundaries(internal=[INSIDE]), cross_sections={"ring": RING},
        scheme="ds2", courant_number=0.5,
    )  # fmt: skip
    own = inside_of(RING, grid)
    first = model.field("depth")[own].sum() * grid.cell_area
    model.advance(4.0)
    change = model.field("depth")[own].sum() * grid.cell_area - first
    through = model.cross_sections.volumes()["ring"]
    assert through > 0.5 and change + through == pytest.approx(12.0 * 4.0, rel=1e-11)


def test_a_wall_inside_makes_two_basins():
    grid, bed, given = rough()
    options = {"time_step": 0.05, "desingularisation_depth": 1e-4, "scheme": "ds2", "device": PlainDevice()}
    wall = eagre.Boundaries(internal=[eagre.InternalLine([(10.0, 0.0), (10.0, 13.5)], eagre.Wall())])
    whole = made("explicit", grid, bed, wall, given, **options)
    part = given | {"surface_elevation": given["surface_elevation"][:, :5]}
    half = made("explicit", eagre.Grid(5, grid.ny, grid.dx, grid.dy), bed[:, :6], None, part, **options)
    for model in (whole, half):
        model.advance(0.25)
    for name in ("surface_elevation", "discharge_x", "discharge_y"):
        np.testing.assert_allclose(whole.field(name)[:, :5], half.field(name), rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"time_step_control": "exact"}, 'time_step_control = "predicted"'),
        ({"active_tiles": "on"}, 'active_tiles = "auto"'),
        ({"predicted_fraction": 1.01}, "predicted_fraction"),
        ({"scheme": "srk2", "active_tiles": "on"}, 'active_tiles = "auto"'),
    ],
)
def test_what_split_schemes_refuse(options, what):
    given = {"surface_elevation": 1.0, "scheme": "ds2", "device": "cpu"} | options
    with pytest.raises(InputError, match=what):
        eagre.ShallowWater(eagre.Grid(8, 8, 1.0, 1.0), 0.0, **given)
