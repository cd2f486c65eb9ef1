"""`eagre run` in several processes: the files of one process, one message for an error, and no process that waits."""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr

from eagre.backend.mpi import launch
from eagre.cli import main
from eagre.errors import DeviceError
from eagre.io.restart import read_restart
from eagre.stepping.clock import T
from mpi_processes import BESIDE, environment, mpi_eagre, mpiexec

CASE = """
model = "shallow-water"
[run]
end_time = "4 s"
device = "cpu"
[grid]
nx = 40
ny = 30
dx = 1.0
dy = 1.0
[bed]
expression = "-1 + 0.02*x"
[initial]
surface_elevation = "0.3*exp(-((x-15)**2+(y-12)**2)/20)"
[friction]
manning = 0.03
[maps]
variables = ["max_depth"]
file = "maps.nc"
[output]
file = "out.nc"
interval = "1 s"
[gauges]
file = "gauges.csv"
interval = "0.1 s"
points = { pier = [12.0, 10.0], quay = [30.0, 25.0] }
[restart]
file = "restart.nc"
"""


@pytest.fixture
def folders(tmp_path):
    """Folders with the same case."""

    def make(*names, text=CASE):
        for name in names:
            (tmp_path / name).mkdir()
            (tmp_path / name / "case.toml").write_text(text)
        return [tmp_path / name for name in names]

    return make


def eagre(folder, *arguments):
    command = [sys.executable, "-m", "eagre", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def assert_same_files(ours, theirs):
    for name in ("out.nc", "maps.nc"):
        with xr.open_dataset(ours / name) as one, xr.open_dataset(theirs / name) as other:
            assert list(one) == list(other) and one.time[-1] == other.time[-1]
            for key in set(other) - {"time_bounds"}:
                ours_last, theirs_last = (data[key].isel(time=-1, missing_dims="ignore") for data in (one, other))
                assert np.array_equal(ours_last, theirs_last, equal_nan=True), key
    assert (ours / "gauges.csv").read_text().split("\n")[-5:] == (theirs / "gauges.csv").read_text().split("\n")[-5:]
    one, other = read_restart(ours / "restart.nc"), read_restart(theirs / "restart.nc")
    assert all(np.array_equal(one[key], other[key], equal_nan=True) for key in other)


def test_the_files_of_one_process(folders):
    ours, theirs = folders("ours", "theirs")
    done = mpi_eagre(2, ours, "run", "case.toml")
    assert done.returncode == 0, done.stderr
    assert "2 processes: cpu (1 thread) each" in done.stdout
    assert done.stdout.count("finished") == 1 and done.stdout.count("wrote") == 4
    eagre(theirs, "run", "case.toml")
    assert_same_files(ours, theirs)


def test_a_restart_in_another_number_of_processes(folders):
    whole, first, second = folders("whole", "first", "second")
    eagre(whole, "run", "case.toml")
    assert mpi_eagre(4, first, "run", "case.toml", "--set", "run.end_time=2").returncode == 0
    shutil.copytree(first, second, dirs_exist_ok=True)
    done = mpi_eagre(3, first, "run", "case.toml", "--restart", "restart.nc")
    assert done.returncode == 0, done.stderr
    eagre(second, "run", "case.toml", "--restart", "restart.nc")
    for folder in (first, second):
        assert_same_files(folder, whole)


FILES = (
    CASE.replace('expression = "-1 + 0.02*x"', 'file = "bed.asc"')
    .replace("manning = 0.03", 'manning = { zones = "zones.geojson", value = 0.05, outside = "0.03 + 0.001*bed" }')
    .replace('"max_depth"', '"max_depth", "max_surface_elevation"')
    + """
[sources.rain]
rate = "50 mm/h"
pattern = "where(bed > -0.5, 1, 0)"
[boundaries]
west = [{ kind = "stage", level = 0.1, from = 3.0, to = 21.0 }]
south = { kind = "outflow" }
"""
)
ZONES = """{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"name": "reed"}, "geometry":
{"type": "Polygon", "coordinates": [[[5, 5], [30, 8], [20, 26], [5, 5]]]}}]}"""


IMPLICIT = (
    FILES.replace('"shallow-water"', '"shallow-water-adi"')
    .replace('{ kind = "outflow" }', '{ kind = "absorbing" }')
    .replace('file = "maps.nc"', 'file = "maps.nc"\nmean = ["depth"]')
    + """
[[boundaries.internal]]
kind = "discharge"
rate = "0.5 m3/s"
area = [[8.0, 6.0], [20.0, 8.0], [12.0, 27.0]]
[land_mask]
where = "hypot(x - 14, y - 20) < 4"
[numerics]
time_step = "0.3 s"
"""
)


NESTED = FILES.replace('"0.03 + 0.001*bed"', '{ file = "manning.asc" }').replace(
    '"bed.asc"', '"bed.asc"\nlevees = [{ points = [[20.0, 2.0], [24.0, 28.0]], crest = "0.5 m" }]'
)


def write_raster(path, values):
    """Write values, (30, 40), as an ESRI ASCII grid."""
    lines = "\n".join(" ".join(map(str, row)) for row in values[::-1])
    path.write_text(f"ncols 40\nnrows 30\nxllcorner 0\nyllcorner 0\ncellsize 1\nnodata_value -999\n{lines}\n")


def write_files(folder):
    """Write the files of `FILES` and `NESTED`."""
    y = np.arange(30)[:, None]
    write_raster(folder / "bed.asc", -1.0 + 0.02 * np.arange(40) + 0.3 * np.sin(y / 4.0))
    write_raster(folder / "manning.asc", 0.03 + 0.0002 * y + 0.0001 * np.arange(40))
    (folder / "zones.geojson").write_text(ZONES)


@pytest.mark.parametrize(("text", "device"), [(FILES, "cpu"), (NESTED, "cpu"), (IMPLICIT, "cpu,cpu,cpu")])
def test_fields_of_files_in_the_rows_of_each_process(folders, text, device):
    """The implicit model has the bits of as many devices; its gauges are sampled during the run."""
    ours, theirs = folders("ours", "theirs", text=text)
    for folder in (ours, theirs):
        write_files(folder)
    done = mpi_eagre(3, ours, "run", "case.toml")
    assert done.returncode == 0, done.stdout + done.stderr
    eagre(theirs, "run", "case.toml", "--set", f"run.device={device}")
    assert_same_files(ours, theirs)
    assert len((ours / "gauges.csv").read_text().splitlines()) >= 41


READ = """
from mpi4py import MPI
from eagre.io.rasters import dem
from eagre.models.shallow_water.config import ShallowWaterCase
import eagre

read, names = dem.read_esri_ascii, []
dem.read_esri_ascii = lambda path, around: names.append(path.name) or read(path, around)

def build(device):
    model = ShallowWaterCase.load("case.toml").build(device)
    for found in MPI.COMM_WORLD.gather(names, root=0) or ():
        print("read", *found)
    return model

eagre.distributed(build, "cpu")
"""


def test_the_first_process_reads_rasters(folders):
    (folder,) = folders("case", text=NESTED.replace('[sources.rain]\nrate = "50 mm/h"\n', "").replace(
        'pattern = "where(bed > -0.5, 1, 0)"', ""
    ))  # fmt: skip
    write_files(folder)
    (folder / "script.py").write_text(READ)
    done = mpiexec(3, "script.py", folder=folder)
    lines = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("read")]
    assert lines == [["bed.asc", "manning.asc"], [], []]


HELD = """
import numpy as np
import eagre
from mpi4py import MPI

def build(device):
    grid = eagre.Grid(40, 30, 1.0, 1.0)
    given = {"depth": 1.0, "manning": 0.03, "device": device}
    explicit = eagre.ShallowWater(grid, np.full((31, 41), -1.0), **given)
    implicit = eagre.ShallowWaterADI(grid, np.full((31, 41), -1.0), 0.3, land_mask=np.eye(30, 40) > 0.0, **given)
    for model in (explicit, implicit):
        memory = [slab.setup.bed.strides[0] > 0 for slab in model._engine.subdomains]
        whole = [max(map(np.size, model.state().values())) > 1000, model.field("depth").size > 1000]
        checkpoint = [max(map(np.size, one.values())) < 2500 for one in model._stepper.state()["slabs"] if one]
        held = model.setup.bed.shape[0], *checkpoint, *whole, *memory
        for rows in MPI.COMM_WORLD.gather(held, root=0) or ():
            print("rows", *rows)
    return model

eagre.distributed(build, "cpu")
"""


def test_a_process_holds_its_rows(tmp_path):
    """And rows of each neighbour: two, or four of the implicit model; set-ups of other slabs have no memory.

    Rows of the bed (corners or centres); rows of the checkpoint; whole state and field; memory of the slabs.
    """
    (tmp_path / "script.py").write_text(HELD)
    lines = [line.split()[1:] for line in mpiexec(3, str(tmp_path / "script.py")).stdout.splitlines()]
    assert [line[0] for line in lines] == ["13", "15", "13", "14", "18", "14"]
    slabs = [[str(rank == other) for other in range(3)] for rank in range(3)]
    assert [line[1:] for line in lines] == 2 * [["True", *2 * [str(n == 0)], *slabs[n]] for n in range(3)]


AIR = """
model = "anelastic"
[run]
end_time = "8 s"
device = "cpu"
[domain]
nx = 24
ny = 22
levels = 9
length_x = 2400.0
length_y = 2200.0
top_height = 800.0
boundaries_x = "open"
terrain_height = "40 * exp(-((x - 1200)**2 + (y - 1000)**2) / 1e5)"
[atmosphere]
buoyancy_frequency = 0.01
wind = [10.0, 0.0]
[initial]
theta_perturbation = "exp(-((x - 900)**2 + (y - 1500)**2 + (z - 300)**2) / 4e4)"
noise = { amplitude = 0.1, below = 500.0 }
[scalars]
smoke = "exp(-(x**2 + (y - 1000)**2) / 4e4)"
[numerics]
time_step = "1 s"
[output]
file = "out.nc"
interval = "4 s"
variables = ["u", "theta", "wind_speed", "vorticity", "pressure", "smoke", "w_max"]
[restart]
file = "restart.nc"
"""

GYRE = """
model = "barotropic"
[run]
end_time = "8 h"
device = "cpu"
[basin]
nx = 24
ny = 22
length_x = "1000 km"
[physics]
beta = 2e-11
viscosity = "500 m2/s"
[wind]
stress = "0.1 N/m2"
depth = "500 m"
[initial]
relative_vorticity = "1e-7 * sin(2 * pi * x / 1e6) * sin(pi * y / 1e6)"
[topography]
height = "50 * exp(-hypot(x - 4e5, y - 5e5)**2 / 2e10)"
depth = "500 m"
coriolis = 1e-4
[tracer]
initial = "x / 1e6 + y / 3e6"
[numerics]
time_step = "30 min"
[output]
file = "out.nc"
interval = "4 h"
variables = ["streamfunction", "relative_vorticity", "speed", "tracer", "wind_forcing"]
[restart]
file = "restart.nc"
"""
WAVES = """
model = "potential-waves"
[run]
end_time = "2 s"
device = "cpu"
[basin]
nx = 33
ny = 33
length_x = 16.0
length_y = 16.0
depth = "1 - 0.01 * x"
[initial]
surface_elevation = "0.02 * exp(-((x - 8)**2 + (y - 7)**2) / 8)"
[output]
file = "out.nc"
interval = "1 s"
variables = ["surface_elevation", "velocity_x"]
[restart]
file = "restart.nc"
"""


def assert_close(ours, theirs, tolerance):
    """Compare the last record of two runs and the means, relative to the largest value of each field."""
    for name in ("out.nc", "maps.nc"):
        with xr.open_dataset(ours / name) as one, xr.open_dataset(theirs / name) as other:
            assert list(one) == list(other) and one.time[-1] == other.time[-1]
            for key in set(other) - {"time_bounds"}:
                values, expected = (data[key].isel(time=-1, missing_dims="ignore").values for data in (one, other))
                if expected.dtype.kind == "f":
                    np.testing.assert_allclose(values, expected, rtol=0.0, atol=tolerance * np.nanmax(np.abs(expected)))


@pytest.mark.parametrize(
    ("text", "mean", "half", "tolerance"),
    [
        (AIR, "u", "4", 1e-3),
        (GYRE, "streamfunction", "4 h", 1e-4),
        (WAVES, "surface_elevation", "1", 1e-3),
    ],
)
def test_a_restart_of_other_models(folders, text, mean, half, tolerance):
    """From 4 processes in 1 and in 3; sums of several processes are rounded differently."""
    maps = f'[maps]\nfile = "maps.nc"\nmean = ["{mean}"]\n'
    whole, first, second = folders("whole", "first", "second", text=text + maps)
    eagre(whole, "run", "case.toml")
    assert mpi_eagre(4, first, "run", "case.toml", "--set", f"run.end_time={half}").returncode == 0
    shutil.copytree(first, second, dirs_exist_ok=True)
    done = mpi_eagre(3, first, "run", "case.toml", "--restart", "restart.nc")
    assert done.returncode == 0, done.stderr
    eagre(second, "run", "case.toml", "--restart", "restart.nc")
    for folder in (first, second):
        assert_close(folder, whole, tolerance)


HELD_BY_MODELS = """
import numpy as np
import eagre
from eagre.models.registry import load_case
from mpi4py import MPI

def build(device):
    model = load_case("case.toml").build(device)
    start = max(size(one) for one in STARTED)
    checkpoint = max(size(one) for one in model._stepper.state().values())
    written = max(size(one) for one in model.state().values()), model.field(FIELD).size
    for held in MPI.COMM_WORLD.gather((start, checkpoint, *written), root=0) or ():
        print("held", *held)
    return model

def size(one):
    if isinstance(one, list):  # slabs
        return max(size(value) for slab in one if slab is not None for value in slab.values())
    if hasattr(one, "slabs"):
        return sum(slab.size for slab in one.slabs if slab is not None)
    return np.size(one)

eagre.distributed(build, "cpu")
"""
STARTED = """
from eagre.models.{kind}.engine import Engine
STARTED, FIELD, method = [], "{field}", Engine.{method}

def start(self, fields, *more):
    STARTED.extend(fields.values() if isinstance(fields, dict) else fields)
    return method(self, fields, *more)

Engine.{method} = start
"""


@pytest.mark.parametrize(
    ("text", "kind", "method", "field", "sizes", "fields"),
    [  # largest initial field, array of the checkpoint and of the state; output field of each process
        (AIR, "anelastic", "start", "u", (11 * 9 * 24, 19 * 9 * 24, 22 * 9 * 24), [22 * 9 * 24, 0]),
        (GYRE, "barotropic", "set_state", "speed", (12 * 24, 12 * 24, 22 * 24), [22 * 24, 0]),
        (
            WAVES,
            "potential_waves",
            "set_surface",
            "surface_elevation",
            (33 * 33, 23 * 10 * 33, 33 * 10 * 33),
            [33 * 33, 33 * 33],
        ),
    ],
)
def test_a_process_of_other_models_holds_its_rows(folders, text, kind, method, field, sizes, fields):
    """The first process alone has whole fields, except planes of the waves."""
    (folder,) = folders("case", text=text)
    (folder / "script.py").write_text(STARTED.format(kind=kind, method=method, field=field) + HELD_BY_MODELS)
    done = mpiexec(2, "script.py", folder=folder)
    lines = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("held")]
    held = [[int(word) for word in line] for line in lines]
    assert [one[0] for one in held] == [sizes[0]] * 2 and max(one[1] for one in held) <= sizes[1]
    assert [one[2] >= sizes[2] for one in held] == [True, False] and [one[3] for one in held] == fields


RESTORED = """
import numpy as np
import eagre
from eagre.models.registry import load_case
from mpi4py import MPI

def build(device):
    model = load_case("case.toml").build(device)
    restore = type(model).restore

    def watched(self, state):
        field = np.asarray(state[FIELD])
        nonzero = int((field != 0.0).any(axis=(0, -1)).sum())
        for rank, rows in enumerate(MPI.COMM_WORLD.gather((field.shape[-2], nonzero), root=0) or ()):
            print("rows", rank, *rows)
        restore(self, state)

    type(model).restore = watched
    return model

model = eagre.distributed(build, "cpu")
model.advance(1.0, max_steps=2)
state = model.state()
assert all(np.abs(state[FIELD]).max(axis=(0, -1)) > 0.0)
model.advance(10.0, max_steps=2)
model.restore(state)
restored = model.state()
assert all(np.array_equal(restored[name], state[name], equal_nan=True) for name in state)
values = state[FIELD].copy()
values[..., -3, 5] = np.inf
try:
    model.restore({**state, FIELD: values})
except eagre.InputError as error:
    assert "finite" in str(error)
    print("refused")
model.restore(state)
model.advance(1.0 + float(model.time), max_steps=1)
print("advanced")
"""


@pytest.mark.parametrize(("text", "field", "most"), [(CASE, "q", 10 + 2 * 4), (AIR, "theta_perturbation", 8 + 2 * 4)])
def test_a_process_receives_its_rows_of_a_restored_state(folders, text, field, most):
    """A value that is not finite in the rows of one process is an error of all."""
    (folder,) = folders("case", text=text)
    (folder / "script.py").write_text(f'FIELD = "{field}"\n{RESTORED}')
    done = mpiexec(3, "script.py", folder=folder)
    lines = [line.split() for line in done.stdout.splitlines()]
    rows = {int(line[1]): (int(line[2]), int(line[3])) for line in lines if line[0] == "rows"}
    assert rows[0][0] == rows[0][1] and all(0 < rows[rank][1] <= most < rows[rank][0] for rank in (1, 2)), rows
    assert [line[0] for line in lines if line[0] != "rows"] == ["refused", "advanced"]


@pytest.mark.parametrize(
    ("changes", "count", "code", "words"),
    [
        (["--set", "friction.maning=0.03"], 2, 2, ["manning", "friction.maning"]),
        (["--set", "run.device=cpu,cpu"], 2, 2, ["each process has one device"]),
        (["--set", "grid.ny=9"], 3, 2, ["3 devices for 9 rows", "mpirun -n 2"]),
        (["--set", "bed.expression=0.0/(x-x)"], 2, 2, ["finite"]),
        (["--set", "bed.expression=1/(y-25)"], 2, 2, ["finite", "y = 25", "bed"]),  # in the second process only
        (["--set", "friction.manning=where(y<25, 0.03, 30)"], 3, 2, ["Strickler", "friction.manning"]),
        (["--set", "friction.manning={ file = 'empty.asc' }"], 3, 2, ["friction.manning", "no data", "y = 26.5"]),
        (["--set", "friction.manning={ file = 'coarse.asc' }"], 3, 2, ["Strickler", "friction.manning", "coarse.asc"]),
        (["--set", "bed={ file = 'empty.asc' }"], 3, 2, ["bed", "no data", "empty.asc"]),
        (["--set", "bed={ file = 'word.asc' }"], 2, 2, ["bed", "word.asc", "salt"]),
        (["--set", "bed.levees=[{ points = [[90, 0], [90, 9]], crest = 1 }]"], 2, 2, ["levee", "crosses no cell"]),
    ],
)
def test_one_message_for_an_error(folders, changes, count, code, words):
    (folder,) = folders("case")
    values = np.full((30, 40), 0.03)
    write_raster(folder / "coarse.asc", np.where(np.arange(30)[:, None] < 25, values, 30.0))
    values[26, 7] = -999.0
    write_raster(folder / "empty.asc", values)
    (folder / "word.asc").write_text((folder / "empty.asc").read_text().replace("-999.0", "salt"))
    names = sorted(os.listdir(folder))
    done = mpi_eagre(count, folder, "run", "case.toml", *changes)
    assert done.returncode == code and done.stderr.count("error:") == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    assert sorted(os.listdir(folder)) == names


def test_a_blow_up_leaves_the_last_valid_state(folders):
    folder, alone = folders("case", "alone")
    changes = ["--set", "numerics.time_step=1.9", "--set", "gauges.interval=4", "--set", "output.interval=4",
               "--set", "initial.surface_elevation=3*exp(-((x-15)**2)/20)"]  # fmt: skip
    done = mpi_eagre(2, folder, "run", "case.toml", *changes)
    assert done.returncode == 3 and done.stderr.count("error:") == 1, done.stdout + done.stderr
    assert mpi_eagre(1, alone, "run", "case.toml", *changes).returncode == 3
    ours, theirs = (read_restart(one / "restart.nc") for one in (folder, alone))
    assert np.isfinite(ours["q"]).all() and np.array_equal(ours["q"], theirs["q"])
    assert float(ours["clock"][T]) == float(theirs["clock"][T])


COMMANDS = [one.name for one in main.app.registered_commands]


def test_a_command_of_one_process_is_refused_in_several(tmp_path):
    done = mpi_eagre(2, tmp_path, "validate")
    assert done.returncode == 2 and done.stderr.count("error:") == 1 and done.stdout == "", done.stderr
    assert "2 processes of eagre validate" in done.stderr and os.listdir(tmp_path) == []


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("run", "sweep")])
def test_every_command_of_one_process_is_refused_in_several(monkeypatch, tmp_path, eagre, command):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(launch.SIZES[0], "2")
    monkeypatch.setenv(launch.RANKS[0], "0")
    done = eagre(command)
    assert done.code == 2 and f"2 processes of eagre {command}" in done.err and done.out == ""
    assert os.listdir() == []


@pytest.mark.parametrize("names", [*zip(launch.SIZES, launch.RANKS, strict=True)])
def test_only_the_first_process_reports_a_refusal(monkeypatch, eagre, names):
    size, rank = names
    monkeypatch.setenv(size, "3")
    for number, code in (("0", 2), ("2", 0)):
        monkeypatch.setenv(rank, number)
        done = eagre("bench")
        assert done.code == code and ("3 processes of eagre bench" in done.err) is (number == "0")
    assert eagre("bench", "--help").code == 0


def started(folder, count, *arguments):
    """Start `eagre run` for a time that no test reaches, and wait for its first record."""
    command = [str(BESIDE), "-n", str(count), sys.executable, "-m", "eagre", "run", "case.toml"]
    command += ["--set", "run.end_time=1e6", *arguments]
    run = subprocess.Popen(command, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + 200.0
    while time.monotonic() < deadline and run.poll() is None:
        if (folder / "gauges.csv").exists() and (folder / "gauges.csv").stat().st_size > 500:
            return run
        time.sleep(0.1)
    run.kill()
    raise AssertionError(run.communicate()[0].decode())


def processes_of(folder):
    """Processes of `eagre run` in a folder, in the order of their ranks."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.readlink(f"/proc/{entry}/cwd") == str(folder):
                text = Path(f"/proc/{entry}/environ").read_text()
                rank = [one.partition("=")[2] for one in text.split("\0") if one.startswith("PMI_RANK=")]
                found += [(int(rank[0]), int(entry))] if rank else []
        except OSError:
            continue
    return [number for _, number in sorted(found)]


def test_a_signal_ends_all_with_a_restart(folders):
    (folder,) = folders("case")
    run = started(folder, 2)
    for number in processes_of(folder):
        os.kill(number, signal.SIGUSR1)  # as a scheduler sends it to all processes
    text = run.communicate(timeout=60)[0].decode()
    assert run.returncode == 128 + signal.SIGUSR1, text
    assert "interrupted by SIGUSR1" in text and "--restart restart.nc" in text
    assert mpi_eagre(2, folder, "run", "case.toml", "--restart", "restart.nc", "--set",
                     f"run.end_time={read_time(folder) + 1.0}").returncode == 0  # fmt: skip


def read_time(folder):
    with h5py.File(folder / "restart.nc") as file:
        return float(file.attrs["time"])


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_process_ends_all(folders, rank):
    (folder,) = folders("case")
    run = started(folder, 2)
    os.kill(processes_of(folder)[rank], signal.SIGKILL)
    run.communicate(timeout=60)
    assert run.returncode != 0 and processes_of(folder) == []


FULL = """
import resource, sys
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 0:
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
from eagre.cli.main import app
sys.argv = ["eagre", "run", "case.toml", "--set", "run.end_time=100"]
app()
"""


def test_a_full_disk_of_the_first_process_ends_all(folders, tmp_path):
    (folder,) = folders("case", text=CASE.replace('interval = "1 s"', 'interval = "0.5 s"\ncompression = 0'))
    (tmp_path / "full.py").write_text(FULL)
    done = mpiexec(2, str(tmp_path / "full.py"), check=False, folder=folder)
    assert done.returncode == 6 and done.stderr.count("error:") == 1, done.stdout + done.stderr


SCRIPT = """
import numpy as np
import eagre

def build(device):
    grid = eagre.Grid(40, 30, 1.0, 1.0)
    return eagre.ShallowWater(grid, np.full((31, 41), -1.0), surface_elevation=0.1 * grid.x / 40 + 0 * grid.y[:, None],
                              device=device)

model = eagre.distributed(build, "cpu")
results = model.run(2.0, output_interval=1.0, gauges={"pier": (12.0, 10.0)}, gauge_interval=0.1)
print("device", model.device)
print("sum", repr(float(results["surface_elevation"].sum())), isinstance(model, eagre.ShallowWater))
"""


def test_a_script_runs_on_in_the_first_process(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    ours = mpiexec(2, str(tmp_path / "script.py")).stdout.splitlines()
    theirs = subprocess.run([sys.executable, str(tmp_path / "script.py")], env=environment(), capture_output=True,
                            text=True, check=True).stdout.splitlines()  # fmt: skip
    assert ours[0] == "device 2 processes: cpu (1 thread) each" and ours[1:] == theirs[1:]


BROKEN = SCRIPT.replace(
    "    grid = eagre", "    from mpi4py import MPI\n    1 // (1 - MPI.COMM_WORLD.rank)\n    grid = eagre"
)


def test_an_error_of_one_process_ends_all(tmp_path):
    (tmp_path / "script.py").write_text(BROKEN)
    done = mpiexec(2, str(tmp_path / "script.py"), check=False)
    assert done.returncode != 0 and "process 2 of 2 failed: ZeroDivisionError" in done.stderr


ALONE = (
    SCRIPT.replace(
        "    grid = eagre", "    from mpi4py import MPI\n    nx = (40, -1)[MPI.COMM_WORLD.rank]\n    grid = eagre"
    )
    .replace("Grid(40,", "Grid(nx,")
    .replace("import eagre\n", "import eagre, eagre.processes\neagre.processes.PATIENCE = 2.0\n", 1)
)


def test_an_input_error_of_one_process_ends_all(tmp_path):
    """Such as a file that one host does not have: the first process would wait for the other."""
    (tmp_path / "script.py").write_text(ALONE)
    done = mpiexec(2, str(tmp_path / "script.py"), check=False)
    assert done.returncode != 0 and "process 2 of 2 failed" in done.stderr and "nx" in done.stderr


def test_processes_and_messages_are_described(tmp_path):
    done = mpi_eagre(2, tmp_path, "info", "--mpi", check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0] == ["processes", "2"] and ["1", "and", "2"] in [row[:3] for row in rows]
    assert done.stdout.count("cpu (1 thread)") == 2 and "GB/s by MPI" in done.stdout


def test_slow_messages_are_noticed():
    assert launch.MessageSpeed("MPI", 2e-6, 5e9).is_slow is False
    assert launch.MessageSpeed("MPI", 2e-4, 5e9).is_slow and launch.MessageSpeed("MPI", 2e-6, 1e8).is_slow


def test_processes_that_cannot_find_each_other_are_refused(monkeypatch):
    for name in launch.SIZES:
        monkeypatch.delenv(name, raising=False)
    assert launch.communicator() is None
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(DeviceError, match=r"pip install 'eagre\[mpi\]'"):
        launch.communicator()
    world = type("World", (), {"size": 1, "rank": 0})()
    mpi = type("MPI", (), {"COMM_WORLD": world, "Get_library_version": lambda: "Some MPI 1.0"})
    monkeypatch.setitem(sys.modules, "mpi4py", type("mpi4py", (), {"MPI": mpi}))
    with pytest.raises(DeviceError, match="4 processes were started, but the MPI library of mpi4py finds 1"):
        launch.communicator()


@pytest.mark.parametrize("module", [None, types.SimpleNamespace(available=False)])  # no package, CuPy's placeholder
def test_a_missing_nccl_is_reported_in_all_processes(monkeypatch, module):
    runtime = types.SimpleNamespace(runtimeGetVersion=lambda: 13000)
    cuda = types.SimpleNamespace(runtime=runtime, **({} if module is None else {"nccl": module}))
    for name, one in {"cupy": types.SimpleNamespace(cuda=cuda), "cupy.cuda": cuda}.items():
        monkeypatch.setitem(sys.modules, name, one)
    monkeypatch.setitem(sys.modules, "cupy.cuda.nccl", module)
    monkeypatch.delitem(sys.modules, "eagre.backend.mpi.gpu_exchange", raising=False)
    nccl = importlib.import_module("eagre.backend.mpi.gpu_exchange")
    comm = types.SimpleNamespace(rank=1, size=2, allgather=lambda mine: ["", mine])
    with pytest.raises(DeviceError, match="exchange data by NCCL, which is missing") as error:
        nccl.Nccl(comm)
    assert "pip install nvidia-nccl-cu13" in str(error.value)
    monkeypatch.delitem(sys.modules, "eagre.backend.mpi.gpu_exchange")
