"""Case files: every kind of problem is told with its key, its line and the line to write."""

from __future__ import annotations

import datetime

import pytest
from pydantic import BeforeValidator

from eagre.cli.new import template
from eagre.config.problems import ConfigError, Problems, spell_key
from eagre.config.section import Section, check
from eagre.config.water.conditions import CONDITIONS, ELSEWHERE
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.registry import KINDS, find_kind, load_case
from eagre.models.shallow_water.config import ShallowWaterCase

GOOD = """\
model = "shallow-water"
[run]
end_time = "2 h"
[grid]
nx = 10
ny = 8
dx = 5.0
[bed]
value = -1.0
"""

MAPS_FILE = 'file = "maps.nc"\n'


def problems_of(text: str, directory=".") -> dict[str, str]:
    """Key to message of every problem of a case."""
    with pytest.raises(ConfigError) as caught:
        ShallowWaterCase.loads(text, directory)
    return {spell_key(problem.key): str(problem) for problem in caught.value.problems}


def with_line(section: str, line: str) -> str:
    """The good case with one line more in a section, or in place of the same key."""
    key = line.split("=")[0].strip()
    kept = [row for row in GOOD.splitlines() if row.split("=")[0].strip() != key]
    if f"[{section}]" not in kept:
        kept.append(f"[{section}]")
    kept.insert(kept.index(f"[{section}]") + 1, line)
    return "\n".join(kept)


def sections_of(section: type[Section]) -> list[type[Section]]:
    """All sections that derive from one."""
    return [one for own in section.__subclasses__() for one in (own, *sections_of(own))]


@pytest.mark.parametrize(
    ("kind", "values"), [(bool, ["yes", "true", 1]), (int, ["2", True, 2.0]), (float, ["2.5", True])]
)
def test_values_have_the_type_that_is_declared(kind, values):
    for name in KINDS:
        find_kind(name).case_class()
    fields = [(own, key, field) for own in sections_of(Section) for key, field in own.model_fields.items()]
    found = [(own, key, field) for own, key, field in fields if field.annotation in (kind, kind | None)]
    plain = [(own, key) for own, key, field in found if not any(isinstance(m, BeforeValidator) for m in field.metadata)]
    assert plain
    for own, key in plain:
        for value in values:
            with pytest.raises((Problems, ConfigError)) as caught:
                check(own, {key: value})
            told = [str(one) for one in caught.value.problems if one.key == (key,)]
            assert len(told) == 1 and (kind is not bool or f"{key} = true" in told[0]), (own, key, value, told)


def test_good_case():
    case = ShallowWaterCase.loads(GOOD)
    assert case.run.end_time == 7200.0
    assert (case.run.device, case.run.precision) == ("auto", "single")
    assert case.output is case.gauges is case.restart is None
    assert case.name == "shallow-water"


@pytest.mark.parametrize(
    ("section", "line", "key", "words"),
    [
        ("run", 'devise = "cpu"', "run.devise", ["line 3", 'did you mean "device"', 'device = "cpu"', "precision"]),
        ("run", 'end_time = "2 hous"', "run.end_time", ['the unknown unit "hous"', 'end_time = "2 h"']),
        ("run", "end_time = -5", "run.end_time", ["-5", "greater than 0"]),
        ("run", "end_time = nan", "run.end_time", ["nan", "finite"]),
        ("run", 'device = "gpu"', "run.device", ['"gpu"', "auto, cpu, cuda"]),
        ("run", 'device = "cuda:x"', "run.device", ["cuda:1"]),
        ("run", 'precision = "double "', "run.precision", ["single, double", 'precision = "double"']),
        ("run", 'start_date = "tomorrow"', "run.start_date", ["2026-01-31T12:00:00"]),
        ("run", "start_date = 2026", "run.start_date", ["a date"]),
        ("grid", "nx = 1.5", "grid.nx", ["nx = 1.5", ">= 1", "nx = 200"]),
        ("grid", "nx = 0", "grid.nx", ["greater than or equal to 1"]),
        ("grid", "dx = 0", "grid.dx", ["greater than or equal to 0.000000001"]),
        ("grid", "extent = [0, 1, 0, 1]", "grid", ["both nx, ny and extent"]),
        ("grid", "dxx = 1", "grid.dxx", ["dx = 1"]),
        ("bed", 'expression = "x +* y"', "bed", ["value and expression"]),
        ("bed", 'positive = "up"', "bed", ["positive without file"]),
        ("numerics", "minmod_theta = 3", "numerics.minmod_theta", ["less than or equal to 2", "minmod_theta = 1.3"]),
        ("numerics", 'scheme = "rk3"', "numerics.scheme", ['scheme = "rk2"', "euler"]),
        ("numerics", "courant_numbr = 0.2", "numerics.courant_numbr", ["courant_number = 0.2"]),
        ("numerics", "theta = 1.3", "numerics.theta", ['did you mean "minmod_theta"', "minmod_theta = 1.3"]),
        ("numerics", "fixed_time_step = 1", "numerics.fixed_time_step", ['did you mean "time_step"', "time_step = 1"]),
        ("numerics", 'time_step = "exact"', "numerics.time_step", ["is not a time", 'time_step_control = "exact"']),
        ("initial", 'depth = "sim(x)"', "initial.depth", ['did you mean "sin"']),
        ("initial", 'depth = "2 s"', "initial.depth", ["not a unit of length"]),
        ("initial", "depth = [1]", "initial.depth", ["expression in x, y and bed"]),
        ("friction", "maning = 0.03", "friction.maning", ["manning = 0.03"]),
        ("friction", "maning = 0.03", "friction.manning", ["nothing", "manning = 0.03"]),
        ("sources.rain", 'rate = "20 m"', "sources.rain.rate", ["not a unit of rain", "mm/h"]),
        ("sources.rian", "rate = 1", "sources.rian", ['did you mean "rain"']),
        ("sources.coriolis", "beta = 1e-11", "sources.coriolis", ["neither latitude nor f"]),
        ("sources.coriolis", "latitude = 95", "sources.coriolis.latitude", ["90"]),
        ("output", 'file = "out.txt"', "output.file", [".nc", 'file = "out.nc"']),
        ("output", "interval = 5", "output.file", ["nothing", 'file = "out.nc"']),
        ("output", 'variables = ["depth", "depth"]', "output.variables", ["depth more than once"]),
        ("output", "overwrite = 3", "output.overwrite", ["true or false", "overwrite = false"]),
        ("output", 'overwrite = "yes"', "output.overwrite", ['"yes"', "true or false", "overwrite = true"]),
        ("output", "compression = 10", "output.compression", ["10", "9"]),
        ("output", "compression = true", "output.compression", ["an integer", "compression = 0"]),
        ("output", 'stride = "2"', "output.stride", ["an integer", "stride = 4"]),
        ("output", "extent = [true, 1, 0, 1]", "output.extent[1]", ["true", "extent = [0.0, 1000.0, 0.0, 500.0]"]),
        ("output", "variables = []", "output.variables", ["variables = []", 'variables = ["depth"]']),
        ("maps", 'mean = ["depth", "depth"]', "maps.mean", ["depth more than once", 'mean = ["depth"]']),
        (
            "maps",
            MAPS_FILE + 'variables = ["max_dept"]',
            "maps.variables",
            ["max_surface_elevation", 'variables = ["max_depth"]'],
        ),
        ("maps", MAPS_FILE + 'arrival_depths = ["1 cm", "10 mm"]', "maps.arrival_depths", ["different numbers"]),
        (
            "maps",
            MAPS_FILE + "duration_depths = [1, 2, 3, 4, 5, 6, 7, 8, 9]",
            "maps.duration_depths",
            ["8 at most", "7.0, 8.0]"],
        ),
        ("maps", MAPS_FILE + 'wet_depth = "-1 mm"', "maps.wet_depth", ["0 or more", "wet_depth = 0.01"]),
        (
            "maps",
            MAPS_FILE + 'covariance = [["depth", "depth"]]',
            "maps.covariance",
            ["two different", "covariance = [["],
        ),
        ("maps", 'covariance = [["depth", "u", "v"]]', "maps.covariance[1]", ["at most 2", "covariance = [["]),
        ("maps", "maximum = []", "maps.maximum", ["maximum = []", "leave the key out"]),
        ("maps", "variables = []", "maps.variables", ['variables = ["max_depth"]']),
        ("maps", 'covariance = ["depth", "speed"]', "maps.covariance[1]", ["a list", "covariance = [["]),
        ("numerics", 'minmod_theta = "1.3"', "numerics.minmod_theta", ["a valid number", "minmod_theta = 1.3"]),
        ("numerics", 'active_tiles = "yes"', "numerics.active_tiles", ["auto, on, off", 'active_tiles = "auto"']),
        ("gauges", "points = {a = [1]}", "gauges.points.a", ["[x, y]", "a = [100.0, 50.0]"]),
        ("gauges", 'points = {a = [1, "east"]}', "gauges.points.a", ['"east"', "a = [100.0, 50.0]"]),
        ("gauges", "points = {a = {x = 1}}", "gauges.points.a.y", ["nothing", "y = 50.0"]),
        ("gauges", "points = {a = {name = 1}}", "gauges.points.a", ["[x, y]", "a = [100.0, 50.0]"]),
        ("gauges", "points = [{x = 1, y = 2}]", "gauges.points[1].name", ["nothing", 'name = "harbour"']),
        (
            "gauges",
            'points = [{name = "a", x = 1, y = 2}, {name = "a", x = 2, y = 2}]',
            "gauges.points",
            ["two called 'a'"],
        ),
        ("gauges", "points = 5", "gauges.points", ["a table"]),
        ("gauges", "points = {}", "gauges.points", ["points = {}", "a table of points"]),
        ("grid", "crs = 32633", "grid.crs", ["a string", 'crs = "EPSG:32633"']),
        ("restart", 'from = "restart.nc"', "restart.from", ["there is no such file"]),
        ("boundaries", 'west = "wall"', "boundaries.west", ['"wall"', 'kind = "wall"']),
        ("boundaries", 'west = {kind = "absorbin"}', "boundaries.west", ['kind = "absorbing"', "periodic"]),
        ("boundaries", 'west = {kind = "open"}', "boundaries.west", ['"open"', 'kind = "absorbing"']),
        ("boundaries", 'west = {kind = "Reflective"}', "boundaries.west", ['kind = "wall"']),
        ("boundaries", 'west = "tide"', "boundaries.west", ['{ kind = "stage" }']),
        ("boundaries", "west = {level = 1}", "boundaries.west", ["no kind"]),
        ("boundaries", 'west = {kind = "stage"}', "boundaries.west.level", ["nothing", "level = 1.5"]),
        ("boundaries", 'west = {kind = "stage", lvel = 1}', "boundaries.west.lvel", ["level = 1"]),
        ("boundaries", 'west = {kind = "periodic"}', "boundaries", ["opposite sides"]),
        ("boundaries", 'west = [{kind = "periodic", from = 0, to = 1}]', "boundaries.west[1]", ["whole"]),
        ("boundaries", 'west = [{kind = "wall", from = 3, to = 1}]', "boundaries.west[1]", ["from < to"]),
        ("boundaries", 'west = [{kind = "wall", from = 3}]', "boundaries.west[1].to", ["nothing"]),
        ("boundaries", 'weast = {kind = "wall"}', "boundaries.weast", ['did you mean "west"']),
    ],
)
def test_problem(tmp_path, section, line, key, words):
    found = problems_of(with_line(section, line), tmp_path)
    assert key in found, found
    for word in words:
        assert word in found[key]


def test_all_problems_are_told_at_once_in_the_order_of_the_file():
    text = GOOD.replace('"2 h"', '"2 x"').replace("nx = 10", "nx = -1") + '[output]\nfile = "a.png"\n[boundaries]\n'
    text += '[[boundaries.west]]\nkind = "stag"\n[[boundaries.west]]\nkind = "stage"\nfrom = 1\nto = 2\n'
    with pytest.raises(ConfigError) as caught:
        ShallowWaterCase.loads(text)
    assert [spell_key(problem.key) for problem in caught.value.problems] == [
        "run.end_time",
        "grid.nx",
        "output.file",
        "boundaries.west[1]",
        "boundaries.west[2].level",
    ]
    assert [problem.line for problem in caught.value.problems] == [3, 5, 11, 13, 15]
    assert str(caught.value).startswith("the case: 5 problems\nrun.end_time (line 3)\n  got:     ")
    assert isinstance(caught.value, InputError)


def test_sections_that_are_no_tables_and_missing_ones():
    no_table = problems_of('model = "shallow-water"\nrun = 5\nbed = 1\n')["run"]
    assert "a table with the keys end_time" in no_table and "A table is necessary here, not a single value." in no_table
    assert '{ end_time = "2 h" }' in no_table
    found = problems_of('model = "shallow-water"\n')
    assert set(found) == {"run", "bed"}
    assert 'run = {end_time = "2 h"}' in found["run"]


def test_grid_is_needed_without_a_bed_file():
    text = 'model = "shallow-water"\n[run]\nend_time = 1\n[bed]\nvalue = 0\n'
    assert "nx = 200" in problems_of(text)["grid"]
    assert "only dx" in problems_of(text + "[grid]\ndx = 5\n")["grid"]
    assert "no ny" in problems_of(text + "[grid]\nnx = 5\ndx = 1\n")["grid"]
    assert "x0" in problems_of(text + "[grid]\nextent = [0, 1, 0, 1]\ndx = 1\nx0 = 3\n")["grid"]


def test_missing_input_files_are_told_with_their_full_path(tmp_path):
    (tmp_path / "river.csv").write_text("time,q\n0,1\n")
    text = GOOD + '[boundaries]\nwest = {kind = "discharge", rate = {file = "rivr.csv"}}\n'
    found = problems_of(text, tmp_path)
    assert str(tmp_path / "rivr.csv") in found["boundaries.west.rate.file"]
    assert "river.csv" in found["boundaries.west.rate.file"]


@pytest.mark.parametrize(
    ("rate", "key", "words"),
    [
        ("{flie = 'a.csv'}", "boundaries.west.rate.flie", ["file"]),
        ("{times = [0, 1], values = [1]}", "boundaries.west.rate", ["2 times and 1 values"]),
        ("{times = [1, 0], values = [1, 1]}", "boundaries.west.rate", ["increasing"]),
        ("{times = [0, 1], values = ['1 m', 1]}", "boundaries.west.rate", ["not a unit of discharge"]),
        ("{expression = 'sin(x)', every = 1}", "boundaries.west.rate", ['"x" is not known']),
        ("{expression = 'sin(t)'}", "boundaries.west.rate.every", ["nothing"]),
        ("'3 * sin(t)'", "boundaries.west.rate", ["every", '{expression = "3 * sin(t)"']),
        ("{file = 'river.csv', units = 'mm/h'}", "boundaries.west.rate", ["not a unit of discharge"]),
        ("[1]", "boundaries.west.rate", ["file, times and values, expression, or constituents"]),
        ("true", "boundaries.west.rate", ["true", "m3/s"]),
    ],
)
def test_signals(tmp_path, rate, key, words):
    (tmp_path / "river.csv").write_text("time,q\n0,1\n")
    found = problems_of(GOOD + f'[boundaries]\nwest = {{kind = "discharge", rate = {rate}}}\n', tmp_path)
    assert key in found, found
    for word in words:
        assert word in found[key]


def test_dates():
    for date in ("2026-01-31T12:00:00", '"2026-01-31 12:00"', "2026-01-31"):
        case = ShallowWaterCase.loads(with_line("run", f"start_date = {date}"))
        assert case.run.start_date is not None
        assert case.run.start_date.date() == datetime.date(2026, 1, 31)


def test_paths_start_from_the_case_file(tmp_path):
    path = tmp_path / "sub" / "case.toml"
    path.parent.mkdir()
    path.write_text(GOOD + '[output]\nfile = "results/out.nc"\n[restart]\nfile = "/far/restart.nc"\n')
    case = ShallowWaterCase.load(path)
    assert case.output is not None and case.output.file == tmp_path / "sub" / "results" / "out.nc"
    assert case.restart is not None and str(case.restart.file) == "/far/restart.nc"
    assert (case.name, case.directory, case.text) == ("case", path.parent, path.read_text())


def test_errors_after_reading_name_key_line_and_file(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text(GOOD)
    case = ShallowWaterCase.load(path)
    with pytest.raises(ConfigError) as caught, case.at("run", "end_time"):
        raise InputError("a", allowed="b", fix="c")
    assert f"{path}: one problem\nrun.end_time (line 3)\n  got:     a\n  allowed: b\n  write:   c" == str(caught.value)
    with pytest.raises(ConfigError, match=r'"dept".*did you mean "depth"'):
        case.checked_variables(["depth", "dept"], ["depth", "speed"], "output")


def test_registry(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text(GOOD)
    assert isinstance(load_case(path), ShallowWaterCase)
    for line, words in (("", "nothing"), ("model = 3", "model = 3"), ('model = "shalow-water"', '"shallow-water"')):
        path.write_text(GOOD.replace('model = "shallow-water"', line))
        with pytest.raises(ConfigError) as caught:
            load_case(path)
        assert words in str(caught.value)
        assert "shallow-water" in str(caught.value)
    assert find_kind("shallow-water") is KINDS["shallow-water"]
    with pytest.raises(InputError, match='write:   model = "shallow-water"'):
        find_kind("shalow_water")
    assert "barotropic" in problems_of(GOOD.replace("shallow-water", "barotropic"))["model"]


@pytest.mark.parametrize(
    ("kind", "section"),
    [
        *((kind, "maps") for kind in ("shallow-water", "barotropic", "potential-waves", "anelastic")),
        ("potential-waves", "statistics"),
    ],
)
def test_averages_that_begin_when_the_run_has_ended_are_refused(kind, section, tmp_path):
    more = {"maps": 'file = "maps.nc"\nmean = ["velocity"]', "statistics": ""}[section]
    path = tmp_path / "case.toml"
    path.write_text(f'{template(kind)}\n[{section}]\n{more}\nfrom = "300000 h"\n')
    with pytest.raises(ConfigError) as caught:
        load_case(path).build()
    (problem,) = caught.value.problems
    assert (problem.key, problem.line) == ((section, "from"), len(path.read_text().splitlines()))
    assert "before end_time" in str(caught.value)
    assert "from = " in problem.fix


@pytest.mark.parametrize(
    "line", ['output.fields = ["depth"]', 'maps.fields = [{name = "depth"}]', "output.fil = [1, 2]"]
)
def test_an_unknown_key_with_a_list_is_not_told_to_be_a_file(line):
    (text,) = (text for key, text in problems_of(f"{line}\n" + GOOD).items() if key in line)
    assert "Unknown key" in text and 'mean "file"' not in text and "write:" not in text
    assert "variables" in text.split("allowed:")[1]


def test_an_unknown_key_is_told_with_the_nearest_that_takes_its_value():
    assert 'variables = ["depth"]' in problems_of('output.variable = ["depth"]\n' + GOOD)["output.variable"]
    assert 'file = "out.nc"' in problems_of('output.fil = "out.nc"\n' + GOOD)["output.fil"]


@pytest.mark.parametrize(
    "points",
    ['{pier = [1.5, 2.0], quay = ["3 m", 4]}', '{pier = {x = "150 cm", y = 2}, quay = {x = 3, y = 4.0}}',
     '[{name = "pier", x = 1.5, y = 2}, {name = "quay", x = 3, y = 4}]'],
)  # fmt: skip
def test_styles_of_points(points):
    case = ShallowWaterCase.loads(GOOD + f'[gauges]\nfile = "a.csv"\ninterval = 1\npoints = {points}\n')
    assert case.gauges.points.named == {"pier": [(1.5, 2.0)], "quay": [(3.0, 4.0)]}


def test_gauges_of_a_flume_need_no_y():
    gauges = 'points = {x04 = 4.0, x05 = "500 cm", centre = [6.0, 0.25]}\n'
    case = ShallowWaterCase.loads(GOOD + f'[gauges]\nfile = "a.csv"\ninterval = 1\n{gauges}')
    flume = Grid(20, 1, 0.5, 0.5)
    assert case.gauges.on(flume) == {"x04": (4.0, 0.25), "x05": (5.0, 0.25), "centre": (6.0, 0.25)}
    with pytest.raises(InputError, match="The point x04 has no y, and the grid has 10 rows") as error:
        case.gauges.on(Grid(20, 10, 0.5, 0.5))
    assert error.value.fix == "x04 = [4, 0.0]"


def test_names_of_conditions_elsewhere_lead_to_kinds():
    assert set(ELSEWHERE.values()) <= set(CONDITIONS) and not set(ELSEWHERE) & set(CONDITIONS)
