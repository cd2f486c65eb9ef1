"""Programs: what is generated, cached and refused; what the compilers make of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from eagre import ShallowWater
from eagre.backend.compilation.program import loop_source, source_of
from eagre.backend.device import CpuDevice, PlainDevice
from eagre.backend.select import select
from eagre.errors import EagreError
from eagre.kernels.maps import MapArrays
from eagre.models.shallow_water.active_tiles import Active
from eagre.models.shallow_water.kernels import Buffers, Domain, Parameters
from eagre.models.shallow_water.stages import row_streaming_cpu, row_streaming_cuda
from kernels.conftest import options_of
from kernels.programs import COUNTERS, forbidden, out_of_order, shifted, without_index
from kernels.recording import RecordingDevice, scattered_of


def test_switches_change_the_program():
    device = select("cpu")
    x = np.ones((2, 3))
    for shift in (1.0, 5.0):
        out = np.zeros_like(x)
        device.run([device.over(device.loop(shifted, "double", {"SHIFT": shift}), x.shape, (x, out))])
        assert (out == 1.0 + shift).all()


@pytest.mark.parametrize("shape", [(70,), (5, 37), (3, 5, 37)])
@pytest.mark.parametrize("target", ["cpu", "python", pytest.param("simulator", marks=pytest.mark.simulator)])
def test_regions_of_one_two_and_three_dimensions(target, shape):
    """Each point once, at its own place, and nothing behind the region."""
    if target == "simulator":
        from eagre.backend.simulated import SimulatedDevice as Chosen
    else:
        Chosen = CpuDevice if target == "cpu" else PlainDevice
    device, counter = Chosen(), COUNTERS[len(shape)]
    out = np.zeros([n + 2 for n in shape])
    device.run([device.over(device.loop(counter, "double"), shape, (out, 1000.0))])
    expected = 1.0 + sum(k * 1000.0**n for n, k in enumerate(reversed(np.indices(shape))))
    np.testing.assert_array_equal(out[tuple(slice(n) for n in shape)], expected)
    assert np.count_nonzero(out) == np.prod(shape)


@pytest.mark.parametrize("cell", [without_index, out_of_order])
def test_a_loop_needs_indices_in_order(cell):
    with pytest.raises(EagreError, match="does not begin with"):
        loop_source(cell, "cpu", "double", {})


@pytest.mark.parametrize("dimensions", [2, 3])
def test_points_of_a_field_are_picked(dimensions):
    array = np.random.default_rng(0).random((2, 3, 4, 5)[-1 - dimensions :])
    points = np.array([[0, 1, 2], [3, 0, 1], [4, 4, 0]])[-dimensions:]
    found = select("cpu").sample(array, *points)
    np.testing.assert_array_equal(found.T, [array[(slice(None), *point)] for point in points.T])


def test_a_cell_may_not_use_just_anything():
    with pytest.raises(EagreError, match="UNKNOWN"):
        source_of(forbidden, "cpu", "single", {})


def test_sources_are_the_same_every_time():
    first = source_of(row_streaming_cpu.stage_cpu, "cpu", "single", {})
    assert first == source_of(row_streaming_cpu.stage_cpu, "cpu", "single", {})
    assert "float32 as real" in first


def test_second_start_compiles_nothing(tmp_path):
    code = (
        "import numpy as np, numba\n"
        "from numba.core import event\n"
        "from eagre.backend.select import select\n"
        "from kernels.programs import shifted\n"
        "device = select('cpu')\n"
        "with event.install_recorder('numba:compile') as recorder:\n"
        "    x = np.ones((2, 3)); device.run([device.over(device.loop(shifted, 'double'), x.shape, (x, x))])\n"
        "print(len(recorder.buffer))\n"
    )
    environment = {**os.environ, "EAGRE_CACHE": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    counts = [
        int(subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True).stdout)
        for _ in range(2)
    ]
    assert counts[0] > 0
    assert counts[1] == 0


@pytest.fixture(scope="module")
def single_stage_ir():
    """Optimised LLVM IR of the first CPU stage in single precision."""
    model = ShallowWater(device="cpu", precision="single", **options_of(40, 30, seed=3))
    launch = model._engine.schedule.launches[0]
    program = model.device.program(row_streaming_cpu.stage_cpu, "single", {**model._engine.switches, "FRICTION": 2})
    fresh = type(program)(program.py_func, targetoptions={k: v for k, v in program.targetoptions.items()})
    fresh(*launch.arguments)
    return "\n".join(fresh.inspect_llvm().values())


def test_single_precision_cpu_stage_has_no_double_arithmetic(single_stage_ir):
    doubles = re.findall(r"= (?:f(?:add|sub|mul|div)|tail call .*sqrt)[^\n]*double[^\n]*", single_stage_ir)
    assert not doubles


def test_cpu_stage_is_vectorised(single_stage_ir):
    for operation in ("fmul", "fadd", "fdiv"):
        assert len(re.findall(rf"= {operation} (?:\w+ )*<(?:8|16|4) x float>", single_stage_ir)) > 4
    assert len(re.findall(r"llvm\.sqrt\.v(?:4|8|16)f32", single_stage_ir)) > 4
    assert scattered_of(single_stage_ir) == 0


numba_cuda = pytest.importorskip("numba_cuda", reason="pip install 'eagre[sim]'")


def stage_ptx(precision, card=(9, 0), **switches):
    """PTX of a stage for an H200, or a card of another compute capability, made without one."""
    from numba import types

    from eagre.backend.compilation.program import load
    from eagre.backend.cuda.compiler import ptx

    real, bits = (types.float32, types.int32) if precision == "single" else (types.float64, types.int64)
    numbers = types.NamedTuple([real] * len(Parameters._fields), Parameters)
    terms = types.Tuple((types.float64[:, ::1], types.int64))
    kept = types.NamedTuple((real[:, :, ::1], types.uint8[:, ::1], types.float64[::1]), MapArrays)
    active = types.NamedTuple([types.int32[::1], types.int32[::1], types.int32[:, ::1]], Active)
    buffers = types.NamedTuple((*(real[:, :, ::1],) * 3, bits[::1]), Buffers)
    domain = types.NamedTuple((real[:, ::1], real[:, :, ::1], types.int32[:, :, ::1], types.uint8[:, ::1]), Domain)
    signature = (buffers, domain, terms, kept, active, numbers, types.float64[::1], types.int64)
    module = load(source_of(row_streaming_cuda.stage_cuda, "cuda", precision, {"ROWS": 64, **switches}), "stage_cuda")
    return ptx(module.stage_cuda, signature, card)


@pytest.mark.parametrize(("second", "walls"), [(False, False), (True, False), (False, True)])
def test_single_precision_kernel_has_no_double_arithmetic(second, walls):
    text = stage_ptx("single", SECOND=second, FRICTION=2, WALLS=walls)
    assert not re.findall(r"\b(?:add|sub|mul|div|fma|sqrt|rcp|max|min)[\w.]*\.f64", text)
    assert not re.findall(r"\.local", text)


def test_kernel_stays_lean():
    """What makes the march fast; raise a limit only with a measurement."""
    text = stage_ptx("single", FRICTION=1)
    # Some 50 of them for closed faces: 8192 x 8192 took 2.15 ms a step before and 2.11 after (H200). 2294 before
    # friction by the speed that it leaves (decision 0078), which has 2301: not timed alone.
    assert len(re.findall(r"^\s+[a-z@%].*;", text, re.MULTILINE)) < 2305
    # 13 a row under water, 14 a row with shores, less one that both share, 2 for their choice; two rows a turn.
    assert len(re.findall(r"shfl\.sync\.(?:up|down)", text)) <= 58
    assert "%tid.y" not in text  # all that a warp branches on is the same in its lanes, and the compiler sees it


def test_double_precision_kernel_uses_seeds():
    text = stage_ptx("double", FRICTION=1)
    assert "rsqrt.approx.ftz.f64" in text
    assert not re.findall(r"(?:div|sqrt)\.rn\.f64", text)
    assert not re.findall(r"(?:max|min)\.f64", text)  # but selections


def test_fields_of_a_named_tuple_are_part_of_a_program():
    """Numba's types hold no names: with two fields in another order, code of the cache would read the wrong ones."""
    source = source_of(row_streaming_cuda.stage_cuda, "cuda", "single", {})
    assert f".{row_streaming_cuda.Rows.__name__}  # {', '.join(row_streaming_cuda.Rows._fields)}\n" in source


def test_cards_before_hopper_get_no_instructions_that_they_lack():
    class Ampere(RecordingDevice):
        properties = replace(RecordingDevice().properties, compute_capability=(8, 0))

    text = source_of(row_streaming_cuda.stage_cuda, "cuda", "single", Ampere()._limited("single", None))
    assert "no_instruction as grid_dependency_wait" in text
    assert "griddepcontrol" not in stage_ptx("single", card=(8, 0), DEPENDENT_LAUNCHES=False)
    assert "griddepcontrol" in stage_ptx("single")


def test_the_pause_before_a_timed_launch_compiles():
    from numba import types

    from eagre.backend.cuda.compiler import pause, ptx

    assert "nanosleep" in ptx(pause, (types.int64,))


def test_a_text_is_made_once_until_a_number_of_a_module_changes(monkeypatch):
    """Cells keep the texts of programs; tests give modules smaller numbers, also those of cells below."""
    from eagre.backend import peer_copies

    def text(**switches):
        return source_of(peer_copies.transpose_cuda, "cuda", "single", switches)

    first = text(COPIES=2)
    assert text(COPIES=2) is first and text(COPIES=3) != first and text(COPIES=True) != text(COPIES=1)
    for name in ("PITCH", "TILE_ROWS"):  # of the entry, and of a cell that it calls
        with monkeypatch.context() as patched:
            patched.setattr(peer_copies, name, 5)
            assert f"{name} = 5" in text(COPIES=2)
        assert text(COPIES=2) == first
