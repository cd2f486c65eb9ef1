"""A barotropic case from the command line: the template, its particles, and a run that goes on."""

from __future__ import annotations

import numpy as np
import pytest


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
    assert whole.attrs["featureType"] == "trajectory" and whole["x"].shape == (9, 16)
    raster = 4.5e5 + 9e5 * np.arange(4)
    assert np.allclose(whole["x"][0], np.tile(raster, 4)) and np.allclose(whole["y"][0], np.repeat(raster, 4))
    for axis in "xy":
        assert np.array_equal(whole[axis], parts[axis])
        assert 0.0 < np.abs(whole[axis][-1] - whole[axis][0]).max() < 1e6
    rows = np.genfromtxt(tmp_path / "tracks.csv", delimiter=",", skip_header=1)
    assert rows.shape == (9, 33)
    assert np.array_equal(rows[:, 1::2], whole["x"]) and np.array_equal(rows[:, 2::2], whole["y"])


@pytest.mark.parametrize(
    ("particles", "words"),
    [
        ("positions = [[1e9, 0]]", "between the walls"),
        ("every = 1.0", "up to 1e+07"),
        ("every = 1e9", "less than twice"),
    ],
)
def test_particles_outside_the_basin_are_refused(eagre, tmp_path, particles, words):
    assert eagre("new", "barotropic", tmp_path).code == 0
    path = tmp_path / "case.toml"
    path.write_text(path.read_text() + f"\n[particles]\n{particles}\nfile = 'p.nc'\ninterval = '1 d'\n")
    done = eagre("run", path, "--device", "cpu")
    assert done.code == 2 and words in done.err
