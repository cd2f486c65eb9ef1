"""`eagre run` with a case of the potential-flow waves: files, restart, pictures, blow-ups."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.cli.support import exits

CASE = """\
model = "potential-waves"
title = "A small flume"
[run]
end_time = {end}
device = "cpu"
[basin]
nx = 33
ny = 9
length_x = 8.0
length_y = 2.0
depth = "0.5 - 0.1 * sin(pi * x / 8)**2"
[[relaxation_zones]]
side = "west"
width = 2.0
wave = {{kind = "airy", height = {height}, period = "1.5 s"}}
depth = 0.5
[[relaxation_zones]]
side = "east"
width = 2.5
[breaking]
[statistics]
[numerics]
order = 4
vertical_points = 6
time_step = 0.04
[output]
file = "{name}.nc"
interval = 0.4
variables = ["surface_elevation", "velocity", "max_surface_elevation", "significant_height"]
[gauges]
file = "{name}_gauges.nc"
interval = 0.2
points = {{a = [3.0, 1.0], b = [4.0, 1.0]}}
variables = ["surface_elevation", "velocity_z"]
[restart]
file = "{name}_restart.nc"
"""


def write(tmp_path, name, end=1.2, height=0.02):
    path = tmp_path / f"{name}.toml"
    path.write_text(CASE.format(name=name, end=end, height=height))
    return path


def test_run_restart_and_pictures(eagre, opened, tmp_path):
    whole = eagre("run", write(tmp_path, "whole"))
    assert whole.code == 0, whole.err
    for words in (
        "relaxation zone in the west",
        "of the stability limit",
        "breaking    0 events",
        "maximum Hs",
    ):
        assert words in whole.out
    assert "per Laplace solve, 4 solves per step" in whole.out
    assert eagre("run", write(tmp_path, "part", end=0.8)).code == 0
    on = eagre("run", write(tmp_path, "part"), "--restart", tmp_path / "part_restart.nc")
    assert on.code == 0, on.err
    for ending in ("", "_gauges"):
        first, second = (opened(tmp_path / f"{name}{ending}.nc") for name in ("whole", "part"))
        assert first.sizes == second.sizes
        for name in first.data_vars:
            if first[name].dtype.kind == "f":
                np.testing.assert_array_equal(first[name].values, second[name].values, err_msg=name)
    fields = opened(tmp_path / "whole.nc")
    assert fields["surface_elevation"].attrs["standard_name"] == "sea_surface_height_above_mean_sea_level"
    assert fields["significant_height"].attrs["standard_name"] == "sea_surface_wave_significant_height"
    assert fields["x"].values[[0, -1]].tolist() == [0.0, 8.0]
    assert float(np.abs(fields["surface_elevation"]).max()) > 2e-3
    for options in ([], ["--perspective"], ["-v", "significant_height"]):
        assert eagre("plot", tmp_path / "whole.nc", "--dpi", 40, *options).code == 0
    assert eagre("plot", tmp_path / "whole_gauges.nc", "--dpi", 40).code == 0


def test_a_restart_of_another_set_up_is_refused(eagre, tmp_path):
    assert eagre("run", write(tmp_path, "one", end=0.2)).code == 0
    other = write(tmp_path, "other")
    other.write_text(other.read_text().replace("vertical_points = 6", "vertical_points = 7"))
    refused = eagre("run", other, "--restart", tmp_path / "one_restart.nc")
    assert refused.code == exits.BAD_INPUT and "psi" in refused.err


def test_a_blow_up_says_where(eagre, tmp_path):
    path = write(tmp_path, "steep", end=20.0, height=0.2)
    steep = "[initial]\nsurface_elevation = '0.3 * cos(pi * x)'\n"
    path.write_text(path.read_text().replace("[breaking]\n", steep))
    done = eagre("run", path)
    assert done.code == exits.BLOW_UP
    for words in ("blew up at t =", "at x = ", "largest slope of the surface", "last valid state"):
        assert words in done.err
    assert (tmp_path / "steep_restart.nc").exists()


@pytest.mark.parametrize(("old", "new", "words"), [("[breaking]", "[braking]", 'did you mean "breaking"')])
def test_typos(eagre, tmp_path, old, new, words):
    path = write(tmp_path, "typo")
    path.write_text(path.read_text().replace(old, new))
    done = eagre("run", path)
    assert done.code == exits.BAD_INPUT and words in done.err
