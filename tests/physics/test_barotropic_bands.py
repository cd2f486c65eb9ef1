"""One barotropic run over several devices: what one device gives, but for rounding; bit for bit when repeated."""

from __future__ import annotations

import numpy as np
import pytest

from barotropic_runs import CASES, assert_repeats_and_restarts, assert_same_states, model_on, run_out_of_step
from eagre import BarotropicVorticity, Grid, Layers
from eagre.backend.group import Group, LocalTransport
from eagre.backend.select import select
from eagre.config.problems import ConfigError
from eagre.errors import BlowUpError, InputError
from eagre.models.barotropic.config import BarotropicCase

TOLERANCE = {"single": 2e-6, "double": 1e-14}  # of the largest value, after 53 steps; measured: 4e-7, 7e-16
SIZE = {"nx": 43, "ny": 38}
OPTIONS = {
    "default": {},
    "single": {"precision": "single"},
    "topography": {"bed": True},
    "layers, tracer": {"layers": Layers(3.0, 1.0), "walls": "no-slip", "dye": True},
    **{name: CASES[name] for name in ("ab2", "no-slip", "reduced gravity", "compensated", "implicit")},
    "thom, partial slip": {**CASES["thom"], "slip_length": 0.2},
    "implicit, single": {**CASES["implicit"], "precision": "single"},
    "biharmonic": {"biharmonic_viscosity": 1e-5, "deformation_radius": 0.4},
    "all terms": {**CASES["all terms"], "biharmonic": 1e-5, "walls": "no-slip"},
}
PARTICLES = np.random.default_rng(6).uniform(0.0, 1.0, (300, 2)) * (2.6, 3.0)


def on_bands(count, bed=False, dye=False, **options):
    """A run on `count` bands of the CPU; one if it is 1."""
    if dye:
        tracer = np.random.default_rng(5).uniform(size=(SIZE["ny"], SIZE["nx"]))
        options |= {"tracer": tracer, "tracer_diffusivity": 0.01, "potential_vorticity_lower": 10.0 * tracer}
    if bed:
        options["topography"] = 5.0 * np.random.default_rng(4).standard_normal((SIZE["ny"], SIZE["nx"]))
    return model_on(["cpu"] * count if count > 1 else "cpu", **{**SIZE, **options})


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_as_one_device(options, count):
    ours, theirs = on_bands(count, **options), on_bands(1, **options)
    assert isinstance(ours.device, Group) and len(ours._engine.subdomains) == count
    for model in (ours, theirs):
        model.advance(53 * model.time_step)
    limit = TOLERANCE[options.get("precision", "double")]
    if "viscosity_scheme" in options:  # single precision of one device differs from double by 7e-6
        limit *= 10.0
    assert_same_states(ours, theirs, limit)
    expected = theirs.diagnostics()
    for name, value in ours.diagnostics().items():
        assert abs(value - expected[name]) <= 10.0 * limit * max(abs(expected[name]), 1.0), name


LOST = {
    "state.q": OPTIONS["default"],
    "state.psi": OPTIONS["default"],
    "interface 0.ends": OPTIONS["default"],
    "state.tracer": OPTIONS["layers, tracer"],
    "state.lap": OPTIONS["biharmonic"],
    "viscosity interface": OPTIONS["implicit"],
    "state.particles": {"particles": PARTICLES, "time_step": 2e-3},
}


@pytest.mark.parametrize(("lost", "options"), LOST.items(), ids=LOST)
def test_a_lost_exchange_shows(monkeypatch, lost, options):
    """What the comparison above would say if an exchange were missing."""
    exchange, steps = LocalTransport.exchange, 60 if "particles" in options else 10

    def forgetful(transport, messages):
        return exchange(transport, [one for one in messages if not one.field.startswith(lost)])

    monkeypatch.setattr(LocalTransport, "exchange", forgetful)
    ours, theirs = on_bands(2, **options), on_bands(1, **options)
    for model in (ours, theirs):
        model.advance(steps * model.time_step)
    state, expected = ours.state(), theirs.state()
    name = {"state.tracer": "tracer", "state.particles": "particles"}.get(lost, "q0")
    assert np.abs(state[name] - expected[name]).max() > 1e-9 * np.abs(expected[name]).max()


@pytest.mark.parametrize("count", [2, 3, 4])
def test_particles_cross_from_device_to_device(count):
    """Also after a restart with another number of devices; steps are long, so that many cross."""
    ours, theirs, other = (on_bands(n, particles=PARTICLES, time_step=2e-3, walls="no-slip") for n in (count, 1, 3))
    start = theirs.particle_positions
    for model in (ours, theirs):
        model.advance(0.6)
    rows = [np.floor((p[:, 1] / (3.0 / 37.0) - 0.5) / (36 / count)) for p in (start, theirs.particle_positions)]
    assert (rows[0] != rows[1]).sum() > 2
    assert np.abs(ours.particle_positions - theirs.particle_positions).max() < 1e-12
    other.restore(ours.state())
    assert np.array_equal(other.particle_positions, ours.particle_positions)
    for model in (ours, other):
        model.advance(0.7)
    assert np.abs(ours.particle_positions - other.particle_positions).max() < 1e-12


@pytest.mark.parametrize("name", ["no-slip", "layers, tracer", "implicit", "all terms"])
def test_stages_need_nothing_of_their_own_from_others(monkeypatch, name):
    """Devices that run ahead of one another up to the next meeting give the same bits."""
    in_step, ahead = (on_bands(3, **OPTIONS[name]) for _ in range(2))
    in_step.advance(20 * in_step.time_step)
    monkeypatch.setattr(Group, "run", run_out_of_step)
    ahead.advance(20 * ahead.time_step)
    for key, value in in_step.state().items():
        assert np.array_equal(value, ahead.state()[key], equal_nan=True), key


def test_bands_of_four_rows_and_odd_sizes():
    for count, nx, ny in ((3, 9, 14), (2, 70, 11), (4, 6, 19)):
        ours, theirs = (model_on(device, nx=nx, ny=ny) for device in (["cpu"] * count, "cpu"))
        for model in (ours, theirs):
            model.advance(10 * model.time_step)
        assert_same_states(ours, theirs, TOLERANCE["double"])


def test_runs_repeat_and_restart_bit_for_bit():
    options = {**CASES["no-slip"], "precision": "single"}
    assert_repeats_and_restarts(lambda: on_bands(3, **options), 0.0017, 0.0031)


def test_a_run_goes_on_with_another_number_of_devices():
    one, two, three = (on_bands(count) for count in (1, 2, 3))
    one.advance(0.002)
    two.advance(0.001)
    three.restore(two.state())
    assert np.array_equal(three.field("streamfunction"), two.field("streamfunction"))
    three.advance(0.002)
    assert_same_states(three, one, TOLERANCE["double"])


def test_everything_a_model_gives():
    ours, theirs = on_bands(3), on_bands(1)
    for model in (ours, theirs):
        model.advance(0.001)
    for name in theirs.variables:
        value, expected = ours.field(name), theirs.field(name)
        assert value.shape == expected.shape and np.abs(value - expected).max() <= 1e-13 * np.abs(expected).max(), name
    points = [(0, 0), (13, 5), (37, 42)]  # two walls, and a row beside a seam
    for name, value in ours.sample(["streamfunction"], points).items():
        assert np.allclose(value, theirs.sample([name], points)[name], rtol=1e-12, atol=0.0)
    for name, value in ours.energy_budget().items():
        assert np.isclose(value, theirs.energy_budget()[name], rtol=1e-9, atol=1e-8), name
    assert np.allclose(ours.energy_spectrum(), theirs.energy_spectrum(), rtol=1e-9)
    assert ours.settings()["device"].startswith("3 bands on cpu")


def test_double_gyre_over_a_thousand_steps():
    fields = []
    for device in ("cpu", "cpu,cpu"):
        model = BarotropicVorticity.double_gyre(65, device=device, precision="double", time_step=4e-7, reynolds=1.0)
        model.advance(4e-4)
        fields.append(model.field("streamfunction"))
    assert np.abs(fields[0] - fields[1]).max() < 1e-11 * np.abs(fields[0]).max()


def test_from_a_case_file():
    text = 'model = "barotropic"\nrun = {end_time = 1.0, device = "cpu, cpu"}\n'
    model = BarotropicCase.loads(text + "basin.nx = 17\nnumerics.time_step = 1e-7\nnondimensional = {}\n").build()
    assert isinstance(model.device, Group) and [band.rows for band in model._engine.subdomains] == [
        slice(0, 10),
        slice(8, 17),
    ]
    with pytest.raises(ConfigError, match="several separated by commas"):
        BarotropicCase.loads(text.replace("cpu, cpu", "cpu,") + "basin.nx = 17\n")


@pytest.mark.parametrize("bands", [1, 2])
@pytest.mark.parametrize(("name", "value"), [("q0", np.nan), ("tracer", np.nan), ("tracer", -np.inf)])
def test_a_blow_up_goes_back_to_the_last_good_state(bands, name, value):
    model = on_bands(bands, dye=True, layers=Layers(3.0, 1.0))
    model.advance(model.time_step)
    good, bad = model.state(), model.state()
    bad[name][30, 7] = value
    model._stepper.checkpoint.state, model._stepper.checkpoint.seconds = model._stepper.state(), np.inf
    model._engine.restore(bad)
    with pytest.raises(BlowUpError, match="not finite"):
        model.advance(2 * model.time_step)
    assert all(np.array_equal(model.state()[one], good[one]) for one in ("q0", "tracer"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"basin": "channel"}, 'basin = "channel"'),
        ({"kernels": "reference"}, "reference"),
        ({"device": ["cpu"] * 10}, "up to 9"),
        ({"device": "cpu,cuda:0"}, "one kind"),
        ({"device": "auto,auto"}, "one kind"),
    ],
)
def test_what_is_refused(options, words):
    grid = Grid.from_points(SIZE["nx"], SIZE["ny"], 2.6, 3.0)
    options = {"device": "cpu,cpu", "viscosity": 0.02, **options}
    with pytest.raises(InputError, match="allowed") as raised:
        BarotropicVorticity(grid, time_step=1e-4, **options)
    assert words in str(raised.value)


def test_what_runs_on_one_device_says_so():
    with pytest.raises(InputError, match="one device"):
        select("cpu,cpu")
