"""`eagre run` with probes under the waves, a log of breaking crests, and what a line of gauges says of reflection."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from eagre import Grid, PotentialWaves
from eagre.cli.support import exits
from eagre.errors import ConvergenceError
from eagre.models.potential_waves.laplace.solver import LaplaceProblem

AIRY = """\
model = "potential-waves"
[run]
end_time = {end}
device = "cpu"
precision = "double"
[basin]
nx = 32
length_x = 2.0
depth = 0.5
periodic = "x"
[initial]
wave = {{kind = "airy", height = 0.02, length = 2.0}}
[numerics]
linear = true
time_step = 0.02
[probes]
file = "{name}_probes{ending}"
interval = 0.1
[[probes.points]]
name = "pile"
x = 0.33
z = [-0.5, -0.2, 0.0, "1 cm"]
[[probes.points]]
name = "crest"
x = 1.21
below = 0.05
[[probes.points]]
name = "middle"
x = 0.87
sigma = 0.5
[restart]
file = "{name}_restart.nc"
"""


def write(tmp_path, name, end=0.4, ending=".nc", text=AIRY):
    path = tmp_path / f"{name}.toml"
    path.write_text(text.format(name=name, end=end, ending=ending))
    return path


def airy(x, z, t, height=0.02, length=2.0, depth=0.5, g=9.81):
    """Velocities, accelerations and dynamic pressure of a small wave by hand."""
    a, k = 0.5 * height, 2.0 * np.pi / length
    omega = np.sqrt(g * k * np.tanh(k * depth))
    along, up = (f(k * (z + depth)) / np.cosh(k * depth) for f in (np.cosh, np.sinh))
    phase = k * x - omega * t
    return {
        "velocity_x": a * g * k / omega * along * np.cos(phase),
        "velocity_z": a * g * k / omega * up * np.sin(phase),
        "acceleration_x": a * g * k * along * np.sin(phase),
        "acceleration_z": -a * g * k * up * np.cos(phase),
        "dynamic_pressure": 1000.0 * g * a * along * np.cos(phase),
    }


def test_probes_under_a_small_wave(eagre, opened, tmp_path):
    done = eagre("run", write(tmp_path, "wave"))
    assert done.code == 0, done.err
    assert "wave_probes.nc" in done.out
    series = opened(tmp_path / "wave_probes.nc")
    assert series.attrs["featureType"] == "timeSeries"
    names = ["pile z=-0.5", "pile z=-0.2", "pile z=0", "pile z=0.01", "crest", "middle"]
    assert series["station_name"].values.astype(str).tolist() == names
    assert series["velocity_x"].attrs["standard_name"] == "sea_water_x_velocity"
    assert series["velocity_x"].attrs["units"] == "m s-1" and series["velocity_x"].dims == ("time", "station")
    np.testing.assert_allclose(series["time"], [0.0, 0.1, 0.2, 0.3, 0.4])
    levels = [-0.5, -0.2, 0.0, 0.01, -0.05, -0.25]
    np.testing.assert_allclose(series["z"], np.broadcast_to(levels, (5, 6)), atol=1e-12)
    water = [0, 1, 2, 4, 5]
    places = series["x"].values, np.array(levels), series["time"].values[:, None]
    np.testing.assert_array_equal(series["x"], [0.33, 0.33, 0.33, 0.33, 1.21, 0.87])
    for name, exact in airy(*places).items():
        close = 2e-4 * np.abs(exact[:, water]).max()
        np.testing.assert_allclose(series[name].values[:, water], exact[:, water], rtol=0.0, atol=close, err_msg=name)
        assert np.isnan(series[name].values[:, 3]).all()
    still = -1000.0 * 9.81 * np.array(levels)
    np.testing.assert_allclose(series["pressure"] - series["dynamic_pressure"], np.where(
        np.arange(6) == 3, np.nan, still + np.zeros((5, 6))), rtol=1e-3)  # fmt: skip
    assert not series["velocity_y"].values[:, water].any()
    for options in ([], ["-v", "pressure"]):
        assert eagre("plot", tmp_path / "wave_probes.nc", "--dpi", 40, *options).code == 0


def test_a_plane_of_probes(eagre, opened, tmp_path):
    text = AIRY.replace("x = 0.87", "x = [0.0, 0.5]\ny = [0.0, 0.01]").replace("sigma = 0.5", "z = [-0.4, -0.1]")
    text = (
        text.replace("nx = 32", "nx = 32\nny = 4\nlength_y = 0.25")
        .replace('"x"', '"both"')
        .replace("[numerics]", "[numerics]\norder = 6")
    )
    done = eagre("run", write(tmp_path, "plane", end=0.1, text=text))
    assert done.code == 0, done.err
    series = opened(tmp_path / "plane_probes.nc").isel(station=slice(5, None), time=-1)
    names = [f"middle x={x} y={y} z={z}" for y in ("0", "0.01") for x in ("0", "0.5") for z in ("-0.4", "-0.1")]
    assert series["station_name"].values.astype(str).tolist() == names
    exact = airy(series["x"].values, series["z"].values, 0.1)
    for name in ("velocity_x", "acceleration_z", "dynamic_pressure"):
        close = 2e-4 * np.abs(exact[name]).max()
        np.testing.assert_allclose(series[name], exact[name], rtol=0.0, atol=close, err_msg=name)


@pytest.mark.parametrize("ending", [".nc", ".csv"])
def test_probes_go_on_after_a_restart(eagre, tmp_path, ending):
    assert eagre("run", write(tmp_path, "whole", ending=ending)).code == 0
    assert eagre("run", write(tmp_path, "part", 0.2, ending)).code == 0
    on = eagre("run", write(tmp_path, "part", 0.4, ending), "--restart", tmp_path / "part_restart.nc")
    assert on.code == 0, on.err
    first, second = (tmp_path / f"{name}_probes{ending}" for name in ("whole", "part"))
    if ending == ".csv":
        assert first.read_bytes() == second.read_bytes()
        header = first.read_text().splitlines()[0].split(",")
        assert header[:3] == ["time (s)", "pile z=-0.5 z (m)", "pile z=-0.5 velocity_x (m s-1)"]
        return
    import xarray as xr

    with xr.open_dataset(first) as one, xr.open_dataset(second) as other:
        xr.testing.assert_equal(one, other)
    text = AIRY.replace("x = 0.87", "x = 0.86")
    other = eagre("run", write(tmp_path, "part", 0.6, ending, text), "--restart", tmp_path / "part_restart.nc")
    assert other.code == exits.BAD_INPUT and "other probes" in other.err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("sigma = 0.5", "", ["no level", "one of z, below and sigma"]),
        ("sigma = 0.5", "sigma = 0.5\nz = -0.1", ["z and sigma"]),
        ("sigma = 0.5", "sigma = 1.5", ["sigma = 1.5", "from 0 at the bed to 1 at the surface"]),
        ('[-0.5, -0.2, 0.0, "1 cm"]', "-0.6", ["z = -0.6", "from the bed, z = -0.5 m", "line"]),
        ("x = 0.87", "x = 8.7", ["8.7"]),
        ('name = "middle"', 'name = "pile"', ["two called 'pile'", 'name = "pile 2"']),
    ],
)
def test_mistakes_of_probes(eagre, tmp_path, old, new, words):
    periodic = AIRY.replace('periodic = "x"', "").replace("nx = 32", "nx = 33") if "8.7" in new else AIRY
    assert old in periodic
    done = eagre("run", write(tmp_path, "wrong", text=periodic.replace(old, new)))
    assert done.code == exits.BAD_INPUT
    for word in words:
        assert word in done.err, done.err


BREAKING = """\
model = "potential-waves"
[run]
end_time = {end}
device = "cpu"
[basin]
nx = 64
length_x = 1.0
depth = 0.5
periodic = "x"
[initial]
wave = {{kind = "airy", height = 0.12, length = 1.0}}
[breaking]
[gauges]
file = "{name}_gauges{ending}"
interval = 0.5
points = {{a = [0.3, 0.0]}}
[restart]
file = "{name}_restart.nc"
"""


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_the_log_of_breaking_crests(eagre, tmp_path):
    done = eagre("run", write(tmp_path, "steep", end=1.2, text=BREAKING))
    assert done.code == 0, done.err
    assert "steep_breaking.csv" in done.out
    header, *rows = rows_of(tmp_path / "steep_breaking.csv")
    assert header == [
        "time (s)", "x (m)", "y (m)", "ratio (1)", "slope (1)", "speed (m s-1)", "crest (m)", "length (m)",
        "steepness (1)",
    ]  # fmt: skip
    assert rows and f"breaking    {len(rows)} event" in done.out
    for time, x, y, ratio, slope, speed, crest, length, steepness in (map(float, row) for row in rows):
        assert 0.0 < time < 1.2 and 0.0 <= x < 1.0 and y == 0.0
        assert ratio > 0.855 or slope > np.tan(np.pi / 6.0)
        assert 0.5 < speed < 3.0 and 0.04 < crest < 0.12
        assert steepness == pytest.approx(2.0 * np.pi * crest / length)
    assert [float(row[0]) for row in rows] == sorted(float(row[0]) for row in rows)
    again = eagre("run", write(tmp_path, "steep", end=1.2, text=BREAKING))
    assert again.code == exits.BAD_INPUT and "exists already" in again.err
    part = eagre("run", write(tmp_path, "part", end=0.5, text=BREAKING))
    assert part.code == 0, part.err
    on = eagre("run", write(tmp_path, "part", end=1.2, text=BREAKING), "--restart", tmp_path / "part_restart.nc")
    assert on.code == 0, on.err
    assert rows_of(tmp_path / "part_breaking.csv") == rows_of(tmp_path / "steep_breaking.csv")


def test_the_log_is_written_on_a_blow_up(eagre, tmp_path):
    text = BREAKING.replace("[breaking]", "[breaking]\nstrength = 1e-4")
    done = eagre("run", write(tmp_path, "steep", end=3.0, text=text))
    assert done.code == exits.BLOW_UP
    assert len(rows_of(tmp_path / "steep_breaking.csv")) > 1


REFLECTION = """\
model = "potential-waves"
[run]
end_time = {end}
device = "cpu"
[basin]
nx = 161
length_x = 16.0
depth = 0.5
[[relaxation_zones]]
side = "west"
width = 4.0
wave = {{kind = "airy", height = 0.01, period = 1.6}}
ramp = 1.6
[[relaxation_zones]]
side = "east"
width = 4.0
period = 1.6
[numerics]
order = 4
vertical_points = 5
time_step = 0.08
linear = true
[gauges]
file = "{name}_gauges{ending}"
interval = 0.08
points = {{a = [7.0, 0.0], b = [7.5, 0.0], c = [8.1, 0.0], d = [8.4, 0.0]}}
"""


def told(done):
    """The row of the summary, or an empty text."""
    return next((line for line in done.out.splitlines() if line.startswith("reflection")), "")


def coefficient(done):
    return float(told(done).split()[1])


def by_envelope(surfaces):
    """The coefficient of a dense line of records, (x, n), by the highest and lowest amplitude along it."""
    heights = surfaces.std(axis=1)
    return (heights.max() - heights.min()) / (heights.max() + heights.min())


def test_reflection_in_the_summary(eagre, opened, tmp_path):
    half = REFLECTION.replace("width = 4.0\nperiod", "width = 1.2\nperiod") + (
        '[output]\nfile = "{name}.nc"\ninterval = 0.08\n'
    )
    done = eagre("run", write(tmp_path, "half", end=40.0, text=half))
    assert done.code == 0, done.err
    assert "0.469 to 0.781 Hz, by 4 gauges at x = 7 to 8.4 m" in " ".join(done.out.split())
    fields = opened(tmp_path / "half.nc")
    inside = (fields["x"] > 6.0) & (fields["x"] < 12.0)
    surfaces = fields["surface_elevation"].values[-100:, 0, inside.values].T
    assert 0.1 < by_envelope(surfaces) < 0.6
    assert coefficient(done) == pytest.approx(by_envelope(surfaces), rel=0.05)
    wide = eagre("run", write(tmp_path, "wide", end=40.0, ending=".csv", text=REFLECTION))
    assert wide.code == 0 and coefficient(wide) < 0.5 * coefficient(done)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("end_time = 40", "end_time = 40", True),
        ("end_time = 40", "end_time = 28", False),  # less than five periods after waves have come back
        ("d = [8.4", "d = [15.0", False),  # in a zone
        (", d = [8.4, 0.0]", "", False),
        ('depth = 0.5\n[[', 'depth = "0.5 + 0.005 * (x - 8)"\n[[', False),
        ("b = [7.5, 0.0], d = [8.4", "b = [8.5, 0.0], d = [10.0", False),  # half a length apart, and a whole one
        (
            '[[relaxation_zones]]\nside = "east"\nwidth = 4.0\nperiod = 1.6',
            "[[wavemakers]]\nside = 'east'\nvelocity = 0.0",
            False,
        ),
        ("interval = 0.08", "interval = 0.25", False),
        ("linear = true", "linear = false", True),
        ("linear = true", "linear = false\n#high", False),  # 0.16 m
    ],
)  # fmt: skip
def test_reflection_is_told_where_gauges_and_time_suffice(eagre, tmp_path, old, new, said):
    text = REFLECTION.format(name="case", end=40, ending=".nc").replace("c = [8.1, 0.0], ", "")
    text = text.replace("period = 1.6}", "period = 1.6}\ndepth = 0.5")
    assert old in text
    path = tmp_path / "case.toml"
    text = text.replace(old, new)
    path.write_text(text.replace("height = 0.01", "height = 0.16") if "#high" in text else text)
    done = eagre("run", path)
    assert done.code == 0, done.err
    assert bool(told(done)) == said


def small_flume():
    x = np.arange(32) / 16.0
    eta = 0.02 * np.cos(np.pi * x)[None]
    return PotentialWaves(
        Grid.from_points(32, 1, 2.0, 1.0, periodic=(True, False)), 0.5, surface_elevation=eta, periodic="x", order=4,
        vertical_points=6, device="cpu",
    )  # fmt: skip


def test_probes_have_the_same_bits_after_a_look():
    models = small_flume(), small_flume()
    for model in models:
        model.advance(0.2)
    models[0].diagnostics()
    first, second = (model.probe_group({"a": {"x": 0.4, "z": [-0.3, -0.1]}}).sample() for model in models)
    assert first["velocity_x"].all()
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name], err_msg=name)


def test_no_flow_is_no_number_and_leaves_the_model_whole(monkeypatch):
    model = small_flume()
    model.advance(0.2)
    probes = model.probe_group({"a": {"x": 0.4, "z": -0.3}})
    probes.sample()
    before, calls, solve = model.state(), [0], LaplaceProblem.solve

    def fails_for_the_rate(self, *arguments):
        calls[0] += 1
        if calls[0] == 2:
            raise ConvergenceError(9, 1.0, 0.1)
        return solve(self, *arguments)

    monkeypatch.setattr(LaplaceProblem, "solve", fails_for_the_rate)
    assert np.isnan(probes.sample()["velocity_x"]).all()
    for name, values in model.state().items():
        np.testing.assert_array_equal(values, before[name], err_msg=name)
