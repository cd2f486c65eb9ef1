"""`eagre run` with the files that the anelastic model measures on its way."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from eagre.cli.support import exits

CASE = """\
model = "anelastic"
[run]
end_time = {end}
device = "cpu"
precision = "double"
[domain]
nx = 16
ny = 12
levels = 9
length_x = 1600.0
length_y = 1200.0
top_height = 800.0
{ground}
[atmosphere]
equations = "boussinesq"
buoyancy_frequency = 0.01
wind = [5.0, 1.0]
[initial]
noise = {{amplitude = 0.5, seed = 3, below = "500 m"}}
[scalars]
dye = "where(z < 300, 1, 0)"
[output]
file = "{name}.nc"
interval = 60.0
variables = ["velocity", "theta", "dye"]
[restart]
file = "{name}_restart.nc"
{more}
"""
HILL = 'terrain_height = "100 * exp(-((x - 800) / 200)**2)"'
PROFILES = '[profiles]\nfile = "{name}_profiles.nc"\ninterval = 40.0\nevery = 2\n'


def write(tmp_path, name, more, end=120.0, ground=""):
    path = tmp_path / f"{name}.toml"
    path.write_text(CASE.format(name=name, end=end, ground=ground, more=more.format(name=name)))
    return path


def test_profiles_of_a_run_and_of_one_that_goes_on_in_an_interval(eagre, opened, tmp_path):
    whole = eagre("run", write(tmp_path, "whole", PROFILES))
    assert whole.code == 0, whole.err
    assert "averages over 40 s, sampled every 2 steps" in whole.out
    found = opened(tmp_path / "whole_profiles.nc")
    np.testing.assert_array_equal(found["time"], [40.0, 80.0, 120.0])
    np.testing.assert_array_equal(found["time_bounds"].values, [[0.0, 40.0], [40.0, 80.0], [80.0, 120.0]])
    assert found["u"].dims == ("time", "z") and found["z"].attrs["standard_name"] == "height"
    assert found["theta"].attrs["standard_name"] == "air_potential_temperature"
    assert found["theta"].attrs["cell_methods"] == "area: mean time: mean"
    assert float(found["u"].mean()) == pytest.approx(5.0, abs=1e-3)
    assert (found["variance_u"].values[:, 2] > 0.0).all() and np.isfinite(found["tke_residual"].values).all()
    assert eagre("run", write(tmp_path, "parts", PROFILES, 60.0)).code == 0
    more = eagre("run", write(tmp_path, "parts", PROFILES), "--restart", tmp_path / "parts_restart.nc")
    assert more.code == 0, more.err
    parts = opened(tmp_path / "parts_profiles.nc")
    np.testing.assert_array_equal(parts["time_bounds"].values[1:3], [[40.0, 60.0], [60.0, 80.0]])
    np.testing.assert_array_equal(parts["variance_w"].values[-1], found["variance_w"].values[-1])


def test_profiles_over_a_hill_are_at_heights(eagre, opened, tmp_path):
    done = eagre("run", write(tmp_path, "hill", PROFILES + "heights = [20.0, 90.0, 400.0]", 40.0, HILL))
    assert done.code == 0, done.err
    found = opened(tmp_path / "hill_profiles.nc")
    assert found["z"].attrs["standard_name"] == "altitude"
    share = found["air_share"].values
    assert 0.0 < share[0] < share[1] < 1.0 and share[2] == 1.0
    assert np.isfinite(found["u"].values).all() and np.isnan(found["tke_shear"].values[0, 0])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (PROFILES + "heights = [900.0]", ["profiles.heights", "z = 900 m", "to 800 m"]),
        (PROFILES.replace(".nc", ".csv"), ["profiles.file", ".nc"]),
        (PROFILES.replace("every = 2", "every = 0"), ["profiles.every"]),
        (PROFILES.replace("_profiles", ""), ["Two outputs have the same file"]),
    ],
)
def test_what_cannot_be_averaged_is_refused(eagre, tmp_path, more, words):
    done = eagre("run", write(tmp_path, "bad", more))
    assert done.code == 2, done.err
    for word in words:
        assert word in done.err


MEASURED = """\
[[slices]]
file = "{name}_y.nc"
interval = 20.0
y = 250.0
variables = ["w", "theta"]
[[slices]]
file = "{name}_k.nc"
interval = 30.0
k = 1
variables = ["velocity"]
[probes]
file = "{name}_probes.nc"
interval = 5.0
points = [{{name = "mast", x = 800.0, y = 600.0, z = [150.0, 300.0]}}, {{name = "tower", x = 10.0, y = 600.0}}]
variables = ["velocity", "theta"]
[spectra]
file = "{name}_spectra.nc"
interval = 60.0
heights = [250.0]
[maxima]
file = "{name}_maxima.csv"
interval = 10.0
"""


@pytest.mark.parametrize("ground", ["", HILL])
def test_every_measured_file_of_a_run_and_of_one_that_goes_on(eagre, opened, tmp_path, ground):
    whole = eagre("run", write(tmp_path, "whole", MEASURED, ground=ground))
    assert whole.code == 0, whole.err
    assert eagre("run", write(tmp_path, "parts", MEASURED, 60.0, ground)).code == 0
    more = eagre("run", write(tmp_path, "parts", MEASURED, ground=ground), "--restart", tmp_path / "parts_restart.nc")
    assert more.code == 0, more.err
    for name in ("y", "k", "probes", "spectra"):
        one, two = (opened(tmp_path / f"{run}_{name}.nc") for run in ("whole", "parts"))
        for variable in one.data_vars:
            np.testing.assert_array_equal(one[variable].values, two[variable].values, err_msg=variable)
    one, two = ((tmp_path / f"{run}_maxima.csv").read_text() for run in ("whole", "parts"))
    assert one == two and len(one.splitlines()) == 14 and "max_w (m s-1)" in one
    fields, plane = opened(tmp_path / "whole.nc"), opened(tmp_path / "whole_y.nc")
    assert plane["w"].dims == ("time", "z", "y", "x") and plane["y"].values.tolist() == [250.0]
    w = fields["w"].isel(time=-1)
    np.testing.assert_allclose(plane["w"].values[-1, :, 0], 0.5 * (w[:, 2] + w[:, 3]), atol=1e-12)
    assert opened(tmp_path / "whole_spectra.nc")["w_spectrum_y"].dims == ("time", "z", "wavenumber_y")
    for name in ("y", "k"):
        drawn = eagre("plot", tmp_path / f"whole_{name}.nc", "-v", "w")
        assert drawn.code == 0, drawn.err
    probes = opened(tmp_path / "whole_probes.nc")
    flat = opened(tmp_path / "whole_k.nc")
    assert all({"u", "v", "w"} <= set(file.data_vars) for file in (flat, probes)) and "theta" not in flat
    compared = eagre("compare", tmp_path / "whole.nc", tmp_path / "whole.nc", "-v", "velocity")
    assert compared.code == 0 and all(f" {name} " in compared.out for name in "uvw") and "dye" not in compared.out
    assert probes["u"].shape == (25, 11) and set(probes["u"].coords) >= {"x", "y", "z"}
    if ground:
        terms = dict(zip(*[iter(plane["z"].attrs["formula_terms"].replace(":", "").split())] * 2, strict=True))
        assert plane["z"].attrs["standard_name"] == "atmosphere_hybrid_height_coordinate"
        height = plane[terms["a"]] + plane[terms["b"]] * plane[terms["orog"]]
        assert height.dims == ("z", "y", "x") and float(height.min()) < float(height[0].max()) <= 100.0


def test_nothing_to_measure_is_no_file(eagre, tmp_path):
    empty = '[probes]\nfile = "p.nc"\ninterval = 1.0\npoints = []\n'
    empty += '[spectra]\nfile = "s.nc"\ninterval = 1.0\nheights = []\n'
    path = write(tmp_path, "empty", empty, 10.0)
    path.write_text("slices = []\n" + path.read_text())
    done = eagre("run", path)
    assert done.code == 0, done.err
    assert not (tmp_path / "p.nc").exists() and not (tmp_path / "s.nc").exists()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("y = 250.0", "y = 1300.0", ["slices[1]", "y = 1300 m", "outside the domain"]),
        ("y = 250.0", "", ["slices[1]", "one of x, y, z, i, j, k"]),
        ("k = 1", "k = 9", ["slices[2]", "k = 9"]),
        ('["w", "theta"]', '["ww"]', ["slices[1]", '"ww"']),
        ("z = [150.0, 300.0]", "z = 50.0", ["probes.points", "below the terrain"]),
        ('"tower"', '"mast"', ["probes", "mast 2"]),
        ("heights = [250.0]", "heights = [50.0]", ["spectra", "below the highest terrain"]),
        ("heights = [250.0]", 'heights = [250.0]\naxes = ["z"]', ["axes"]),
        ("{name}_k.nc", "{name}_y.nc", ["Two outputs have the same file"]),
        ("{name}_maxima.csv", "{name}_maxima.txt", [".nc or .csv"]),
    ],
)
def test_what_cannot_be_measured_is_refused(eagre, tmp_path, old, new, words):
    assert old in MEASURED
    done = eagre("run", write(tmp_path, "bad", MEASURED.replace(old, new), ground=HILL))
    assert done.code == 2, done.err
    for word in words:
        assert word in done.err, done.err


def interrupted_after(rows, series):
    """A thread that sends Ctrl-C when a series has so many rows."""

    def watch():
        for _ in range(60_000):
            if series.exists() and len(series.read_text().splitlines()) > rows:
                os.kill(os.getpid(), signal.SIGINT)
                return
            time.sleep(0.01)

    return threading.Thread(target=watch)


def test_ctrl_c_loses_nothing(eagre, opened, tmp_path):
    more = PROFILES + MEASURED + "[numerics]\ntime_step = 1.7\n"
    stopper = interrupted_after(6, tmp_path / "parts_maxima.csv")
    stopper.start()
    stopped = eagre("run", write(tmp_path, "parts", more, 1e6))
    stopper.join()
    assert stopped.code == exits.INTERRUPTED, stopped.err
    reached = float((tmp_path / "parts_maxima.csv").read_text().splitlines()[-1].split(",")[0])
    end = 120.0 * (1.0 + reached // 120.0)
    done = eagre("run", write(tmp_path, "parts", more, end), "--restart", tmp_path / "parts_restart.nc")
    assert done.code == 0, done.err
    assert eagre("run", write(tmp_path, "whole", more, end)).code == 0
    for name in ("profiles", "y", "k", "probes", "spectra"):
        one, two = (opened(tmp_path / f"{run}_{name}.nc") for run in ("whole", "parts"))
        for variable in one.variables:
            np.testing.assert_array_equal(one[variable].values, two[variable].values, err_msg=f"{name} {variable}")
    one, two = ((tmp_path / f"{run}_maxima.csv").read_text() for run in ("whole", "parts"))
    assert one == two
