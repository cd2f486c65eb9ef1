"""`eagre run` loses nothing of the user's: inputs, older results, and what was computed until it was stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from eagre.cli.support import exits
from eagre.io import read_restart_header
from eagre.io.files import WriteError
from eagre.io.records.records import RecordFile
from eagre.io.tables.csv_rows import RowFile, header_line
from eagre.stepping.run import _Loop

OLD = b"an older result"


def listing(folder):
    """Names of all files in a folder, hidden ones too."""
    return sorted(entry.name for entry in folder.iterdir())


def with_overwrite(path):
    """The case with overwrite = true."""
    path.write_text(path.read_text().replace("[output]", "[output]\noverwrite = true"))
    return path


# -- inputs and outputs are never one file ---------------------------------------------------------------

REAL = """\
model = "shallow-water"
run = {{ end_time = 1.0 }}
grid = {{ nx = 8, ny = 6, dx = 1.0 }}
[bed]
{bed}
[initial]
depth = {depth}
[boundaries]
west = {{ kind = "stage", level = {level} }}
[output]
file = "{output}"
overwrite = true
[gauges]
file = "{gauges}"
interval = 1.0
points = {{ pier = [2.5, 3.5] }}
[restart]
file = "{restart}"
"""
NAMES = {"output": "out.nc", "gauges": "gauges.csv", "restart": "restart.nc"}


def linked(source: Path, name: str) -> str:
    os.link(source, source.with_name(name))
    return name


def pointed(source: Path, name: str) -> str:
    source.with_name(name).symlink_to(source.name)
    return name


@pytest.mark.parametrize("spelling", [None, linked, pointed, "./sub/../{}"])
@pytest.mark.parametrize(
    ("key", "place", "source"),
    [
        ("bed", "output", "in.nc"),
        ("depth", "restart", "in.nc"),
        ("level", "gauges", "in.csv"),
        ("level", "output", "in.nc"),
    ],
)
def test_an_output_is_never_an_input(eagre, tmp_path, key, place, source, spelling):
    path = tmp_path / source
    path.write_bytes(b"precious")
    (tmp_path / "sub").mkdir()
    name = source if spelling is None else spelling.format(source) if isinstance(spelling, str) else None
    name = name or spelling(path, f"other{path.suffix}")
    values = {"bed": "value = 0.0", "depth": "1.0", "level": "1.0"}
    values[key] = f'file = "{source}"' if key == "bed" else f'{{ file = "{source}" }}'
    case = tmp_path / "case.toml"
    case.write_text(REAL.format(**values, **(NAMES | {place: name})))
    done = eagre("run", case)
    assert done.code == exits.BAD_INPUT, done.err
    assert f"{place}.file (line" in done.err and "would overwrite the input" in done.err and source in done.err
    assert path.read_bytes() == b"precious"


@pytest.mark.parametrize("second", ["./out.nc", "sub/../out.nc", "link.nc"])
def test_two_outputs_are_never_one_file(eagre, fake_case, tmp_path, second):
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.nc").symlink_to("out.nc")
    path = fake_case()
    path.write_text(path.read_text().replace('"restart.nc"', f'"{second}"'))
    done = eagre("run", path, "--overwrite")
    assert (done.code, "restart.file (line" in done.err, "Two outputs have the same file" in done.err) == (
        exits.BAD_INPUT,
        True,
        True,
    )
    assert not (tmp_path / "out.nc").exists()


def test_the_restart_that_a_run_begins_with_is_no_output(eagre, fake_case, tmp_path):
    assert eagre("run", fake_case()).code == 0
    kept = (tmp_path / "restart.nc").read_bytes()
    path = fake_case(end_time="20")
    text = path.read_text().replace('"restart.nc"', '"b.nc"')
    path.write_text(text.replace('"out.nc"', '"restart.nc"'))
    done = eagre("run", path, "--restart", tmp_path / "restart.nc", "--overwrite")
    assert done.code == exits.BAD_INPUT and "output.file" in done.err
    assert (tmp_path / "restart.nc").read_bytes() == kept


def test_a_checkpoint_without_a_name_is_no_input(eagre, tmp_path):
    """Where [restart] names no file, an interrupted run writes CASE_restart.nc: not over the bed."""
    (tmp_path / "case_restart.nc").write_bytes(b"precious")
    text = REAL.format(bed='file = "case_restart.nc"', depth="1.0", level="1.0", **NAMES)
    (tmp_path / "case.toml").write_text(text.split("[restart]")[0])
    done = eagre("run", tmp_path / "case.toml")
    assert done.code == exits.BAD_INPUT and "case_restart.nc" in done.err and "[restart]" in done.err


# -- the restart's place is looked at before the run -----------------------------------------------------


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("there", ["a folder", "a foreign file"])
def test_the_place_of_the_restart_is_checked_at_the_start(eagre, fake_case, tmp_path, named, there):
    path = fake_case()
    if not named:
        path.write_text(path.read_text().split("[restart]")[0])
    target = tmp_path / ("restart.nc" if named else "case_restart.nc")
    if there == "a folder":
        target.mkdir()
    else:
        target.write_bytes(b"thesis")
    done = eagre("run", path)
    assert done.code == exits.BAD_INPUT, done.err
    assert target.name in done.err and ("restart.file (line" in done.err) == named
    assert not (tmp_path / "out.nc").exists() and not (tmp_path / "gauges.csv").exists()


def test_a_result_is_no_restart_file(eagre, fake_case, tmp_path):
    """The output of the run that is to go on, in place of its restart file: told as that, not as an input."""
    path = fake_case()
    assert eagre("run", path).code == 0
    done = eagre("run", path, "--restart", tmp_path / "out.nc")
    assert done.code == exits.BAD_INPUT and "out.nc is damaged or not a restart file" in done.err


def test_folders_where_files_go_and_files_where_folders_go(eagre, fake_case, tmp_path):
    path = fake_case()
    (tmp_path / "out.nc").mkdir()
    done = eagre("run", path, "--overwrite")
    assert done.code == exits.BAD_INPUT
    assert "output.file (line" in done.err and "out.nc is a folder." in done.err
    (tmp_path / "out.nc").rmdir()
    path = fake_case(file='"case.toml/inside/out.nc"')
    done = eagre("run", path)
    assert done.code == exits.NO_OUTPUT and f"{path} is a file" in done.err


# -- older results are there until the newer ones are ----------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ("[2.5, 3.5]", "[2.5, 35]"),
        ("[gauges]", "[gauges]\nvariables = ['dept']"),
        ("nx = 12", "nx = -1"),
        ("", ""),
    ],
)
@pytest.mark.parametrize("there", [True, False])
def test_a_case_that_is_refused_changes_nothing(eagre, fake_case, tmp_path, wrong, line, there):
    """A typo that comes to light late: a gauge outside the domain, an unknown variable; and a model that cannot be."""
    path = fake_case() if wrong else fake_case("memory")
    path.write_text(path.read_text().replace(wrong, line) if wrong else path.read_text())
    if there:
        for name in ("out.nc", "gauges.csv"):
            (tmp_path / name).write_bytes(OLD)
        with_overwrite(path)
    before = listing(tmp_path)
    done = eagre("run", path)
    assert done.code in (exits.BAD_INPUT, exits.NO_MEMORY), done.err
    assert listing(tmp_path) == before
    assert all((tmp_path / name).read_bytes() == OLD for name in before if name in ("out.nc", "gauges.csv"))


def test_older_results_stay_until_the_first_record_is_on_disk(eagre, fake_case, tmp_path, monkeypatch):
    (tmp_path / "out.nc").write_bytes(OLD)
    (tmp_path / "gauges.csv").write_bytes(OLD)
    seen, write = [], RecordFile._write

    def look(file, time, values):
        seen.append((tmp_path / "out.nc").read_bytes() == OLD)
        write(file, time, values)

    monkeypatch.setattr(RecordFile, "_write", look)
    assert eagre("run", with_overwrite(fake_case())).code == 0
    assert seen == [True] + 5 * [False]
    assert listing(tmp_path) == ["case.toml", "gauges.csv", "out.nc", "restart.nc"]


def test_a_first_record_that_fails_leaves_the_older_results(eagre, fake_case, tmp_path, monkeypatch):
    for name in ("out.nc", "gauges.csv"):
        (tmp_path / name).write_bytes(OLD)

    def fails(file, time, values):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RecordFile, "_write", fails)
    assert eagre("run", with_overwrite(fake_case())).code == exits.NO_OUTPUT
    assert (tmp_path / "out.nc").read_bytes() == OLD
    assert ".out.nc.new" not in listing(tmp_path)


# -- one run at a time, and nobody else's hands on its files ---------------------------------------------


def test_a_second_run_of_the_case_is_refused(eagre, fake_case, tmp_path, monkeypatch):
    path, found, write = fake_case(), [], RecordFile._write

    def another(file, time, values):
        if not found:
            command = [sys.executable, "-c", SECOND.format(path=str(path))]
            found.append(subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent))
        write(file, time, values)

    monkeypatch.setattr(RecordFile, "_write", another)
    assert eagre("run", path).code == 0
    assert found[0].returncode == exits.BAD_INPUT, found[0].stderr
    assert "another run" in found[0].stderr
    assert listing(tmp_path) == ["case.toml", "gauges.csv", "out.nc", "restart.nc"]
    assert eagre("run", path, "--overwrite").code == 0


SECOND = """
import sys
sys.path.insert(0, ".")
import importlib.util
spec = importlib.util.spec_from_file_location("fakes", "conftest.py")
fakes = importlib.util.module_from_spec(spec)
sys.modules["fakes"] = fakes
spec.loader.exec_module(fakes)
from eagre.models import registry
real = registry.Kind.case_class
registry.Kind.case_class = lambda self: fakes.FakeCase if self.name == "fake" else real(self)
registry.KINDS["fake"] = registry.Kind("fake", "decays", "fakes:FakeModel", "fakes:FakeCase")
from eagre.cli.main import app
app(["run", {path!r}, "--overwrite"])
"""


def removed(path):
    path.unlink()


def replaced(path):
    path.rename(path.with_name("elsewhere"))
    path.write_bytes(b"x" * 100_000)


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("name", ["out.nc", "gauges.csv"])
@pytest.mark.parametrize("harm", [removed, replaced, cut])
def test_a_change_of_an_output_during_the_run_is_noticed(eagre, fake_case, tmp_path, monkeypatch, name, harm):
    append, path = RecordFile.append, tmp_path / name

    def harmed(file, time, values):
        append(file, time, values)
        if time == 4.0:
            harm(path)

    monkeypatch.setattr(RecordFile, "append", harmed)
    done = eagre("run", fake_case())
    assert done.code == exits.NO_OUTPUT, done.err
    assert name in done.err and "during the run" in done.err
    assert "continue with --restart" in done.err and read_restart_header(tmp_path / "restart.nc").time >= 4.0


@pytest.mark.parametrize("names", [["out.nc"], ["gauges.csv"], ["out.nc", "gauges.csv"]])
@pytest.mark.parametrize("harm", [removed, replaced, cut])
@pytest.mark.parametrize("section", [True, False], ids=["with [restart]", "without [restart]"])
def test_a_change_after_the_last_record_is_noticed(
    eagre, fake_case, tmp_path, monkeypatch, opened, names, harm, section
):
    """The error names every changed file; a restart of the end of the run is written; the other files are whole."""
    summary = _Loop.summary

    def harmed(loop, *arguments):
        loop.events[0].action.__self__.finish()  # the last record of the fields is on disk
        for name in names:
            harm(tmp_path / name)
        return summary(loop, *arguments)

    path, restart = fake_case(), tmp_path / ("restart.nc" if section else "case_restart.nc")
    if not section:
        path.write_text(path.read_text().split("[restart]")[0])
    monkeypatch.setattr(_Loop, "summary", harmed)
    done = eagre("run", path)
    assert done.code == exits.NO_OUTPUT, done.err
    assert all(f"cannot write {tmp_path / name}: the file was" in done.err for name in names)
    assert f"t = 10 s is in {restart}; continue with --restart" in done.err
    assert read_restart_header(restart).time == 10.0
    if "out.nc" not in names:
        assert opened(tmp_path / "out.nc")["time"].values.tolist() == [0, 2, 4, 6, 8, 10]
    if "gauges.csv" not in names:
        assert len((tmp_path / "gauges.csv").read_text().splitlines()) == 12


def test_a_run_continues_after_an_output_was_removed(eagre, fake_case, tmp_path, monkeypatch):
    """The gauges have every row that an unbroken run has, also the row at the time of the restart."""
    assert eagre("run", fake_case()).code == 0
    series, append = (tmp_path / "gauges.csv").read_text(), RecordFile.append

    def harmed(file, time, values):
        if time == 4.0:
            removed(tmp_path / "out.nc")
        append(file, time, values)

    with monkeypatch.context() as patch:
        patch.setattr(RecordFile, "append", harmed)
        assert eagre("run", fake_case(), "--overwrite").code == exits.NO_OUTPUT
    assert read_restart_header(tmp_path / "restart.nc").time == 4.0
    assert eagre("run", fake_case(), "--restart", tmp_path / "restart.nc").code == 0
    assert (tmp_path / "gauges.csv").read_text() == series


@pytest.mark.parametrize(("harm", "what"), [(removed, "removed"), (replaced, "replaced")])
def test_a_change_of_gauges_while_a_row_is_written_is_noticed(tmp_path, monkeypatch, harm, what):
    rows, path, put = RowFile(tmp_path / "gauges.csv", header_line(["h"])), tmp_path / "gauges.csv", RowFile._put
    rows.append(1.0, {"h": np.ones(1)})

    def harmed(file, line):
        put(file, line)
        if line.startswith("2.0"):
            harm(path)

    monkeypatch.setattr(RowFile, "_put", harmed)
    with closing(rows), pytest.raises(WriteError, match=f"the file was {what} by another program during the run"):
        rows.append(2.0, {"h": np.ones(1)})


# -- stopped by the scheduler, killed, and continued -----------------------------------------------------


def test_a_scheduler_that_ends_the_run_gets_a_restart(eagre, fake_case, tmp_path):
    done = eagre("run", fake_case("terminate"))
    assert done.code == exits.TERMINATED == 143
    assert "SIGTERM" in done.err and "--restart" in done.err and "interrupted at t = " in done.out
    assert eagre("run", fake_case(), "--restart", tmp_path / "restart.nc").code == 0


def test_a_sigterm_that_python_drops_ends_the_run(fake_case, eagre, monkeypatch, tmp_path):
    """As it does with what is raised in a callback of a weak reference."""

    def dropped(*_):
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("eagre.cli.run._use_tuned_threads", dropped)
    done = eagre("run", fake_case())
    assert done.code == exits.TERMINATED and "SIGTERM" in done.err
    assert not (tmp_path / "out.nc").exists()


def test_a_scheduler_may_end_it_before_the_first_step(fake_kind, fake_case, eagre, monkeypatch):
    from eagre.cli.support import outputs

    def terminated(*_):
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(outputs, "check_disk", terminated)
    path = fake_case()
    done = eagre("run", path)
    assert done.code == exits.TERMINATED and "no file was written or changed" in done.err
    assert listing(path.parent) == ["case.toml"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_files_are_opened_leaves_a_restart(fake_case, eagre, monkeypatch, tmp_path, number):
    from eagre.cli.support import outputs

    make = outputs.make_events

    def signalled(*arguments):
        os.kill(os.getpid(), number)
        return make(*arguments)

    monkeypatch.setattr(outputs, "make_events", signalled)
    done = eagre("run", fake_case())
    assert done.code == 128 + number and "stopped at t = 0 s" in done.err and "nothing was written" not in done.err
    monkeypatch.undo()
    assert (tmp_path / "restart.nc").exists() and (tmp_path / "out.nc").exists()


@pytest.fixture
def whole(eagre, fake_case, tmp_path, opened):
    """An unbroken run, and a restart of its middle beside it."""
    assert eagre("run", fake_case()).code == 0
    fields, series = opened(tmp_path / "out.nc"), (tmp_path / "gauges.csv").read_text()
    assert eagre("run", fake_case(end_time="4"), "--overwrite").code == 0
    restart = (tmp_path / "restart.nc").read_bytes()
    assert eagre("run", fake_case(), "--overwrite").code == 0
    (tmp_path / "restart.nc").write_bytes(restart)
    return fields, series


@pytest.mark.parametrize("torn", [None, "gauges", "time", "field"])
def test_restart_goes_on_after_a_kill(eagre, fake_case, tmp_path, opened, whole, torn):
    """Records after the restart are made again; a line or a record that the kill cut is dropped."""
    import h5py

    fields, series = whole
    if torn == "gauges":
        (tmp_path / "gauges.csv").write_text(series[:-5])
    with h5py.File(tmp_path / "out.nc", "r+") as file:
        if torn == "time":
            file["time"][4:] = 0.0
        if torn == "field":
            file["depth"].resize(3, axis=0)
    done = eagre("run", fake_case(), "--restart", tmp_path / "restart.nc")
    assert done.code == 0, done.err
    again = opened(tmp_path / "out.nc")
    np.testing.assert_array_equal(again["time"], fields["time"])
    np.testing.assert_array_equal(again["depth"], fields["depth"])
    assert (tmp_path / "gauges.csv").read_text() == series


def test_a_record_that_only_a_part_of_the_fields_has_is_dropped(eagre, fake_case, tmp_path, opened, whole):
    import h5py

    with h5py.File(tmp_path / "out.nc", "r+") as file:
        file["depth"].resize(2, axis=0)
    assert eagre("run", fake_case(), "--restart", tmp_path / "restart.nc").code == 0
    again = opened(tmp_path / "out.nc")
    np.testing.assert_array_equal(again["time"], [0.0, 2.0, 6.0, 8.0, 10.0])
    assert np.isfinite(again["depth"]).all()


def test_restart_drops_nothing_that_is_not_made_again(eagre, fake_case, tmp_path, whole):
    """A run to t = 6 s from t = 4 s does not make the records at 8 and 10 s."""
    kept = (tmp_path / "out.nc").read_bytes(), (tmp_path / "gauges.csv").read_bytes()
    done = eagre("run", fake_case(end_time="6"), "--restart", tmp_path / "restart.nc")
    assert done.code == exits.BAD_INPUT and "t = 10 s" in done.err
    assert ((tmp_path / "out.nc").read_bytes(), (tmp_path / "gauges.csv").read_bytes()) == kept


def test_a_continued_run_that_is_refused_drops_nothing(eagre, fake_case, tmp_path, whole):
    kept = (tmp_path / "out.nc").read_bytes()
    path = fake_case()
    path.write_text(path.read_text().replace("pier", "peer"))
    assert eagre("run", path, "--restart", tmp_path / "restart.nc").code == exits.BAD_INPUT
    assert (tmp_path / "out.nc").read_bytes() == kept
