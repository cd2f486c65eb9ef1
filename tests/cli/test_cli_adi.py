"""The implicit model from the command line: the template, its files, and a run that goes on."""

from __future__ import annotations

import numpy as np

CASE = """
model = "shallow-water-adi"
run = { end_time = "{end}", device = "cpu" }
grid = { nx = 23, ny = 17, dx = 20.0, dy = 13.0 }
bed.expression = "-2 + 0.008 * x + 0.3 * sin(y / 30)"
initial.surface_elevation = "-1 + 0.2 * exp(-((x - 200) / 60)**2)"
boundaries.west = { kind = "stage", level = { times = [0, 600], values = [-1.0, -0.5] } }
friction.manning = 0.03
sources.rain.rate = "10 mm/h"
numerics.time_step = 7.0
output = { file = "{name}.nc", interval = "60 s" }
gauges = { file = "{name}.csv", interval = "30 s", points = { near = [30.0, 30.0], far = [300.0, 100.0] } }
restart = { file = "{name}_restart.nc", interval = "130 s" }
"""


def test_a_stopped_run_goes_on_bit_for_bit(eagre, tmp_path, opened):
    """Two legs through a restart file give the fields and gauges of one run; steps do not divide the interval."""

    def run(name, end, *options):
        path = tmp_path / f"{name}.toml"
        path.write_text(CASE.replace("{name}", name).replace("{end}", end))
        done = eagre("run", path, *options)
        assert done.code == 0, done.err
        return done.out

    told = run("whole", "10 min")
    assert "through west" in told and "of rain" in told and "mass error" in told
    run("parts", "5 min")
    run("parts", "10 min", "--restart", tmp_path / "parts_restart.nc")
    whole, parts = opened(tmp_path / "whole.nc"), opened(tmp_path / "parts.nc")
    np.testing.assert_array_equal(whole["time"], 60.0 * np.arange(11))
    for name in whole:
        np.testing.assert_array_equal(parts[name], whole[name], err_msg=name)
    assert np.ptp(whole["depth"].isel(time=-1).values) > 0.5 and bool((whole["depth"] == 0.0).any())
    assert (tmp_path / "parts.csv").read_text() == (tmp_path / "whole.csv").read_text()
    assert eagre("plot", tmp_path / "whole.nc", "--dpi", 40).code == 0
    assert "shallow-water-adi" in eagre("info", tmp_path / "whole.nc").out
