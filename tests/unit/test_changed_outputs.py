"""Another program removes, replaces, cuts or overwrites an output of a run: an error; its files stay as they are."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eagre.io import FieldWriter, GaugeWriter, MeasuredWriter, WriteError
from eagre.io.cf import axis_attributes
from eagre.io.writers.measured import Axis
from written_models import VARIABLES, FakeModel

FOREIGN = b"a letter of the user\n"


class Model(FakeModel):
    """A model with gauges."""

    def sample(self, names, cells):
        return {name: np.array([self.field(name)[cell] for cell in cells]) for name in names}


class Map:
    """One map, which a model measures."""

    def __init__(self, grid):
        self.variables = [VARIABLES[1]]
        self.axes = [Axis(axis, (axis,), getattr(grid, axis), axis_attributes(axis, "centres")) for axis in "yx"]
        self.dimensions = {"speed": ("y", "x")}
        self.shape = grid.shape

    def sample(self):
        return {"speed": np.ones(self.shape)}


def opened(path, model, **options):
    """A writer of the kind that the name of the file begins with."""
    if path.name.startswith("fields"):
        return FieldWriter(path, model, ["speed"], **options)
    if path.name.startswith("map"):
        return MeasuredWriter(path, model, Map(model.grid), **options)
    return GaugeWriter(path, model, {"pier": (1005.0, 2005.0)}, ["speed"], **options)


def write(writer, model, *times):
    for time in times:
        model.time = float(time)
        writer.write(model)


# -- what another program does; each returns the words of the message


def removed(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    return "removed"


def replaced(path):
    """By a file that is larger than that of the run; it exists before the old one goes, so that no inode is reused."""
    new = path.with_name("another")
    if path.suffix == ".zarr":
        new.mkdir()
        (new / "zarr.json").write_bytes(FOREIGN)
    else:
        new.write_bytes(FOREIGN)
        os.truncate(new, 1_000_000)
    removed(path)
    new.rename(path)
    return "replaced"


def cut(path):
    path = path / "zarr.json" if path.is_dir() else path
    os.truncate(path, path.stat().st_size // 2)
    return "changed from"


def emptied(path):
    os.truncate(path / "zarr.json" if path.is_dir() else path, 0)
    return "to 0 bytes"


def overwritten(path):
    """In place, by more bytes: the file is the same one, as `cp` and a shell leave it."""
    path = path / "zarr.json" if path.is_dir() else path
    with path.open("r+b") as file:
        file.write(FOREIGN * 10_000)
    return "changed from"


def content(folder):
    """Bytes of every file below a folder."""
    return {str(one.relative_to(folder)): one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file()}


OUTPUTS = ["fields.nc", "gauges.nc", "gauges.csv", "map.nc", "fields.zarr", "map.zarr"]


@pytest.fixture(params=OUTPUTS)
def path(request, tmp_path):
    """An output of each kind."""
    if request.param.endswith(".zarr"):
        pytest.importorskip("zarr", reason="pip install 'eagre[zarr]'")
    return tmp_path / request.param


@pytest.mark.parametrize("harm", [removed, replaced, cut, emptied, overwritten])
@pytest.mark.parametrize("last", [False, True], ids=["during the run", "after the last record"])
def test_a_change_by_another_program_is_reported(path, harm, last):
    model = Model()
    writer = opened(path, model)
    write(writer, model, 0.0, 1.0)
    words = harm(path)
    before = content(path.parent)
    with pytest.raises(WriteError) as error:
        writer.close() if last else write(writer, model, 2.0)
    writer.close()  # the error was raised: closing does not repeat it
    message = str(error.value)
    assert error.value.path == path and words in message and "by another program during the run" in message
    records = "rows" if path.suffix == ".csv" else "records"
    assert f"the 2 {records} up to t = 1 s in {path}" in error.value.lost
    assert ("at t = 2 s" in error.value.lost) == (not last)
    assert "continue from the restart file" in error.value.fix
    assert content(path.parent) == before


@pytest.mark.parametrize("harm", [removed, replaced, cut, emptied, overwritten])
def test_a_change_after_a_continuation_is_reported(path, harm):
    model = Model()
    with opened(path, model) as writer:
        write(writer, model, 0.0, 1.0)
    writer = opened(path, model, append=True)
    harm(path)
    before = content(path.parent)
    with pytest.raises(WriteError, match="by another program during the run"):
        write(writer, model, 2.0)
    writer.close()
    assert content(path.parent) == before


def test_a_continued_file_takes_further_records(path):
    """Also over records that the first run wrote after the restart."""
    model = Model()
    with opened(path, model) as writer:
        write(writer, model, 0.0, 1.0, 2.0, 3.0)
    model.time = 1.0
    with opened(path, model, append=True, until=4.0) as writer:
        write(writer, model, 2.5, 3.5, 4.0)
    model.time = 5.0
    with opened(path, model, append=True) as writer:
        file: Any = writer._file
        assert file.count == 5 and file.last_time == 4.0


@pytest.mark.parametrize("name", ["speed/c/0/0/0", "speed/zarr.json", "time/c/0", "x/c/0"])
@pytest.mark.parametrize("harm", [removed, cut])
def test_each_part_of_a_store_is_compared_at_the_end(tmp_path, name, harm):
    pytest.importorskip("zarr", reason="pip install 'eagre[zarr]'")
    model, path = Model(), tmp_path / "fields.zarr"
    writer = opened(path, model)
    write(writer, model, 0.0, 1.0, 2.0)
    words = harm(path / name)
    with pytest.raises(WriteError, match=f"its part {name} was {words}"):
        writer.close()


def test_a_hidden_file_in_a_store_is_not_compared(tmp_path):
    pytest.importorskip("zarr", reason="pip install 'eagre[zarr]'")
    model, path = Model(), tmp_path / "fields.zarr"
    with opened(path, model) as writer:
        write(writer, model, 0.0)
        (path / "speed/c/.DS_Store").write_bytes(FOREIGN)
    with opened(path, model, append=True) as writer:
        write(writer, model, 1.0)
        (path / "speed/c/.DS_Store").unlink()


def test_a_file_that_appears_under_the_name_is_not_replaced(path):
    """Before the first record there is no file of that name; without permission none is overwritten."""
    model = Model()
    writer = opened(path, model)
    path.write_bytes(FOREIGN)
    with pytest.raises(WriteError, match="another program wrote this file after the start of the run") as error:
        write(writer, model, 0.0)
    writer.close()
    assert path.read_bytes() == FOREIGN and str(path) in error.value.safe
    assert [one.name for one in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["fields.nc", "gauges.csv"])
def test_an_older_file_that_changes_after_the_start_is_not_replaced(tmp_path, name):
    model, path = Model(), tmp_path / name
    path.write_bytes(b"older")
    writer = opened(path, model, overwrite=True)
    path.write_bytes(FOREIGN)
    with pytest.raises(WriteError, match="after the start of the run"):
        write(writer, model, 0.0)
    writer.close()
    assert path.read_bytes() == FOREIGN


@pytest.mark.parametrize("harm", [removed, cut])
@pytest.mark.parametrize("name", ["fields.nc", "gauges.csv"])
def test_a_change_before_the_first_record_is_reported(tmp_path, name, harm):
    model = Model()
    writer = opened(tmp_path / name, model)
    harm(tmp_path / f".{name}.new")
    with pytest.raises(WriteError, match="by another program"):
        write(writer, model, 0.0)
    writer.close()
    assert not list(tmp_path.iterdir())


def test_a_run_without_a_record_is_closed_without_an_error(path):
    opened(path, Model()).close()
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize("name", ["fields.nc", "gauges.csv"])
@pytest.mark.parametrize("what", ["file", "folder"])
def test_links_to_another_place_are_noticed(tmp_path, name, what):
    """A continued output is a link, or lies in a linked folder; the link then points to a copy."""
    model, folders = Model(), [tmp_path / "disk", tmp_path / "other"]
    folders[0].mkdir()
    with opened(folders[0] / name, model) as writer:
        write(writer, model, 0.0)
    shutil.copytree(*folders)
    link = tmp_path / ("link" if what == "folder" else name)
    targets = [folder if what == "folder" else folder / name for folder in folders]
    link.symlink_to(targets[0])
    path = link / name if what == "folder" else link
    with opened(path, model, append=True) as writer:
        write(writer, model, 1.0)
        assert path.exists()
    writer = opened(path, model, append=True)
    link.unlink()
    link.symlink_to(targets[1])
    copied = (folders[1] / name).read_bytes()
    with pytest.raises(WriteError, match="the file was replaced by another program"):
        write(writer, model, 2.0)
    writer.close()
    assert (folders[1] / name).read_bytes() == copied


def test_several_outputs_in_a_removed_folder_are_all_named(tmp_path):
    model, folder = Model(), tmp_path / "output"
    folder.mkdir()
    names = ["fields.nc", "gauges.csv", "map.nc"]
    with pytest.raises(WriteError) as error:
        with opened(folder / names[0], model) as a, opened(folder / names[1], model) as b:
            with opened(folder / names[2], model) as c:
                for one in (a, b, c):
                    write(one, model, 0.0)
                shutil.rmtree(folder)
                write(b, model, 1.0)
    text = "\n".join([str(error.value), *error.value.__notes__])
    assert error.value.path.name == names[1]
    assert all(f"cannot write {folder / name}: the file was removed" in text for name in names)


def test_one_lost_output_does_not_stop_the_others(tmp_path):
    model = Model()
    with opened(tmp_path / "fields.nc", model) as kept:
        lost = opened(tmp_path / "gauges.csv", model)
        write(lost, model, 0.0)
        write(kept, model, 0.0)
        removed(tmp_path / "gauges.csv")
        with pytest.raises(WriteError):
            write(lost, model, 1.0)
        write(kept, model, 1.0)
        lost.close()
    import xarray

    with xarray.open_dataset(Path(tmp_path) / "fields.nc") as data:
        assert data.sizes["time"] == 2
