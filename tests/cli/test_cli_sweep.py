"""`eagre sweep`: members in processes, their table, second starts, parts, signals and the dataset of all members."""

from __future__ import annotations

import csv
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import eagre as package
from eagre.cli.support import exits
from eagre.errors import InputError
from eagre.sweeps.records import FINISHED, Record
from eagre.sweeps.running import Member

CASE = """\
model = "shallow-water"
[run]
end_time = 2
device = "cpu"
[grid]
nx = 12
ny = 9
dx = 1.0
[bed]
value = 0.0
[initial]
surface_elevation = "1.0 + 0.1 * exp(-(x - 5)**2)"
[friction]
manning = 0.03
[output]
file = "results/out.nc"
interval = 1
[gauges]
file = "gauges.csv"
interval = 1
points = {pier = [2.5, 3.5]}
"""
QUICK = """\
import pathlib, sys, time
changes = dict(one.partition("=")[::2] for one in sys.argv[1:] if "=" in one)
value = float(changes["friction.manning"])
with open(changes["log"], "a") as file:
    file.write(f"{value} {'restart' if '--restart' in sys.argv else 'start'}\\n")
time.sleep(float(changes["wait"]))
if value > 0.9 and pathlib.Path(changes["fail"]).exists():
    print("error: too rough\\ngot a value")
    sys.exit(3)
"""


@pytest.fixture
def case(tmp_path) -> Path:
    path = tmp_path / "case.toml"
    path.write_text(CASE)
    return path


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Members whose run is a small program: it notes each start, and fails above 0.9 while a file is there."""
    options, real = {"wait": "0", "log": str(tmp_path / "starts"), "fail": str(tmp_path / "fails")}, Member.command

    def command(self, record):
        arguments = real(self, record)
        more = [f"{name}={value}" for name, value in options.items()]
        return [sys.executable, "-c", QUICK, *arguments[arguments.index("--set") :], *more]

    monkeypatch.setattr(Member, "command", command)
    (tmp_path / "fails").touch()
    return lambda: (tmp_path / "starts").read_text().splitlines() if (tmp_path / "starts").exists() else []


def table(folder: Path) -> list[dict[str, str]]:
    with (folder / "members.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def states(folder: Path) -> list[str]:
    return [row["state"] for row in table(folder)]


def test_the_members_of_a_product_and_their_dataset(eagre, case, tmp_path, opened):
    done = eagre("sweep", case, "--set", "friction.manning=0.02,0.2", "--set", "grid.x0=0.0", "--workers", 2)
    assert done.code == 0, done.err + done.out
    members = tmp_path / "members"
    rows = table(members)
    assert [row["friction.manning"] for row in rows] == ["0.02", "0.2"]
    assert [(row["state"], row["exit_code"], row["file"]) for row in rows] == [
        ("finished", "0", "000/out.nc"), ("finished", "0", "001/out.nc"),
    ]  # fmt: skip
    assert not (tmp_path / "results").exists() and not (tmp_path / "gauges.csv").exists()
    dataset = package.open_sweep(members)
    assert dataset.sizes == {"member": 2, "time": 3, "y": 9, "x": 12}
    assert list(dataset["friction.manning"].values) == [0.02, 0.2]
    assert list(dataset["state"].values) == ["finished"] * 2
    for number in (0, 1):
        single = opened(members / f"00{number}" / "out.nc")
        assert np.array_equal(dataset["depth"][number], single["depth"])
        assert np.array_equal(dataset["depth"][:, -1, 2:5, [3, 1]][number], single["depth"][-1, 2:5, [3, 1]])
    assert dataset.attrs["setting_precision"] == "single" and "case" not in dataset.attrs
    gauges = package.open_sweep(members, "gauges")
    assert gauges["surface_elevation"].dims == ("member", "time", "station")
    assert list(gauges["station_name"].values) == ["pier"]
    dataset.close()


def test_a_second_start_skips_what_has_finished_and_adds_members(eagre, case, tmp_path, quick):
    assert eagre("sweep", case, "--set", "friction.manning=0.1,0.2").code == 0
    assert quick() == ["0.1 start", "0.2 start"]
    assert eagre("sweep", case, "--set", "friction.manning=0.1,0.2,0.3").code == 0
    assert quick() == ["0.1 start", "0.2 start", "0.3 start"]


def test_a_failed_member_does_not_end_the_others_and_runs_again(eagre, case, tmp_path, quick):
    command = ("sweep", case, "--set", "friction.manning=0.1,1,0.2")
    done = eagre(*command)
    assert done.code == exits.INTERNAL
    assert "1 of 3 members have not finished; failed: 001" in done.err and "bug" not in done.err
    assert "exit code 3: too rough, see" in done.out
    assert states(tmp_path / "members") == ["finished", "failed", "finished"]
    assert table(tmp_path / "members")[1]["error"] == "too rough"
    (tmp_path / "fails").unlink()
    assert eagre(*command).code == 0
    assert quick() == ["0.1 start", "1.0 start", "0.2 start", "1.0 start"]


def test_a_failure_of_a_real_run_is_told_in_its_own_words(eagre, case, tmp_path):
    done = eagre("sweep", case, "--set", "gauges.points={pier = [2.5, 3.5]},{pier = [99.0, 3.5]}", "--quiet")
    assert done.code == exits.INTERNAL
    assert states(tmp_path / "members") == ["finished", "failed"]
    assert "001  failed" in done.out and "000" not in done.out
    assert "exit code 2: gauges.points: " in done.out
    dataset = package.open_sweep(tmp_path / "members")
    assert list(dataset["state"].values) == ["finished", "failed"]
    assert np.isfinite(dataset["depth"][0]).all() and np.isnan(dataset["depth"][1]).all()
    assert list(dataset["gauges.points"].values) == ["{pier = [2.5, 3.5]}", "{pier = [99.0, 3.5]}"]
    dataset.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "friction.maning=0.1,0.2"], 'did you mean "manning"?'),
        (["--set", "friction.manning=0.1,rough,"], "--set"),
        (["--set", "output.interval=1,-1"], "output.interval"),
        (["--set", "friction.manning=0.1", "--set", "friction.manning=0.2"], "--set friction.manning twice"),
        ([], "The sweep has no member."),
        (["--set", "friction.manning=0.1", "--part", "3/2"], "allowed: K/N with K from 1 to N"),
        (["--table", "missing.csv"], "missing.csv"),
        (["--set", "output.file=gauges.csv", "--set", "run.end_time=1,2"], "suffix"),
    ],
)
def test_wrong_options_are_refused_before_the_first_member(eagre, case, tmp_path, quick, options, message):
    done = eagre("sweep", case, *options)
    assert done.code == exits.BAD_INPUT
    assert message in done.err
    assert not quick() and not (tmp_path / "members").exists()


def test_rows_of_a_table(eagre, case, tmp_path, quick):
    (tmp_path / "rows.csv").write_text('friction.manning,run.end_time,title\n0.1,2 s,"a, b"\n0.2,,c\n')
    assert eagre("sweep", case, "--table", tmp_path / "rows.csv", "--set", "grid.x0=0.0,1.0").code == 0
    rows = table(tmp_path / "members")
    assert [row["friction.manning"] for row in rows] == ["0.1", "0.1", "0.2", "0.2"]
    assert [row["grid.x0"] for row in rows] == ["0.0", "1.0"] * 2
    assert [row["title"] for row in rows] == ["a, b", "a, b", "c", "c"]
    assert [row["run.end_time"] for row in rows] == ["2 s", "2 s", "", ""]
    (tmp_path / "rows.csv").write_text("friction.manning,title\n0.1\n")
    assert "1 cells in row 1" in eagre("sweep", case, "--table", tmp_path / "rows.csv", "-o", tmp_path / "b").err


def test_results_of_other_values_are_not_replaced_without_permission(eagre, case, tmp_path, quick):
    assert eagre("sweep", case, "--set", "friction.manning=0.1,0.2").code == 0
    done = eagre("sweep", case, "--set", "friction.manning=0.1,0.3")
    assert done.code == exits.BAD_INPUT and "members: 001" in done.err and "--overwrite" in done.err
    assert eagre("sweep", case, "--set", "friction.manning=0.1,0.3", "--overwrite").code == 0
    assert quick() == ["0.1 start", "0.2 start", "0.3 start"]
    case.write_text(CASE.replace("dx = 1.0", "dx = 2.0"))
    assert "members: 000, 001" in eagre("sweep", case, "--set", "friction.manning=0.1,0.3").err
    done = eagre("sweep", case, "--set", "friction.manning=0.1", "--overwrite")
    assert done.code == exits.BAD_INPUT and "more members than this sweep" in done.err
    assert states(tmp_path / "members") == ["finished"] * 2


def test_files_of_the_user_are_not_replaced(eagre, case, tmp_path, quick):
    (tmp_path / "members" / "001").mkdir(parents=True)
    (tmp_path / "members" / "001" / "out.nc").write_text("measured")
    done = eagre("sweep", case, "--set", "friction.manning=0.1,0.2")
    assert done.code == exits.BAD_INPUT and "members: 001" in done.err
    assert not quick() and not (tmp_path / "members" / "000").exists()


@pytest.mark.parametrize("text", [b"friction.manning,title\n0.02,Fl\xfcsse\n", b"friction.manning\n0.02\n"])
def test_a_table_in_the_folder_of_the_members_is_kept(eagre, case, tmp_path, quick, text):
    """And one that is not UTF-8 is refused in words."""
    folder = tmp_path / "members"
    folder.mkdir()
    (folder / "members.csv").write_bytes(text)
    done = eagre("sweep", case, "--table", folder / "members.csv", "-o", folder)
    assert done.code == exits.BAD_INPUT and ("UTF-8" in done.err or "not the table of a sweep" in done.err)
    assert (folder / "members.csv").read_bytes() == text


def test_a_value_of_none_is_refused_before_folders_are_made(case, tmp_path):
    with pytest.raises(InputError, match="gauges = None"):
        package.sweep(case, {"friction.manning": [0.02], "gauges": [None]}, folder=tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_parts_share_a_folder_and_a_table(eagre, case, tmp_path, quick, monkeypatch):
    command = ("sweep", case, "--set", "friction.manning=0.1,0.2,0.3,0.4,0.5")
    done = eagre(*command, "--part", "2/2")
    assert done.code == 0 and "part 2 of 2 (--part): 2 of 5" in done.out
    assert states(tmp_path / "members") == ["waiting", "finished"] * 2 + ["waiting"]
    for name, value in {"ID": 3, "COUNT": 2, "MIN": 3}.items():
        monkeypatch.setenv(f"SLURM_ARRAY_TASK_{name}", str(value))
    done = eagre(*command)
    assert "part 1 of 2 (task 3 of a SLURM array): 3 of 5" in done.out
    assert states(tmp_path / "members") == ["finished"] * 5
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "5")
    assert "The tasks of the SLURM array are not consecutive." in eagre(*command).err


def test_workers_run_at_the_same_time_on_cores_of_their_own(case, tmp_path, monkeypatch):
    program = "import os, time; time.sleep(1); print(sorted(os.sched_getaffinity(0)), os.environ['NUMBA_NUM_THREADS'])"
    monkeypatch.setattr(Member, "command", lambda self, record: [sys.executable, "-c", program])
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3, 4})
    given = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda process, cores: given.append(cores))
    begin = time.monotonic()
    members = package.sweep(case, {"friction.manning": np.array([0.1, 0.2, 0.3])})
    assert package.run_sweep(members, workers=2) == [FINISHED] * 3
    assert time.monotonic() - begin < 2.9
    assert given[:3:2] == [[0, 1], [2, 3]] and given[1] == {0, 1, 2, 3, 4}
    assert (members[0].folder / "run.log").read_text().split()[-1] == "2"


def test_workers_use_the_gpus_in_turn(case, monkeypatch):
    program = "import os; print(os.environ.get('CUDA_VISIBLE_DEVICES'))"
    monkeypatch.setattr(Member, "command", lambda self, record: [sys.executable, "-c", program])
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6,7")
    values = {"friction.manning": [0.1, 0.2, 0.3]}
    members = package.sweep(case, values, device="cuda")
    package.run_sweep(members, workers=3, first_device=2)
    assert [(one.folder / "run.log").read_text().strip() for one in members] == ["7", "4", "6"]
    members = package.sweep(case, values, folder=case.parent / "named", device="cuda:1")
    package.run_sweep(members, workers=3)
    assert (members[0].folder / "run.log").read_text().strip() == "4,6,7"


def test_the_slurm_script_runs_a_sweep(tmp_path, root):
    (tmp_path / "eagre").write_text('#!/bin/sh\necho "$NUMBA_NUM_THREADS $*"\n')
    (tmp_path / "eagre").chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_CPUS_PER_TASK": "3"}
    command = ["bash", str(root / "examples" / "cluster" / "sweep.sbatch")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "3 sweep case.toml --set friction.manning=0.02,0.03,0.04 --set run.precision=single,double\n"


def test_members_are_plain_callables(case, quick):
    first, second = package.sweep(case, table=[{"friction.manning": 0.1}, {"friction.manning": 1.0}])
    assert pickle.loads(pickle.dumps(first)) == first
    assert (first(), second()) == ("finished", "failed")
    assert states(first.folder.parent) == ["finished", "failed"]


def test_a_member_that_another_process_runs_is_left_to_it(eagre, case, tmp_path, quick):
    from eagre.io.records.output_paths import locked

    first, _ = package.sweep(case, {"friction.manning": [0.1, 0.2]})
    first.write("running")
    with locked(first.path):
        done = eagre("sweep", case, "--set", "friction.manning=0.1,0.2")
    assert done.code == exits.INTERNAL and "000  running in another process" in done.out
    assert quick() == ["0.2 start"]


def test_ctrl_c_ends_a_sweep_that_a_second_start_continues(case, tmp_path, opened):
    case.write_text(CASE.replace("end_time = 2", "end_time = 300"))
    command = [sys.executable, "-m", "eagre", "sweep", str(case), "--set", "friction.manning=0.02,0.03"]
    command += ["--set", "gauges.interval=0.01"]
    log = tmp_path / "log"
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file)
        series = tmp_path / "members" / "000" / "gauges.csv"
        for _ in range(1200):
            if series.exists() and len(series.read_text().splitlines()) > 20:
                break
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == exits.INTERRUPTED, log.read_text()
    assert "interrupted: 2 of 2 members have not finished" in log.read_text()
    assert states(tmp_path / "members") == ["interrupted", "waiting"]
    case_record = Record.read(tmp_path / "members" / "000" / "member.toml")
    assert case_record is not None and case_record.exit_code == exits.INTERRUPTED
    with pytest.raises(InputError, match="The folder has no member that has finished"):
        package.open_sweep(tmp_path / "members")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    dataset = opened(tmp_path / "members" / "000" / "out.nc")
    assert len(dataset["time"]) == 301 and "continued at t = " in dataset.attrs["history"]
    assert states(tmp_path / "members") == ["finished"] * 2


def test_a_signal_reaches_every_worker_and_no_other_member_starts(case, tmp_path, monkeypatch):
    program = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(143)); "
    program += "print('ready', flush=True); time.sleep(60)"
    monkeypatch.setattr(Member, "command", lambda self, record: [sys.executable, "-c", program])
    members = package.sweep(case, {"friction.manning": [0.1, 0.2, 0.3]})

    def stop():
        logs = [one.folder / "run.log" for one in members[:2]]
        while not all(one.exists() and one.read_text() for one in logs):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=stop, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        package.run_sweep(members, workers=2)
    assert states(tmp_path / "members") == ["interrupted", "interrupted", "waiting"]
    assert [row["exit_code"] for row in table(tmp_path / "members")] == ["143", "143", "0"]


def test_ranks_of_mpi(eagre, case, tmp_path, quick, monkeypatch):
    command = ("sweep", case, "--set", "friction.manning=0.1,0.2,0.3")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    done = eagre(*command)
    assert done.code == exits.NO_DEVICE
    assert "pip install 'eagre[mpi]'" in done.err and "--part K/N" in done.err
    world = type("World", (), {"size": 2, "rank": 1})()
    world.Ibarrier, world.allgather = lambda: type("Request", (), {"Test": lambda self: True})(), lambda one: [one, 0]
    mpi = type("MPI", (), {"COMM_WORLD": world, "Get_library_version": lambda: "Some MPI 1.0"})
    monkeypatch.setitem(sys.modules, "mpi4py", type("mpi4py", (), {"MPI": mpi}))
    done = eagre(*command)
    assert done.code == 0 and "part 2 of 2 (process 2 of 2): 1 of 3" in done.out
    assert quick() == ["0.2 start"]
    world.allgather = lambda one: [one, 1]
    assert eagre(*command).code == exits.INTERNAL
    world.size = 1
    assert "the MPI library of mpi4py finds 1" in eagre(*command).err
    assert eagre(*command, "--part", "1/1").code == 0


def test_only_the_selected_members_are_read(case, quick, monkeypatch):
    from eagre.sweeps import dataset as module

    members = package.sweep(case, {"friction.manning": [0.1, 0.2]})
    package.run_sweep(members)
    for one in members:
        xr.Dataset({"depth": ("time", np.arange(3.0))}).to_netcdf(one.folder / "out.nc", engine="h5netcdf")
    read, real = [], module.MemberArray._read
    monkeypatch.setattr(module.MemberArray, "_read", lambda self, key: read.append(key) or real(self, key))
    dataset = package.open_sweep(members[0].folder.parent)
    part = dataset["depth"].isel(member=1, time=slice(1, 3))
    assert not read
    np.testing.assert_array_equal(part, [1.0, 2.0])
    assert read == [(1, slice(1, 3, 1))]
    dataset.close()


def test_a_member_is_no_rank_of_mpi(case, monkeypatch):
    program = "import os; print([name for name in os.environ if name.startswith(('OMPI', 'PMI', 'MPI', 'SLURM_STEP'))])"
    monkeypatch.setattr(Member, "command", lambda self, record: [sys.executable, "-c", program])
    for name in ("OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS"):
        monkeypatch.setenv(name, "2")
    (member,) = package.sweep(case, {"friction.manning": [0.1]})
    assert member() == "finished" and (member.folder / "run.log").read_text() == "[]\n"


def test_datasets_of_different_members(case, quick):
    members = package.sweep(case, {"friction.manning": [0.1, 0.2, 1.0]})
    package.run_sweep(members)
    for number, one in enumerate(members[:2]):
        data = {"depth": ("time", np.arange(3) + number), "crs": ((), 0)}
        xr.Dataset(data, {"time": [0.0, 1.0, 2.0]}, {"same": 1, "other": number}).to_netcdf(
            one.folder / "out.nc", engine="h5netcdf"
        )
    dataset = package.open_sweep(members[0].folder.parent)
    assert dataset.attrs == {"same": 1} and dataset["crs"].dims == ()
    assert dataset["depth"].dtype == np.float64
    np.testing.assert_array_equal(dataset["depth"], [[0, 1, 2], [1, 2, 3], [np.nan] * 3])
    np.testing.assert_array_equal(dataset["depth"].isel(member=[2, 1], time=1), [np.nan, 2])
    dataset.close()
    xr.Dataset({"depth": ("time", [1.0])}, {"time": [0.0]}).to_netcdf(members[1].folder / "out.nc", engine="h5netcdf")
    with pytest.raises(InputError, match="other time, crs"):
        package.open_sweep(members[0].folder.parent)
    with pytest.raises(InputError, match=r"allowed: output, gauges"):
        package.open_sweep(members[0].folder.parent, "gauge")
