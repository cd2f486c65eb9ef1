"""The ADI model: what holds in any run, time steps, restarts, errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import eagre
from eagre.backend.select import select
from eagre.laboratory.bench.machine import threads_limited
from eagre.laboratory.cases import dam_breaks
from eagre.models.shallow_water_adi import step as sweeps
from eagre.models.shallow_water_adi.kernels import Fields
from eagre.models.shallow_water_adi.memory_layout import padded, unpadded
from eagre.models.shallow_water_adi.model import DEVICE_WORDS, MAX_MARGIN, maps_of
from eagre.models.shallow_water_adi.sweeps.launch_parameters import plan_of, width
from kernels.recording import RecordingDevice
from physics.test_adi_against_oracle import everything


def pool(precision="double", nx=60, ny=40, time_step=20.0, **options):
    grid = eagre.Grid(nx, ny, 100.0, 80.0)
    x, y = grid.mesh()
    hump = np.exp(-(((x - x.mean()) / 500.0) ** 2) - ((y - y.mean()) / 400.0) ** 2)
    options = {"surface_elevation": hump, "manning": 1 / 32} | options
    return eagre.ShallowWaterADI(grid, -10.0, time_step, device="cpu", precision=precision, **options)


@pytest.mark.parametrize(("precision", "limit"), [("double", 1e-13), ("single", 1e-6)])
def test_mass_and_mirror_symmetry(precision, limit):
    model = pool(precision)
    model.advance(2000.0)
    z = model.field("surface_elevation").astype(float)
    assert abs(model.diagnostics()["volume_error"]) < limit
    assert abs(z).max() > 0.01
    assert abs(z - z[:, ::-1]).max() < 10 * limit
    assert abs(z - z[::-1]).max() < 10 * limit


@pytest.mark.parametrize("precision", ["double", "single"])
def test_lake_at_rest_with_shores_and_island(precision):
    grid = eagre.Grid(61, 37, 50.0, 70.0)
    rng = np.random.default_rng(7)
    land = rng.random(grid.shape) < 0.1
    model = eagre.ShallowWaterADI(
        grid, rng.uniform(-3.0, 2.0, grid.shape_of("corner")), 10.0, surface_elevation=0.0, manning=0.03,
        land_mask=land, device="cpu", precision=precision,
    )  # fmt: skip
    before = model.field("surface_elevation")
    model.advance(5000.0)
    assert abs(model.field("surface_elevation") - before).max() < (1e-12 if precision == "double" else 1e-5)
    assert max(abs(model.field(f"discharge_{a}")).max() for a in "xy") < (1e-12 if precision == "double" else 1e-5)


def test_the_bed_of_land_is_of_no_consequence():
    """Corners that only land touches may hold anything."""
    grid = eagre.Grid(30, 21, 100.0, 80.0)
    x, y = grid.mesh()
    land = np.hypot(x - 1600.0, y - 800.0) < 450.0
    inner = np.zeros(grid.shape_of("corner"), bool)
    inner[1:-1, 1:-1] = land[1:, 1:] & land[1:, :-1] & land[:-1, 1:] & land[:-1, :-1]
    assert inner.sum() > 10
    found = []
    for height in (-5.0, 3.0, 900.0):
        bed = np.where(inner, height, -5.0 - 0.001 * grid.mesh("corner")[0])
        model = eagre.ShallowWaterADI(
            grid, bed, 20.0, surface_elevation=0.3 * np.cos(x / 500.0), land_mask=land, manning=0.03, device="cpu",
            precision="double",
        )  # fmt: skip
        model.advance(600.0)
        found.append([model.field(name)[~land] for name in ("surface_elevation", "velocity_x", "velocity_y")])
    assert abs(found[0][1]).max() > 0.01
    assert all(np.array_equal(one, other) for other in found[1:] for one, other in zip(found[0], other, strict=True))


@pytest.mark.parametrize("precision", ["double", "single"])
def test_the_sweep_along_y_is_the_transposed_sweep_along_x(precision):
    rng = np.random.default_rng(2)
    grids = eagre.Grid(19, 13, 90.0, 120.0), eagre.Grid(13, 19, 120.0, 90.0)
    bed = rng.uniform(-3.0, 1.0, grids[0].shape_of("corner"))
    options = {"surface_elevation": 0.0, "manning": 0.03, "device": "cpu", "precision": precision}
    along_x, along_y = (
        eagre.ShallowWaterADI(grid, one, 8.0, **options)._engine for grid, one in zip(grids, (bed, bed.T), strict=True)
    )
    z, p, q_before, q_after = (
        0.3 * rng.standard_normal(grids[0].shape_of(at)) for at in ("centre", "face_x", "face_y", "face_y")
    )
    p[:, [0, -1]] = q_before[[0, -1]] = q_after[[0, -1]] = 0.0
    along_x.set_state(z, p, q_before, q_after)
    along_x.device.run(sweeps.along_x(along_x, 0, 0))
    along_y.set_state(z.T, q_after.T, p.T, p.T)
    along_y.device.fill(along_y.p[0], padded(q_before.T, grids[1], along_y.real, 0.0))
    along_y.device.run(sweeps.along_y(along_y, 0, 1))
    limit = 1e-13 if precision == "double" else 1e-5
    pairs = [(along_x.z[1], along_y.z[0], "centre", "centre"), (along_x.p[1], along_y.q[1], "face_x", "face_y")]
    for one, other, here, there in pairs:
        ours, theirs = unpadded(one, grids[0], here), unpadded(other, grids[1], there).T
        assert abs(ours).max() > 0.1 and abs(ours - theirs).max() < limit * abs(ours).max()


def test_a_hump_is_back_when_the_wave_has_gone_both_ways():
    """Two lengths of the channel at sqrt(g h), after a reflection from either wall."""
    grid = eagre.Grid(400, 3, 50.0, 50.0)
    x, _ = grid.mesh()
    hump = 1e-3 * np.exp(-(((x - 6000.0) / 800.0) ** 2))
    back = 2.0 * 20_000.0 / np.sqrt(9.80665 * 10.0)
    model = eagre.ShallowWaterADI(
        grid, -10.0, back / 1600.0, surface_elevation=hump, gravity=9.80665, device="cpu", precision="double"
    )
    model.advance(back)
    assert abs(model.field("surface_elevation") - hump).max() < 0.02 * hump.max()
    model.advance(1.05 * back)
    assert abs(model.field("surface_elevation") - hump).max() > 0.3 * hump.max()


@pytest.mark.parametrize("downstream", [0.0, 0.1])
def test_dam_breaks_converge(downstream):
    """Supercritical flow stays smooth: the error is below that of two cells out of place, at 100 and 200 cells."""
    for n in (100, 200):
        case = dam_breaks.dam_break(n, 1.0, downstream)
        step = 0.2 * case.grid.dx / np.sqrt(9.81)
        depth = case.initial.depth
        model = eagre.ShallowWaterADI(
            case.grid, case.bed_elevation, step, depth=depth, device="cpu", precision="double"
        )
        model.advance(case.end_time)
        exact = case.exact(case.end_time).depth
        assert abs(model.field("depth") - exact).sum() < 2.0 * exact.max() * len(exact)
        assert model.field("discharge_x").sum() == pytest.approx(case.exact(case.end_time).discharge_x.sum(), rel=0.05)


def test_a_front_with_friction_goes_as_far_as_the_explicit_models():
    """Water onto a dry bed with n = 0.025: wet length and kinetic energy; thin cells at the front must not hold it."""
    grid = eagre.Grid(100, 3, 10.0, 10.0)
    depth = np.where(grid.mesh()[0] < 500.0, 4.0, 0.0)
    options = {"depth": depth, "manning": 0.025, "device": "cpu", "precision": "double"}
    energy, wet = [], []
    for model in (eagre.ShallowWater(grid, 0.0, **options), eagre.ShallowWaterADI(grid, 0.0, 0.2, **options)):
        model.advance(20.0)
        energy.append(model.diagnostics()["kinetic_energy"])
        wet.append(int((model.field("depth")[1] > 0.05).sum()))
    assert energy[1] == pytest.approx(energy[0], rel=0.05)
    assert abs(wet[1] - wet[0]) <= 1


def test_steps_land_on_any_time():
    model = pool()
    model.advance(50.0)  # 2.5 steps: three of 16.7 s
    assert model.time == 50.0 and model.steps == 3
    assert model.time_step == pytest.approx(50.0 / 3)
    model.advance(110.0, max_steps=2)
    assert model.time == pytest.approx(90.0) and model.time_step == 20.0
    model.advance(110.0)
    assert model.time == 110.0 and model.steps == 6


def test_a_changed_step_keeps_the_order():
    """q stands half a step away; a shorter step moves it, and costs nothing of the accuracy in time."""
    reference = pool(time_step=0.3125)
    reference.advance(400.0)
    errors = {}
    for dt in (5.0, 2.5):
        for legs in ((), (2.5 * dt, 130.0, 130.0 + 1.3 * dt)):
            model = pool(time_step=dt)
            for until in (*legs, 400.0):
                model.advance(until)
            error = abs(model.field("surface_elevation") - reference.field("surface_elevation")).max()
            errors[dt, bool(legs)] = error
    assert errors[5.0, True] < 1.1 * errors[5.0, False]
    assert errors[5.0, True] / errors[2.5, True] > 3.2


def test_a_changed_step_moves_q_along_its_line():
    model = pool()
    model.advance(100.0)
    before = model.state()
    model._engine.restagger(5.0, model.time)
    after = model.state()
    for name in ("z", "p"):
        np.testing.assert_array_equal(after[name], before[name])
    for sign, part in ((1.0, 1.0), (-1.0, 0.25)):  # the middle stays, the rise shrinks as the step does
        old = before["q_after"] + sign * before["q_before"]
        assert after["q_after"] + sign * after["q_before"] == pytest.approx(part * old, abs=1e-13)
    assert abs(before["q_after"] - before["q_before"]).max() > 0.01


@pytest.mark.parametrize("stop", [3, 6])
def test_restart_is_bit_for_bit(stop):
    whole, first, second = (everything() for _ in range(3))
    whole.advance(100.0)
    first.advance(100.0, max_steps=stop)
    second.restore(first.state())
    second.advance(100.0)
    for name, values in whole.state().items():
        np.testing.assert_array_equal(values, second.state()[name], err_msg=name)


def test_runs_repeat_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr("eagre.backend.cpu.compiler.MAX_SERIAL_ELEMENTS", 0)  # small launches take all threads too
    found = []
    for threads in (1, 2, 2):
        with threads_limited(select("cpu"), threads):
            model = everything()
            model.advance(100.0)
            found.append((model.state(), model.diagnostics()))
    for state, sums in found[1:]:
        assert sums == found[0][1]
        for name, values in found[0][0].items():
            np.testing.assert_array_equal(values, state[name], err_msg=name)


def test_island_turns_the_flow_aside():
    grid = eagre.Grid(40, 21, 100.0, 100.0)
    x, y = grid.mesh()
    land = np.hypot(x - 2000.0, y - 1050.0) < 300.0
    model = eagre.ShallowWaterADI(
        grid, -5.0, 20.0, surface_elevation=0.0, land_mask=land, manning=0.03, device="cpu", precision="double",
        boundaries=eagre.Boundaries(west=eagre.Stage(0.1), east=eagre.Absorbing()),
    )  # fmt: skip
    model.advance(4000.0)
    u, v = model.field("velocity_x"), model.field("velocity_y")
    assert u[2].mean() > 0.05
    assert abs(u[land]).max() == 0.0 and abs(v[land]).max() == 0.0
    assert v[14, 17] > 0.005 and v[6, 17] == pytest.approx(-v[14, 17], rel=1e-9)
    assert np.allclose(u, u[::-1], atol=1e-12)


def test_absorbing_side_lets_waves_out():
    grid = eagre.Grid(200, 3, 50.0, 50.0)
    x, _ = grid.mesh()
    sides = eagre.Boundaries(west=eagre.Absorbing(), east=eagre.Absorbing())
    hump = 0.01 * np.exp(-(((x - 5000.0) / 600.0) ** 2))
    for dt in (2.5, 20.0):
        model = eagre.ShallowWaterADI(
            grid, -10.0, dt, surface_elevation=hump, boundaries=sides, device="cpu", precision="double"
        )
        model.advance(1200.0)
        assert abs(model.field("surface_elevation")).max() < 0.02 * 0.01


def test_absorbing_side_brings_the_wave_in():
    """A wave of given height comes in through either side, runs through the channel and leaves at the other end."""
    times = np.linspace(0.0, 2000.0, 401)
    wave = eagre.Series(times, 0.01 * np.exp(-(((times - 400.0) / 100.0) ** 2)))
    grid = eagre.Grid(200, 3, 50.0, 50.0)
    for sides in ({"west": wave, "east": 0.0}, {"west": 0.0, "east": wave}):
        ends = {name: eagre.Absorbing(incoming) for name, incoming in sides.items()}
        model = eagre.ShallowWaterADI(
            grid, -10.0, 10.0, surface_elevation=0.0, boundaries=eagre.Boundaries(**ends), device="cpu",
            precision="double",
        )  # fmt: skip
        model.advance(400.0 + 5000.0 / np.sqrt(98.1))  # the crest is in the middle
        z = model.field("surface_elevation")[1]
        assert z.max() == pytest.approx(0.01, rel=0.01) and abs(int(z.argmax()) - 100) <= 1
        model.advance(2000.0)
        assert abs(model.field("surface_elevation")).max() < 0.02 * 0.01


def test_blow_up_is_named_and_the_last_good_state_kept():
    model = pool(surface_elevation=0.0, drying="off")
    model.advance(20.0)
    state = model.state()
    state["z"][20, 30] = np.nan
    model._stepper.restore(state)  # the model takes no such state
    model._stepper.checkpoint.forget()
    with pytest.raises(eagre.BlowUpError, match="try:     a shorter time_step") as error:
        model.advance(200.0)
    assert "courant_number" not in str(error.value)
    assert model.time == 20.0


def test_refusals():
    grid = eagre.Grid(10, 8, 10.0, 10.0)
    make = eagre.ShallowWaterADI
    with pytest.raises(eagre.InputError, match="Absorbing"):
        make(grid, -1.0, 1.0, boundaries=eagre.Boundaries(east=eagre.Outflow()), device="cpu")
    with pytest.raises(eagre.InputError, match="periodic"):
        make(grid, -1.0, 1.0, boundaries=eagre.Boundaries(west=eagre.Periodic(), east=eagre.Periodic()), device="cpu")
    with pytest.raises(eagre.InputError, match="either manning or chezy"):
        make(grid, -1.0, 1.0, manning=0.03, chezy=50.0, device="cpu")
    with pytest.raises(eagre.InputError, match="viscosity"):
        make(grid, -1.0, 1.0, viscosity=100.0, device="cpu")
    with pytest.raises(eagre.InputError, match="drying"):
        make(grid, 1.0, 1.0, surface_elevation=0.0, drying="off", device="cpu")
    with pytest.raises(eagre.InputError, match="land_mask of shape"):
        make(grid, -1.0, 1.0, land_mask=np.zeros((3, 3), bool), device="cpu")
    with pytest.raises(eagre.InputError, match="Strickler coefficient"):
        make(grid, -1.0, 1.0, manning=32.0, device="cpu")
    for step in (0.0, -1.0, None, float("nan")):
        with pytest.raises(eagre.InputError, match="time_step"):
            make(grid, -1.0, step, device="cpu")


def test_other_cells_states_and_times_are_refused():
    """A smaller state would fit into the padded arrays."""
    model = pool()
    for cell in ((40, 0), (0, 60), (-1, 0)):
        with pytest.raises(eagre.InputError, match="j from 0 to 39"):
            model.sample(["depth"], [cell])
    with pytest.raises(eagre.InputError, match=r"z of shape \(30, 60\)"):
        model.restore(pool(ny=30).state())
    with pytest.raises(eagre.InputError, match="until = nan"):
        model.advance(float("nan"))


def test_memory_is_checked_first():
    with pytest.raises(eagre.MemoryNeededError):
        eagre.ShallowWaterADI(eagre.Grid(10**6, 10**6, 1.0, 1.0), -1.0, 1.0, device="cpu")


def fields_of(things, engine):
    """How many different arrays of the size of a field are among nested tuples."""
    found, left = set(), list(things)
    while left:
        thing = left.pop()
        if isinstance(thing, tuple | list):
            left += thing
        elif getattr(thing, "shape", None) == engine.z[0].shape:
            found.add(id(thing))
    return len(found)


def test_words_of_a_step_and_of_memory():
    """A sweep reads five fields and writes two: 14 words a cell and step; maps come on top; memory is as predicted."""
    plain, full = pool()._engine, everything()._engine
    assert [fields_of(launch.arguments, plain) for launch in plain.launches(0, 0)] == [7, 7]
    sweeps = [one for one in full.launches(0, 0) if isinstance(one.arguments[0], Fields)]  # others book the rain
    assert [fields_of(launch.arguments, full) for launch in sweeps] == [10, 10]
    assert all(size <= n + more for size, n, more in zip(plain.z[0].shape, (40, 60), MAX_MARGIN, strict=True))
    held = [[*e.z, *e.p, *e.q, e.bed, e._friction, *(bound.arguments for bound in e._terms)] for e in (plain, full)]
    assert fields_of(held[0], plain) + 1 == DEVICE_WORDS  # without a friction map
    assert fields_of(held[1], full) == DEVICE_WORDS + maps_of(full.setup.terms, "cpu")


def test_reach_of_the_coupling():
    """The MIKE 21 thesis's table: cells until 1e-16 (1e-7)."""
    assert [width(c, 1e-16) for c in (2.0, 4.4, 6.3)] == pytest.approx([38, 83, 116], abs=5)
    assert [width(c, 1e-7) for c in (2.0, 4.4, 6.3)] == pytest.approx([17, 36, 51], abs=3)


def test_plans_cover_the_lines():
    for n in (1, 31, 129, 500, 1025, 4097, 9000):
        for courant in (0.5, 4.4, 15.0):
            grid = eagre.Grid(n, n, 1.0, 1.0)
            plan = plan_of(RecordingDevice(), grid, "single", courant, True, True)
            (windows, _), (_, warps) = plan.shape_x(grid)
            covered = windows * 128 * warps - 2 * plan.overlap * (windows - 1)
            assert covered >= n + 1
            (_, segments), _ = plan.shape_y(grid)
            assert segments * plan.rows * plan.threads >= n + 1


def test_rows_of_a_block_fill_the_waves():
    """As timed on an H200 (benchmarks/NOTES.md): whole waves of blocks; few long runs where cells are quickly done."""

    def run(nx, ny, precision, light=False):
        return plan_of(RecordingDevice(), eagre.Grid(nx, ny, 1.0, 1.0), precision, 4.473, False, False, light=light).run

    squares = (256, 1024, 2048, 4096, 8192)
    assert [run(n, n, "double") for n in squares] == [1, 4, 21, 16, 16]
    assert [run(n, n, "single") for n in squares] == [1, 4, 16, 16, 16]  # on an H100, 2048 x 2048 cells only
    assert [run(n, n, "double", light=True) for n in squares] == [1, 4, 21, 94, 373]
    assert [run(n, n, "single", light=True) for n in squares] == [1, 3, 12, 47, 187]
    assert [run(4096, 2168, precision) for precision in ("double", "single")] == [25, 17]
    assert [run(3000, 2500, precision) for precision in ("double", "single")] == [19, 14]


def test_long_runs_are_for_cells_that_are_quickly_done(own_layout):
    """The engine tells the plan of them: neither drying nor dissipation."""
    pytest.importorskip("numba_cuda", reason="pip install 'eagre[sim]'")
    own_layout(**{"shallow-water-adi": {"small": {"cells": 160000}}})
    device = RecordingDevice(replace(RecordingDevice().properties, multiprocessors=1))

    def run(**options):
        grid = eagre.Grid(40, 1500, 1.0, 1.0)
        model = eagre.ShallowWaterADI(grid, -1.0, 0.1, surface_elevation=0.0, device=device, **options)
        return model._engine.plan.run

    longest = device.parameters("shallow-water-adi.run").longest
    assert run(drying="off", dissipation="none") > longest
    for options in ({}, {"drying": "off"}, {"dissipation": "none"}):
        assert run(**options) <= longest
