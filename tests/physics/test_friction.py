"""Manning friction: normal depth, decay, no reversal, thin water."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.laboratory.cases import channels
from eagre.laboratory.cases.channels import normal_depth
from eagre.laboratory.validation.measures import run_case

AROUND = eagre.Boundaries(eagre.Periodic(), eagre.Periodic(), eagre.Periodic(), eagre.Periodic())


def stream(depth, speed, manning, device, precision="double", **options):
    """A uniform current on a flat periodic bed: only friction acts."""
    grid = eagre.Grid(4, 4, 1.0, 1.0)
    return eagre.ShallowWater(
        grid, 0.0, depth=depth, velocity_x=speed, boundaries=AROUND, manning=manning, device=device,
        precision=precision, desingularisation_depth=options.pop("kappa", 1e-5), **options,
    )  # fmt: skip


def test_uniform_flow_holds_normal_depth(device):
    run = run_case(channels.uniform_flow(50), device=device, precision="double")
    assert run.depth.l1 < 1e-4 and run.discharge.l1 < 1e-4


def test_uniform_flow_is_reached_from_half_and_double_depth(device):
    wanted = normal_depth(1.5, 0.002, 0.03)
    for start in (0.6, 1.5):
        run = run_case(channels.uniform_flow(25, start=start, end_time=2500.0), device=device, precision="double")
        assert run.water.depth[1, 5:20] == pytest.approx(wanted, rel=2e-3)


def test_current_decays_as_the_ordinary_equation_says(device):
    h, u, n = 0.5, 2.0, 0.03
    model = stream(h, u, n, device, time_step=0.01)
    model.advance(20.0)
    decay = 9.81 * n**2 / h ** (4.0 / 3.0)
    assert model.field("velocity_x") == pytest.approx(u / (1.0 + decay * u * 20.0), rel=2e-3)


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("depth", [1e-6, 1e-4, 1e-2, 1.0])
def test_strong_friction_stops_water_and_never_turns_it(depth, precision, device):
    model = stream(depth, 5.0, 0.2, device, precision, kappa=1e-3, max_time_step=0.2)
    last = 5.0
    for k in range(1, 6):
        model.advance(float(k))
        u = model.field("velocity_x")
        assert np.isfinite(u).all() and (u >= 0).all() and u.max() <= last * (1 + 1e-6)
        last = float(u.max())
    assert last < 1.0


def test_manning_map_acts_cell_by_cell(light_device, rng):
    manning = rng.uniform(0.02, 0.08, (4, 4))
    model = stream(0.5, 2.0, manning, light_device, time_step=1e-3)
    model.advance(1e-3)
    loss = 9.81 * manning**2 / 0.5 ** (4.0 / 3.0) * 2.0**2 * 1e-3
    assert 2.0 - model.field("velocity_x") == pytest.approx(loss, rel=0.01)


@pytest.mark.parametrize("scheme", ["rk2", "euler", "srk2", "ds1", "ds2"])
def test_a_film_under_wind_takes_the_speed_of_balance_at_once(scheme, light_device):
    """Steps hundreds of times friction's own time: tau / rho = g n^2 |q|^2 / h^(7/3) after one, and ever after.

    Friction by a speed of before goes past it and back for ever: from rest to 40 times that speed in the first step.
    """
    depth, manning, x, y = 2e-3, 0.03, 0.3, 0.4
    grid = eagre.Grid(6, 5, 100.0, 100.0)
    model = eagre.ShallowWater(
        grid, 0.0, depth=depth, manning=manning, boundaries=AROUND, sources=[eagre.WindStress(x, y)], scheme=scheme,
        device=light_device, precision="double", desingularisation_depth=1e-5, time_step=100.0,
    )  # fmt: skip
    balance = (np.hypot(x, y) / 1000.0 * depth ** (7.0 / 3.0) / (9.81 * manning**2)) ** 0.5 / depth
    for steps in (2, 4, 6):
        model.advance(1e9, max_steps=steps)
        u, v = model.field("velocity_x"), model.field("velocity_y")
        assert np.hypot(u, v) == pytest.approx(balance, rel=0.02)
        assert v / u == pytest.approx(y / x, rel=0.02)


@pytest.mark.parametrize("scheme", ["rk2", "euler", "srk2", "ds1", "ds2"])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_balance_of_friction_and_wind_is_kept(scheme, precision, light_device):
    """A current whose friction is the wind's force stays as it is, whatever the angle and the time step."""
    depth, manning, u, v = 0.05, 0.03, 0.4, 0.1
    drag = 9.81 * manning**2 * np.hypot(u, v) / depth ** (1.0 / 3.0) * 1000.0
    wind = eagre.WindStress(drag * u, drag * v)
    grid = eagre.Grid(6, 5, 100.0, 100.0)
    model = eagre.ShallowWater(
        grid, 0.0, depth=depth, velocity_x=u, velocity_y=v, manning=manning, boundaries=AROUND, sources=[wind],
        device=light_device, scheme=scheme, precision=precision, time_step=20.0,
    )  # fmt: skip
    model.advance(1e9, max_steps=40)
    close = 1e-12 if precision == "double" else 2e-5
    assert model.field("velocity_x") == pytest.approx(u, rel=close)
    assert model.field("velocity_y") == pytest.approx(v, rel=close)


RUNOFF = [("default", 0.125, 0.02), ("default", 0.25, 0.01), ("default", 0.5, 0.005), (5.0, 0.125, 0.005)]


@pytest.mark.parametrize(("longest", "part", "close"), RUNOFF)
def test_rain_runs_off_a_dry_plane_as_a_kinematic_wave(longest, part, close):
    """Before the time of concentration a film is as deep everywhere as rain has fallen; its outflow is Manning's.

    In an eighth of that time the model makes a dozen steps of its own, some 100 times friction's time.
    """
    slope, manning, rate, length = 0.02, 0.03, 20e-3 / 3600.0, 1000.0
    grid = eagre.Grid(50, 2, 20.0, 20.0)
    east = eagre.NormalDepth(slope=slope, manning=manning)
    model = eagre.ShallowWater(
        grid, 100.0 - slope * grid.mesh("corner")[0], depth=0.0, manning=manning, sources=[eagre.Rain(rate)],
        boundaries=eagre.Boundaries(east=east), precision="double", device="cpu",
        **({} if longest == "default" else {"max_time_step": longest}),
    )  # fmt: skip
    time = part * (length * manning / slope**0.5) ** 0.6 / rate**0.4
    out = []
    for moment in (0.98 * time, 1.02 * time):
        model.advance(moment)
        out.append(-model.inflow["east"])
    expected = (rate * time) ** (5.0 / 3.0) * slope**0.5 / manning  # m2/s
    assert (out[1] - out[0]) / (0.04 * time * 40.0) == pytest.approx(expected, rel=close)
