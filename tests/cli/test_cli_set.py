"""`eagre run --set`: other values than those of the case file, and what a stopped run says of them."""

from __future__ import annotations

import shlex
import sys

from eagre.cli.support import exits


def test_values_of_the_command_line_count_and_are_told(eagre, fake_case, tmp_path, opened):
    done = eagre("run", fake_case(), "--set", "run.end_time=4", "--set", "output.file=short.nc")
    assert done.code == 0, done.err
    dataset = opened(tmp_path / "short.nc")
    assert dataset["time"].values[-1] == 4
    assert dataset.attrs["case"].endswith('#   run.end_time = 4\n#   output.file = "short.nc"\n')
    assert not (tmp_path / "out.nc").exists()


def test_wrong_values_of_the_command_line(eagre, fake_case):
    done = eagre("run", fake_case(), "--set", "run.end_tme=4")
    assert done.code == exits.BAD_INPUT
    assert 'did you mean "end_time"?' in done.err
    assert "(line" not in done.err
    done = eagre("run", fake_case(), "--set", "run.end_time=4", "--set", "run.end_time = 5")
    assert done.code == exits.BAD_INPUT and "--set run.end_time twice" in done.err


def test_a_stopped_run_tells_the_whole_command_that_goes_on(eagre, fake_case, tmp_path, opened):
    path = fake_case(fail="interrupt").rename(tmp_path / "a case.toml")
    done = eagre("run", path, "--set", "output.file=my fields.nc", "--precision", "single")
    assert done.code == exits.INTERRUPTED, done.err
    words = shlex.split(done.err.partition("try:")[2])
    assert words[:3] == ["eagre", "run", str(path)]
    assert words[3:7] == ["--precision", "single", "--set", "output.file=my fields.nc"]
    path.write_text(path.read_text().replace('fail = "interrupt"', 'fail = ""'))
    assert eagre(*words[1:]).code == 0
    assert opened(tmp_path / "my fields.nc")["time"].values[-1] == 10


def test_a_parent_that_closed_the_output(eagre, fake_case, tmp_path, monkeypatch):
    from eagre.cli.support.console import WIDE, console

    monkeypatch.setattr(sys, "stdout", None)
    out = console()
    out.print("nobody reads this")
    assert out.width == WIDE
