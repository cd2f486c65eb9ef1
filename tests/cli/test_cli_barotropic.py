"""A barotropic case from the command line: the template, its particles, and a run that goes on."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from eagre.io import restart
from eagre.plots.contours import broken


def test_particles_are_written_and_go_on(eagre, tmp_path, opened):
    """Two legs, the second from the restart file, give the tracks of one run."""
    assert eagre("new", "barotropic", tmp_path).code == 0
    text = (tmp_path / "case.toml").read_text().replace("nx = 129", "nx = 17").replace("5000 m2/s", "200000 m2/s")
    text = text.split("[output]")[0].replace('"60 d"', "{end}") + "\n[restart]\nfile = '{restart}'\n{more}\n"
    text += "[particles]\nevery = '900 km'\nfile = '{file}'\ninterval = '12 h'\n"

    def run(name, *options, **values):
        path = tmp_path / f"{name}.toml"
        values = {"more": "", "restart": f"{name}_restart.nc", **values}
        for key, value in values.items():
            path.write_text((path.read_text() if key != "more" else text).replace("{" + key + "}", value))
        done = eagre("run", path, "--device", "cpu", *options)
        assert done.code == 0, done.err
        return done

    assert "16 particles" in run("whole", end="'4 d'", file="whole.nc").out
    run("parts", end="'2 d'", file="parts.nc")
    run("parts", end="'4 d'", file="parts.nc", restart="after.nc", more="from = 'parts_restart.nc'")
    run("table", end="'4 d'", file="tracks.csv")
    whole, parts = opened(tmp_path / "whole.nc"), opened(tmp_path / "parts.nc")
    told = eagre("info", tmp_path / "whole.nc").out
    assert "tracks of 16 particles" in told and "9 records" in told
    assert eagre("plot", tmp_path / "whole.nc", "--dpi", 40).code == 0 and (tmp_path / "whole.png").stat().st_size > 5e3
    refused = eagre("plot", tmp_path / "whole.nc", "-v", "x")
    assert refused.code == 2 and "holds tracks" in refused.err
    assert "holds no fields" in eagre("animate", tmp_path / "whole.nc").err
    assert whole.attrs["featureType"] == "trajectory" and whole["x"].shape == (9, 16)
    raster = 4.5e5 + 9e5 * np.arange(4)
    assert np.allclose(whole["x"][0], np.tile(raster, 4)) and np.allclose(whole["y"][0], np.repeat(raster, 4))
    for axis in "xy":
        assert np.array_equal(whole[axis], parts[axis])
        assert 0.0 < np.abs(whole[axis][-1] - whole[axis][0]).max() < 1e6
    rows = np.genfromtxt(tmp_path / "tracks.csv", delimiter=",", skip_header=1)
    assert rows.shape == (9, 33)
    assert np.array_equal(rows[:, 1::2], whole["x"]) and np.array_equal(rows[:, 2::2], whole["y"])


def test_tracks_break_at_a_period():
    x = np.array([[8.0, 5.0], [9.5, 5.0], [0.5, 5.5]])
    expected = [[8.0, 5.0], [8.75, 5.0], [9.5, 5.0], [np.nan, 5.25], [0.5, 5.5]]
    np.testing.assert_array_equal(broken(x), expected)


@pytest.mark.parametrize("basin", ["box", "channel", "periodic"])
def test_every_basin_runs_and_is_drawn(eagre, tmp_path, basin, opened):
    """Layers, topography, tracer, odd numbers of points, from the case file to the picture."""
    (tmp_path / "case.toml").write_text(f"""
model = "barotropic"
run = {{ end_time = "6 h", device = "cpu", precision = "single" }}
basin = {{ kind = "{basin}", nx = 15, ny = 11, length_x = "3000 km", length_y = "2000 km" }}
physics = {{ beta = 2e-11, viscosity = "1e5 m2/s", bottom_friction = 1e-7 }}
wind.curl = "1e-12 * sin(2 * pi * y / 2e6)"
layers = {{ upper = 4e-10, lower = 1e-10 }}
topography = {{ height = "200 * sin(2 * pi * x / 3e6)", coriolis = 1e-4, depth = "4000 m" }}
tracer = {{ initial = "where(x < 1e6, 1, 0)" }}
numerics.time_step = "1 h"
output = {{ file = "out.nc", interval = "3 h", variables = ["streamfunction_lower", "tracer", "wind_forcing"] }}
maps = {{ file = "maps.nc", mean = ["streamfunction", "velocity"], variance = ["velocity"], from = "2 h" }}
""")
    done = eagre("run", tmp_path / "case.toml")
    assert done.code == 0, done.err
    assert "points per Munk width" in done.out and "time step: 3600; limits:" in done.out
    for words in (
        "energy ",
        "enstrophy ",
        "wind +",
        "viscosity -",
        "friction -",
        "of the largest term",
        "transport per depth",
    ):
        assert words in done.out
    out = opened(tmp_path / "out.nc")
    assert out["tracer"].shape == (3, 11, 15) and np.abs(out["streamfunction_lower"][-1]).max() > 0.0
    for name in ("streamfunction_lower", "tracer", "wind_forcing"):
        assert eagre("plot", tmp_path / "out.nc", "-v", name, "--dpi", 40).code == 0
    assert eagre("animate", tmp_path / "out.nc", "-v", "tracer", "--dpi", 40).code == 0
    assert "streamfunction_lower" in eagre("info", tmp_path / "out.nc").out
    maps = opened(tmp_path / "maps.nc")
    assert maps["eddy_kinetic_energy"].shape == (1, 11, 15) and float(maps["eddy_kinetic_energy"].max()) > 0.0
    assert maps["variance_velocity_x"].attrs["cell_methods"] == "time: variance (comment: from 7200 s on)"
    assert maps["time_bounds"].values.tolist() == [[7200.0, 21600.0]]
    assert maps["mean_velocity_x"].attrs["long_name"] == "x-component of mean velocity"
    assert "means of streamfunction, velocity; variances of velocity" in done.out
    assert eagre("plot", tmp_path / "maps.nc", "-v", "eddy_kinetic_energy", "--dpi", 40).code == 0
    assert eagre("export", tmp_path / "maps.nc", "-v", "mean_velocity_x").code == 0
    text = (tmp_path / "case.toml").read_text().replace('mean = ["streamfunction",', 'mean = ["depth",')
    (tmp_path / "other.toml").write_text(text)
    refused = eagre("run", tmp_path / "other.toml", "--overwrite")
    assert refused.code == 2 and 'mean with "depth"' in refused.err and "maps.mean" in refused.err


@pytest.mark.parametrize(
    ("particles", "words"),
    [
        ("positions = [[1e9, 0]]", "between the walls"),
        ("every = 1.0", "up to 1e+07"),
        ("every = 1e9", "a spacing below twice"),
    ],
)
def test_particles_outside_the_basin_are_refused(eagre, tmp_path, particles, words):
    assert eagre("new", "barotropic", tmp_path).code == 0
    path = tmp_path / "case.toml"
    path.write_text(path.read_text() + f"\n[particles]\n{particles}\nfile = 'p.nc'\ninterval = '1 d'\n")
    done = eagre("run", path, "--device", "cpu")
    assert done.code == 2 and words in done.err


def test_a_case_on_several_devices(eagre, tmp_path, opened):
    """Fields, gauges and a restart of two bands are those of one device."""
    assert eagre("new", "barotropic", tmp_path).code == 0
    text = (tmp_path / "case.toml").read_text().replace("nx = 129", "nx = 17").replace("5000 m2/s", "200000 m2/s")
    text = text.split("[output]")[0].replace('"60 d"', '"2 d"')
    found = []
    for name, device in (("one", "cpu"), ("two", "cpu,cpu")):
        more = f"[output]\nfile = '{name}.nc'\ninterval = '1 d'\n[restart]\nfile = '{name}_restart.nc'\n"
        more += f"[gauges]\nfile = '{name}_gauges.nc'\ninterval = '12 h'\npoints = {{south = [5e5, 3e5]}}\n"
        (tmp_path / f"{name}.toml").write_text(text + more)
        done = eagre("run", tmp_path / f"{name}.toml", "--device", device, "--precision", "double")
        assert done.code == 0 and ("2 bands on cpu" in done.out) == (name == "two"), done.err
        found.append([opened(tmp_path / f"{name}{kind}.nc") for kind in ("", "_gauges", "_restart")])
    for one, two in zip(*found, strict=True):
        for name in one.data_vars:
            if one[name].dtype.kind == "f":
                expected = one[name].values
                assert np.allclose(two[name].values, expected, rtol=0, atol=1e-12 * np.abs(expected).max()), name


def test_a_restart_whose_time_another_step_would_change_is_refused(eagre, tmp_path):
    """Files of older versions hold the time as a number of steps, and do not say of what length."""
    assert eagre("new", "barotropic", tmp_path).code == 0
    path = tmp_path / "case.toml"
    text = path.read_text().replace("nx = 129", "nx = 17").replace("5000 m2/s", "200000 m2/s")
    text = text.replace('"60 d"', '"20.2 h"').split("[output]")[0] + "\n[restart]\nfile = 'a.nc'\n"
    path.write_text(text)
    assert eagre("run", path, "--device", "cpu").code == 0
    path.write_text(text.replace("20.2 h", "30 h").replace("30 min", "15 min").replace("a.nc", "b.nc"))
    assert eagre("run", path, "--device", "cpu", "--restart", tmp_path / "a.nc").code == 0
    with h5py.File(tmp_path / "a.nc", "a") as file:
        del file["state/time_step"]
    restart._seal(tmp_path / "a.nc")
    refused = eagre("run", path, "--device", "cpu", "--restart", tmp_path / "a.nc")
    assert refused.code == 2 and "not a multiple of the time step" in refused.err
