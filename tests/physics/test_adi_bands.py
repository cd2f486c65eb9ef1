"""One implicit shallow-water run over several devices: what one device gives; bit for bit when repeated.

Slabs that are thick compared with the implicit coupling overlap; the lines of others are joined.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import solve_banded

from adi_runs import (
    FIELDS,
    assert_repeats_and_restarts,
    bay,
    largest_difference,
    lines_along,
    loam,
    pool,
    scattered_walls,
)
from barotropic_runs import run_out_of_step
from decomposed_fields import scatter
from eagre import BlowUpError, Boundaries, Discharge, InputError, MemoryNeededError
from eagre.backend.device import CpuDevice
from eagre.backend.group import Group, LocalTransport
from eagre.io.restart import read_restart, write_restart
from eagre.models.shallow_water_adi import step
from eagre.models.shallow_water_adi.config import ShallowWaterADICase
from eagre.models.shallow_water_adi.devices import multi_device
from eagre.models.shallow_water_adi.devices.multi_device import coupling_rows
from eagre.models.shallow_water_adi.memory_layout import PADDING

# Of the largest value; measured: 0 with an overlap on a CPU, 6e-7 and 2e-15 with joined lines.
TOLERANCE = {"single": 2e-6, "double": 1e-13}
TWO, THREE, FOUR = "cpu,cpu", ["cpu"] * 3, ["cpu"] * 4


@pytest.mark.parametrize(
    ("precision", "devices", "ny"),
    [
        ("double", THREE, 801), ("single", TWO, 801), ("double", THREE, 201), ("single", ["cpu"] * 5, 201),
        ("double", TWO, 83), ("double", FOUR, 41),
    ],
)  # fmt: skip
def test_as_one_device(precision, devices, ny):
    """All terms, all conditions, islands, shores and series; legs that need another time step."""
    ours, theirs = (bay(device, precision, ny=ny) for device in (devices, "cpu"))
    assert isinstance(ours.device, Group) and len(ours._engine.subdomains) == len(ours.device.devices)
    assert ours._engine.joined == (ny < 800)
    for until in (100.0, 155.0, 215.0):
        for model in (ours, theirs):
            model.advance(until)
        assert largest_difference(ours, theirs) <= TOLERANCE[precision] * ours._engine.joined
    assert theirs.diagnostics()["wet_fraction"] < (0.995 if ny < 800 else 0.998)  # it is partly dry
    for found, expected in ((ours.diagnostics(), theirs.diagnostics()), (ours.inflow, theirs.inflow)):
        assert found.keys() == expected.keys()
        for name, value in found.items():
            assert value == pytest.approx(expected[name], rel=1e-5 if precision == "single" else 1e-11, abs=1e-7), name
    assert len(theirs.inflow) == 6 and all(theirs.inflow.values())
    assert abs(ours.diagnostics()["volume_error"]) < (1e-6 if precision == "single" else 1e-14)
    through, expected = ours.cross_sections.volumes(), theirs.cross_sections.volumes()
    assert all(expected.values())
    assert through == pytest.approx(expected, rel=1e-5 if precision == "single" else 1e-11)


@pytest.mark.parametrize(("devices", "ny"), [(TWO, 500), (TWO, 200), (THREE, 9)])
def test_without_drying_as_one_device(devices, ny):
    options = {"drying": "off", "dissipation": "none", "chezy": 50.0, "manning": 0.0, "ny": ny}
    ours, theirs = (pool(device, **options) for device in (devices, "cpu"))
    assert not ours._engine.subdomains[0].setup.may_dry and ours._engine.joined == (ny < 500)
    for model in (ours, theirs):
        model.advance(100.0)
    assert largest_difference(ours, theirs) <= TOLERANCE["double"]


@pytest.mark.parametrize(
    ("devices", "precision", "ny"), [(TWO, "single", 61), (THREE, "double", 61), (["cpu"] * 5, "double", 201)]
)
def test_reference_kernels_as_one_device(devices, precision, ny):
    """Slabs that are thinner than the coupling have rows of several neighbours, or all rows.

    The code of a slab without an open end of a line along y differs, and so do the last digits.
    """
    ours, theirs, fast = (
        bay(device, precision, ny=ny, kernels=kernels)
        for device, kernels in ((devices, "reference"), ("cpu", "reference"), (devices, "fast"))
    )
    for until in (40.0, 67.0):
        for model in (ours, theirs, fast):
            model.advance(until)
    first, second = ours._engine.subdomains[:2]
    assert first.high == ny if ny == 61 else second.last < first.high < ny
    assert largest_difference(ours, theirs) <= TOLERANCE[precision] * (ny > 61)
    assert fast._engine.joined and not ours._engine.joined
    assert largest_difference(ours, fast) < TOLERANCE[precision]


def test_reference_kernels_need_the_rows_of_all_neighbours(monkeypatch):
    """Rows of slabs beyond the nearest are exchanged as well."""
    exchange = LocalTransport.exchange
    ours, broken = (bay(["cpu"] * 5, ny=201, kernels="reference") for _ in range(2))
    ours.advance(50.0)
    monkeypatch.setattr(
        LocalTransport, "exchange",
        lambda self, messages: exchange(self, [m for m in messages if abs(m.source - m.target) < 2]),
    )  # fmt: skip
    broken.advance(50.0)
    assert alien_rows(ours) == [] and alien_rows(broken) == [*FIELDS]


def test_reference_kernels_with_other_rows_in_the_middle_of_a_run():
    """The water rises by 8 m, so that the slabs overlap further; a restart on other devices has the same bits."""
    ours, theirs, on = (
        pool(device, ny=400, nx=5, time_step=20.0, kernels="reference") for device in (TWO, "cpu", THREE)
    )
    before = ours._engine.overlap
    for model in (ours, theirs):
        state = model.state()
        model.restore({**state, "z": state["z"] + 8.0})
        model.advance(600.0, max_steps=20)
    assert ours._engine.overlap > before
    on.restore(ours.state())
    for model in (ours, theirs, on):
        model.advance(600.0, max_steps=10)
    assert largest_difference(ours, theirs) == largest_difference(on, theirs) == 0.0


def test_walls_inside_as_one_device():
    """Closed faces at the cuts and everywhere else."""
    shape = (37, 19)
    walls = Boundaries(internal=lines_along(scattered_walls(shape, 0.2), 100.0, 70.0))
    ours, theirs = (pool(device, ny=37, boundaries=walls) for device in (FOUR, "cpu"))
    for model in (ours, theirs):
        model.advance(100.0)
    assert largest_difference(ours, theirs) <= TOLERANCE["double"]


@pytest.mark.parametrize("courant", [2.0, 25.0, 200.0])
def test_joined_lines_solve_the_equations_of_whole_lines(courant):
    """SciPy solves the equations that the reference kernels assemble on one device; cuts after 3, 6 and 10 rows."""
    time_step = courant * 70.0 / math.sqrt(9.80665 * 10.0)
    still = {"ny": 13, "time_step": time_step, "surface_elevation": 0.01 * np.random.default_rng(3).random((13, 19))}
    ours, one = pool(FOUR, **still), pool("cpu", kernels="reference", **still)
    engine = one._engine
    engine.evaluate_series(0.0, 0, 1)
    engine.device.run([*step.along_x(engine, 0, 0), step.along_y(engine, 0, 1)[0]])
    a, b, c, d = engine._reference._rows[:, 1:15, PADDING : PADDING + 19]
    expected = np.zeros((14, 19))
    for i in range(19):
        system = np.array([np.append(0.0, c[:-1, i]), b[:, i], np.append(a[1:, i], 0.0)])
        expected[:, i] = solve_banded((1, 1), system, d[:, i])
    ours._stepper.make(1)
    found = ours.state()["q_after"]
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["JOINED_OVERLAP", "ends"])
def test_joined_lines_need_all_that_is_exchanged(name, monkeypatch):
    """Less than the stencil of the equations, or the ends of two slabs only."""
    exchange = LocalTransport.exchange
    if name == "ends":
        monkeypatch.setattr(
            LocalTransport, "exchange",
            lambda self, messages: exchange(self, [m for m in messages if m.field != "ends" or m.source < 2]),
        )  # fmt: skip
    else:
        monkeypatch.setattr(multi_device, name, getattr(multi_device, name) - 1)
    ours, theirs = (bay(device, ny=83) for device in (THREE, "cpu"))
    for model in (ours, theirs):
        model.advance(100.0)
    assert largest_difference(ours, theirs) > 20.0 * TOLERANCE["double"]


@pytest.mark.parametrize("lost", ["z", "p", "q", "all"])
def test_a_lost_exchange_shows(monkeypatch, lost):
    """What is held of the neighbours is theirs to the last bit; else the answer drifts away (but p follows z and q)."""
    theirs, *both = pool("cpu", "single", time_step=20.0, ny=500), *(bay(THREE, "single", ny=501) for _ in range(2))
    ours, broken = both
    exchange = LocalTransport.exchange
    ours.advance(50.0)
    assert alien_rows(ours) == []

    def forgetful(transport, messages):
        return exchange(transport, [one for one in messages if lost not in ("all", one.field)])

    monkeypatch.setattr(LocalTransport, "exchange", forgetful)
    broken.advance(50.0)
    assert alien_rows(broken) == [name for name in FIELDS if lost in ("all", name[0])]
    drifting = pool(TWO, "single", time_step=20.0, ny=500)
    for model in (drifting, theirs):
        model.advance(1600.0)
    assert lost == "p" or largest_difference(drifting, theirs) > 1e-5


def alien_rows(model):
    """Fields of which a band holds other rows than its neighbours have."""
    engine, state, found = model._engine, model.state(), []
    for name in FIELDS:
        location = {"z": "centre", "p": "face_x"}.get(name[0], "face_y")
        copies = [(b.engine.surface(), *b.engine.fluxes()) for b in engine.subdomains]
        held = [dict(zip(FIELDS, fields, strict=True))[name] for fields in copies]
        wanted = [scatter(engine.decomposition, state[name], rank, location) for rank in range(len(engine.subdomains))]
        if not all(np.array_equal(a, b) for a, b in zip(held, wanted, strict=True)):
            found.append(name)
    return found


def test_too_few_rows_show(monkeypatch):
    """A fourth of the rows costs three fourths of the digits, and no more."""
    theirs = pool("cpu", time_step=20.0)
    rows = multi_device.EDGE + coupling_rows(theirs.setup, "double", 12.0) // 4
    monkeypatch.setattr(multi_device, "overlap_rows", lambda *_, **__: rows)
    ours = pool(TWO, time_step=20.0)
    for model in (ours, theirs):
        model.advance(100.0)
    assert 1e-12 < largest_difference(ours, theirs) < 1e-3


@pytest.mark.parametrize("courant", [0.3, 4.0, 25.0])
def test_reach_holds_for_any_rows(courant):
    """What a change at a line's end does behind the reach, for all velocities, depths and drags that are allowed."""
    rng = np.random.default_rng(2)
    model = pool("cpu", time_step=70.0 * courant / math.sqrt(9.80665 * 10.0))
    for most in (0.0, 1.0):  # at rest, and at a cell a step one way
        for smooth in (True, False):
            n = coupling_rows(model.setup, "double", 10.0)
            m = 0.25 * courant**2 * (np.ones(n) if smooth else rng.uniform(0.0, 1.0, n))
            k = 0.5 * most * (np.ones(n + 1) if smooth else rng.uniform(-1.0, 1.0, n + 1))
            for part in (0.0, 1.0):  # central, upstream
                low, high = k + part * abs(k), k - part * abs(k)
                drag = 0.0 if smooth else rng.uniform(0.0, 1.0, n)
                a, b, c = -low[:-1] - m, 1.0 + drag + low[1:] - high[:-1] + 2.0 * m, high[1:] - m
                system = np.array([np.append(0.0, c[:-1]), b, np.append(a[1:], 0.0)])
                ends = np.zeros((n, 2))
                ends[0, 0], ends[-1, 1] = -a[0], -c[-1]
                found = solve_banded((1, 1), system, ends)
                assert max(abs(found[-1, 0]), abs(found[0, 1])) < 3e-16


@pytest.mark.parametrize("ny", [801, 101])
def test_stages_need_nothing_of_their_own_from_others(monkeypatch, ny):
    """Devices that run ahead of one another up to the next meeting give the same bits."""
    in_step, ahead = (bay(THREE, ny=ny) for _ in range(2))
    in_step.advance(80.0)
    monkeypatch.setattr(Group, "run", run_out_of_step)
    ahead.advance(80.0)
    for name, value in in_step.state().items():
        np.testing.assert_array_equal(value, ahead.state()[name], err_msg=name)


@pytest.mark.parametrize("ny", [501, 101])
def test_runs_repeat_and_restart_bit_for_bit(ny):
    assert_repeats_and_restarts(lambda: bay(THREE, "single", ny=ny, soil=loam(ny=ny)), 7, 168.0)


def test_a_run_goes_on_with_another_number_of_devices(tmp_path):
    """From overlapping slabs on joined lines, and on one device."""
    one, two, three = (bay(device, ny=520, soil=loam(ny=520)) for device in ("cpu", TWO, THREE))
    assert not two._engine.joined and three._engine.joined
    one.advance(150.0)
    two.advance(70.0)
    file = write_restart(tmp_path / "restart.nc", two)
    for other in (three, bay("cpu", ny=520, soil=loam(ny=520))):
        other.restore(read_restart(file, other))
        assert other.time == 70.0
        for name in (*FIELDS, "book", "cross_sections", "infiltration"):
            np.testing.assert_array_equal(other.state()[name], two.state()[name], err_msg=name)
        other.advance(150.0)
        assert largest_difference(other, one) <= TOLERANCE["double"]
        assert other.field("infiltration_depth") == pytest.approx(one.field("infiltration_depth"), abs=1e-13)
        assert other.diagnostics() == pytest.approx(one.diagnostics(), rel=1e-11, abs=1e-12)


def test_a_restart_with_other_sides_as_one_device():
    """The balance begins anew, and a wall lets nothing through where water came in; a flux from 0 lags a step, 3 s.

    Other lines begin anew as well.
    """
    first = pool(
        "cpu", boundaries=Boundaries(west=Discharge(2.0)), cross_sections={"line": [(0.0, 700.0), (1900.0, 700.0)]}
    )
    first.advance(30.0)
    south, seam = Boundaries(south=Discharge(2.0)), {"line": [(0.0, 7000.0), (1900.0, 7000.0)]}
    ours, theirs = (pool(device, boundaries=south, cross_sections=seam) for device in (TWO, "cpu"))
    for model in (ours, theirs):
        model.restore(first.state())
        assert model.cross_sections.volumes() == {"line": 0.0}
        model.advance(60.0)
        assert abs(model.diagnostics()["volume_error"]) < 1e-13
    assert largest_difference(ours, theirs) <= TOLERANCE["double"]
    assert ours.inflow == {"south": pytest.approx(2.0 * (30.0 - 3.0), rel=1e-12)}
    assert ours.cross_sections.volumes() == pytest.approx(theirs.cross_sections.volumes(), rel=1e-10)
    assert abs(ours.cross_sections.volumes()["line"]) > 1.0


def test_everything_a_model_gives():
    ours, theirs = bay(THREE), bay("cpu")
    for model in (ours, theirs):
        model.advance(60.0)
    for name in theirs.variables:
        np.testing.assert_allclose(ours.field(name), theirs.field(name), rtol=1e-12, atol=1e-12, err_msg=name)
    rows = [subdomain.first for subdomain in ours._engine.subdomains]
    points = [(j + k, i) for j in (*rows[1:], 200) for k in (-1, 0) for i in (3, 36)]
    for name, value in ours.sample(["surface_elevation", "velocity_y"], points).items():
        np.testing.assert_array_equal(value, [ours.field(name)[point] for point in points], err_msg=name)
    assert ours.settings()["device"].startswith("3 bands on cpu") and "3 row slabs" in ours.settings()["lines"]
    assert ours.statistics() == pytest.approx(theirs.statistics())


@pytest.mark.parametrize(("ny", "joined"), [(600, False), (400, True)])
def test_bands_hold_more_rows_when_the_water_rises(ny, joined):
    """By 8 m; a restart goes on with as many rows, bit for bit. Where these are too many, the lines are joined."""
    ours, theirs, on = (pool(device, "single", time_step=20.0, ny=ny) for device in (TWO, "cpu", TWO))
    before = ours._engine.overlap
    assert not ours._engine.joined
    for model in (ours, theirs):
        state = model.state()
        model.restore({**state, "z": state["z"] + np.float32(8.0)})
        model.advance(600.0, max_steps=20)
    assert ours._engine.overlap > before and ours._engine.joined == joined
    on.restore(ours.state())
    assert on._engine.overlap == ours._engine.overlap and on._engine.joined == joined
    for model in (ours, theirs, on):
        model.advance(600.0)
    # The single-precision run on one device differs by 6e-6 from the double-precision run.
    assert largest_difference(ours, theirs) <= (1e-5 if joined else TOLERANCE["single"])
    for name, value in ours.state().items():
        np.testing.assert_array_equal(value, on.state()[name], err_msg=name)


def test_a_blow_up_goes_back_to_the_last_good_state():
    model = pool(TWO, "single")
    model.advance(6.0)
    bad = model._stepper.state()
    bad["slabs"][1]["z"][30, 7] = np.nan
    model._stepper.restore(bad)  # the model takes no such state
    model._stepper.checkpoint.forget()
    with pytest.raises(BlowUpError, match=r"\(130, 7\)|\(\d+, 0\)"):
        model.advance(30.0)
    assert model.time == 6.0


def test_from_a_case_file():
    text = (
        'model = "shallow-water-adi"\n[run]\nend_time = "1 min"\ndevice = "cpu, cpu"\n[grid]\nnx = 9\nny = 140\n'
        'dx = "50 m"\ndy = "50 m"\n[bed]\nvalue = -5.0\n[initial]\nsurface_elevation = 0.0\n'
        '[numerics]\ntime_step = "5 s"\n'
    )
    model = ShallowWaterADICase.loads(text).build()
    beside = multi_device.JOINED_OVERLAP
    assert [(one.low, one.first, one.last, one.high) for one in model._engine.subdomains] == [
        (0, 0, 70, 70 + beside), (70 - beside, 70, 140, 140),
    ]  # fmt: skip
    assert "joined" in str(model.settings()["lines"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"device": FOUR, "ny": 11}, "up to 3 devices: at least 3 rows per device"),
        ({"device": "cpu,cuda:0"}, "one kind"),
    ],
)
def test_what_is_refused(options, words):
    with pytest.raises(InputError, match="allowed") as raised:
        pool(**options)
    assert words in str(raised.value)


def test_memory_of_each_device_is_checked(monkeypatch):
    monkeypatch.setattr(CpuDevice, "free_memory", lambda _: 5e6)
    with pytest.raises(MemoryNeededError):
        pool(TWO, nx=200)


def test_memory_of_joined_lines_is_checked(monkeypatch):
    """Half of the eight arrays of a model are stored once more between the passes."""
    least = math.inf
    for joined in (False, True):
        monkeypatch.setattr(multi_device, "MAX_OVERLAP", 0.0 if joined else 1.0)
        needed = []
        monkeypatch.setattr(multi_device, "check_memory_of_each", lambda _, sizes, to=needed: to.extend(sizes))
        pool(TWO, nx=200, ny=4000, time_step=1.0)
        assert joined == (needed[0] > 1.4 * least)
        least = min(least, needed[0])
