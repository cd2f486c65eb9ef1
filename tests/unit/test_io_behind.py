"""Fields that are written beside the steps: the same bits, nothing lost, one record at a time."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

from eagre.io import FieldWriter, WriteError
from eagre.io.records.records import RecordFile
from eagre.io.records.writer import BackgroundWriter
from eagre.models.registry import KINDS
from eagre.stepping.run import Event, run
from small_models import small


def names_of(model):
    return [name for name, variable in model.variables.items() if not variable.static]


def written(path, opened):
    with opened(path) as file:
        return {name: file[name].values.copy() for name in file.data_vars}


@pytest.fixture
def opened():
    import xarray

    return lambda path: xarray.open_dataset(path, decode_times=False)


# Writers do not depend on the precision: each model runs in one precision, and with `make test-slow` in the other.
PRECISIONS = [
    pytest.param(kind, precision, marks=[pytest.mark.slow] * (precision == ("double", "single")[number % 2]))
    for number, kind in enumerate(KINDS)
    for precision in ("single", "double")
]


@pytest.mark.parametrize(("kind", "precision"), PRECISIONS)
def test_files_have_the_bits_of_those_written_at_once(kind, precision, tmp_path, opened):
    found = []
    for beside in (False, True):
        model, path = small(kind, precision), tmp_path / f"{beside}.nc"
        with FieldWriter(path, model, names_of(model), beside=beside) as writer:
            for _ in range(4):
                writer.write(model)
                model.advance(1e9, max_steps=2)
        found.append(written(path, opened))
    assert found[0].keys() == found[1].keys()
    for name, values in found[0].items():
        np.testing.assert_array_equal(values, found[1][name], err_msg=name)


def test_a_snapshot_is_of_its_moment_whenever_it_is_asked():
    model = small("anelastic")
    model.advance(1e9, max_steps=1)
    names = ["u", "theta", "pressure"]
    taken, expected = model.snapshot(names), {name: model.field(name) for name in names}
    model.advance(1e9, max_steps=2)
    for name, values in taken().items():
        np.testing.assert_array_equal(values, expected[name], err_msg=name)
        assert not np.array_equal(values, model.field(name))


class Gate:
    """Holds records back until it is opened; counts those that are under way."""

    def __init__(self, monkeypatch, error=None):
        self.begun, self.open, self.under_way, self.most = threading.Event(), threading.Event(), 0, 0
        append = RecordFile.append

        def held(file, time, values):
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            self.begun.set()
            assert self.open.wait(60)
            self.under_way -= 1
            if error is not None:
                file.failed = True
                raise error
            append(file, time, values)

        monkeypatch.setattr(RecordFile, "append", held)


def test_steps_go_on_while_a_record_is_written(monkeypatch, tmp_path, opened):
    gate, model = Gate(monkeypatch), small("anelastic")
    with FieldWriter(tmp_path / "a.nc", model, ["u", "theta", "pressure"], beside=True) as writer:
        model.advance(1e9, max_steps=1)
        expected = {name: model.field(name) for name in ("u", "theta", "pressure")}
        writer.write(model)
        assert gate.begun.wait(60)
        model.advance(1e9, max_steps=3)
        assert gate.under_way == 1 and not np.array_equal(expected["u"], model.field("u"))
        gate.open.set()
    for name, values in expected.items():
        np.testing.assert_array_equal(written(tmp_path / "a.nc", opened)[name][0], values)


def test_one_record_is_under_way_at_most(monkeypatch, tmp_path, opened):
    gate, model = Gate(monkeypatch), small("anelastic")
    opener = threading.Timer(0.3, gate.open.set)
    opener.start()
    with FieldWriter(tmp_path / "a.nc", model, ["u"], beside=True) as writer:
        for _ in range(3):
            writer.write(model)
            model.advance(1e9, max_steps=1)
    assert gate.most == 1 and written(tmp_path / "a.nc", opened)["u"].shape[0] == 3


@pytest.mark.parametrize("later", ["write", "close"])
def test_what_goes_wrong_beside_is_raised(monkeypatch, tmp_path, later):
    gate = Gate(monkeypatch, WriteError(tmp_path / "a.nc", "no space left on the disk"))
    gate.open.set()
    model = small("anelastic")
    writer = FieldWriter(tmp_path / "a.nc", model, ["u"], beside=True)
    writer.write(model)
    model.advance(1e9, max_steps=1)
    with pytest.raises(WriteError, match="no space left"):
        writer.write(model) if later == "write" else writer.close()
    writer.close()


def test_ctrl_c_waits_for_the_record_under_way(monkeypatch, tmp_path, opened):
    gate, model = Gate(monkeypatch), small("anelastic")
    with FieldWriter(tmp_path / "a.nc", model, ["u"], beside=True) as writer:

        def record(model):
            writer.write(model)
            threading.Timer(0.3, gate.open.set).start()
            os.kill(os.getpid(), signal.SIGINT)

        summary = run(model, 40.0, [Event(8.0, None, record, at_start=False)], checkpoint=tmp_path / "r.nc")
    assert summary.interrupted and summary.restart is not None
    with opened(tmp_path / "a.nc") as file:
        np.testing.assert_array_equal(file["time"], [8.0])
        np.testing.assert_array_equal(file["u"].values[0], model.field("u"))


def test_writers_of_one_model_take_turns(tmp_path, opened):
    """A snapshot is taken up before the next is begun, whoever begins it."""
    model, waiting = small("anelastic"), []
    plain = model.snapshot

    def snapshot(names):
        assert not waiting
        waiting.append(1)
        taken = plain(names)
        return lambda: waiting.pop() and taken()

    model.snapshot = snapshot
    behind = BackgroundWriter()
    with FieldWriter(tmp_path / "a.nc", model, ["u"], beside=behind) as one:
        with FieldWriter(tmp_path / "b.nc", model, ["u", "theta"], beside=behind) as other:
            for _ in range(3):
                one.write(model)
                other.write(model)
                model.advance(model.time + model.time_step)
    behind.close()
    np.testing.assert_array_equal(written(tmp_path / "a.nc", opened)["u"], written(tmp_path / "b.nc", opened)["u"])
