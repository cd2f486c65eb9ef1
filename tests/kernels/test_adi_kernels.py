"""The sweeps of the ADI model: plain Python = CPU = CUDA simulator; what the GPU's compiler makes of them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from adi_runs import bay as partly_dry_bay
from adi_runs import largest_difference as slab_difference
from adi_runs import lines_along, pool, scattered_walls
from eagre import (
    Absorbing,
    Boundaries,
    BoundarySegment,
    Coriolis,
    Discharge,
    Grid,
    Rain,
    ShallowWaterADI,
    Stage,
    WindStress,
)
from eagre.backend.device import PlainDevice
from eagre.backend.group import Group
from eagre.contract import Recording
from eagre.kernels.roots import power_seven_sixths
from eagre.laboratory.bench.papers import mike21_sweeps
from eagre.models.shallow_water_adi.sweeps import sweep_cuda_y
from kernels.recording import RecordingDevice, name_of
from physics.test_adi_against_oracle import bay, model_of

OPEN = Boundaries(
    west=Stage(0.3), east=Absorbing(0.1), south=Discharge(50.0), north=[BoundarySegment(0.0, 900.0, Stage(0.1))]
)

WALLS = {nx: lines_along(scattered_walls((13, nx)), 100.0, 70.0) for nx in (41, 141)}
WALLS_OF_SLABS = lines_along(scattered_walls((31, 9), 0.2), 100.0, 70.0)
FORCES = (Rain(1e-4), Coriolis(f=1e-2), WindStress(2.0, -3.0))


def states(device, precision="double", nx=40, ny=13, steps=2, layout=None, bed=None, speed=0.2, **options):
    """State after a few short steps over a rough bed."""
    rng = np.random.default_rng(1)
    grid = Grid(nx, ny, 100.0, 70.0)
    rough = rng.uniform(-12.0, -8.0, grid.shape_of("corner"))
    model = ShallowWaterADI(
        grid, rough if bed is None else bed, 3.0,
        surface_elevation=0.2 * rng.standard_normal(grid.shape), velocity_x=speed * rng.standard_normal(grid.shape),
        velocity_y=speed * rng.standard_normal(grid.shape), manning=1 / 32, device=device, precision=precision,
        **options,
    )  # fmt: skip
    if layout:
        model._engine.replan(overlap=64, **layout)
    model.advance(3.0 * steps)
    return model.state()


def largest_difference(one, other):
    return max(abs(one[k].astype(float) - other[k]).max() for k in ("z", "p", "q_before", "q_after", "book"))


@pytest.mark.parametrize("precision", ["single", "double"])
def test_plain_python_equals_compiled(precision):
    plain, compiled = (states(device, precision, 9, 7, boundaries=OPEN) for device in (PlainDevice(), "cpu"))
    assert largest_difference(plain, compiled) < (2e-5 if precision == "single" else 3e-13)
    assert abs(compiled["p"]).max() > 1.0


LAYOUTS = {
    "exact": {"warps": 2, "run": 4, "rows": 3, "threads": 2, "exact": True, "mode_y": 2, "kinds": 4, "preload": True},
    "exchange": {"warps": 2, "run": 4, "rows": 6, "threads": 2, "width": 32, "mode_y": 1, "kinds": 3, "prefetch": True},
    "narrow": {"warps": 1, "run": 2, "rows": 4, "threads": 4, "width": 8, "mode_y": 0, "prefetch": False},
}


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("layout", "nx", "more"),
    [
        ("exact", 200, {}),
        ("exchange", 40, {"boundaries": OPEN, "viscosity": 2.0, "sources": FORCES}),
        ("narrow", 40, {"drying": "off", "dissipation": "none"}),
    ],
)
def test_simulated_sweeps_equal_the_cpu(layout, nx, more):
    from eagre.backend.simulated import SimulatedDevice

    options = {"nx": nx, "ny": 13, "steps": 1, **more}
    simulated = states(SimulatedDevice(), layout=LAYOUTS[layout], **options)
    assert largest_difference(simulated, states("cpu", **options)) < (1e-7 if layout == "exchange" else 1e-12)


@pytest.mark.simulator
@pytest.mark.parametrize("layout", ["exact", "exchange"])
def test_simulated_sweeps_equal_the_cpu_on_shores_and_in_fast_flow(layout):
    """Faces under deep water, thin water, dry ones and Froude numbers above 1."""
    from eagre.backend.simulated import SimulatedDevice

    nx, ny = (140, 13) if layout == "exact" else (40, 13)
    x, y = Grid(nx, ny, 100.0, 70.0).mesh("corner")
    bed = -3.0 + 3.5 * np.sin(x / 300.0) * np.cos(y / 200.0)
    results = []
    for device, chosen in ((SimulatedDevice(), LAYOUTS[layout]), ("cpu", None)):
        results.append(states(device, layout=chosen, nx=nx, ny=ny, steps=1, bed=bed, speed=4.0, sources=FORCES))
    assert largest_difference(*results) < (1e-7 if layout == "exchange" else 1e-12)
    h = np.maximum(results[1]["z"] - 0.25 * (bed[1:, 1:] + bed[1:, :-1] + bed[:-1, 1:] + bed[:-1, :-1]), 0.0)
    assert (h == 0.0).any() and (h > 5.0).any()


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("layout", "nx", "precision", "more"),
    [
        ("exact", 141, "double", {"speed": 4.0}),
        ("exchange", 41, "double", {"boundaries": replace(OPEN, internal=WALLS[41]), "viscosity": 2.0}),
        ("narrow", 41, "double", {"drying": "off", "dissipation": "none"}),
        ("narrow", 41, "single", {"sources": FORCES}),
    ],
)
def test_simulated_sweeps_equal_the_cpu_beside_walls_inside(layout, nx, precision, more):
    """Faces along and across the lines, some at both sides of the ends of lanes, warps, threads and blocks."""
    from eagre.backend.simulated import SimulatedDevice

    options = {"precision": precision, "nx": nx, "ny": 13, "steps": 1, "boundaries": Boundaries(internal=WALLS[nx])}
    results = [
        states(device, layout=chosen, **options | more)
        for device, chosen in ((SimulatedDevice(), LAYOUTS[layout]), ("cpu", None))
    ]
    tolerance = 1e-4 if precision == "single" else 1e-7 if layout == "exchange" else 1e-12
    assert largest_difference(*results) < tolerance


@pytest.mark.simulator
def test_simulated_devices_equal_the_cpu_beside_walls_inside():
    from eagre.backend.simulated import SimulatedDevice

    walls = Boundaries(internal=lines_along(scattered_walls((65, 5), 0.2), 100.0, 70.0))
    devices = Group([SimulatedDevice() for _ in range(2)]), "cpu"
    ours, theirs = (pool(device, "single", 5, 65, boundaries=walls) for device in devices)
    for model in (ours, theirs):
        model.advance(6.0)
    assert len(ours._engine.subdomains) == 2
    assert largest_difference(ours.state(), theirs.state()) < 1e-4


@pytest.mark.simulator
def test_simulated_reference_kernels_and_gauges_of_devices_equal_the_cpu():
    """Both slabs hold all rows; each device samples its own."""
    from eagre.backend.simulated import SimulatedDevice

    devices, found = (Group([SimulatedDevice() for _ in range(2)]), "cpu"), []
    models = [partly_dry_bay(device, nx=9, ny=31, kernels="reference") for device in devices]
    points, times = [(j, 3) for j in (0, 14, 15, 30)], (10.0, 20.0)
    for model in models:
        values: list[np.ndarray] = []
        recording = Recording(
            ["surface_elevation", "discharge_y"], points, lambda start, end, _: [t for t in times if start < t <= end],
            lambda _, batch, to=values: to.extend(batch().values()),
        )  # fmt: skip
        model.start_sampling(recording)
        model.advance(20.0)
        found.append(np.array(values))
    assert not models[0]._engine.joined and slab_difference(*models) < 1e-12
    assert found[0].shape == (2, 2, 4) and np.ptp(found[1]) > 0.1
    np.testing.assert_allclose(*found, rtol=1e-11, atol=1e-11)


JOINED = {
    "all terms": (partly_dry_bay, {"viscosity": 2.0}, {"rows": 3, "threads": 2, "kinds": 4}, 3, "double"),
    "threads without a face": (partly_dry_bay, {}, {"rows": 3, "threads": 8, "kinds": 4, "width": 8}, 2, "double"),
    "three values per row": (pool, {"drying": "off", "dissipation": "none"}, {"rows": 4, "threads": 2, "kinds": 3}, 2,
                             "double"),
    "walls inside": (pool, {"boundaries": Boundaries(internal=WALLS_OF_SLABS)}, {"rows": 5, "threads": 1}, 4, "double"),
    "usual layout": (pool, {}, {}, 4, "single"),
}  # fmt: skip


@pytest.mark.simulator
@pytest.mark.parametrize(("make", "options", "layout", "count", "precision"), JOINED.values(), ids=JOINED)
def test_simulated_joined_lines_equal_the_cpu(make, options, layout, count, precision):
    """Slabs of 7 or more rows, which one or more blocks of a column hold."""
    from eagre.backend.simulated import SimulatedDevice

    devices = Group([SimulatedDevice() for _ in range(count)]), "cpu"
    ours, theirs = (make(device, precision, nx=9, ny=31, **options) for device in devices)
    for engine in ours._engine.engines:
        if layout:
            engine.replan(overlap=64, warps=1, run=2, **layout)
        segments = engine._shape_y()[0][1]
        assert (segments > 1) == (layout.get("threads", 8) < 8)
    ours._engine.step_graphs.clear()
    for model in (ours, theirs):
        model.advance(2.0 * theirs._engine.dt)
    tolerance = 1e-5 if precision == "single" else 1e-12
    assert ours._engine.joined and slab_difference(ours, theirs) < tolerance


@pytest.mark.simulator
def test_simulated_windows_keep_a_uniform_flow():
    """At inner ends of windows the old flux stands for the unknown: in a steady flow they are the same."""
    from eagre.backend.simulated import SimulatedDevice

    grid = Grid(150, 2, 100.0, 100.0)
    sides = Boundaries(west=Discharge(200.0), east=Discharge(-200.0))
    model = ShallowWaterADI(
        grid, -10.0, 40.0, surface_elevation=0.0, velocity_x=0.1, boundaries=sides, device=SimulatedDevice(),
        precision="double",
    )  # fmt: skip
    model._engine.replan(overlap=8, warps=1, run=2, rows=2, threads=1, width=32, mode_y=0, prefetch=False)
    assert model._engine.plan.shape_x(grid)[0][0] == 2  # windows
    model._engine.run(2, 0.0, 0)
    state = model.state()
    assert abs(state["p"] - 1.0).max() < 1e-13 and abs(state["z"]).max() < 1e-13


@pytest.mark.simulator
def test_coupling_that_is_left_out_is_noticed_and_joined_from_then_on():
    """A step far too long for three pieces of six cells: the guard sees it, and what follows is exact."""
    from eagre.backend.simulated import SimulatedDevice

    grid, noise = Grid(3, 14, 100.0, 100.0), np.random.default_rng(1).standard_normal((14, 3))
    ours, theirs = (
        ShallowWaterADI(grid, -10.0, 40.0, surface_elevation=0.2 * noise, device=device, precision="double")
        for device in (SimulatedDevice(), "cpu")
    )
    ours._engine.replan(overlap=64, warps=1, run=2, rows=3, threads=2, width=8, mode_y=1, prefetch=False)
    assert "nearest-neighbour coupling of blocks" in ours.settings()["lines"]
    ours._engine.run(1, 0.0, 0)
    ours._engine.check_plan()  # as after every look at the state
    assert ours._engine.plan.mode_y != 1 and "nearest-neighbour coupling of blocks" not in ours.settings()["lines"]
    theirs.advance(40.0)
    assert largest_difference(ours.state(), theirs.state()) > 1e-6


def pieces():
    """Noise in columns of three pieces, joined by neighbours though a step is too long for that."""
    from eagre.backend.simulated import SimulatedDevice

    noise = np.random.default_rng(1).standard_normal((14, 2))
    options = {"surface_elevation": 0.2 * noise, "device": SimulatedDevice(), "precision": "double"}
    model = ShallowWaterADI(Grid(2, 14, 100.0, 100.0), -10.0, 40.0, **options)
    model._engine.replan(overlap=64, warps=1, run=7, rows=3, threads=2, width=4, mode_y=1, prefetch=False)
    return model


@pytest.mark.simulator
def test_a_restart_goes_on_with_the_layout_of_the_run_bit_for_bit():
    """After pieces were joined exactly; without the layout, as from an older version, bits are others."""
    whole, new, old = pieces(), pieces(), pieces()
    whole._engine.run(1, 0.0, 0)
    whole._engine.check_plan()
    state = whole._engine.state()
    new._engine.restore(state)
    old._engine.restore({name: value for name, value in state.items() if name != "plan"})
    for model in (whole, new, old):
        model._engine.run(1, 40.0, 1)
    found, same, others = (model._engine.state() for model in (whole, new, old))
    assert all(np.array_equal(found[name], same[name]) for name in found)
    assert found["plan"][0, -1] != 1 and np.array_equal(found["plan"], state["plan"])
    assert not np.array_equal(found["z"], others["z"])


@pytest.mark.simulator
def test_neutral_parameters_change_no_bit():
    from eagre.backend.simulated import SimulatedDevice

    usual = {"warps": 1, "rows": 3, "threads": 2, "mode_y": 2, "run": 2, "width": 8, "kinds": 4, "prefetch": False}
    other = {"run": 7, "width": 4, "kinds": 3, "prefetch": True, "row_bytes": 16}
    ours, theirs = (states(SimulatedDevice(), layout=usual | more, nx=9, ny=7, steps=1) for more in ({}, other))
    assert all(np.array_equal(ours[field], theirs[field]) for field in theirs)


@pytest.mark.simulator
def test_steps_stay_on_the_device(monkeypatch):
    """Nothing is copied to or from the device between steps."""
    from eagre.backend.simulated import SimulatedDevice

    device = SimulatedDevice()
    model = ShallowWaterADI(Grid(3, 2, 100.0, 100.0), -10.0, 3.0, surface_elevation=0.1, device=device)
    model._engine.run(2, 0.0, 0)  # both orders of the buffers are bound

    def refuse(*arguments):
        raise AssertionError("a copy")

    for verb in ("array", "host", "fill", "zeros", "copy"):
        monkeypatch.setattr(device, verb, refuse)
    model._engine.run(2, 6.0, 0)


@pytest.mark.parametrize(("strips", "segments", "group"), [(5, 3, 2), (7, 4, 8), (1, 1, 1), (16, 6, 8)])
def test_blocks_side_by_side_cover_all_strips_and_segments(strips, segments, group):
    """Every block once, and the blocks below and above one of a strip start at most `group` blocks before or after."""
    numbers = {
        sweep_cuda_y.block_position(np.uint32(n), np.int32(strips), np.int32(segments), group): n
        for n in range(strips * segments)
    }
    assert set(numbers) == {(strip, segment) for strip in range(strips) for segment in range(segments)}
    above = [numbers[strip, segment + 1] - n for (strip, segment), n in numbers.items() if segment + 1 < segments]
    assert all(0 < ahead <= group for ahead in above)


def test_power_seven_sixths():
    from eagre.backend.select import select

    x = np.exp(np.random.default_rng(0).uniform(-16.0, 16.0, (3, 100)))
    for precision, limit in (("single", 5e-7), ("double", 1e-14)):
        assert abs(power(select("cpu"), x, precision) / x ** (7 / 6) - 1).max() < limit


def power(device, x, precision):
    from kernels.programs import sevenths

    real = np.float32 if precision == "single" else np.float64
    out = np.zeros_like(x, dtype=real)
    device.run([device.over(device.loop(sevenths, precision), x.shape, (x.astype(real), out))])
    assert power_seven_sixths(4.0) == pytest.approx(4.0 ** (7 / 6))
    return out


def sweep_ptx(along, precision, walls=False):
    """PTX of a sweep with every term for an H200, made without one."""
    from numba import typeof

    from eagre.backend.cuda.compiler import ptx

    device, case = RecordingDevice(), bay()
    case = replace(case, walls=scattered_walls(case.shape) if walls else None)
    [launch] = [
        one for one in model_of(case, precision, device)._engine.launches(0, 0)
        if name_of(one.program) == f"sweep_{along}_cuda"
    ]  # fmt: skip
    return ptx(launch.program, tuple(typeof(value) for value in launch.arguments))


@pytest.mark.parametrize("walls", [False, True])
@pytest.mark.parametrize("along", ["x", "y"])
def test_single_precision_sweeps_have_no_double_arithmetic(along, walls):
    pytest.importorskip("numba_cuda", reason="pip install 'eagre[sim]'")
    text = sweep_ptx(along, "single", walls)
    doubles = re.findall(r"\b(?:mul|div|fma|sqrt|rcp|max|min)[\w.]*\.f64", text)
    assert len(doubles) <= 4  # of the series' values, which are double
    assert not re.findall(r"\.local", text)


@pytest.mark.parametrize("walls", [False, True])
@pytest.mark.parametrize("along", ["x", "y"])
def test_double_precision_sweeps_use_seeds(along, walls):
    pytest.importorskip("numba_cuda", reason="pip install 'eagre[sim]'")
    text = sweep_ptx(along, "double", walls)
    assert "rcp.approx.ftz.f64" in text
    assert not re.findall(r"(?:div|sqrt)\.rn\.f64", text)


@pytest.mark.parametrize("version", mike21_sweeps.CPU)
def test_the_sweeps_of_the_thesis_equal_the_model(version):
    """Slow references: rows stored, transposed, folded, on the fly."""
    sweeps = mike21_sweeps.Sweeps(PlainDevice(), "double", 6)
    assert sweeps.difference(mike21_sweeps.CPU[version]) < 1e-13
