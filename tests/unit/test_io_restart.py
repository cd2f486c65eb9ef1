"""Restart files: every bit, and never half a file."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import numpy as np
import pytest

from eagre import temporary
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io import RestartHeader, WriteError, read_restart, read_restart_header, restart, write_restart


class FakeModel:
    """The part of a model that a restart uses."""

    kind = "shallow-water"
    precision = "single"

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.grid = Grid(4, 3, 0.1, 1.0 / 3.0, x0=1e-17, y0=4.2e6)
        self.time, self.steps = 0.1 + 0.2, 12345678901
        self.arrays = {
            "depth": rng.normal(size=(3, 4)).astype(np.float32),
            "discharge_x": np.frombuffer(rng.bytes(96), dtype=np.float64).reshape(3, 4),  # any bits, NaN among them
            "special": np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324]),
            "wet": np.array([[True, False], [False, True]]),
            "clamps": np.array(2**63 - 1, dtype=np.int64),
            "flags": np.arange(5, dtype=np.uint8),
            "spectrum": np.array([1 + 2j, 3 - 4j], dtype=np.complex128),
            "view": np.arange(12.0).reshape(3, 4)[::-1, ::2],
            "empty": np.zeros((0, 3)),
        }

    def state(self):
        return self.arrays


def test_every_bit_comes_back(tmp_path):
    model = FakeModel()
    path = write_restart(tmp_path / "r.nc", model)
    state = read_restart(path, model)
    assert set(state) == set(model.arrays)
    for name, expected in model.arrays.items():
        assert state[name].dtype == expected.dtype and state[name].shape == expected.shape, name
        assert state[name].tobytes() == expected.tobytes(), name


def test_python_numbers_come_back_as_arrays(tmp_path):
    model = FakeModel()
    model.arrays = {"time": 0.1, "steps": 7}
    state = read_restart(write_restart(tmp_path / "r.nc", model))
    assert state["time"] == 0.1 and state["steps"] == 7


def test_header(tmp_path):
    header = read_restart_header(write_restart(tmp_path / "r.nc", FakeModel()))
    assert isinstance(header, RestartHeader)
    assert (header.kind, header.precision, header.time, header.steps) == (
        "shallow-water",
        "single",
        0.1 + 0.2,
        12345678901,
    )
    assert header.grid == {"nx": 4, "ny": 3, "dx": 0.1, "dy": 1.0 / 3.0, "x0": 1e-17, "y0": 4.2e6}
    assert header.version


def test_a_newer_restart_replaces_the_older(tmp_path):
    write_restart(tmp_path / "r.nc", FakeModel(0))
    write_restart(tmp_path / "r.nc", FakeModel(1))
    np.testing.assert_array_equal(read_restart(tmp_path / "r.nc")["depth"], FakeModel(1).arrays["depth"])
    assert os.listdir(tmp_path) == ["r.nc"]


def test_the_older_one_is_whole_until_the_newer_one_takes_its_name(tmp_path):
    path = write_restart(tmp_path / "r.nc", FakeModel(0))
    before = path.read_bytes()
    with path.open("rb") as file:
        write_restart(path, FakeModel(1))
        assert file.read() == before


@pytest.mark.parametrize("step", ["_write", "sync"])
def test_a_failed_write_leaves_the_older_one(tmp_path, monkeypatch, step):
    write_restart(tmp_path / "r.nc", FakeModel(0))

    def fail(path, *_):
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(restart, step, fail)
    with pytest.raises(WriteError, match="no space left on the disk") as error:
        write_restart(tmp_path / "r.nc", FakeModel(1))
    assert "the older restart file" in error.value.safe and "untouched" in error.value.safe
    np.testing.assert_array_equal(read_restart(tmp_path / "r.nc")["depth"], FakeModel(0).arrays["depth"])
    assert os.listdir(tmp_path) == ["r.nc"]


def test_a_full_disk_is_met_for_real(tmp_path):
    resource = pytest.importorskip("resource")
    model = FakeModel()
    model.arrays = {"depth": np.zeros((300, 300))}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(WriteError, match="larger than the system allows") as error:
            write_restart(tmp_path / "r.nc", model)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert error.value.safe == "no restart file was written yet" and os.listdir(tmp_path) == []


def test_interrupted_write_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupt(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(restart, "sync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_restart(tmp_path / "r.nc", FakeModel())
    assert os.listdir(tmp_path) == []


def test_another_file_is_never_replaced(tmp_path):
    import h5py

    (tmp_path / "dem.nc").write_bytes(b"a bathymetry")
    with h5py.File(tmp_path / "out.nc", "w") as file:
        file["x"] = 1
    for name in ("dem.nc", "out.nc"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(InputError, match="would be lost"):
            write_restart(tmp_path / name, FakeModel())
        assert (tmp_path / name).read_bytes() == before


def test_bad_paths(tmp_path):
    with pytest.raises(InputError, match=r"ends in .nc"):
        write_restart(tmp_path / "r.h5", FakeModel())
    with pytest.raises(InputError, match="mkdir"):
        write_restart(tmp_path / "no" / "r.nc", FakeModel())
    write_restart(tmp_path / "restart.nc", FakeModel())
    with pytest.raises(InputError, match="no such file") as error:
        read_restart(tmp_path / "restrat.nc")
    assert "restart.nc" in error.value.fix


@pytest.mark.parametrize(
    ("name", "value", "fix"),
    [
        ("kind", "barotropic", 'model = "shallow-water"'),
        ("precision", "double", 'precision = "single"'),
        ("grid", Grid(5, 3, 0.1, 1.0 / 3.0, x0=1e-17, y0=4.2e6), "nx = 4"),
        ("grid", Grid(4, 3, 0.1, 1.0 / 3.0, x0=0.0, y0=4.2e6), "x0 = 1e-17"),
        ("grid", Grid(4, 3, np.nextafter(0.1, 1), 1.0 / 3.0, x0=1e-17, y0=4.2e6), "dx = 0.1"),
    ],
)
def test_another_model_is_refused(tmp_path, name, value, fix):
    path = write_restart(tmp_path / "r.nc", FakeModel())
    model = FakeModel()
    setattr(model, name, value)
    with pytest.raises(InputError, match="restart file") as error:
        read_restart(path, model)
    assert error.value.fix == fix


def test_a_changed_bit_is_noticed(tmp_path):
    model = FakeModel()
    path = write_restart(tmp_path / "r.nc", model)
    raw = bytearray(path.read_bytes())
    raw[raw.find(model.arrays["depth"].tobytes()) + 5] ^= 1
    path.write_bytes(raw)
    with pytest.raises(InputError, match="is damaged: its bytes do not match its checksum"):
        read_restart(path)


def test_a_cut_file_is_noticed(tmp_path):
    path = write_restart(tmp_path / "r.nc", FakeModel())
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(InputError, match="damaged"):
        read_restart(path)


def test_no_restart_file(tmp_path):
    import h5py

    with h5py.File(tmp_path / "out.nc", "w") as file:
        file["x"] = 1
    with pytest.raises(InputError, match="not a restart file"):
        read_restart(tmp_path / "out.nc")
    (tmp_path / "a.nc").write_text("text")
    with pytest.raises(InputError, match="damaged or not a restart file"):
        read_restart_header(tmp_path / "a.nc")


def test_a_newer_format_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(restart, "FORMAT", 2)
    path = write_restart(tmp_path / "r.nc", FakeModel())
    monkeypatch.undo()
    with pytest.raises(InputError, match="was written by a newer version of Eagre"):
        read_restart(path)


@pytest.mark.parametrize("state", [{"name": np.array("text")}, {"a": np.array([object()])}, {"a/b": np.zeros(2)}])
def test_what_cannot_be_kept_exactly_is_refused(tmp_path, state):
    model = FakeModel()
    model.arrays = state
    with pytest.raises(TypeError, match="only numbers"):
        write_restart(tmp_path / "r.nc", model)
    assert os.listdir(tmp_path) == []


def test_what_killed_processes_of_this_host_left_is_swept_up(tmp_path, monkeypatch):
    """Only once it is old, and nothing of a process that lives, of another host or of another file."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with temporary.temporary_path(tmp_path / "r[1].nc") as own:
        prefix = own.name.removesuffix(f"{os.getpid()}.tmp")
    host = prefix.split(".")[-2]
    left = [f"{prefix}{ended.pid}.tmp", f"{prefix}{os.getppid()}.tmp", f"{prefix}word.tmp"]
    others = [f".r[1].nc.0{host[1:]}x.{ended.pid}.tmp", f".r1.nc.{host}.{ended.pid}.tmp", f".r[1].nc.{ended.pid}.tmp"]
    for name in left + others:
        (tmp_path / name).write_bytes(b"half")
    write_restart(tmp_path / "r[1].nc", FakeModel())
    assert sorted(os.listdir(tmp_path)) == sorted([*left, *others, "r[1].nc"])
    monkeypatch.setattr(temporary, "UNTOUCHED", -1.0)
    write_restart(tmp_path / "r[1].nc", FakeModel())
    assert sorted(os.listdir(tmp_path)) == sorted([*left[1:], *others, "r[1].nc"])
