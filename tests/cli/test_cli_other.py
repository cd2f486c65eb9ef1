"""`eagre new`, `info`, `bench` and `validate`; usage errors; words for numbers."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path

import numpy as np
import pytest

from eagre.backend.select import select
from eagre.backend.tuned import file_of
from eagre.cli.bench import update
from eagre.cli.support import exits
from eagre.cli.support.console import duration, quantity, size, whole
from eagre.cli.support.outputs import records
from eagre.errors import BlowUpError, DeviceError, InputError, MemoryNeededError
from eagre.laboratory.bench.transfers import TransferTime
from eagre.laboratory.validation.result import Result
from eagre.models.registry import KINDS, load_case


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_new_writes_a_case_that_loads(eagre, tmp_path, kind):
    done = eagre("new", kind, tmp_path / "deep" / "folder")
    assert done.code == 0, done.err
    path = tmp_path / "deep" / "folder" / "case.toml"
    assert f"eagre run {path}" in done.out
    case = load_case(path)
    assert case.kind == kind
    assert case.output is not None


@pytest.mark.parametrize(
    ("uncomment", "drop"),
    [
        (
            [
                "start_date",
                "x0",
                "y0",
                "[sources",
                'rate = "20',
                "latitude",
                "x =",
                "[numerics",
                "scheme",
                "courant_number",
            ],
            "never",
        ),
        (["file =", "positive", "nodata", "offset"], "expression"),
        (["depth =", "velocity_x ="], "surface_elevation"),
        (["[[boundaries.north", "kind", 'rate = {file = "river', "from =", "to ="], "never"),
        (['west = {kind = "stage"'], "never"),
        (['west = {kind = "absorbing"'], "never"),
    ],
)
def test_commented_lines_of_the_template_are_valid_too(tmp_path, uncomment, drop):
    from eagre.cli.new import template
    from eagre.models.shallow_water.config import ShallowWaterCase

    for name in ("bathymetry.tif", "u.tif", "tide.csv", "wave.csv", "river.csv"):
        (tmp_path / name).touch()
    text = "\n".join(line for line in template("shallow-water").splitlines() if not line.startswith(drop))
    for beginning in uncomment:
        assert f"\n# {beginning}" in text
        text = text.replace(f"\n# {beginning}", f"\n{beginning}")
    ShallowWaterCase.loads(text, tmp_path)


def test_new_overwrites_nothing(eagre, tmp_path):
    (tmp_path / "case.toml").write_text("mine")
    done = eagre("new", "shallow-water", tmp_path)
    assert done.code == exits.BAD_INPUT
    assert "existing files are not overwritten" in done.err and "--name" in done.err
    assert (tmp_path / "case.toml").read_text() == "mine"
    assert eagre("new", "shallow-water", tmp_path, "--name", "other.toml").code == 0


def test_new_tells_the_nearest_kind(eagre, tmp_path):
    done = eagre("new", "shalow_water", tmp_path)
    assert (done.code, "eagre new shallow-water" in done.err) == (exits.BAD_INPUT, True)
    (tmp_path / "file").touch()
    assert eagre("new", "shallow-water", tmp_path / "file" / "x").code == exits.NO_OUTPUT
    done = eagre("new", "shallow-water", tmp_path / "file")
    assert done.code == exits.BAD_INPUT and "file is a file, not a folder." in done.err
    done = eagre("new", "shallow-water", tmp_path, "--name", "sub/a.toml")
    assert done.code == exits.BAD_INPUT and "--name case.toml" in done.err
    done = eagre("new", "shallow-water", tmp_path / "a folder")
    assert shlex.split(done.out.partition("next:")[2]) == ["eagre", "run", str(tmp_path / "a folder" / "case.toml")]


WAVES_AND_SIDES = """
model = "potential-waves"
[run]
end_time = "20 s"
start_date = 2026-01-31T12:00:00
[basin]
nx = 353
length_x = 22.0
depth = 0.4
[[relaxation_zones]]
side = "west"
width = 4.0
wave = {kind = "stream_function", height = 0.02, period = "2 s", stokes_current = 0.0, datum = "still_water"}
ramp = "4 s"
[[relaxation_zones]]
side = "east"
width = "5 m"
[gauges]
file = "gauges.csv"
interval = "0.05 s"
points = {before = [6.0, 0.0], bar = [11, 0]}
"""


def test_info_about_the_machine(eagre, monkeypatch, tmp_path):
    """With what was tuned; a store that cannot be read is told in its row."""
    monkeypatch.setenv("EAGRE_TUNING", str(tmp_path))
    done = eagre("info")
    assert done.code == 0, done.err
    for words in (
        "eagre",
        "python",
        "numpy",
        "memory",
        "cpu (",
        "shipped values (eagre tune --all measures this device)",
    ):
        assert words in done.out
    file_of(select("cpu")).write_text("{")
    done = eagre("info")
    assert done.code == 0 and "line 1, column 2" in done.out and "memory" in done.out


def test_info_about_files(eagre, fake_case, tmp_path):
    path = fake_case()
    assert "A fake case" in eagre("info", path).out
    assert "nx = 12, ny = 9, dx = 1.0" in eagre("info", path).out
    assert eagre("run", path).code == 0
    found = eagre("info", tmp_path / "out.nc").out
    for words in ("fields", "12 x 9 cells", "0 s to 10 s, 6 records", "water depth (m)", "cpu (7 threads)"):
        assert words in found
    assert eagre("run", fake_case(end_time="7200", interval="3600"), "--overwrite").code == 0
    assert "0 s to 7200 s (0 s to 2 h), 3 records" in eagre("info", tmp_path / "out.nc").out
    path = fake_case()
    assert eagre("run", path, "--overwrite").code == 0
    found = eagre("info", tmp_path / "restart.nc").out
    for words in ("restart file", "fake, single precision", "10 s, 40 steps"):
        assert words in found
    assert "11 rows" in eagre("info", tmp_path / "gauges.csv").out
    path.write_text(
        path.read_text()
        .replace("gauges.csv", "gauges.nc")
        .replace("end_time = ", "start_date = 2026-01-31\nend_time = ")
    )
    done = eagre("run", path, "--overwrite")
    assert done.code == 0, done.err
    found = eagre("info", tmp_path / "gauges.nc").out
    for words in ("series", "0 s to 10 s, 11 records", "pier", "surface_elevation: 0.15 to 0.3"):
        assert words in found
    found = eagre("info", tmp_path / "out.nc").out
    assert "2026-01-31" in found and "$" not in found and "^" not in found
    head = "ncols 4\nnrows 3\nxllcorner 5\nyllcorner 6\ncellsize 2"
    np.savetxt(tmp_path / "bed.asc", np.arange(12.0).reshape(3, 4), header=head, comments="")
    found = eagre("info", tmp_path / "bed.asc").out
    for words in ("raster", "4 x 3 of 2 m x 2 m", "x 5 to 13 m, y 6 to 12 m", "0 to 11"):
        assert words in found


def test_info_about_the_template(eagre, tmp_path):
    """Values are printed as in the file, a table of a section in a row of its own."""
    assert eagre("new", "shallow-water", tmp_path).code == 0
    found = eagre("info", tmp_path / "case.toml").out
    for row in (
        'run              end_time = "40 s", device = "auto", precision = "single"',
        'boundaries.east  kind = "absorbing", level = 1.2',
        "gauges.points    reservoir = [50.0, 75.0], behind_hill = [170.0, 80.0]",
    ):
        assert row in found.splitlines()
    assert "hypot(x - 50, y - 75)" in found


def test_info_about_a_case_with_waves_boundaries_and_gauges(eagre, tmp_path):
    (tmp_path / "case.toml").write_text(WAVES_AND_SIDES)
    done = eagre("info", tmp_path / "case.toml")
    assert done.code == 0, done.err
    rows = [tuple(line.split("  ", 1)) for line in done.out.splitlines()]
    found = {name: text.strip() for name, text in rows}
    assert found["run"] == 'end_time = "20 s", start_date = 2026-01-31T12:00:00'
    assert found["relaxation_zones[1]"] == 'side = "west", width = 4.0, ramp = "4 s"'
    assert found["relaxation_zones[1].wave"] == (
        'kind = "stream_function", height = 0.02, period = "2 s", stokes_current = 0.0, datum = "still_water"'
    )
    assert found["relaxation_zones[2]"] == 'side = "east", width = "5 m"'
    assert found["gauges"] == 'file = "gauges.csv", interval = "0.05 s"'
    assert found["gauges.points"] == "before = [6.0, 0.0], bar = [11, 0]"


def test_info_refuses_what_it_does_not_know(eagre, tmp_path):
    (tmp_path / "a.bin").write_bytes(b"\0\1")
    (tmp_path / "a.nc").write_text("text")
    for name in ("a.bin", "a.nc", "nothing.toml"):
        assert eagre("info", tmp_path / name).code == exits.BAD_INPUT


@pytest.mark.parametrize("arguments", [["walk"], ["run"], ["run", "a.toml", "--fast"], ["plot", "a.nc", "--dpi", "x"]])
def test_usage_errors(eagre, arguments):
    done = eagre(*arguments)
    assert done.code == exits.BAD_INPUT
    assert "Usage" in done.err


def test_broken_case_files(eagre, tmp_path):
    path = tmp_path / "case.toml"
    path.write_text("model = shallow\n")
    done = eagre("run", path)
    assert (done.code, "line 1, column 9" in done.err) == (exits.BAD_INPUT, True)
    path.write_text('model = "shallow-water"\n[run]\nend_tim = "1 [red]h"\n')
    done = eagre("run", path)
    assert done.code == exits.BAD_INPUT
    assert "3 problems" in done.err and 'end_time = "1 [red]h"' in done.err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("a"), 2),
        (BlowUpError(1.0, (0, 0), "x"), 3),
        (DeviceError("x"), 4),
        (MemoryNeededError(2, 1, "cpu"), 5),
        (MemoryError(), 5),
        (exits.OutputError("x"), 6),
        (PermissionError(13, "Permission denied", "a.nc"), 6),
        (KeyboardInterrupt(), 130),
        (ValueError("x"), 1),
    ],
)
def test_codes_of_errors(error, code, capsys):
    assert exits.report(error) == code
    told = capsys.readouterr().err
    assert told.startswith("interrupted" if code == 130 else "error: ")
    assert "Traceback" not in told


def test_output_that_cannot_be_written_any_more_has_its_code():
    from eagre.io import WriteError

    assert exits.code_of(WriteError(Path("a.nc"), "no space left on the disk")) == exits.NO_OUTPUT


def result(value: float, limit: float | None = 1.0) -> Result:
    """A line of a validation report."""
    return Result("lake", "double", "error (m)", value, limit)


@pytest.mark.parametrize(("values", "code"), [((0.5, 1.0), 0), ((0.5, 2.0), 1), ((math.nan,), 1)])
def test_validate(eagre, monkeypatch, tmp_path, values, code):
    asked = {}

    def validate(kind, names, output_dir, device, precision, on_result):
        asked.update(kind=kind, names=names, output_dir=output_dir, device=device, precision=precision)
        found = [result(value) for value in values]
        for item in found:
            on_result(item)
        return found

    monkeypatch.setattr("eagre.laboratory.validation.validate", validate)
    done = eagre("validate", "shallow-water", "-c", "lake", "-o", tmp_path, "--device", "cpu", "--precision", "double")
    assert done.code == code, done.err
    assert asked == {"kind": "shallow-water", "names": ["lake"], "output_dir": tmp_path} | {
        "device": "cpu",
        "precision": "double",
    }
    assert done.out.startswith("device")
    assert f"{len(values)} values compared, {code} outside their limits" in done.out
    assert eagre("validate", "--device", "cpu").code == code
    assert asked["names"] is None


def test_validate_lists_and_refuses(eagre):
    done = eagre("validate", "--list")
    assert done.code == 0
    assert "shallow-water  " in done.out
    done = eagre("validate", "shalow-water")
    assert done.code == exits.BAD_INPUT and done.err.rstrip().endswith("write:   shallow-water")
    assert eagre("validate", "--device", "cuda:99").code == exits.NO_DEVICE


RECORD = {
    **{"model": "shallow-water", "case": "dam", "variant": "rk2", "precision": "single", "device": "cpu", "threads": 2},
    **{"shape": [512, 256], "steps": 100, "ms_per_step": 12.5, "ms_best": 12.0, "cell_steps_per_s": 1.05e7},
    **{"bytes_per_cell": 100, "fraction_of_copy": 0.42, "copy_gb_per_s": 20.0, "error": 1.2e-7},
}


def test_bench(eagre, monkeypatch, tmp_path):
    asked = {}

    def measurements(kind, device, precision, sizes):
        asked.update(kind=kind, device=device, precision=precision, sizes=sizes)
        gpu = {"fraction_of_copy": None, "precision": "double", "threads": 0, "ms_best": 11.75}
        return iter([RECORD, RECORD | gpu])

    monkeypatch.setattr("eagre.laboratory.bench.benchmark.measurements", measurements)
    target = tmp_path / "cpu.json"
    done = eagre("bench", "shallow-water", "--device", "cpu", "--size", 512, "--size", 64, "-o", target)
    assert done.code == 0, done.err
    assert asked == {"kind": "shallow-water", "device": "cpu", "precision": None, "sizes": [512, 64]}
    for words in ("256 x 512", "10.5 M", "42%", "12.5", "11.75", "threads", "GPU"):
        assert words in done.out
    assert len(json.loads(target.read_text())) == 2


def test_bench_prints_each_row_when_it_is_measured(monkeypatch, capsys):
    """A pipe or a log shows what is known so far: a whole benchmark takes minutes."""
    from eagre.cli.bench import bench

    seen = []

    def measurements(kind, device, precision, sizes):
        for n in range(2):
            yield RECORD | {"variant": f"row{n}"}
            seen.append(capsys.readouterr().out)

    monkeypatch.setattr("eagre.laboratory.bench.benchmark.measurements", measurements)
    bench("shallow-water", device="cpu")
    assert "row0" in seen[0] and "row1" not in seen[0] and "row1" in seen[1]
    assert "ms/step" in seen[0] and "verified" in seen[0]


@pytest.mark.parametrize("command", ["bench", "tune"])
def test_a_size_that_is_too_small_gets_advice_for_the_command(eagre, command):
    """Whalin's tank has a 16th as many rows as points: 33 points give 3 rows, 65 give 5, and order 6 needs 4."""
    done = eagre(command, "potential-waves", "--device", "cpu", "--size", 33)
    assert done.code == exits.BAD_INPUT and "write:   --size 65" in done.err and "This is a bug" not in done.err
    assert "ny =" not in done.err.split("write:")[1]


def test_a_size_that_cannot_be_coarsened_gets_the_next_one(eagre):
    done = eagre("bench", "potential-waves", "--device", "cpu", "--precision", "single", "--size", 66)
    assert done.code == exits.BAD_INPUT and "write:   --size 81" in done.err


def test_a_size_below_the_suite_gets_advice(eagre):
    """The smallest grid of the suite is a cube of 16 points."""
    done = eagre("bench", "anelastic", "--suite", "--device", "cpu", "--size", 8)
    assert done.code == exits.BAD_INPUT and "write:   --size 16" in done.err and "most" not in done.err


@pytest.mark.parametrize("option", ["--kernels", "--transfers"])
@pytest.mark.parametrize("other", [["--suite"], ["-o", "a.json"]])
def test_reports_alone(eagre, option, other):
    done = eagre("bench", "anelastic", option, *other)
    assert done.code == 2
    assert "cannot be combined" in done.err and f"eagre bench MODEL {option}" in done.err


def test_bench_prints_transfers(monkeypatch, eagre):
    """Rates of what is copied, and what is hidden: 2 + 4 - 5 of 4 s."""
    rows = [TransferTime("steps", 2.0, 0), TransferTime("copies", 4.0, 8 * 10**9), TransferTime("both", 5.0, 8 * 10**9)]
    monkeypatch.setattr("eagre.laboratory.bench.transfers.transfer_times", lambda *arguments: rows)
    done = eagre("bench", "barotropic", "--transfers", "--device", "cpu", "--precision", "double")
    assert done.code == 0, done.err
    lines = [line.split() for line in done.out.splitlines()]
    assert ["copies", "4000", "2"] in lines and ["both", "5000", "1.6"] in lines and ["steps", "2000"] in lines
    assert "25% of the copy time is hidden" in done.out


def test_results_of_bench_are_replaced_and_not_appended(tmp_path):
    path = tmp_path / "a.json"
    update(path, [RECORD])
    update(path, [RECORD | {"ms_per_step": 10.0}, RECORD | {"shape": (8, 8)}])
    found = json.loads(path.read_text())
    assert [(record["shape"], record["ms_per_step"]) for record in found] == [([512, 256], 10.0), ([8, 8], 12.5)]
    path.write_text("[1]")
    with pytest.raises(InputError, match="is not a list of measurements"):
        update(path, [RECORD])
    with pytest.raises(exits.OutputError):
        update(tmp_path / "nowhere" / "a.json", [RECORD])


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.354, "0.354 s"),
        (12.0, "12 s"),
        (60.0, "1 min"),
        (185.0, "3 min 05 s"),
        (7620.0, "2 h 07 min"),
        (356400.0, "4 d 03 h"),
        (math.nan, "-"),
        (math.inf, "-"),
    ],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_numbers():
    assert [quantity(value) for value in (1.234e9, 45.6e6, 789.0, 1200.0)] == ["1.23 G", "45.6 M", "789", "1.2 k"]
    assert [size(value) for value in (10, 2048, 1.5 * 2**30)] == ["10 B", "2.0 KiB", "1.5 GiB"]
    assert whole(1234567) == "1 234 567"


@pytest.mark.parametrize(
    ("start", "end", "interval", "count"),
    [
        (0, 3600, 60, 61),
        (0, 10, 3, 5),
        (6.75, 10, 2, 3),
        (6, 10, 2, 3),
        (0, 1, 5, 2),
        (0, 0.3, 0.1, 4),
        (0, 9, None, 2),
    ],
)
def test_number_of_records(start, end, interval, count):
    assert records(start, end, interval) == count


def test_suite_of_bench(eagre, monkeypatch):
    monkeypatch.setattr(
        "eagre.laboratory.bench.suite.suite", lambda *given, **options: iter([RECORD | {"case": f"{given} {options}"}])
    )
    done = eagre("bench", "anelastic", "--suite", "--device", "cpu", "--precision", "double", "--size", 64)
    assert done.code == 0 and "262144" in done.out and "case" in done.out, done.err
    done = eagre("bench", "barotropic", "--suite")
    assert done.code == exits.BAD_INPUT and "eagre bench anelastic --suite" in done.err
