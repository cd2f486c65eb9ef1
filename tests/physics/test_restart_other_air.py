"""Restarts of the air with another set-up: what its values stand on is refused, other parts are taken up."""

from __future__ import annotations

import numpy as np
import pytest

from anelastic_runs import flow_over_a_hill, hill_grid, hill_of
from eagre import Forcing, Grid, InputError, Smagorinsky, Surface
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.model import AnelasticFlow

DEVICES = pytest.mark.parametrize("device", ["cpu", ["cpu", "cpu"]], ids=["one", "two"])
STABLE = 0.01  # s-1
DYE = {"dye": np.ones((9, 12, 12)) * np.linspace(0.0, 1.0, 9)[:, None, None]}


def noisy(**options):
    grid = Grid.from_points(12, 12, 1200.0, 1200.0, periodic=(True, True))
    noise = 0.1 * np.random.default_rng(2).standard_normal((9, 12, 12))
    chosen = {
        "atmosphere": Atmosphere.boussinesq(buoyancy_frequency=STABLE, wind=(5.0, 0.0)),
        "theta_perturbation": noise,
        "time_step": 3.0,
        **options,
    }
    if chosen["atmosphere"].gravity == 0.0:
        chosen["theta_perturbation"] = 0.0
    return AnelasticFlow(grid, 9, top_height=800.0, **{"device": "cpu", "precision": "double", **chosen})


def after_steps(count=4, **options):
    model = noisy(**options)
    model.advance(9e9, max_steps=count)
    return model.state()


OTHER = {
    "theta": (
        {},
        {"atmosphere": Atmosphere.boussinesq(buoyancy_frequency=STABLE, theta=290.0)},
        "reference potential temperature of 300 K",
    ),
    "stability": ({}, {"atmosphere": Atmosphere.boussinesq(buoyancy_frequency=0.02)}, "of 302.4464832 K at point 8"),
    "density": (
        {},
        {"atmosphere": Atmosphere.boussinesq(buoyancy_frequency=STABLE, density=1.2)},
        "reference density of 1 kg/m3",
    ),
    "equations": ({}, {"atmosphere": Atmosphere.anelastic(buoyancy_frequency=STABLE)}, "reference density"),
    "no heat": ({}, {"atmosphere": Atmosphere.incompressible()}, "ambient potential temperature"),
    "heat": ({"atmosphere": Atmosphere.incompressible()}, {"atmosphere": Atmosphere.boussinesq()}, "gravity of 0 m/s2"),
    "heat lost": (
        {"atmosphere": Atmosphere.boussinesq()},
        {"atmosphere": Atmosphere.incompressible()},
        "gravity of 9.8",
    ),
    "walls": ({}, {"boundaries": {"x": "wall"}}, 'boundaries_x = "periodic"'),
    "open sides": ({"boundaries": {"y": "wall"}}, {"boundaries": {"y": "open"}}, 'boundaries_y = "wall"'),
    "inflow": (
        {"boundaries": {"x": "open"}},
        {"boundaries": {"x": "open"}, "atmosphere": Atmosphere.boussinesq(buoyancy_frequency=STABLE)},
        "5 m/s at point 0",
    ),
}


@pytest.mark.parametrize(("first", "options", "words"), OTHER.values(), ids=OTHER)
def test_what_the_values_stand_on_must_be_the_same(first, options, words):
    state, other = after_steps(**first), noisy(**options)
    with pytest.raises(InputError, match=words) as caught:
        other.restore(state)
    assert "of the run that wrote it" in caught.value.fix


@pytest.mark.parametrize("part", ["air_ambient", "heights", "boundaries_z"])
def test_files_of_older_versions_do_not_say_what_their_values_stand_on(part):
    state = after_steps()
    del state[part]
    noisy().restore(state)


def test_files_of_older_versions_do_not_hold_the_wind_that_enters():
    """It is the ambient one, which the run knows."""
    known = {"boundaries": {"x": "open"}, "nonoscillatory": False}
    whole, model = noisy(**known), noisy(**known)
    whole.advance(9e9, max_steps=2)
    model.restore({name: array for name, array in whole.state().items() if name != "inflow_x_u"})
    for one in (whole, model):
        one.advance(9e9, max_steps=2)
    np.testing.assert_array_equal(model.field("u"), whole.field("u"))
    np.testing.assert_array_equal(model.state()["inflow_x_u"], 5.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"top_height": 6e3}, "levels at heights of 8000 m at point 16"),
        ({"terrain_height": None}, "terrain height at 288 points, up to "),
        ({"terrain_height": 0.5}, "terrain height of "),
    ],
)
def test_other_levels_or_another_ground_are_refused(options, words):
    state, grid, air = (
        flow_over_a_hill(device="cpu").state(),
        hill_grid(),
        Atmosphere.anelastic(buoyancy_frequency=STABLE, wind=(10.0, 2.0)),
    )
    if options.get("terrain_height"):
        options = {"terrain_height": options["terrain_height"] * hill_of(grid)}
    options = {"top_height": 8e3, "terrain_height": hill_of(grid), **options}
    other = AnelasticFlow(grid, 17, atmosphere=air, time_step=20.0, device="cpu", **options)
    with pytest.raises(InputError, match=words):
        other.restore(state)


def test_rounding_of_another_processor_is_no_other_ground():
    grid = hill_grid()
    known = {
        "atmosphere": Atmosphere.anelastic(buoyancy_frequency=STABLE),
        "time_step": 20.0,
        "top_height": 8e3,
        "device": "cpu",
    }
    state = AnelasticFlow(grid, 17, terrain_height=hill_of(grid), **known).state()
    AnelasticFlow(grid, 17, terrain_height=hill_of(grid) * (1.0 + 1e-15), **known).restore(state)


@DEVICES
def test_heating_that_begins_with_a_restart_acts_in_full_from_its_first_step(device):
    known = {"theta_perturbation": 0.0, "atmosphere": Atmosphere.boussinesq(), "device": device}
    model = noisy(**known, forcing=Forcing(heating=1e-3))
    model.restore(after_steps(**known))
    for count in (1, 2, 3):
        model.advance(9e9, max_steps=1)
        np.testing.assert_allclose(model.field("theta_perturbation"), count * 3e-3, rtol=1e-12)


DRIVES = {
    "closure": {"closure": Smagorinsky(), "surface": Surface(0.1, roughness=0.1)},
    "viscosity": {"viscosity": 2.0},
    "surface": {"surface": Surface(0.1, roughness=0.1)},
    "coriolis": {"coriolis": 1e-3},
    "top_sponge": {"top_sponge": (300.0, 0.02)},
    "wind": {
        "atmosphere": Atmosphere.boussinesq(buoyancy_frequency=STABLE, wind=(5.5, 0.0)),
        "top_sponge": (300.0, 0.02),
    },
    "advection": {"third_order": True},
}


@pytest.mark.parametrize("drive", DRIVES)
def test_drives_may_begin_and_end_with_a_restart(drive):
    state = after_steps()
    plain, driven, ended = noisy(), noisy(**DRIVES[drive]), noisy()
    for model in (plain, driven):
        model.restore(state)
        model.advance(60.0)
    ended.restore(driven.state())
    assert ended.time == 60.0 and ended.notes == noisy().notes
    ended.advance(90.0)
    changed = max(np.abs(driven.field(name) - plain.field(name)).max() for name in ("u", "v", "theta_perturbation"))
    assert 1e-4 < changed < 0.5


@DEVICES
def test_scalars_may_begin_and_end_with_a_restart(device):
    model = noisy(scalars=DYE, device=device, forcing=Forcing(subsidence=-0.01))
    model.restore(after_steps(device=device))
    assert model.notes[-1] == "scalar dye starts from its initial values at t = 12 s: not in the restart"
    np.testing.assert_array_equal(model.field("dye"), DYE["dye"])
    model.advance(60.0)
    left = noisy(device=device)
    left.restore(model.state())
    assert left.notes[-1] == "scalar dye of the restart is dropped: the case does not define it"
    assert "dye" not in left.state()
    with pytest.raises(InputError, match="without dye"):  # its own has moved on
        model.restore(left.state())


def test_scalars_that_begin_flow_in_through_open_sides():
    model = noisy(scalars=DYE, boundaries={"x": "open"})
    model.restore(after_steps(boundaries={"x": "open"}))
    np.testing.assert_array_equal(model.state()["inflow_x_dye"][0], DYE["dye"][:, :, 0])


@pytest.mark.parametrize(
    "name", ["clock", "w_max", "wind_speed", "past_u", "drag_dye", "terrain_height", "air_ambient"]
)
def test_names_of_fields_and_of_what_restarts_hold_are_no_names_of_scalars(name):
    with pytest.raises(InputError, match=f"a scalar '{name}'"):
        noisy(scalars={name: 1.0})


def test_the_initial_field_is_the_output_of_the_same_name():
    """A model that begins with the temperature of another one has that temperature, whichever name is taken."""
    model = noisy()
    for name in ("theta", "theta_perturbation"):
        start = {"theta_perturbation": None, name: model.field(name)}
        np.testing.assert_allclose(noisy(**start).field("theta"), model.field("theta"), rtol=1e-14)


def test_restarts_name_the_perturbation_and_those_that_did_not_are_read():
    whole = noisy()
    whole.advance(9e9, max_steps=1)
    state = whole.state()
    assert "theta" not in state
    np.testing.assert_array_equal(state["theta_perturbation"], whole.field("theta_perturbation"))
    old = {"theta" if name == "theta_perturbation" else name: array for name, array in state.items()}
    for known in (state, old):
        again = noisy()
        again.restore(known)
        np.testing.assert_array_equal(again.field("theta"), whole.field("theta"))


def test_restart_files_over_terrain_without_the_second_last_pressure():
    """Earlier versions did not write it: the first guess is the last pressure, and the tolerance is the same."""
    whole, other = (flow_over_a_hill(device="cpu", precision="double") for _ in range(2))
    whole.advance(9e9, max_steps=3)
    other.restore({name: array for name, array in whole.state().items() if name != "previous_phi"})
    for model in (whole, other):
        model.advance(9e9, max_steps=2)
    for name in ("u", "w"):
        expected = whole.field(name)
        assert np.abs(other.field(name) - expected).max() < 1e-4 * np.abs(expected).max()
