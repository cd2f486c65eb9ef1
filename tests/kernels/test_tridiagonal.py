"""The tridiagonal solvers against LAPACK, on the CPU and in the CUDA simulator."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from scipy.linalg import solve_banded

from eagre.backend.select import select
from eagre.errors import InputError
from eagre.solvers.tridiagonal import methods, reduction_cuda, solve
from eagre.solvers.tridiagonal.solve import best_method
from kernels.recording import RecordingDevice

driver = importlib.import_module("eagre.solvers.tridiagonal.solve")
solving = importlib.import_module("eagre.solvers.tridiagonal.solve")
METHODS = ("thomas", "pcr", "cr", "cr-pcr")


def banded(a, b, c, d):
    """LAPACK's answers, line by line of (lines, n)."""
    lines, n = b.shape
    answer = np.empty_like(d)
    for k in range(lines):
        bands = np.zeros((3, n), d.dtype)
        bands[0, 1:], bands[1], bands[2, :-1] = c[k, :-1], b[k], a[k, 1:]
        answer[k] = solve_banded((1, 1), bands, d[k]) if n > 1 else d[k] / b[k]
    return answer


def systems(lines, n, kind="dominant", seed=0):
    """a, b, c, d of (lines, n): diagonally dominant by a margin, or the second difference, which is by none.

    Of "downwards" and "upwards" each unknown hangs on one neighbour alone, and far: pieces are coupled in one sense.
    """
    a, c, d = np.random.default_rng(seed).standard_normal((3, lines, n))
    if kind == "second-difference":
        a[:], c[:] = -1.0, -1.0
        return a, np.full_like(a, 2.0), c, d
    if kind != "dominant":
        a[:], c[:] = (-0.95, 0.0) if kind == "downwards" else (0.0, -0.95)
        return a, np.ones_like(a), c, d
    return a, abs(a) + abs(c) + 0.5, c, d


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 2, 3, 17, 64, 1001])
def test_against_lapack(method, n):
    for lines in (1, 37):
        system = systems(lines, n)
        wanted = banded(*system)
        assert abs(solve(*system, method=method) - wanted).max() < 1e-12
        columns = solve(*(np.ascontiguousarray(x.T) for x in system), axis=0, method=method)
        assert abs(columns.T - wanted).max() < 1e-12


def test_methods_of_a_device():
    """The partition method needs a GPU; every other method runs everywhere and is named in the error."""
    assert methods("cpu") == ("auto", *METHODS)
    assert sorted(methods(RecordingDevice())) == sorted(("auto", "partition", *METHODS))
    with pytest.raises(InputError) as refused:
        solve(*systems(1, 3), method="gauss")
    assert "auto, thomas, pcr, cr, cr-pcr" in str(refused.value)


def test_choice_is_a_method():
    for device in (select("cpu"), RecordingDevice()):
        for outer, rows, inner in ((1, 1, 1), (32, 200, 1), (4096, 4096, 1), (1, 100, 32), (1, 450, 64), (1, 10**6, 1)):
            for itemsize in (4, 8):
                method = best_method(device, outer, rows, inner, itemsize)
                assert method in methods(device)
                assert method == "thomas" or device.kind == "cuda"
                assert method in ("thomas", "partition") or reduction_cuda.fits(device, rows, itemsize)


def test_choice_on_a_gpu():
    """Doubles in few short columns: parallel reduction where nothing is padded; else pieces."""
    device = RecordingDevice()
    limits, block = (device.parameters(f"solver:tridiagonal.{name}") for name in ("choice", "columns"))
    assert block.rows * block.threads == 64 and (limits.longest_padded, limits.longest) == (128, 256)
    chosen = {rows: best_method(device, 1, rows, limits.some, 8) for rows in (64, 65, 127, 128, 129, 200, 256, 257)}
    assert chosen == {
        64: "partition", 65: "cr-pcr", 127: "cr-pcr", 128: "pcr", 129: "partition", 200: "partition", 256: "pcr",
        257: "partition",
    }  # fmt: skip
    assert best_method(device, 1, 128, limits.some + 1, 8) == best_method(device, 1, 128, 4, 4) == "partition"
    lines = {(rows, few): best_method(device, systems, rows, 1, 4) for rows in (128, 129, 256, 257, 512, 513)
             for few, systems in ((True, limits.few), (False, limits.few + 1))}  # fmt: skip
    assert {one for one, method in lines.items() if method == "pcr"} == {
        (129, True), (256, True), (257, True), (512, True), (129, False), (256, False),
    }  # fmt: skip
    assert best_method(device, limits.some + 1, 100, 1, 8) == "partition"


def test_long_systems_without_margin():
    system = systems(2, 100_000, "second-difference")
    x = solve(*system)
    a, b, c, d = system
    left = b * x
    left[:, 1:] += a[:, 1:] * x[:, :-1]
    left[:, :-1] += c[:, :-1] * x[:, 1:]
    assert abs(left - d).max() < 1e-13 * abs(x).max()


@pytest.mark.parametrize(("refinements", "limits"), [(0, (1e-8, 1e-5)), (1, (1e-15, 1e-11)), (2, (0.0, 2e-15))])
def test_mixed_precision_regains_what_single_precision_lost(refinements, limits, script):
    """Each refinement gains the digits of a solve in single precision, up to those of double."""
    systems = script("benchmarks/studies/mixed_precision.py").Systems(select("cpu"), 65, 37)
    assert systems.error(systems.in_double()) < 2e-15
    assert limits[0] < systems.error(systems.in_mixed(refinements)) < limits[1]


def test_any_axis_and_single_precision():
    a, b, c, d = (x.reshape(4, 5, 30).astype(np.float32) for x in systems(20, 30))
    wanted = banded(*(x.transpose(0, 2, 1).reshape(-1, 5).astype(float) for x in (a, b, c, d)))
    found = solve(a, b, c, d, axis=1)
    assert found.dtype == np.float32 and found.shape == a.shape
    assert abs(found.transpose(0, 2, 1).reshape(-1, 5) - wanted).max() < 1e-5
    assert (solve(a, b, c, d, axis=-2) == found).all()


def test_refusals():
    a, b, c, d = systems(3, 6)
    with pytest.raises(InputError, match="shapes"):
        solve(a, b, c, d[:, :5])
    with pytest.raises(InputError, match="float32"):
        solve(a, b, c, d.astype(np.float32))
    with pytest.raises(InputError, match="auto"):
        solve(a, b, c, d, method="gauss")
    with pytest.raises(InputError, match="CuPy"):
        solve(a, b, c, d, method="partition")
    with pytest.raises(InputError, match="axis"):
        solve(a, b, c, d, axis=2)


def test_singular_systems_are_refused():
    a, b, c, d = systems(3, 6)
    b[1], a[1], c[1] = 0.0, 0.0, 0.0
    with pytest.raises(InputError, match="not finite"):
        solve(a, b, c, d)


@pytest.mark.parametrize("method", METHODS)
def test_the_ends_are_not_used(method):
    a, b, c, d = systems(3, 17)
    wanted = solve(a, b, c, d, method=method)
    a[:, 0], c[:, -1] = np.nan, np.nan
    assert np.array_equal(solve(a, b, c, d, method=method), wanted)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("diagonal", [0.0, 1.0], ids=["zero pivot", "singular"])
def test_what_needs_pivots_is_refused_by_every_method(method, diagonal):
    """x and y exchanged, which has an answer; and twice the same equation, with and without one."""
    one = np.ones((1, 2))
    for d in (one, np.array([[1.0, 2.0]])):
        with pytest.raises(InputError, match="not finite"):
            solve(one, diagonal * one, one, d, method=method)


def test_lists_are_no_arrays():
    with pytest.raises(InputError, match="NumPy or CuPy arrays"):
        solve([[0.0, 1.0]], [[2.0, 2.0]], [[1.0, 0.0]], [[1.0, 1.0]])


@pytest.fixture
def simulated(monkeypatch, own_layout):
    from eagre.backend.simulated import SimulatedDevice

    device = SimulatedDevice()
    monkeypatch.setattr(solving, "device_of", lambda array: device)
    monkeypatch.setattr(driver, "_workspace", driver._workspace.__wrapped__)
    small = {"columns": {"rows": 3, "threads": 2}, "lines": {"warps": 2}, "reduction": {"threads": 16}}
    own_layout(**{"solver:tridiagonal": small})


@pytest.mark.simulator
@pytest.mark.parametrize("method", ["thomas", "pcr", "cr", "cr-pcr"])
@pytest.mark.parametrize(("lines", "n", "axis"), [(3, 1, 1), (2, 5, 1), (1, 70, 1), (5, 13, 0), (3, 33, 0)])
def test_simulated_methods(simulated, monkeypatch, method, lines, n, axis):
    monkeypatch.setitem(reduction_cuda.PARALLEL_FROM, "cr-pcr", 4)
    system = systems(lines, n, "dominant")
    given = system if axis == 1 else [np.ascontiguousarray(x.T) for x in system]
    found = solve(*given, axis=axis, method=method)
    found = found if axis == 1 else found.T
    assert abs(found - banded(*system)).max() < 1e-13


@pytest.mark.simulator
@pytest.mark.parametrize("kind", ["dominant", "second-difference", "downwards", "upwards"])
@pytest.mark.parametrize(("lines", "n", "axis"), [(2, 5, 1), (1, 300, 1), (1, 259, 1), (3, 20, 0), (33, 7, 0)])
def test_simulated_pieces(simulated, kind, lines, n, axis):
    system = systems(lines, n, kind)
    wanted = banded(*system)
    given = system if axis == 1 else [np.ascontiguousarray(x.T) for x in system]
    found = solve(*given, axis=axis, method="partition")
    found = found if axis == 1 else found.T
    assert abs(found - wanted).max() < 1e-13 * max(1.0, abs(wanted).max() * n)


def coupling(a, b, c, length):
    """The most that the last unknown of a piece hangs on the one before it, or the first on the one behind it."""
    n = -(-b.size // length) * length
    a, b, c = (np.pad(one, (0, n - one.size), constant_values=empty) for one, empty in ((a, 0.0), (b, 1.0), (c, 0.0)))
    found = [0.0]
    for start in range(0, n, length):
        part = slice(start, start + length)
        reach = np.linalg.inv(np.diag(b[part]) + np.diag(a[part][1:], -1) + np.diag(c[part][:-1], 1))
        found.append(abs(reach[-1, 0] * a[start]) if start > 0 else 0.0)
        found.append(abs(reach[0, -1] * c[part.stop - 1]) if part.stop < b.size else 0.0)
    return max(found)


@pytest.mark.simulator
@pytest.mark.parametrize("kind", ["second-difference", "downwards", "upwards"])
@pytest.mark.parametrize(("n", "axis", "length"), [(384, 1, 128), (18, 0, 6)])
def test_simulated_pieces_tell_their_coupling(simulated, kind, n, axis, length):
    """The guard of the quick pass holds what that leaves out, neither more nor less."""
    device = solving.device_of(None)
    a, b, c, d = systems(1, n, kind)
    b = b * np.repeat([1.05, 1.01, 1.05], n // 3)  # most in the middle piece
    shape = (1, n, 1 if axis else 2)
    flat = [device.array(np.ascontiguousarray(np.broadcast_to(one[0, :, None], shape))) for one in (a, b, c, d)]
    quick = driver.launches(device, "double", flat, device.zeros(shape, np.float64), "partition")[:2]
    device.run(quick)
    guard = device.host(quick[0].arguments[2].guard).view(np.float64)[0]
    assert guard == pytest.approx(coupling(a[0], b[0], c[0], length), rel=1e-10)
    assert guard > 1e-11
