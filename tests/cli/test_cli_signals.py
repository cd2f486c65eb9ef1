"""A run that is stopped from outside, with the real model in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pytest

from eagre.cli.support import exits

CASE = """\
model = "shallow-water"
[run]
end_time = {end}
device = "cpu"
[grid]
nx = 40
ny = 30
dx = 1.0
[bed]
expression = "0.01 * x"
[initial]
surface_elevation = "1.0 + 0.5 * exp(-((x - 10)**2 + (y - 12)**2) / 20)"
[output]
file = "{name}.nc"
interval = 1.7
[gauges]
file = "{name}.csv"
interval = 0.3
points = {{pier = [12.5, 3.5]}}
"""
RESTART = """\
[restart]
file = "{name}_restart.nc"
interval = 1.7
"""


def eagre(folder, *words):
    """Start the command line in `folder`."""
    command = [sys.executable, "-m", "eagre", "run", *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def write(folder, name, end, more=""):
    (folder / f"{name}.toml").write_text((CASE + more).format(name=name, end=end))
    return f"{name}.toml"


NUMBERS = {
    "stopped": [signal.SIGINT],
    "ended": [signal.SIGTERM],
    "killed": [signal.SIGKILL],
    "hung_up": [signal.SIGHUP],
    "twice": [signal.SIGINT, signal.SIGINT],
    "warned": [signal.SIGUSR1, signal.SIGTERM],
}


@pytest.fixture(scope="module")
def killed_and_stopped(tmp_path_factory):
    """Endless runs that get signals after their first records, 0.1 s apart."""
    folder = tmp_path_factory.mktemp("signals")
    runs = {}
    for name, numbers in NUMBERS.items():  # one after the other: the first one compiles
        run = runs[name] = eagre(folder, write(folder, name, 1e7, RESTART if name == "killed" else ""))
        series = folder / f"{name}.csv"
        for _ in range(1200):
            if series.exists() and len(series.read_text().splitlines()) > 20:
                break
            assert run.poll() is None, run.communicate()[0]
            time.sleep(0.1)
        for number in numbers:
            with suppress(ProcessLookupError):
                os.kill(run.pid, number)
            time.sleep(0.1)
    said = {name: run.communicate(timeout=60)[0] for name, run in runs.items()}
    return folder, {name: run.returncode for name, run in runs.items()}, said


def test_ctrl_c_writes_a_restart_and_says_how_to_go_on(killed_and_stopped):
    folder, codes, said = killed_and_stopped
    assert codes["stopped"] == exits.INTERRUPTED
    assert "eagre run stopped.toml --restart" in said["stopped"] and "Traceback" not in said["stopped"]
    assert (folder / "stopped_restart.nc").exists()


@pytest.mark.parametrize("name", ["ended", "hung_up", "twice", "warned"])
def test_other_signals_and_repeated_ones_end_a_run_in_the_same_way(killed_and_stopped, name):
    folder, codes, said = killed_and_stopped
    number = NUMBERS[name][0]
    assert codes[name] == 128 + number and "Traceback" not in said[name]
    assert number == signal.SIGINT or f"interrupted by {number.name}" in said[name]
    assert f"eagre run {name}.toml --restart" in said[name] and (folder / f"{name}_restart.nc").exists()


def test_a_reader_that_has_gone_does_not_end_a_run(tmp_path, opened):
    """``eagre run case.toml | head``: with the code of the run, and all of its files."""
    name = write(tmp_path, "piped", 5.0)
    shell = f"{sys.executable} -m eagre run {name} | head -1; echo code ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines()[-1] == "code 0" and not done.stderr
    assert list(opened(tmp_path / "piped.nc")["time"].values) == pytest.approx([0.0, 1.7, 3.4, 5.0])


def test_a_reader_that_has_gone_leaves_the_code_of_an_error(tmp_path):
    shell = f"{sys.executable} -m eagre run missing.toml 2>&1 | true; echo code ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout == f"code {exits.BAD_INPUT}\n"


def test_a_terminal_that_was_closed_does_not_lose_the_restart(tmp_path):
    """The run gets SIGHUP, and can show nothing more."""
    import pty

    name = write(tmp_path, "closed", 1e7)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "eagre", "run", name]
    run = subprocess.Popen(command, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    series = tmp_path / "closed.csv"
    for _ in range(1200):
        os.set_blocking(ours, False)
        with suppress(BlockingIOError):
            os.read(ours, 65536)
        if series.exists() and len(series.read_text().splitlines()) > 20:
            break
        assert run.poll() is None
        time.sleep(0.1)
    os.close(ours)
    time.sleep(0.5)  # the bar is drawn five times a second
    assert run.poll() is None
    os.kill(run.pid, signal.SIGHUP)
    assert run.wait(timeout=60) == 128 + signal.SIGHUP
    assert (tmp_path / "closed_restart.nc").exists()


def test_killed_run_leaves_readable_files(killed_and_stopped, opened):
    folder, codes, _ = killed_and_stopped
    assert codes["killed"] == -signal.SIGKILL
    dataset = opened(folder / "killed.nc")
    assert dataset.sizes["time"] >= 2 and np.isfinite(dataset["depth"]).all()
    assert np.diff(dataset["time"]) == pytest.approx(1.7)
    rows = (folder / "killed.csv").read_text().splitlines()
    assert len(rows) > 20 and len({row.count(",") for row in rows[:-1]}) <= 2


@pytest.mark.parametrize("name", ["stopped", "killed"])
def test_stopped_run_goes_on_bit_for_bit(killed_and_stopped, opened, name):
    folder, _, _ = killed_and_stopped
    with opened(folder / f"{name}.nc") as left:
        end = float(np.ceil(left["time"][-1])) + 4.0
    more = RESTART if name == "killed" else ""
    rest = eagre(folder, write(folder, name, end, more), "--restart", f"{name}_restart.nc")
    whole = eagre(folder, write(folder, f"whole_{name}", end, more))
    for run in (rest, whole):
        said, _ = run.communicate(timeout=120)
        assert run.returncode == exits.OK, said
    ours, theirs = opened(folder / f"{name}.nc"), opened(folder / f"whole_{name}.nc")
    assert ours.sizes["time"] == theirs.sizes["time"] > 3
    for field in theirs:
        np.testing.assert_array_equal(ours[field], theirs[field], err_msg=field)
    assert (folder / f"{name}.csv").read_text() == (folder / f"whole_{name}.csv").read_text()


def test_dry_domain_is_told(tmp_path):
    """Not an error: water may come in later, or rain may fall."""
    path = tmp_path / "dry.toml"
    path.write_text(CASE.format(name="dry", end=5).replace("surface_elevation = ", "surface_elevation = -9.0 #"))
    said, _ = (run := eagre(tmp_path, path.name)).communicate(timeout=120)
    assert run.returncode == exits.OK, said
    assert "the whole domain is dry" in said
