"""One run of air over several devices: over flat ground the bits of one device on CPUs, over hills to rounding."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

from anelastic_runs import RUNS, assert_close, fields_of
from barotropic_runs import run_out_of_step
from eagre import AnelasticFlow, BlowUpError, Grid, InputError, MemoryNeededError
from eagre.backend.device import CpuDevice
from eagre.backend.group import Group, LocalTransport
from eagre.errors import ConvergenceError
from eagre.models.anelastic.base.atmosphere import Atmosphere
from restarts import assert_repeats_and_restarts, different_arrays

TWO, THREE = "cpu,cpu", "cpu,cpu,cpu"


def box(device, **options):
    """Noise in stratified air between walls or not, and a scalar."""
    grid = Grid.from_points(10, 17, 900.0, 1600.0)
    noise = np.random.default_rng(5).standard_normal((4, 9, 17, 10))
    known = {
        "atmosphere": Atmosphere.boussinesq(buoyancy_frequency=0.01),
        "theta_perturbation": 0.1 * noise[3],
        "scalars": {"dye": noise[0]},
    }
    if options.get("boundaries", {}).get("z") == "periodic":
        known = {}
    chosen = {"top_height": 800.0, "time_step": 2.0, "precision": "double", **known, **options}
    return AnelasticFlow(grid, 9, velocity=tuple(noise[:3]), device=device, **chosen)


def run(name):
    """A function of the device and options."""
    return lambda device, **options: RUNS[name](device=device, **options)


WARM = 10.0 * np.random.default_rng(6).standard_normal((9, 17, 10))
SLOW = pytest.mark.slow  # programs that no other test compiles
FLAT = [
    pytest.param(run("turbulence"), {}, id="turbulence"),
    pytest.param(run("turbulence"), {"third_order": True, "precision": "double"}, id="third order", marks=SLOW),
    pytest.param(run("vortices"), {}, id="vortices", marks=SLOW),
    pytest.param(run("forced"), {}, id="forced"),
    pytest.param(run("closed-flat"), {}, id="closure and drag"),
    pytest.param(run("closed-flat"), {"time_step": None, "courant_number": 0.3}, id="closure, courant", marks=SLOW),
    pytest.param(
        box, {"time_step": None, "courant_number": 0.3, "theta_perturbation": WARM}, id="steps that are shortened"
    ),
    pytest.param(box, {"boundaries": {"x": "wall", "y": "wall"}}, id="walls"),
    pytest.param(box, {"boundaries": {"x": "wall"}}, id="walls along x"),
    pytest.param(box, {"boundaries": {"y": "wall"}}, id="walls along y"),
    pytest.param(box, {"boundaries": {"y": "wall", "z": "periodic"}}, id="walls along y, a ring of heights"),
    pytest.param(box, {"boundaries": {"x": "wall", "z": "periodic"}}, id="walls along x, a ring of heights"),
    pytest.param(box, {"boundaries": {"x": "wall", "y": "wall", "z": "periodic"}}, id="walls but for heights"),
]
NO_TURN = {"precision": "double", "coriolis": 0.0}  # as other tests have it compiled
HILLS = [
    pytest.param("hill", NO_TURN, 1e-12, id="hill"),
    pytest.param("hill", {"precision": "double"}, 1e-12, id="hill that turns", marks=SLOW),
    pytest.param("open", {}, 1e-5, id="open"),
    pytest.param("heated", {}, 1e-5, id="heated"),
    pytest.param("closed-hill", {"time_step": None, "courant_number": 0.3, "precision": "double"}, 1e-12, id="closure",
                 marks=SLOW),
]  # fmt: skip


def after(make, device, steps=4, **options):
    """A run after some steps."""
    model = make(device, **options)
    model.advance(1e9, max_steps=steps)
    return model


@pytest.mark.parametrize(("make", "options"), FLAT)
def test_the_bits_of_one_device(make, options):
    """Of every array of a restart over flat ground, and of what is told of the run."""
    ours, theirs = (after(make, device, **options) for device in (THREE if make is box else TWO, "cpu"))
    assert isinstance(ours.device, Group) and len(ours.engine.subdomains) > 1
    assert different_arrays(ours, theirs) == []
    assert ours.diagnostics() == theirs.diagnostics() and ours.statistics() == theirs.statistics()
    assert ours.summary_rows == theirs.summary_rows and ours.time == theirs.time
    for name in theirs.variables:
        np.testing.assert_array_equal(ours.field(name), theirs.field(name), err_msg=name)


@pytest.mark.parametrize(("name", "options", "share"), HILLS)
def test_over_a_hill_to_rounding(name, options, share):
    """Sums of the pressure are made band by band; iterations are as many."""
    ours, theirs = (after(run(name), device, **options) for device in (TWO, "cpu"))
    assert ours.statistics()["iterations_a_step"] == theirs.statistics()["iterations_a_step"] > 1.0
    assert_close(fields_of(ours), fields_of(theirs), share)


def test_what_is_measured_at_places():
    ours, theirs = (after(box, device) for device in (THREE, "cpu"))
    for model in (ours, theirs):
        model.found = [
            model.slice(["w", "theta"], y=730.0).sample(), model.slice(["u"], x=333.0).sample(),
            model.slice(["pressure"], z=350.0).sample(), model.maxima().sample(),
            model.probes({"mast": {"x": 120.0, "y": 799.0, "z": [100.0, 710.0]}}).sample(),
            model.spectra([100.0, 400.0], axes=["x"]).sample(),
            model.snapshot(["w_max", "vorticity"])(),
        ]  # fmt: skip
    for found, wanted in zip(ours.found, theirs.found, strict=True):
        for name, values in wanted.items():
            np.testing.assert_array_equal(found[name], values, err_msg=name)


@pytest.mark.parametrize(
    ("make", "options"),
    [(box, {}), (run("open"), {}), pytest.param(run("closed-hill"), {"precision": "double"}, marks=SLOW)],
    ids=["flat", "hill", "closure"],
)
def test_averaged_profiles_to_rounding(make, options):
    """Sums of bands are added in another order; a run that goes on with other devices has what was gathered."""
    ours, theirs = (make(device, **options) for device in (TWO, "cpu"))
    for model in (ours, theirs):
        model.profiles(every=2)
        model.advance(1e9, max_steps=3)
    on = make("cpu", **options)
    on.profiles(every=2)
    on.restore(ours.state())
    near = 1e-10 if ours.precision == "double" else 1e-4
    wanted = theirs.profile_statistics.take(theirs.time)
    for found in (ours, on):
        profiles = found.profile_statistics.take(found.time)
        for name, values in wanted.items():
            size = np.nanmax(np.abs(values), initial=1e-30)
            np.testing.assert_allclose(profiles[name], values, rtol=0.0, atol=near * max(size, 1e-3), err_msg=name)


def test_a_run_goes_on_with_another_number_of_devices():
    first, second = after(box, THREE), box("cpu")
    second.restore(first.state())
    third = box(TWO)
    third.restore(second.state())
    for model in (first, second, third):
        model.advance(1e9, max_steps=3)
    assert different_arrays(first, second) == [] and different_arrays(third, second) == []


def test_runs_repeat_and_restart_bit_for_bit():
    def make():
        return run("open")(TWO)

    end = make().setup.time_step * 6
    assert_repeats_and_restarts(make, lambda model: model.advance(end, max_steps=3), end)


LOST = {"u": box, "force_w": box, "theta": box, "rows": box, "modes": box, "local": run("hill")}


@pytest.mark.parametrize("lost", LOST)
def test_a_lost_exchange_shows(monkeypatch, lost):
    """Sums of all devices (`local`) show over a hill."""
    exchange, make = LocalTransport.exchange, LOST[lost]
    options = NO_TURN if make is not box else {}
    theirs = after(make, "cpu", 2, **options)
    monkeypatch.setattr(
        LocalTransport,
        "exchange",
        lambda self, messages: exchange(self, [m for m in messages if m.field != lost or m.source == m.target]),
    )
    with suppress(BlowUpError, ConvergenceError):
        ours = after(make, TWO, 2, **options)
        if make is box:
            assert different_arrays(ours, theirs) != []
            return
        with pytest.raises(AssertionError):
            assert_close(fields_of(ours), fields_of(theirs), 1e-9)


def test_a_halo_too_narrow_shows(monkeypatch):
    monkeypatch.setattr("eagre.models.anelastic.devices.projection_subdomains.HALO_ROWS", 3)
    assert different_arrays(after(box, TWO), after(box, "cpu")) != []


@pytest.mark.parametrize("make", [box, run("hill")], ids=["flat", "hill"])
def test_the_barriers_of_a_step_are_enough(make):
    """Devices that run ahead of one another up to the next wait give the same bits."""
    found = []
    for go in (Group.run, run_out_of_step):
        steps = make(THREE, **NO_TURN).engine.steps
        steps.set_out(steps.setup.time_step)
        pressure = steps.projection
        pressure._devices.fill(pressure._until.control, np.array([1.0, 0.0, 0.0, 1e-30, 100.0]))
        step = [*steps.explicit(), *pressure.launches, *steps.finish(), *steps._exchanged]
        go(steps.device.group, step * 2)
        found.append([steps.device.host(array) for array in (*steps.fields.restart_arrays.values(), pressure.phi)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


# -- what is refused ------------------------------------------------------------------------------


def test_what_is_refused():
    with pytest.raises(InputError, match="5 devices for 17 rows of points") as refused:
        box("cpu" + 4 * ",cpu")
    assert "up to 4 devices" in str(refused.value)
    with pytest.raises(InputError, match="2 devices for 1 rows of points"):
        run("bubble")(TWO)
    with pytest.raises(InputError, match="3 devices for 3 points along x"):  # which have two modes
        AnelasticFlow(Grid.from_points(3, 17, 3.0, 16.0, periodic=(True, True)), 9, top_height=8.0, device=THREE)
    with pytest.raises(InputError, match="2 devices for 1 points along x"):
        AnelasticFlow(Grid.from_points(1, 17, 1.0, 16.0), 9, top_height=8.0, time_step=1.0, device=TWO)


def test_each_device_has_memory_for_its_share(monkeypatch):
    """Where one of several is too small for its part, though together they have enough."""
    small, large = CpuDevice(), CpuDevice()
    monkeypatch.setattr(small, "free_memory", lambda: 10**5)
    with pytest.raises(MemoryNeededError):
        box([small, large])
    box([large, large])


@pytest.mark.parametrize("device", ["cpu", TWO])
@pytest.mark.parametrize("name", ["u", "theta", "dye"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_field_that_is_not_finite_ends_the_run(device, name, value):
    model = after(box, device, 2)
    good = {field: model.field(field) for field in ("u", "theta", "dye")}
    bad = model._stepper.state()
    slabs = [bad[name]] if device == "cpu" else bad[name].slabs
    slabs[-1][4, slabs[-1].shape[1] // 2, 5] = value
    model._stepper.checkpoint.state, model._stepper.checkpoint.seconds = model._stepper.state(), np.inf
    model._stepper.restore(bad)
    with pytest.raises(BlowUpError):
        model.advance(1e9, max_steps=2)
    assert all(np.array_equal(model.field(field), values) for field, values in good.items())
