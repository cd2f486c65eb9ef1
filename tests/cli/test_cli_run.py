"""`eagre run`: what it shows, what it writes, and with which code it ends."""

from __future__ import annotations

import csv
import errno
import io
import math
import sys
import threading
import types
from time import sleep

import numpy as np
import pytest
import xarray as xr
from rich.console import Console

from eagre.cli.run import _of_copy, _summary_rows
from eagre.cli.support import console, exits
from eagre.cli.support.console import rates, share_done
from eagre.io import restart, write_restart
from eagre.io.records.records import RecordFile
from eagre.kernels.water_sums import water_rows


def rows_of(path):
    """Rows of a CSV file."""
    with path.open() as file:
        return list(csv.reader(line for line in file if not line.startswith("#")))


def test_run_writes_everything_and_tells_it(eagre, fake_case, tmp_path, opened):
    done = eagre("run", fake_case())
    assert done.code == 0, done.err
    first = done.out.splitlines()[0]
    assert first.split() == ["device", "cpu", "(7", "threads),", "single", "precision"]
    for words in ("A fake case (fake)", "12 x 9 = 108 cells", "finished", "cell-steps/s", "2.50e-07", "dt 0.25 s"):
        assert words in done.out
    for name in ("out.nc", "gauges.csv", "restart.nc"):
        assert name in done.out
        assert (tmp_path / name).exists()
    dataset = opened(tmp_path / "out.nc")
    np.testing.assert_array_equal(dataset["time"], [0, 2, 4, 6, 8, 10])
    assert set(dataset.data_vars) >= {"depth", "surface_elevation", "bed"}
    assert dataset.attrs["title"] == "A fake case"
    assert dataset.attrs["case"].startswith('model = "fake"')
    assert len(rows_of(tmp_path / "gauges.csv")) == 12


def test_quiet_run_tells_the_device_only(eagre, fake_case):
    done = eagre("run", fake_case(), "--quiet")
    assert done.code == 0
    assert done.out.split() == ["device", "cpu", "(7", "threads),", "single", "precision"]
    assert done.err == ""


def test_progress_lines(eagre, fake_case):
    done = eagre("run", fake_case(end_time="1000", interval="100"))
    lines = [line for line in done.out.splitlines() if "steps/s" in line and "%" in line]
    assert 1 <= len(lines) <= 12
    assert "mass error 2.5e-07" in lines[-1]
    assert " left" in lines[-1]


@pytest.mark.parametrize(("patience", "quiet", "told"), [(0.0, False, True), (0.0, True, False), (60.0, False, False)])
def test_a_model_that_takes_long_to_make_is_told_where_no_spinner_turns(monkeypatch, patience, quiet, told):
    monkeypatch.setattr(console, "_PATIENCE", patience)
    out = Console(file=io.StringIO())
    with console.preparing(out, quiet=quiet):
        sleep(0.3)
    assert (out.file.getvalue() == f"{console.PREPARING}\n") == told
    assert not any(isinstance(one, threading.Timer) for one in threading.enumerate() if one.is_alive())


def test_rates_in_words():
    console = types.SimpleNamespace(
        **{"time": 30.0, "until": 110.0, "steps": 100, "dt": 0.25, "wall_seconds": 5.0, "steps_per_second": 20.0},
        volume_error=float("nan"),
    )
    assert share_done(console, 10.0) == pytest.approx(0.2)
    compiled = types.SimpleNamespace(time=10.0, wall_seconds=4.0)
    assert rates(console, compiled) == "20 steps/s, dt 0.25 s, 4 s left"
    console.dt = 1e12
    assert rates(console, compiled) == "20 steps/s, dt unlimited, 4 s left"
    console.dt, console.volume_error = 0.25, 1e-8
    assert rates(console, console) == "compiling, dt 0.25 s, mass error 1.0e-08"


def test_time_left_is_that_of_the_steps_alone():
    """The first report comes after everything was compiled: its 60 s say nothing of the rest."""
    fixed = {"until": 100.0, "dt": 0.1, "steps_per_second": 10.0, "volume_error": math.nan}
    first = types.SimpleNamespace(time=0.1, wall_seconds=60.0, **fixed)
    second = types.SimpleNamespace(time=1.1, wall_seconds=61.0, **fixed)
    assert "compiling" in rates(first, None) and "left" not in rates(first, None)
    assert rates(second, first).endswith("1 min 38 s left")


@pytest.mark.parametrize("count", [1, 10_000])
def test_number_of_threads(eagre, fake_case, count):
    from eagre.backend.cpu.compiler import set_threads, threads

    most = threads()
    done = eagre("run", fake_case(), "--threads", count)
    found = threads()
    set_threads(most)
    if count == 1:
        assert (done.code, found) == (0, 1)
    else:
        assert done.code == exits.BAD_INPUT and f"--threads {most}" in done.err


@pytest.mark.parametrize(
    ("steps", "dt", "words"),
    [
        (12, (0.5, 2.0), "12, dt 0.5 s to 2 s"),
        (12, (math.nan, math.nan), "12, each shortened to end at an output time"),
        (0, (math.nan, math.nan), "0, no time step"),
    ],
)
def test_time_steps_in_the_summary(tmp_path, steps, dt, words):
    summary = types.SimpleNamespace(
        interrupted=False, restart=None, steps=steps, time=1.0, wall_seconds=1.0, dt_min=dt[0], dt_max=dt[1],
        cell_steps_per_second=1.0, diagnostics={},
    )  # fmt: skip
    model = types.SimpleNamespace(device=types.SimpleNamespace(kind="cpu"), summary_rows=[])
    rows = _summary_rows(summary, types.SimpleNamespace(files=[], checkpoint=tmp_path / "a.nc"), model)
    assert dict(rows)["steps     "] == words


def test_volume_in_the_summary(tmp_path):
    """The mass error where it is known, and the model's rows: for water, where it came from if any could."""
    plan = types.SimpleNamespace(files=[], checkpoint=tmp_path / "a.nc")
    facts = {"interrupted": False, "restart": None, "steps": 1, "time": 1.0}
    facts |= {"wall_seconds": 1.0, "dt_min": 1.0, "dt_max": 1.0}
    told = []
    for found in (
        {"volume": 2e6, "volume_change": 0.1, "volume_error": 5e-8, "volume_inflow": 0.0, "volume_rain": 0.0},
        {"volume": 2e6, "volume_change": -45e3, "volume_error": math.nan, "volume_inflow": 0.0, "volume_rain": 0.0},
        {"energy": 1.0},
        {"volume": 2e6, "volume_change": -45e3, "volume_error": 1e-9, "volume_inflow": -46e3, "volume_rain": 1e3},
    ):
        inflow = {"west": -50e3, "east 0 to 40 m": 4e3} if found.get("volume_inflow") else {}
        rows_of_end = water_rows(found, inflow, {}) if "volume" in found else []
        summary = types.SimpleNamespace(**facts, cell_steps_per_second=1.0, diagnostics=found)
        model = types.SimpleNamespace(device=types.SimpleNamespace(kind="cpu"), summary_rows=rows_of_end)
        rows = _summary_rows(summary, plan, model)
        told.append({name.strip(): value for name, value in rows if name.strip()})
    assert [value for name, value in rows if not name.strip()] == [
        "-5e+04 m3 through west", "+4000 m3 through east 0 to 40 m", "+1000 m3 of rain",
    ]  # fmt: skip
    assert told[0]["mass error"] == "5.00e-08" and "volume" not in told[0]
    assert told[1]["volume"] == "2e+06 m3, 4.5e+04 m3 less than at the start" and "mass error" not in told[1]
    assert not {"volume", "mass error"} & set(told[2])
    assert told[3]["mass error"] == "1.00e-09" and told[3]["volume"] == told[1]["volume"]


def test_share_of_the_copy_bandwidth(monkeypatch):
    monkeypatch.setattr("eagre.backend.timing.copy_bandwidth", lambda device, megabytes: 4e12)
    device = types.SimpleNamespace(kind="cuda", free_memory=lambda: 8e9)
    model = types.SimpleNamespace(device=device, bytes_per_step=68)
    assert _of_copy(types.SimpleNamespace(cell_steps_per_second=3e10), model) == ", 51% of the copy bandwidth"
    device.free_memory = lambda: 1e9
    assert _of_copy(types.SimpleNamespace(cell_steps_per_second=3e10), model) == ""


def test_run_without_outputs(eagre, fake_case):
    path = fake_case()
    path.write_text(path.read_text().split("[output]")[0])
    done = eagre("run", path)
    assert done.code == 0, done.err
    assert "no output: the case has no [output]" in done.out
    assert [item.name for item in path.parent.iterdir()] == ["case.toml"]


def test_options_override_the_case(eagre, fake_case, tmp_path, opened):
    assert eagre("run", fake_case(), "--precision", "double").code == 0
    assert opened(tmp_path / "out.nc")["depth"].dtype == np.float64
    done = eagre("run", fake_case(), "--device", "cuda", "--overwrite")
    assert (done.code, "there is none" in done.err) == (exits.NO_DEVICE, True)


def test_existing_files_are_kept_unless_told_otherwise(eagre, fake_case, tmp_path):
    (tmp_path / "out.nc").write_text("precious")
    done = eagre("run", fake_case())
    assert done.code == exits.BAD_INPUT
    assert "output.file (line 11)" in done.err and "--overwrite" in done.err
    assert (tmp_path / "out.nc").read_text() == "precious"
    assert eagre("run", fake_case(), "--overwrite").code == 0
    assert (tmp_path / "out.nc").stat().st_size > 1000
    path = fake_case()
    path.write_text(path.read_text().replace("[output]", "[output]\noverwrite = true"))
    assert eagre("run", path).code == 0  # gauges and restart of the run before as well


@pytest.mark.parametrize(
    ("fail", "code", "words"),
    [
        ("blow-up", exits.BLOW_UP, ["t = 6 s", "(3, 4)", "restart.nc", "smaller courant_number"]),
        ("memory", exits.NO_MEMORY, ["5.00 GiB", "coarser grid"]),
        ("disk", exits.NO_OUTPUT, ["out.nc", "No space left"]),
        ("bug", exits.INTERNAL, ["ZeroDivisionError: a bug", "--debug"]),
        ("interrupt", exits.INTERRUPTED, ["interrupted: stopped at t = ", "--restart", "restart.nc"]),
    ],
)
def test_exit_codes(eagre, fake_case, tmp_path, fail, code, words):
    done = eagre("run", fake_case(fail))
    assert done.code == code, done.err
    assert "Traceback" not in done.err
    for word in words:
        assert word in done.err
    if code != exits.NO_MEMORY:
        with xr.open_dataset(tmp_path / "out.nc", decode_times=False, engine="h5netcdf") as dataset:
            assert dataset.sizes["time"] >= 3


@pytest.mark.parametrize("place", ["before", "after"])
def test_debug_shows_the_traceback(eagre, fake_case, place):
    words = ["run", fake_case("bug")]
    done = eagre("--debug", *words) if place == "before" else eagre(*words, "--debug")
    assert done.code == exits.INTERNAL
    assert "Traceback" in done.err and "ZeroDivisionError" in done.err


def test_interrupted_run_continues_bit_for_bit(eagre, fake_case, tmp_path, opened):
    assert eagre("run", fake_case()).code == 0
    whole, series = opened(tmp_path / "out.nc"), rows_of(tmp_path / "gauges.csv")
    stopped = eagre("run", fake_case("interrupt"), "--overwrite")
    assert stopped.code == exits.INTERRUPTED
    assert "interrupted at t = " in stopped.out
    assert opened(tmp_path / "out.nc").sizes["time"] < 6
    done = eagre("run", fake_case(), "--restart", tmp_path / "restart.nc")
    assert done.code == 0, done.err
    assert "appending to existing files" in done.out
    again = opened(tmp_path / "out.nc")
    np.testing.assert_array_equal(again["time"], whole["time"])
    np.testing.assert_array_equal(again["depth"], whole["depth"])
    assert rows_of(tmp_path / "gauges.csv") == series


def test_checkpoint_without_a_restart_section(eagre, fake_case, tmp_path):
    path = fake_case("interrupt")
    path.write_text(path.read_text().split("[restart]")[0])
    done = eagre("run", path)
    assert done.code == exits.INTERRUPTED
    assert "case_restart.nc" in done.err
    assert (tmp_path / "case_restart.nc").exists()


def test_restart_of_another_run_is_refused(eagre, fake_case, tmp_path):
    assert eagre("run", fake_case()).code == 0
    done = eagre("run", fake_case(nx="13"), "--restart", tmp_path / "restart.nc")
    assert done.code == exits.BAD_INPUT
    done = eagre("run", fake_case(), "--restart", tmp_path / "restart.nc")
    assert done.code == exits.BAD_INPUT
    assert "run.end_time (line 5)" in done.err and "end_time = 20" in done.err and "is finished" in done.err
    done = eagre("run", fake_case(), "--restart", tmp_path / "resart.nc")
    assert done.code == exits.BAD_INPUT
    assert str(tmp_path / "resart.nc") in done.err and "restart.nc" in done.err


def test_problems_before_anything_is_computed(eagre, fake_case, tmp_path):
    done = eagre("run", fake_case(file='"gauges.csv"'))
    assert done.code == exits.BAD_INPUT
    assert ".nc" in done.err
    path = fake_case()
    path.write_text(path.read_text().replace('"out.nc"', '"restart.nc"'))
    done = eagre("run", path)
    assert (done.code, "Two outputs have the same file" in done.err) == (exits.BAD_INPUT, True)
    path.write_text(
        path.read_text().replace('"gauges.csv"', '"case.toml/gauges.csv"').replace('"restart.nc"', '"o.nc"', 1)
    )
    done = eagre("run", path)
    assert (done.code, "cannot create the folder" in done.err) == (exits.NO_OUTPUT, True)
    assert not (tmp_path / "o.nc").exists()


def test_wrong_names_of_variables_and_points(eagre, fake_case):
    path = fake_case()
    good = path.read_text()
    path.write_text(good.replace("interval = 2\n", 'interval = 2\nvariables = ["dept"]\n'))
    done = eagre("run", path, "--overwrite")
    assert (done.code, 'did you mean "depth"' in done.err) == (exits.BAD_INPUT, True)
    path.write_text(good.replace("interval = 1\n", 'interval = 1\nvariables = ["bed"]\n'))
    assert "gauges.variables" in eagre("run", path, "--overwrite").err
    path.write_text(good.replace("[2.5, 3.5]", "[2.5, 35]"))
    done = eagre("run", path, "--overwrite")
    assert done.code == exits.BAD_INPUT
    assert "gauges.points" in done.err and "pier" in done.err


def test_full_disk_is_told_before_the_run(eagre, fake_case, monkeypatch, tmp_path):
    usage = types.SimpleNamespace(total=1000, used=999, free=1)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    done = eagre("run", fake_case())
    assert done.code == exits.NO_OUTPUT
    assert "has 1 B free" in done.err
    assert not (tmp_path / "out.nc").exists()


@pytest.mark.parametrize("full_at", [4.0, 10.0])
def test_full_disk_during_the_run_is_told(eagre, fake_case, monkeypatch, tmp_path, full_at):
    """Records are written beside the steps: a disk that is full is told with the next one, or at the end."""
    record = RecordFile._write

    def until_full(file, times, values):
        if file.path.name == "out.nc" and max(times) >= full_at:
            raise OSError(errno.ENOSPC, "No space left on device")
        record(file, times, values)

    monkeypatch.setattr(RecordFile, "_write", until_full)
    done = eagre("run", fake_case())
    assert done.code == exits.NO_OUTPUT and "out.nc" in done.err and "free disk space" in done.err
    with xr.open_dataset(tmp_path / "out.nc", decode_times=False, engine="h5netcdf") as dataset:
        assert dataset["time"].values.tolist() == [t for t in (0.0, 2.0, 4.0, 6.0, 8.0, 10.0) if t < full_at]


NO_ROOM = [("", exits.NO_OUTPUT, 5.0), ("interrupt", exits.INTERRUPTED, 7.0), ("blow-up", exits.BLOW_UP, 6.0)]


@pytest.mark.parametrize(("fail", "code", "at"), NO_ROOM)
def test_a_state_without_room_on_its_disk_goes_beside_the_fields(
    eagre, fake_case, monkeypatch, tmp_path, fail, code, at
):
    """A restart, one of an interrupted run and one of a run that blew up; no file that is there is replaced."""
    write = restart._write

    def unless_full(path, *rest):
        if path.parent.name == "small":
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, *rest)

    monkeypatch.setattr(restart, "_write", unless_full)
    path = fake_case(fail)
    text = path.read_text().replace('"restart.nc"', '"small/restart.nc"')
    path.write_text(text.replace("interval = 5", "interval = 9") if fail else text)
    done = eagre("run", path)
    assert done.code == code and str(tmp_path / "restart.nc") in done.err
    assert restart.read_restart_header(tmp_path / "restart.nc").time == at
    before = (tmp_path / "restart.nc").read_bytes()
    done = eagre("run", path, "--overwrite")
    assert done.code == (code if fail == "blow-up" else exits.NO_OUTPUT) and "no space left on the disk" in done.err
    assert (tmp_path / "restart.nc").read_bytes() == before and not list((tmp_path / "small").iterdir())


def test_records_are_on_disk_before_the_restart(eagre, fake_case, monkeypatch):
    """What is killed after a restart goes on with every record before it."""
    written, record = [], RecordFile._write

    def slow(file, times, values):
        sleep(0.05)
        record(file, times, values)
        written.extend(times)

    def restart(path, model, **manner):
        assert written[-1] == 2.0 * (model.time // 2.0)
        return write_restart(path, model, **manner)

    monkeypatch.setattr(RecordFile, "_write", slow)
    monkeypatch.setattr("eagre.io.write_restart", restart)
    assert eagre("run", fake_case()).code == 0
    assert written == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]


def test_compression_is_that_of_the_case(eagre, fake_case, tmp_path):
    path, levels = fake_case(), []
    for key in ("", "compression = 0\n", "compression = 4\n"):
        path.write_text(path.read_text().replace("compression = 0\n", "").replace("[output]\n", f"[output]\n{key}"))
        assert eagre("run", path, "--overwrite").code == 0
        with xr.open_dataset(tmp_path / "out.nc", engine="h5netcdf") as dataset:
            levels.append(dataset["depth"].encoding.get("complevel") or 0)
    assert levels == [1, 0, 4]


def test_folders_of_outputs_are_made(eagre, fake_case, tmp_path):
    path = fake_case()
    path.write_text(path.read_text().replace('"out.nc"', '"results/a/out.nc"'))
    assert eagre("run", path).code == 0
    assert (tmp_path / "results" / "a" / "out.nc").exists()


def test_shallow_water_end_to_end(eagre, tmp_path, opened):
    """The template of `eagre new`, on a coarse grid for a short time, with the real model."""
    assert eagre("new", "shallow-water", tmp_path).code == 0
    path = tmp_path / "case.toml"
    text = (
        path.read_text().replace("nx = 200", "nx = 40").replace("ny = 150", "ny = 30").replace("dx = 1.0 ", "dx = 5.0 ")
    )
    path.write_text(text.replace('"40 s"', '"2 s"'))
    done = eagre("run", path, "--device", "cpu")
    assert done.code == 0, done.err
    assert any(line.startswith("device      cpu (") for line in done.out.splitlines())
    dataset = opened(tmp_path / "out.nc")
    assert dataset.sizes["time"] == 3
    assert float(dataset["depth"].max()) > 1.0
    assert eagre("plot", tmp_path / "out.nc").code == 0
    assert eagre("plot", tmp_path / "gauges.csv").code == 0


def test_help_and_version_are_quick(eagre):
    import subprocess

    from eagre import __version__ as version

    code = "import sys; sys.argv = ['eagre', '--help']; from eagre.cli.main import app\n"
    code += "import atexit, time\nfrom eagre.cli.main import app\n"
    code += "try:\n    app()\nexcept SystemExit:\n    pass\n"
    code += "heavy = {'numpy', 'numba', 'xarray', 'matplotlib', 'pydantic', 'rasterio'} & set(sys.modules)\n"
    code += "print(sorted(heavy), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    for words in ("run", "validate", "Exit codes", "130"):
        assert words in done.stdout
    done = eagre("--version")
    assert (done.code, done.out.strip()) == (0, f"eagre {version}")
