"""Case files of the potential-flow waves: what they make, and what they say of mistakes."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.config.problems import ConfigError
from eagre.errors import InputError
from eagre.models.potential_waves.config import PotentialWavesCase
from eagre.waves import AiryWave, Sea, StreamFunctionWave

HEAD = """\
model = "potential-waves"
[run]
end_time = 1
device = "cpu"
"""
FLUME = """\
[basin]
nx = 33
length_x = 16.0
depth = 0.5
"""
WAVE = '{kind = "airy", height = 0.02, period = "2 s"}'


def made(text: str, folder="."):
    return PotentialWavesCase.loads(HEAD + text, folder).build()


def refused(text: str) -> str:
    with pytest.raises(InputError) as error:
        made(text)
    return str(error.value)


def test_a_flume_with_everything():
    model = made(
        FLUME
        + f"""\
x0 = 100.0
[initial]
surface_elevation = "0.01 * cos(pi * (x - 100) / 16)"
[[relaxation_zones]]
side = "west"
width = 4
wave = {WAVE}
ramp = "3 s"
[[relaxation_zones]]
side = "east"
width = 5
exponent = 5
[numerics]
order = 4
vertical_points = 8
vertical_clustering = false
linear = true
time_step = "0.04 s"
tolerance = 1e-4
gravity = 9.82
"""
    )
    setup, (west, east) = model.setup, model.setup.relaxation_zones
    assert model.grid.x[[0, -1]].tolist() == [100.0, 116.0] and model.grid.y.tolist() == [0.0]
    assert (setup.vertical.order, setup.vertical.nz, setup.vertical.clustered, setup.linear) == (4, 8, False, True)
    assert (setup.time_step, setup.tolerance, setup.gravity) == (0.04, 1e-4, 9.82)
    assert (west.side, west.width, west.period, west.ramp) == ("west", 4.0, 2.0, 3.0)
    assert isinstance(west.waves, AiryWave) and west.waves.depth == 0.5 and west.waves.gravity == 9.82
    assert (east.side, east.width, east.period, east.exponent, east.waves) == ("east", 5.0, 2.0, 5.0, None)
    found = model.field("surface_elevation")[0]
    assert found == pytest.approx(0.01 * np.cos(np.linspace(0.0, np.pi, 33)), abs=1e-8)


def test_a_periodic_basin_with_a_bed_and_a_wave():
    model = made(
        """\
[basin]
nx = 32
ny = 16
length_x = 4.0
length_y = 2.0
x0 = 1.0
periodic = "both"
bed = -0.8
[initial]
wave = {kind = "stream_function", height = 0.1, length = 4.0, eulerian_current = 0.0}
"""
    )
    assert model.grid.dx == 0.125 and model.grid.dy == 0.125
    assert (model.field("still_water_depth") == np.float32(0.8)).all()
    wave = StreamFunctionWave(height=0.1, length=4.0, depth=0.8, eulerian_current=0.0)
    assert model.field("surface_elevation")[3] == pytest.approx(wave.elevation(model.grid.x, 0.0, 0.0), abs=1e-7)
    assert model.field("surface_potential")[3] == pytest.approx(
        wave.surface_potential(model.grid.x, 0.0, 0.0), abs=1e-6
    )
    assert model.settings()["periodic"] == "both"


def test_a_bathymetry_from_a_raster(tmp_path):
    """Elevations, positive up, at the middles of cells of 1 m: a plane is kept exactly."""
    rows = [" ".join(f"{-1.0 + 0.05 * (i + 0.5):.3f}" for i in range(10)) for _ in range(4)]
    (tmp_path / "bed.asc").write_text("ncols 10\nnrows 4\nxllcorner 0\nyllcorner 0\ncellsize 1\n" + "\n".join(rows))
    text = '[basin]\nnx = 17\nny = 5\nlength_x = 8.0\nlength_y = 2.0\nx0 = 1.0\ny0 = 1.0\nbed = {file = "bed.asc"}\n'
    model = made(text, tmp_path)
    assert model.setup.depth[2] == pytest.approx(1.0 - 0.05 * model.grid.x, abs=1e-6)
    assert "the bed slopes into the wall in the west" in "\n".join(model.notes)


def test_a_sea_in_a_zone_has_its_seeds_in_the_output():
    sea = '{kind = "jonswap", significant_height = 0.02, peak_period = "2 s", count = 20, phase_seed = 7}'
    model = made(FLUME + f'[[relaxation_zones]]\nside = "west"\nwidth = 4\nwave = {sea}\n')
    assert isinstance(model.setup.relaxation_zones[0].waves, Sea) and model.setup.relaxation_zones[0].period == 2.0
    assert "7" in str(model.settings()["relaxation_zone_1_seeds"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (FLUME.replace("length_x", "lenght_x"), ["basin.lenght_x", 'did you mean "length_x"', "length_x = 16.0"]),
        (FLUME + "[numeric]\norder = 4\n", ['did you mean "numerics"']),
        (FLUME.replace("depth = 0.5", ""), ["neither depth nor bed", "depth = 0.4"]),
        (FLUME + "bed = -0.5\n", ["both depth and bed"]),
        (FLUME.replace("0.5", '"0.5 - 0.1 * x"'), ["basin.depth (line 8)", "depth = 0 m at x = 5 m"]),
        (FLUME.replace("0.5", '"0.5 - 0.1 * z"'), ["basin.depth"]),
        (
            FLUME.replace("33", "46").replace("16.0", "1.0").replace("0.5", "100.0") + 'periodic = "x"\n',
            ["basin.nx (line 6)", "nx = 46 and ny = 1, of which", "40 or 48 along x", "write:   nx = 48"],
        ),
        (FLUME.replace("0.5", "1e300"), ["basin.depth (line 8)", "depth = 1e+300 m", "from 0 to 12000 m"]),
        (FLUME.replace("0.5", "1e-300"), ["basin.depth (line 8)", "depth = 1e-300 m", "above 0", "maximum(0.1, "]),
        (FLUME.replace("0.5", "5000.0"), ["basin.depth (line 8)", "depth up to 5000 m in a basin of 16 m", "64 m"]),
        (FLUME + "[numerics.multigrid]\npre = 0\npost = 0\n", ["numerics.multigrid (line 9)", "post = 1"]),
        (FLUME + 'periodic = "x"\n', ["basin.nx", "33 along a periodic axis", "nx = 34"]),
        (FLUME + "[numerics]\norder = 5\n", ["numerics.order (line 10)", "order = 6"]),
        (FLUME + "[numerics]\nvertical_points = 6\n", ["vertical_points = 6", "vertical_points = 7"]),
        (FLUME + "[numerics]\ntime_step = 2\n", ["numerics.time_step (line 10)", "time_step = "]),
        (FLUME + "[numerics]\ntime_step = 0.1\ncourant_number = 0.3\n", ["both time_step and courant_number"]),
        (FLUME + f"[initial]\nwave = {WAVE}\nsurface_elevation = 0.1\n", ["both wave and surface_elevation"]),
        (FLUME + '[initial]\nwave = {kind = "stoks"}\n', ['kind = "stokes"']),
        (
            FLUME + '[[relaxation_zones]]\nside = "left"\nwidth = 4\n',
            ["relaxation_zones[1].side", "west, east, south, north"],
        ),
        (
            FLUME + '[[relaxation_zones]]\nside = "west"\nwidth = 4\n',
            ["relaxation_zones[1]", "a relaxation zone without a period", 'period = "2 s"'],
        ),
        (
            FLUME
            + f'[[relaxation_zones]]\nside = "east"\nwidth = 4\nwave = {WAVE}\n'
            + '[[wavemakers]]\nside = "east"\nvelocity = 0.1\n',
            [
                "relaxation_zones",
                "a relaxation zone and a wavemaker along the east side",
                'write:   side = "west"',
            ],  # a flume has two
        ),
        (
            FLUME + f'[[relaxation_zones]]\nside = "north"\nwidth = 4\nwave = {WAVE}\n',
            ["relaxation_zones[1]", "north side of an axis that is of one point", 'write:   side = "west"'],
        ),
        (FLUME.replace("33", "3"), ["basin.nx (line 6)", "nx = 3 at order 6", "4 or more", "write:   nx = 17"]),
        (FLUME.replace("0.5", '"where(x < 8, 2, 0.5)"'), ["basin.depth (line 8)", "slope of", "1.5 at most"]),
        (FLUME + f'[[relaxation_zones]]\nside = "west"\nwidth = 4\nwaves = {WAVE}\n', ['did you mean "wave"']),
        (
            FLUME + f'[[relaxation_zones]]\nside = "west"\nwidth = 40\nwave = {WAVE}\n',
            ["relaxation_zones[1]", "width = 40 m", "up to 16 m"],
        ),
        (
            FLUME.replace("0.5", '"0.5 + 0.01 * x"')
            + f'[[relaxation_zones]]\nside = "west"\nwidth = 4\nwave = {WAVE}\n',
            ["relaxation_zones[1].wave", "a bed 0.5 to 0.54 m", "depth = 0.54"],
        ),
    ],
)
def test_mistakes_are_told_with_the_line_to_write(text, words):
    said = refused(text)
    for word in words:
        assert word in said, said


def test_a_case_of_another_kind_is_refused():
    with pytest.raises(ConfigError):
        PotentialWavesCase.loads(HEAD.replace("potential-waves", "barotropic") + FLUME)


def test_the_preconditioner():
    model = made(FLUME + '[numerics.multigrid]\nsmoother = "jacobi"\npre = 2\n')
    assert model.setup.multigrid["smoother"] == "jacobi" and model.settings()["multigrid_pre"] == 2
    assert "red-black" in refused(FLUME + '[numerics.multigrid]\nsmoother = "zebra"\n')
    assert made(FLUME).setup.multigrid == {}


def test_breaking_and_statistics():
    model = made(FLUME + "[breaking]\nmax_crest_speed_ratio = 0.9\n[statistics]\nfrom = 0.5\n")
    assert model.setup.breaking == (0.9, pytest.approx(0.57735, rel=1e-5), 0.02) and model.setup.statistics.start == 0.5
    assert model.settings()["breaking_max_crest_speed_ratio"] == 0.9 and "significant_height" in model.variables
    assert made(FLUME).setup.breaking is None


def test_maps():
    """With keys of its own and of averages; fields that are not there are refused by their key."""
    keys = 'variance = ["surface_elevation"]\nmaximum = ["velocity"]\ntime_of_maximum = ["surface_elevation"]\n'
    model = made(FLUME + '[maps]\nfile = "maps.nc"\nfrom = 0.5\n' + keys)
    names = [one.name for one in model.maps.variables]
    assert names == ["variance_surface_elevation", "significant_height", "max_velocity_x", "max_velocity_y",
                     "max_velocity_z", "time_of_max_surface_elevation"]  # fmt: skip
    told = refused(FLUME + '[maps]\nfile = "maps.nc"\nmaximum = ["depth"]\n')
    assert "maps.maximum" in told and "surface_elevation" in told
    assert "extreme" in refused(FLUME + '[maps]\nfile = "maps.nc"\n')


def test_commented_lines_of_the_template_are_valid_too(tmp_path):
    from eagre.cli.new import template

    text, blocks = template("potential-waves"), ("breaking", "maps", "statistics", "numerics", "restart")
    lines = text.splitlines()
    keys = (
        "max_crest_speed_ratio",
        'from = "8',
        "order",
        "vertical_points",
        "vertical_clustering",
        "linear",
        "courant_number",
        "tolerance",
        "[breaking",
        "[maps",
        'file = "maps',
        "mean",
        "variance",
        "maximum",
        "time_of",
        "[stat",
    )
    keys += ("[numerics", "start_date", "length_y", "ny", "periodic", "[restart", 'file = "re', 'interval = "10')
    for n, line in enumerate(lines):
        if line.startswith("# ") and line[2:].startswith(keys):
            lines[n] = line[2:]
    case = PotentialWavesCase.loads("\n".join(lines), tmp_path)
    assert all(getattr(case, name) is not None for name in blocks) and case.basin.ny == 65


def test_paddles_and_sponges():
    paddle = '[[wavemakers]]\nside = "west"\nposition = {expression = "0.01 * sin(pi * t)", every = "0.05 s"}\n'
    model = made(FLUME + paddle + 'active_absorption = true\n[[sponges]]\nside = "east"\nwidth = 4\nperiod = "2 s"\n')
    (piston,), (layer,) = model.setup.wavemakers, model.setup.sponges
    assert piston.active_absorption and piston.speed == pytest.approx(0.01 * np.pi / np.sqrt(2.0), rel=0.05)
    assert (layer.side, layer.width, layer.period, layer.strength) == ("east", 4.0, 2.0, 6.0)
    assert model.settings()["wavemaker_1"] == "west, active absorption"
    moved = "wavemaker in the west, active absorption: piston, displacement 0 to 0.01 m"
    assert {moved, "sponge in the east, 4 m, 2 s, strength 6"} <= set(model.notes)
    model.advance(0.5)
    assert model.field("surface_elevation").max() > 1e-3 and "volume_error" not in model.diagnostics()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[wavemakers]]\nside = "west"\n', ["wavemakers[1]", "neither velocity nor position"]),
        (
            '[[wavemakers]]\nside = "west"\nvelocity = {times = [0, 0.5], values = [0, 1]}\n',
            ["\nwavemakers[1].velocity", "0.5 s"],
        ),
        ('[[wavemakers]]\nside = "west"\nvelocity = {times = [0, 1], values = [0, 1]}\n', ["2 rows", "4 rows or more"]),
        ('[[sponges]]\nside = "east"\nwidth = 4\n', ["sponges[1].period"]),
        ('[[sponges]]\nside = "esat"\nwidth = 4\nperiod = 2\n', ["allowed: west, east, south, north"]),
    ],
)
def test_mistakes_of_paddles_and_sponges(text, words):
    said = refused(FLUME + text)
    assert all(word in said for word in words), said


def test_probes_by_name_and_in_double_brackets():
    rows = '[[probes.points]]\nname = "pile"\nx = 1\nz = -0.1\n[[probes.points]]\nname = "row"\nx = [1, 2]\nbelow = 0\n'
    tables = "[probes.points]\npile = {x = 1, z = -0.1}\nrow = {x = [1, 2], below = 0}\n"
    head = HEAD + FLUME + '[probes]\nfile = "p.nc"\ninterval = 1\n'
    assert PotentialWavesCase.loads(head + rows).probes == PotentialWavesCase.loads(head + tables).probes


@pytest.mark.parametrize(
    ("points", "key", "words"),
    [
        ("{pile = [1.0, 2.0]}", "probes.points.pile", ["pile = [1.0, 2.0]", "pile = {x = 12.0, z = [-0.2, -0.1]}"]),
        ('{name = "pile", x = 1.0, z = 0.0}', "probes.points.x", ["[[points]]", "x = {x = 12.0"]),
        ("{pile = {x = 1.0}}", "probes.points.pile", ["no level", "z = -0.1"]),
        ("{pile = {x = 1.0, zz = 1}}", "probes.points.pile.zz", ["z = 1"]),
        ("{}", "probes.points", ["one or more"]),
    ],
)
def test_mistakes_of_probes_by_name(points, key, words):
    said = refused(FLUME + f'[probes]\nfile = "p.nc"\ninterval = 1\npoints = {points}\n')
    assert key in said and all(word in said for word in words), said


def test_zones_wider_than_the_basin_and_zones_that_overlap():
    """Over a bed that slopes too: what is told is the width, not the depth of the wave."""
    zone = '[[relaxation_zones]]\nside = "{}"\nwidth = {}\nperiod = 2.0\n'
    basin = FLUME.replace("depth = 0.5", 'depth = "0.5 - 0.01 * x"')
    said = refused(basin + zone.format("west", 400) + f"wave = {WAVE}\n")
    assert "relaxation_zones[1]" in said and "width = 400 m of the relaxation zone in the west" in said
    assert "the size of the basin" in said
    apart, overlapping = (made(FLUME + zone.format("west", 4) + zone.format("east", width)) for width in (11.9, 12))
    word = "the relaxation zones in the west and the east overlap"
    assert any(word in note for note in overlapping.notes)
    assert not any(word in note for note in apart.notes)
