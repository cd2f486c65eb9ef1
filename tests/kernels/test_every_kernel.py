"""Every kernel that a model launches on a GPU, compiled without one: no double arithmetic in single precision."""

from __future__ import annotations

import re

import numpy as np
import pytest

import eagre
from barotropic_runs import CASES, model_on
from eagre.backend.device import HostCall
from eagre.backend.select import select
from eagre.models.shallow_water import infiltration
from eagre.solvers.tridiagonal.solve import launches
from kernels.recording import RecordingDevice, doubles_of, ir_of, name_of, scattered_of, vectors_of
from physics.test_adi_against_oracle import everything

DOUBLE_ON_PURPOSE = {
    "row_sums_cuda": 80,  # sums of rows are kept in double precision
    "balance_cuda": 8,
    "accumulate_cuda": 8,  # as the sums of the ADI model
    "boundary_pass_cuda": 55,  # its last block judges the clock, and series are looked up in double
    "conclude_cuda": 26,  # the clock alone
    "tile_stage_cuda": 32,  # one thread judges the clock
    "updated_compensated": 3,  # a compensated sum, which the compiler would undo in single precision
    "drifted": 60,  # particles: a position in grid units has to resolve a step
    "infiltrate": 9,  # the cumulative infiltration is double: increments are small
    "infiltrate_listed": 9,
    "count_step": 5,  # one thread finds the time of the step among the records of the wind
}
"""Most double operations of an entry, and why it has any; all others have none."""

TIMES = np.array([0.0, 50.0])
SERIES = eagre.Series(TIMES, np.array([0.0, 0.1]))
OPEN = {
    "manning": np.full((30, 40), 0.02),
    "boundaries": eagre.Boundaries(
        eagre.Stage(SERIES),
        eagre.Absorbing(SERIES),
        eagre.Discharge(1.0),
        [eagre.BoundarySegment(0.0, 5.0, eagre.Outflow())],
    ),
    "sources": [
        eagre.Rain(eagre.Series(TIMES, np.array([0.0, 1e-3]))),
        eagre.Coriolis(f=1e-4),
        eagre.WindStress(0.1),
        eagre.AtmosphericPressure(np.zeros((30, 40))),
    ],
}
SHALLOW_WATER = {
    "tiles": {"manning": 0.03},
    "tiles with open sides and sources": OPEN,
    "open sides and sources": {"scheme": "euler", **OPEN},
    "kurganov-petrova": {"wet_dry": "kurganov-petrova", "scheme": "euler", **OPEN},
    "sweeps with open sides and sources": {"scheme": "ds2", **OPEN},
}


def check(device, **more):
    """No more double arithmetic in any program that the device was asked to run than is meant; more : of some."""
    limits = DOUBLE_ON_PURPOSE | more
    pytest.importorskip("numba_cuda", reason="pip install 'eagre[sim]'")
    found = [(name_of(program), *doubles_of(program, signature)) for program, signature in device.found.items()]
    assert [(name, count) for name, count, _ in found if count > limits.get(name, 0)] == []
    assert [name for name, _, local in found if local] == []
    return {name for name, *_ in found}


def slow_but(first, names):
    """Parameters of which all but the first are slow: a compilation takes a second or two."""
    return [name if name == first else pytest.param(name, marks=pytest.mark.slow) for name in names]


def test_infiltration():
    device, grid = RecordingDevice(), eagre.Grid(40, 30, 1.0, 1.0)
    soil = [eagre.GreenAmpt(1e-5, np.linspace(0.1, 0.2, 1200).reshape(30, 40), 0.3)]
    explicit = eagre.ShallowWater(grid, 0.0, depth=0.1, sources=soil, device=device, active_tiles="on")._engine
    implicit = eagre.ShallowWaterADI(grid, 0.0, 1.0, depth=0.1, sources=soil, device=device, precision="single")._engine
    device.found.clear()
    for tiles in (None, explicit.schedule.active):
        device.run(infiltration.launches(explicit, 0, 0, 1, tiles, GATE_ACCEPTED=True))
    device.run(implicit.infiltration(implicit.z[0]))
    assert check(device) == {"infiltrate", "infiltrate_listed"} and len(device.found) == 3


@pytest.mark.parametrize("name", slow_but("tiles", SHALLOW_WATER))
def test_shallow_water(name):
    device, grid = RecordingDevice(), eagre.Grid(40, 30, 1.0, 1.0)
    bed = np.random.default_rng(0).uniform(-1.0, 0.3, grid.shape_of("corner"))
    model = eagre.ShallowWater(grid, bed, surface_elevation=0.0, device=device, **SHALLOW_WATER[name])
    schedule = model._engine.schedule
    device.run([*schedule.launches, *schedule.conclude])
    tiles = {"tile_stage_cuda", "conclude_cuda"}
    stages = {"sweep_x_cuda", "sweep_y_cuda"} if "sweeps" in name else {"stage_cuda"}
    wanted = tiles if "tiles" in name else {*stages, "boundary_pass_cuda", "balance_cuda"}
    # Where sides are open, the warp of the clock also evaluates series and books the balance.
    # A step that is split has a longer verdict, moments of its series, and books halves.
    clock = {"boundary_pass_cuda": 80, "balance_cuda": 12} if "sweeps" in name else {}
    assert wanted <= check(device, tile_stage_cuda=100 if "open" in name else 32, **clock)


@pytest.mark.slow
def test_shallow_water_adi():
    device = RecordingDevice()
    model = everything("single", device)
    for which in (0, 1):
        device.run(model._engine.launches(which, which))
    assert {"sweep_x_cuda", "sweep_y_cuda", "accumulate_cuda"} <= check(device)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_barotropic(name):
    device = RecordingDevice()
    model = model_on(device, 65, 49, **{**CASES[name], "precision": "single"})
    for step in model._engine.launches:
        device.run(step)
    assert {"solve_columns_cuda"} <= check(device) or model.setup.basin != "box"  # the others transform by a library


@pytest.mark.slow
@pytest.mark.parametrize("method", ["thomas", "partition", "pcr", "cr", "cr-pcr"])
@pytest.mark.parametrize("shape", [(6, 300, 1), (1, 300, 40)], ids=["rows", "columns"])
def test_tridiagonal(method, shape):
    device = RecordingDevice()
    flat = [np.ones(shape, np.float32) for _ in range(5)]
    device.run(launches(device, "single", flat[:4], flat[4], method))
    assert check(device)


def test_a_double_is_noticed(monkeypatch):
    monkeypatch.setitem(DOUBLE_ON_PURPOSE, "conclude_cuda", 0)
    with pytest.raises(AssertionError, match="conclude_cuda"):
        test_shallow_water("tiles")


@pytest.mark.slow
@pytest.mark.parametrize("model", ["shallow-water-adi", "barotropic"])
def test_loops_on_the_cpu_are_vectorised(model):
    """Sweeps of the implicit model and the update of the vorticity (the explicit stage: `test_programs`)."""
    if model == "barotropic":
        launches = model_on("cpu", 65, 49, precision="single")._engine.launches[0][:1]
    else:
        sweeps = "sweep_x_cpu", "sweep_y_cpu"
        launches = [one for one in everything("single")._engine.launches(0, 0) if name_of(one.program) in sweeps]
    assert len(launches) == (1 if model == "barotropic" else 2)
    for launch in launches:
        text = ir_of(launch)
        assert min(vectors_of(text, "fmul"), vectors_of(text, "fadd")) > 20
        assert not re.findall(r"= f(?:add|sub|mul|div)[^\n]*double", text)
        along_x = name_of(launch.program) == "sweep_x_cpu"
        assert scattered_of(text) <= (16 if along_x else 0)  # rows are dealt among lines; all else lies in rows


@pytest.mark.slow
def test_columns_on_the_cpu_are_vectorised():
    """In double precision too, the recurrences of the longest waves."""
    [launch] = [
        one for one in model_on("cpu", 65, 49, precision="single")._engine.launches[0]
        if not isinstance(one, HostCall) and name_of(one.program) == "solve_columns_cpu"
    ]  # fmt: skip
    text = ir_of(launch)
    assert scattered_of(text) == 0
    assert vectors_of(text, "fmul") > 8
    assert len(re.findall(r"= fmul (?:\w+ )*<[248] x double>", text)) >= 2


@pytest.mark.slow
def test_elimination_on_the_cpu_is_vectorised():
    """Of neighbouring columns without gathers; contiguous lines have to be turned."""
    flat = [np.ones((1, 300, 100), np.float32) for _ in range(5)]
    [launch] = launches(select("cpu"), "single", flat[:4], flat[4], "thomas")
    text = ir_of(launch)
    assert scattered_of(text) == 0
    assert vectors_of(text, "fmul") > 5
