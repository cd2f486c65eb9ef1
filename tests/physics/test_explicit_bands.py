"""One explicit shallow-water run over several devices: on CPUs the bits of one device, whatever is in the run."""

from __future__ import annotations

import numpy as np
import pytest

from barotropic_runs import run_out_of_step
from eagre import (
    BlowUpError,
    Boundaries,
    Discharge,
    Grid,
    InputError,
    MemoryNeededError,
    ShallowWater,
    Wall,
    WeatherRain,
)
from eagre.backend.group import Group, LocalTransport
from eagre.boundaries import InternalLine
from eagre.io.restart import read_restart, write_restart
from eagre.models.shallow_water.config import ShallowWaterCase
from eagre.models.shallow_water.devices import multi_device
from eagre.models.shallow_water.model import speed_of
from explicit_runs import PLAIN, WALLS, apart, assert_repeats_and_restarts, basin, bay, different, loam
from weather_fields import field

TWO, THREE = "cpu,cpu", ["cpu"] * 3
FRICTION = np.where(np.arange(38)[:, None] < 20, 0.0, np.full((1, 41), 0.03))  # none on all of a band
RUNS = {
    "bay": (bay, {}),
    "bay, single, Euler": (bay, {"precision": "single", "scheme": "euler"}),
    "ring": (basin, {"sides": "ring", "manning": FRICTION}),
    "torus": (basin, {"sides": "torus"}),
    "deep": (basin, {"surface_elevation": None, "depth": 3.0, "precision": "single"}),
    "wide": (basin, {"nx": 301, "ny": 43}),
    "walls": (bay, {"internal": WALLS}),
    "infiltration": (bay, {"soil": loam()}),
    "srk2": (bay, {"scheme": "srk2", **PLAIN}),
    "ds2": (bay, {"scheme": "ds2", **PLAIN}),
}
MORE = {
    "walls, torus": (basin, {"sides": "torus", "internal": WALLS}),
    "walls, srk2": (basin, {"internal": WALLS, "scheme": "srk2", "precision": "single", **PLAIN}),
    "walls, ds2": (bay, {"internal": WALLS, "scheme": "ds2", **PLAIN}),
    "srk2, torus": (basin, {"sides": "torus", "scheme": "srk2", **PLAIN}),
    "ds1": (bay, {"scheme": "ds1", **PLAIN}),
    "ds2, torus": (basin, {"sides": "torus", "scheme": "ds2", "precision": "single", **PLAIN}),
    "reference": (basin, {"kernels": "reference"}),
    "reference, srk2": (bay, {"kernels": "reference", "scheme": "srk2", "internal": WALLS}),
    "reference, ds2": (basin, {"kernels": "reference", "scheme": "ds2"}),
    "kurganov-petrova": (bay, {"wet_dry": "kurganov-petrova"}),
    "infiltration, single, Euler": (bay, {"soil": loam(), "precision": "single", "scheme": "euler"}),
    "infiltration, ds2": (bay, {"soil": loam(), "scheme": "ds2", **PLAIN}),
    "exact": (basin, {"time_step_control": "exact"}),
    "fixed": (basin, {"time_step": 0.05, "active_tiles": False}),
}


@pytest.mark.parametrize(
    ("make", "options"),
    [*RUNS.values(), *(pytest.param(*run, marks=pytest.mark.slow) for run in MORE.values())],
    ids=[*RUNS, *MORE],
)
def test_the_bits_of_one_device(make, options):
    """Of every array of a restart, ghosts and book included; legs that end where they must."""
    ours, theirs, others = (make(device, **options) for device in (TWO, "cpu", THREE))
    assert isinstance(ours.device, Group) and len(ours._engine.subdomains) == len(ours.device.devices)
    for until, steps in ((1e3, 3), (1.7, None), (4.0, 40)):
        for model in (ours, theirs, others):
            model.advance(until, max_steps=steps)
        assert different(ours, theirs) == [] and different(others, theirs) == []
    assert theirs.steps > 10
    assert ours.diagnostics() == theirs.diagnostics() and ours.statistics() == theirs.statistics()
    assert ours.inflow == theirs.inflow
    assert len(theirs.inflow) == (6 if make is bay else 0) and all(theirs.inflow.values())
    if make is bay:
        assert theirs.diagnostics()["wet_fraction"] < 0.995  # it is partly dry
        assert ours.cross_sections.volumes() == others.cross_sections.volumes() == theirs.cross_sections.volumes()
        assert all(theirs.cross_sections.volumes().values())


def test_lists_of_tiles_change_no_bit():
    """Water beside the seam flows over it, into a band that was dry."""
    pond = np.pad(np.full((4, 11), 0.8), ((13, 21), (3, 27)))
    ours, theirs = (basin(TWO, surface_elevation=None, depth=pond, active_tiles=way) for way in ("on", "auto"))
    for steps in (1, 1, 30):
        for model in (ours, theirs):
            model.advance(1e3, max_steps=steps)
        assert different(ours, theirs) == []
    assert theirs.field("depth")[20:].max() > 0.01


def test_walls_change_the_flow():
    """At an interface of slabs too: the runs with walls above compare something."""
    walled, plain = (basin(TWO, internal=walls) for walls in (WALLS, ()))
    for model in (walled, plain):
        model.advance(1e3, max_steps=8)
    beside = np.abs(walled.field("discharge_y") - plain.field("discharge_y"))[18:20, 5:15]
    assert beside.max() > 1e-3


@pytest.mark.parametrize("scheme", ["rk2", "srk2", "ds1", "ds2"])
@pytest.mark.parametrize("lost", ["rows", "rates"])
def test_a_lost_exchange_shows(monkeypatch, lost, scheme):
    exchange, theirs = LocalTransport.exchange, basin("cpu", scheme=scheme, **PLAIN)

    def forgetful(transport, messages):
        return exchange(transport, [m for m in messages if (m.field == "rates") != (lost == "rates") or _own(m)])

    monkeypatch.setattr(LocalTransport, "exchange", forgetful)
    ours = basin(TWO, scheme=scheme)
    for model in (ours, theirs):
        model.advance(1e3, max_steps=8)
    assert apart(ours, theirs) > 1e-3 if lost == "rows" else ours.time != theirs.time


def _own(message):
    """Whether a message stays where it is: a band's own rates."""
    return message.source == message.target


@pytest.mark.parametrize(
    "make",
    [
        bay,
        lambda device: basin(device, sides="torus", time_step_control="exact"),
        lambda device: bay(device, scheme="srk2", internal=WALLS),
        lambda device: bay(device, scheme="ds2"),
    ],
)
def test_one_wait_a_stage_is_enough(monkeypatch, make):
    """Devices that run ahead of one another up to the next wait give the same bits."""
    in_step, ahead = (make(THREE) for _ in range(2))
    in_step.advance(1e3, max_steps=12)
    waits = sum(stage == () for stage in in_step._engine.launch_cycle)
    assert waits == len(in_step._engine.subdomains[0].schedule.stages)
    monkeypatch.setattr(Group, "run", run_out_of_step)
    ahead.advance(1e3, max_steps=12)
    assert different(ahead, in_step) == []


def test_all_devices_have_one_clock():
    """Refused steps too: a wave that becomes faster than was foreseen, in one band only."""
    still = np.zeros((38, 41))
    still[30:34, 3:6] = 5.0
    ours = basin(THREE, surface_elevation=still, time_step_control="exact")
    ours.advance(1e3, max_steps=9)
    clocks = [band.read_clock() for band in ours._engine.subdomains]
    assert ours.statistics()["redone_steps"] >= 9
    for clock in clocks[1:]:
        np.testing.assert_array_equal(clock, clocks[0])


def test_runs_repeat_and_restart_bit_for_bit():
    assert_repeats_and_restarts(lambda: bay(THREE, soil=loam()), 7, 3.1)


@pytest.mark.parametrize("options", [{"soil": loam()}, {"scheme": "ds2", "internal": WALLS, **PLAIN}])
def test_a_run_goes_on_with_any_number_of_devices(tmp_path, options):
    one, two = (bay(device, **options) for device in ("cpu", TWO))
    for model in (one, two):
        model.advance(2.0)
    one.advance(4.0)
    file = write_restart(tmp_path / "restart.nc", two)
    for other in (bay(device, **options) for device in (THREE, "cpu", ["cpu"] * 5)):
        other.restore(read_restart(file, other))
        assert other.time == 2.0 and different(other, two) == []
        other.advance(4.0)
        assert different(other, one) == []
        assert other.inflow == one.inflow and other.diagnostics() == one.diagnostics()
        assert other.cross_sections.volumes() == one.cross_sections.volumes()


def test_a_restart_with_other_sides_as_one_device():
    """The balance begins anew, and ghosts are those of the conditions that hold now."""
    first = basin("cpu", manning=0.0)
    first.advance(1.0)
    grid, bed = first.grid, first.bed_elevation
    ours, theirs = (
        ShallowWater(
            grid, bed, surface_elevation=0.0, boundaries=Boundaries(south=Discharge(2.0), west=Discharge(1.0)),
            device=device, precision="double",
        )
        for device in (THREE, "cpu")
    )  # fmt: skip
    for model in (ours, theirs):
        model.restore(first.state())
        model.advance(2.0)
        assert abs(model.diagnostics()["volume_error"]) < 1e-13
    assert different(ours, theirs) == [] and ours.inflow == theirs.inflow
    assert min(ours.inflow.values()) > 0.5


def test_rain_of_a_file_is_booked_record_by_record():
    """Beside an open side, over four records: as one device books it, and what fell is in the volume."""
    grid = Grid(9, 12, 2.0, 2.0)
    rain = field(grid, [0.0, 1.0, 2.0, 3.0], lambda x, y, t: 1e-4 * (1.0 + t) * (1.0 + 0.02 * y), "rain")
    found = []
    for device in (THREE, "cpu"):
        model = ShallowWater(
            grid, 0.0, depth=1.0, boundaries=Boundaries(east=Discharge(-0.1)), sources=[WeatherRain(rain)],
            device=device, precision="double",
        )  # fmt: skip
        model.advance(2.7)
        found.append(model.diagnostics())
        assert abs(found[-1]["volume_error"]) < 1e-13
    assert found[0]["volume_rain"] == pytest.approx(found[1]["volume_rain"], rel=1e-12)
    ends = rain.record(0).mean() / 1e-4  # of a factor that is linear in y: that of its middle
    assert found[0]["volume_rain"] == pytest.approx(1e-4 * ends * (2.7 + 0.5 * 2.7**2) * 9 * 12 * 4.0, rel=2e-3)


def test_everything_a_model_gives():
    ours, theirs = bay(THREE), bay("cpu")
    for model in (ours, theirs):
        model.advance(1.0)
    for name in theirs.variables:
        np.testing.assert_array_equal(ours.field(name), theirs.field(name), err_msg=name)
    rows = [band.first for band in ours._engine.subdomains]
    assert rows == [0, 21, 41]
    points = [(j + k, i) for j in (*rows[1:], 60) for k in (-1, 0) for i in (3, 36)]
    for name, value in ours.sample(["surface_elevation", "velocity_y", "bed"], points).items():
        np.testing.assert_array_equal(value, theirs.sample([name], points)[name], err_msg=name)
    assert ours.settings()["device"].startswith("3 bands on cpu")
    assert ours._engine.extreme(speed_of) == theirs._engine.extreme(speed_of)
    assert ours.notes == theirs.notes and ours.bytes_per_step == theirs.bytes_per_step


@pytest.mark.parametrize("row", [3, 30])
def test_a_blow_up_goes_back_to_the_last_good_state(row):
    messages = []
    for model in (basin(TWO), basin("cpu")):
        model.advance(0.5)
        bad = model.state()
        bad["q"][0, row + 2, 9] = np.nan
        model._engine.restore(bad)  # the model takes no such state
        model._stepper.checkpoint.forget()
        with pytest.raises(BlowUpError) as raised:
            model.advance(2.0)
        assert model.time == 0.5
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


def test_from_a_case_file():
    text = (
        'model = "shallow-water"\n[run]\nend_time = "1 min"\ndevice = "cpu, cpu"\n[grid]\nnx = 9\nny = 15\n'
        'dx = "5 m"\ndy = "5 m"\n[bed]\nvalue = -5.0\n[initial]\nsurface_elevation = 0.0\n'
    )
    model = ShallowWaterCase.loads(text).build()
    assert [(band.first, band.last) for band in model._engine.subdomains] == [(0, 8), (8, 15)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"device": ["cpu"] * 10}, "up to 9 devices"),
        ({"device": "cpu,cuda:0"}, "one kind"),
    ],
)
def test_what_is_refused(options, words):
    with pytest.raises(InputError, match="allowed") as raised:
        basin(**options)
    assert words in str(raised.value)


def test_memory_of_each_device_is_checked(monkeypatch):
    from eagre.backend.device import CpuDevice

    monkeypatch.setattr(CpuDevice, "free_memory", lambda _: 5e4)
    with pytest.raises(MemoryNeededError):
        multi_device.MultiDeviceEngine(basin("cpu").setup, Group([CpuDevice(), CpuDevice()]), "double")


def test_bands_of_four_rows():
    ours, theirs = (basin(device, nx=9, ny=13) for device in (THREE, "cpu"))
    for model in (ours, theirs):
        model.advance(1e3, max_steps=15)
    assert different(ours, theirs) == []


def test_the_grid_is_cut_by_rows():
    grid = Grid(5, 9, 1.0, 2.0)
    model = ShallowWater(grid, 0.0, depth=1.0, device=TWO)
    multi_device = model._engine.subdomains
    assert [band.setup.grid.y0 for band in multi_device] == [0.0, 10.0]
    assert [len(band.setup.faced) for band in multi_device] == [3, 3]


@pytest.mark.simulator
@pytest.mark.parametrize(
    "options",
    [
        {"cross_sections": {"seam": [(0.0, 9.0), (26.0, 9.0)]}},
        {"sides": "torus", "scheme": "euler"},
        {
            "internal": [
                InternalLine([(3.0, 9.0), (20.0, 9.0)], Wall()),
                InternalLine([(8.0, 2.0), (8.0, 13.0)], Wall()),
            ]
        },
        {"sides": "torus", "scheme": "srk2"},
        {"scheme": "ds1"},
        {"scheme": "ds2"},
    ],
)
def test_simulated_bands_equal_the_cpu(options, monkeypatch):
    """GPUs alternate between other buffers than CPUs, and run as far ahead of one another as waits allow."""
    from eagre.backend.simulated import SimulatedDevice

    monkeypatch.setattr(Group, "run", run_out_of_step)
    ours, theirs = (basin(device, nx=13, ny=11, **options) for device in ([SimulatedDevice() for _ in range(2)], "cpu"))
    assert len(ours._engine.subdomains[0].q) == 2
    for model in (ours, theirs):
        model.advance(1e3, max_steps=3)
    assert ours.steps == theirs.steps == 3 and ours.time == pytest.approx(theirs.time, rel=1e-12)
    assert apart(ours, theirs) < 1e-12
    if theirs.cross_sections:
        assert ours.cross_sections.volumes() == pytest.approx(theirs.cross_sections.volumes(), rel=1e-10)
        assert abs(theirs.cross_sections.volumes()["seam"]) > 1e-3
