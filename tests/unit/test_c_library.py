"""The library of ``eagre library``, called by the C and Fortran programs of docs/how-to/library.md and by a driver."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from eagre import Grid, InputError, ShallowWaterADI
from eagre.library import start
from eagre.library.calls import OPERATOR
from eagre.library.signatures import FUNCTIONS
from eagre.library.write import compile_library, header, write_library
from oracle.mpdata import mpdata

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "how-to" / "library.md"
NX, NY = 12, 10


def needs(program):
    """The path of a compiler; without it the test is skipped."""
    return shutil.which(program) or pytest.skip(f"no {program} on this machine")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Folder of a compiled library."""
    needs("cc")
    try:
        start.libpython()
    except InputError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("library")
    write_library(folder)
    assert compile_library(folder) == folder / "libeagre.so"
    return folder


def run(folder, library, *command, **environment):
    """What a program prints that a compiler makes of sources and the library; without a command the last program."""
    if command:
        link = ["-o", "program", f"-L{library}", "-leagre", f"-Wl,-rpath,{library}", "-pthread"]
        subprocess.run([*command, *link], cwd=folder, check=True, timeout=60)
    known = {**os.environ, "PYTHONPATH": str(HERE.parents[1] / "src")}
    done = subprocess.run(
        ["./program"],
        cwd=folder,
        env={**known, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done


def block(language):
    """The program of the page in a language."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return text


def check_poisson(done):
    """Both columns are u = x (1 - x), which second differences represent exactly."""
    assert done.returncode == 0 and done.stderr == "", done.stderr
    x = np.arange(1, 65) / 65
    direct, iterated = np.array(done.stdout.split(), float).reshape(64, 2).T
    np.testing.assert_allclose(direct, x * (1 - x), rtol=0, atol=1e-13)
    np.testing.assert_allclose(iterated, x * (1 - x), rtol=0, atol=1e-10)


def check_missing(done):
    """The program prints the text of the error, and nothing after it, and ends with status 1."""
    text = (
        "Python cannot load Eagre; standard error has the reason.\ngot EAGRE_PYTHON = /no/such python\n"
        "allowed: the interpreter of an environment with Eagre\n"
    )
    assert done.returncode == 1 and (done.stdout == text or done.stderr.endswith(text)), done.stdout + done.stderr


def test_c_program_of_the_page(library, tmp_path):
    (tmp_path / "program.c").write_text(block("c"))
    check_poisson(run(tmp_path, library, needs("cc"), "-Wall", "-Werror", "program.c", f"-I{library}"))
    check_missing(run(tmp_path, library, EAGRE_PYTHON="/no/such python"))


def test_fortran_program_of_the_page(library, tmp_path):
    (tmp_path / "program.f90").write_text(block("fortran"))
    compiler = [needs("gfortran"), "-Wall", "-std=f2018"]
    check_poisson(run(tmp_path, library, *compiler, library / "eagre.f90", "program.f90"))
    check_missing(run(tmp_path, library, EAGRE_PYTHON="/no/such python"))


def test_fortran_77_program_of_the_page(library, tmp_path):
    (tmp_path / "program.f").write_text(block("fortranfixed"))
    done = run(tmp_path, library, needs("gfortran"), "-std=legacy", "program.f")
    assert np.array_equal(np.array(done.stdout.split(), float), [1.0, 2.0]), done.stderr + done.stdout


def systems(rng):
    """Diagonals and right-hand side (outer, n, inner), and the solution by a dense solver."""
    a, c, d = rng.standard_normal((3, 4, 16, 3))
    b = 3.0 + abs(a) + abs(c)
    x = np.empty_like(d)
    for k, m in np.ndindex(4, 3):
        lower, upper = np.diag(a[k, 1:, m], -1), np.diag(c[k, :-1, m], 1)
        x[k, :, m] = np.linalg.solve(np.diag(b[k, :, m]) + lower + upper, d[k, :, m])
    return [a, b, c, d], x


def advection(rng):
    """vx, vy, h, x of a periodic domain, and x after three steps of the NumPy transcription."""
    vx, vy = rng.uniform(-0.2, 0.2, (NY, NX + 1)), rng.uniform(-0.2, 0.2, (NY + 1, NX))
    vx[:, -1], vy[-1] = vx[:, 0], vy[0]
    h, x = rng.uniform(0.8, 1.2, (NY, NX)), rng.uniform(-1.0, 1.0, (NY, NX))
    after = x[None]
    for _ in range(3):
        v = (vx[None], vy[None], np.zeros((2, NY, NX)))
        after = mpdata(after, v, h[None], fct=True, divergent=True)
    return [vx, vy, h, x], after[0]


def poisson(rng):
    """A right-hand side, and the solution by a dense solver; spacing 1/12, zeros outside."""
    line = np.diag(np.full(12, -2.0)) + np.diag(np.ones(11), 1) + np.diag(np.ones(11), -1)
    matrix = 144.0 * (np.kron(line, np.eye(12)) + np.kron(np.eye(12), line))
    right = rng.standard_normal(144)
    return right, np.linalg.solve(matrix, right)


def lake(rng, height):
    """Bed, Manning's n, and the state at rest of a lake with an island; z has a hump of `height`, m."""
    bed = rng.uniform(-3.0, -2.0, (NY + 1, NX + 1))
    bed[4:7, 5:8] = 1.0
    x, y = np.meshgrid(np.arange(NX), np.arange(NY))
    centres = 0.25 * (bed[1:, 1:] + bed[1:, :-1] + bed[:-1, 1:] + bed[:-1, :-1])
    z = np.maximum(height * np.exp(-((x - 3.0) ** 2 + (y - 3.0) ** 2) / 4.0), centres)
    return [bed, np.full((NY, NX), 0.03), z, np.zeros((NY, NX + 1)), *np.zeros((2, NY + 1, NX))]


def of_model(bed, manning, z, steps):
    """State of the Python model after steps of 0.5 s from rest, with the first-order start."""
    model = ShallowWaterADI(
        Grid(NX, NY, 10.0, 8.0), bed, 0.5, surface_elevation=z, manning=manning, gravity=9.81, dry_depth=1e-3,
        precision="double", device="cpu", start="zero",
    )  # fmt: skip
    model.advance(0.5 * steps)
    state = model.state()
    return [state[name] for name in ("z", "p", "q_before", "q_after")]


def test_results_of_every_function(library, tmp_path, rng):
    (a, x), (v, field), (right, u) = systems(rng), advection(rng), poisson(rng)
    lakes = lake(rng, 0.0), lake(rng, 0.4)
    given = [*a, *v, right, *lakes[0], *lakes[1], *lakes[1]]
    np.concatenate([one.ravel() for one in given]).tofile(tmp_path / "in.bin")
    done = run(tmp_path, library, needs("cc"), HERE / "library_driver.c", f"-I{library}")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    rest = np.fromfile(tmp_path / "out.bin")

    def take(*shape):
        nonlocal rest
        found, rest = np.split(rest, [int(np.prod(shape))])
        return found.reshape(shape)

    assert take(2).tolist() == [0.0, 0.0]  # wrong results of two threads
    assert take(3).tolist() == [1.0, 1.0, 1.0]  # the main thread has no error; handlers of SIGINT and SIGPIPE are kept
    np.testing.assert_allclose(take(*x.shape), x, rtol=0, atol=1e-14)
    np.testing.assert_allclose(take(*x.shape), x, rtol=0, atol=1e-6)
    found, h = take(NY, NX), v[2]
    np.testing.assert_allclose(found, field, rtol=0, atol=1e-13)
    assert abs((h * found).sum() - (h * v[3]).sum()) < 1e-13 * (h * abs(v[3])).sum()
    assert np.array_equal(take(NY, NX), found)  # unchanged by three calls that fail
    np.testing.assert_allclose(take(144), u, rtol=0, atol=1e-11)
    assert take(1)[0] <= 1e-10 and take(1)[0] == 0.0
    assert np.array_equal(take(144), np.zeros(144)) and take(1)[0] == 2 and take(1)[0] > 1e-10
    shapes = (NY, NX), (NY, NX + 1), (NY + 1, NX), (NY + 1, NX)
    for before, after in zip(lakes[0][2:], [take(*shape) for shape in shapes], strict=True):
        np.testing.assert_allclose(after, before, rtol=0, atol=1e-14)
    for steps in (1, 3):
        expected = of_model(*lakes[1][:3], steps)
        assert abs(expected[1]).max() > 0.01
        for after, model in zip([take(*shape) for shape in shapes], expected, strict=True):
            assert np.array_equal(after, model)
    assert rest.size == 0
    check_messages(done.stdout.split("\n--\n"))


def check_messages(found):
    """Status and text of the invalid calls of the driver, in their order."""
    expected = ["2 .*Courant", "2 .*got boundaries", "2 .*argument vy is null", "3 .*did not converge",
                "2 .*argument apply is null", "4 eagre_stop was called before"]  # fmt: skip
    assert len(found) == len(expected) + 1
    for text, pattern in zip(found, expected, strict=False):
        assert re.match(pattern, text, re.DOTALL), text


def test_calls_in_a_program_that_python_has_loaded(library):
    loaded = ctypes.CDLL(str(library / "libeagre.so"))
    loaded.eagre_error.restype = ctypes.c_char_p
    one, two = (ctypes.c_double * 3)(1.0, 2.0, 3.0), (ctypes.c_double * 3)(2.0, 2.0, 2.0)
    zero, x = (ctypes.c_double * 3)(), (ctypes.c_double * 3)()
    assert loaded.eagre_tridiagonal(1, 3, 1, zero, two, zero, one, x) == 0 and list(x) == [0.5, 1.0, 1.5]
    assert loaded.eagre_tridiagonal(1, 3, 1, zero, zero, zero, one, x) == 2
    assert b"NaN or infinity" in loaded.eagre_error()
    halves, y, norm = (ctypes.c_float * 3)(0.5, 1.0, 1.5), (ctypes.c_float * 3)(), ctypes.c_double()

    @OPERATOR
    def halved(n, x, y, data):
        np.ctypeslib.as_array((ctypes.c_float * n[0]).from_address(y))[:] = 0.5 * np.array(
            (ctypes.c_float * n[0]).from_address(x)
        )

    last = ctypes.byref(ctypes.c_int()), ctypes.byref(norm)
    assert loaded.eagre_gcr_f(3, halved, None, None, 1, ctypes.c_double(1e-6), 9, halves, y, *last) == 0
    assert list(y) == [1.0, 2.0, 3.0]
    assert loaded.eagre_stop() == 0 and loaded.eagre_tridiagonal(1, 3, 1, zero, two, zero, one, x) == 0


def test_calls_of_several_threads_are_serialised(library):
    """An operator that lasts never runs while the operator of another thread's call runs."""
    loaded, running, most = ctypes.CDLL(str(library / "libeagre.so")), [], []

    @OPERATOR
    def doubled(n, x, y, data):
        running.append(1)
        most.append(len(running))
        time.sleep(0.01)
        source, target = ((ctypes.c_double * 2).from_address(one) for one in (x, y))
        target[:] = [2.0 * one for one in source]
        running.pop()

    def solve():
        right, x, count, norm = (
            (ctypes.c_double * 2)(2.0, 4.0),
            (ctypes.c_double * 2)(),
            ctypes.c_int(),
            ctypes.c_double(),
        )
        last = ctypes.byref(count), ctypes.byref(norm)
        return loaded.eagre_gcr(2, doubled, None, None, 1, ctypes.c_double(1e-9), 9, right, x, *last), list(x)

    with ThreadPoolExecutor(2) as pool:
        results = [one.result() for one in [pool.submit(solve) for _ in range(4)]]
    assert results == [(0, [1.0, 2.0])] * 4 and len(most) >= 8 and max(most) == 1


def test_static_interpreter_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(start.sys, "base_prefix", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: {"LDVERSION": "3.99"}.get(name))
    with pytest.raises(InputError, match=r"no shared library.*\n.*libpython3\.99\.so") as caught:
        start.libpython()
    assert "--enable-shared" in str(caught.value)


def test_library_of_another_version_is_an_error():
    with pytest.raises(InputError, match="do not match"):
        start.fill(0, 1)


def test_header_describes_every_argument():
    text = header()
    for function in FUNCTIONS:
        assert f"int eagre_{function.name}(" in text and f"int eagre_{function.name}_f(" in text
        assert all(one.about in text for one in function.arguments)
