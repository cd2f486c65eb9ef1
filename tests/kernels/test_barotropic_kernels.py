"""The barotropic model's kernels: CUDA (simulated) = CPU; no double arithmetic in single precision."""

from __future__ import annotations

import re

import numpy as np
import pytest

from barotropic_runs import CASES, assert_same_states, model_on
from eagre import Layers
from kernels.recording import RecordingDevice, name_of

SMALL = {"nx": 17, "ny": 14, "time_step": 1e-3, "biharmonic": 1e-4}
TWO_LAYERS = {"layers": Layers(3.0, 1.0), "potential_vorticity_lower": 3.0}
SIMULATED = {
    "single": {"precision": "single"},
    "ab2": {**CASES["ab2"], "ny": 23},
    "chirp": {**CASES["no-slip"], "nx": 12},  # 11 intervals have no plan
    "wide tiles": {**CASES["ab2"], "ny": 23, "wide": 2},
    "implicit": CASES["implicit"],
    "channel": {**CASES["channel"], "nx": 10},
    "two layers": TWO_LAYERS,
    "two layers, wide tiles": {**TWO_LAYERS, "ny": 23, "wide": 2},
    "tracer, partial slip": {"dye": True, "walls": "no-slip", "slip_length": 0.2},
    "tracer, ab2, single": {**CASES["ab2"], "dye": True, "precision": "single"},
    **{name: CASES[name] for name in ("default", "all terms", "compensated", "changing wind")},
}


@pytest.mark.simulator
@pytest.mark.parametrize("options", SIMULATED.values(), ids=SIMULATED)
def test_simulated_cuda_equals_the_cpu(options, own_layout):
    from eagre.backend.simulated import SimulatedDevice

    options = {**SMALL, **options}
    own_layout(**{"solver:poisson": {"tiles": {"wide_from": options.pop("wide", 1024)}}})
    ours, theirs = (model_on(device, **options) for device in (SimulatedDevice(), "cpu"))
    for model in (ours, theirs):
        model.advance(3e-3)
    assert_same_states(ours, theirs, 2e-5 if options.get("precision") == "single" else 1e-12)


def test_tracer_and_layers_run_in_the_fused_kernel():
    device = RecordingDevice()
    model_on(device, 17, 14, dye=True, layers=Layers(3.0, 1.0)).steps_without_checks(2)()
    names = [name_of(program) for program in device.found]
    assert set(names) == {
        "update_cuda", "update_layers_cuda", "boundary_y", "boundary_x", "solve_columns_cuda", "sine_layers_cuda",
    }  # fmt: skip
    assert names.count("update_cuda") == 1 and names.count("update_layers_cuda") == 1


@pytest.mark.simulator
def test_simulated_transpose():
    from eagre.backend.device import Launch
    from eagre.backend.simulated import SimulatedDevice
    from eagre.solvers.poisson.reference import transpose_cuda

    source = np.random.default_rng(0).standard_normal((40, 50)).astype(np.float32)
    target, device = np.zeros((50, 40), np.float32), SimulatedDevice()
    device.run([Launch(device.program(transpose_cuda, "single"), (source, target), (2, 2), (32, 8))])
    assert np.array_equal(target, source.T)


@pytest.mark.simulator
def test_simulated_memory_accesses():
    from eagre.backend.simulated import SimulatedDevice
    from eagre.laboratory.bench.papers import memory_access
    from eagre.laboratory.reproduce.items.bleichrodt2011 import PATTERNS

    device = SimulatedDevice()
    accesses = list(memory_access.accesses(device, count=1024, side=40))
    assert len(accesses) == 10
    for access in accesses:
        assert not access.correct(), access.name
        device.run([access.launch])
        assert access.correct(), access.name
    assert {access.name for access in accesses} >= {*PATTERNS, *PATTERNS.values()}


def test_memory_accesses_compile_for_the_gpu():
    pytest.importorskip("numba_cuda", reason="pip install 'eagre[sim]'")
    from numba import types

    from eagre.backend.compilation.program import load, source_of
    from eagre.backend.cuda.compiler import ptx
    from eagre.laboratory.bench.papers import memory_access as module

    line = types.float32[::1]
    for entry, signature, switches in (
        (module.strided_copy, (line, line, types.int64, types.int64), {}),
        (module.summed, (line, line), {"DIVERGENT": False}),
        (module.summed, (line, line), {"DIVERGENT": True}),
    ):
        program = getattr(load(source_of(entry, "cuda", "single", switches), entry.name), entry.name)
        text = ptx(program, signature)
        assert ".f64" not in text and (".shared" in text) == (entry is module.summed)


@pytest.mark.simulator
def test_steps_stay_on_the_device(monkeypatch):
    """Nothing is copied to or from the device between steps."""
    from eagre.backend.simulated import SimulatedDevice

    device = SimulatedDevice()
    model = model_on(device, **{**SMALL, **CASES["ab2"], "nx": 9, "ny": 6})
    model.advance(2e-3)  # the start, whose weights the host sets, is over

    def refuse(*arguments):
        raise AssertionError("a copy")

    for verb in ("array", "host", "fill", "zeros", "copy"):
        monkeypatch.setattr(device, verb, refuse)
    model._engine.advance(2)
    assert model.steps == 4


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("n", "cut"),
    [
        *((n, None) for n in (16, 48, 64, 96)),
        *((n, None) for n in (11, 43, 130)),  # by way of a chirp
        (96, (12, (4, 4), 96, 16)),  # two transforms a thread
        (128, (4, (4, 4, 4), 128)),  # three passes before the last
    ],
)
def test_simulated_sine_transform(n, cut):
    import scipy.fft

    from eagre.backend.device import Launch
    from eagre.backend.simulated import SimulatedDevice
    from eagre.solvers.poisson.rows_cuda import sine_rows_cuda
    from eagre.solvers.poisson.sine_plan import SinePlan, sine_plan

    plan = SinePlan(n, *cut) if cut else sine_plan(n)
    x = np.zeros((5, n + 1))
    x[1:-1, 1:-1] = np.random.default_rng(0).standard_normal((3, n - 1))
    out = np.zeros_like(x)
    device = SimulatedDevice()
    program = device.program(sine_rows_cuda, "double", plan.switches())
    device.run([Launch(program, (x, out, plan.table), (2,), (plan.threads,), plan.shared_bytes(8))])
    expected = scipy.fft.dst(x[1:-1, 1:-1], type=1, axis=1) / 2
    assert np.abs(out[1:-1, 1:-1] - expected).max() < 1e-15 * n * np.abs(x).max()
    assert (out[[0, -1]] == 0).all() and (out[:, 0] == 0).all()


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("precision", "width", "beside"), [("double", 4, 1), ("double", 8, 2), ("single", 16, 2), ("single", 8, 4)]
)
def test_simulated_columns(precision, width, beside):
    """Tiles as wide as a block's columns and wider; pieces side by side."""
    from eagre.backend.device import Launch, check_precision
    from eagre.backend.simulated import SimulatedDevice
    from eagre.solvers.poisson.columns import column_table
    from eagre.solvers.poisson.columns_cuda import solve_columns_cuda

    real, columns, own, nx, ny = check_precision(precision), 8 if precision == "single" else 4, 4, 14, 43
    threads = -(-(-(-(ny - 1) // own) * columns) // 32) * 32
    zeta = np.zeros((-(-nx // width), ny, width), real)
    zeta[:, : ny - 1] = np.random.default_rng(0).standard_normal((zeta.shape[0], ny - 1, width))
    expected = np.zeros((nx, ny - 1))
    for k in range(1, nx):
        sigma = 4.0 * (0.3 / 0.2) ** 2 * np.sin(0.5 * np.pi * k / nx) ** 2
        matrix = np.diag(np.full(ny - 1, -2.0 - sigma)) + np.diag(np.ones(ny - 2), 1) + np.diag(np.ones(ny - 2), -1)
        expected[k] = np.linalg.solve(matrix, 0.3**2 * 2.0 / nx * zeta[k // width, : ny - 1, k % width].astype(float))
    device = SimulatedDevice()
    switches = {"OWN": own, "COLUMNS": columns, "WIDTH": width, "INTERLEAVED": beside}
    program = device.program(solve_columns_cuda, precision, switches)
    table = column_table(nx, ny, 0.2, 0.3, 0.0, own).astype(real)
    height = -(-ny // (own * beside)) * own * beside
    piece, m = np.divmod(np.arange(height), own)
    place = (piece // beside * own + m) * beside + piece % beside  # of every row
    stored = np.zeros((zeta.shape[0], height, width), real)
    stored[:, place[:ny]] = zeta
    flat = stored.reshape(-1)
    arguments = (flat, flat, table, np.int32(ny + 1), np.int32(height))
    device.run([Launch(program, arguments, (-(-nx // columns),), (threads,))])
    found = np.moveaxis(stored[:, place], 1, 2).reshape(-1, height)[1:nx, : ny - 1]
    assert np.abs(found - expected[1:]).max() < (1e-6 if precision == "single" else 1e-14) * np.abs(expected).max()


def kernel_ptx(kind, precision):
    from numba import types

    from eagre.backend.compilation.program import load, source_of
    from eagre.backend.cuda.compiler import ptx
    from eagre.models.barotropic.kernels import Coefficients, LayerFields
    from eagre.models.barotropic.update.update_cuda import update_cuda
    from eagre.solvers.poisson.columns_cuda import solve_columns_cuda
    from eagre.solvers.poisson.sine_plan import sine_plan

    real = types.float32 if precision == "single" else types.float64
    field = real[:, ::1]
    if kind == "update":
        entry, switches = update_cuda, sine_plan(1024).switches()
        coefficients = types.NamedTuple([real] * len(Coefficients._fields), Coefficients)
        fields = types.NamedTuple([field] * len(LayerFields._fields), LayerFields)
        signature = (fields, field, real[::1], coefficients, field, field)
    else:
        entry, switches = solve_columns_cuda, {"OWN": 16, "COLUMNS": 8}
        signature = (real[::1], real[::1], field, types.int32, types.int32)
    module = load(source_of(entry, "cuda", precision, switches), entry.name)
    return ptx(getattr(module, entry.name), signature)


@pytest.mark.parametrize("kind", ["update", "columns"])
def test_single_precision_kernels_have_no_double_arithmetic(kind):
    pytest.importorskip("numba_cuda", reason="pip install 'eagre[sim]'")
    text = kernel_ptx(kind, "single")
    assert not re.findall(r"\b(?:add|sub|mul|div|fma|sqrt|rcp|max|min)[\w.]*\.f64", text)
    assert ".local" not in text
    assert len(re.findall(r"^\s+[a-z@%].*;", text, re.MULTILINE)) < 1700  # raise with a measurement only
