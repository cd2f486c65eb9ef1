"""`eagre run` with a case of the anelastic model: files, restart, pictures, errors."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.cli.new import template
from eagre.cli.support import exits
from eagre.models.anelastic.stability import max_stable_courant
from eagre.models.registry import load_case

CASE = """\
model = "anelastic"
title = "A warm bubble"
[run]
end_time = {end}
device = "cpu"
[domain]
nx = 33
levels = 17
length_x = 3200.0
top_height = 1600.0
boundaries_x = "wall"
[atmosphere]
equations = "boussinesq"
[initial]
theta_perturbation = "2 * exp(-((x - 1600)**2 + (z - 500)**2) / 200**2)"
noise = {{amplitude = 0.01, seed = 3, below = "800 m"}}
[scalars]
dye = "where(z < 400, 1, 0)"
[numerics]
{step}
[output]
file = "{name}.nc"
interval = 40.0
variables = ["u", "w", "theta_perturbation", "dye", "w_max"]
[gauges]
file = "{name}_gauges.csv"
interval = 20.0
points = {{middle = [1600.0, 0.0]}}
[restart]
file = "{name}_restart.nc"
"""


def write(tmp_path, name, end=160.0, step="courant_number = 0.5"):
    path = tmp_path / f"{name}.toml"
    path.write_text(CASE.format(name=name, end=end, step=step))
    return path


def test_run_restart_and_pictures(eagre, opened, tmp_path):
    whole = eagre("run", write(tmp_path, "whole"))
    assert whole.code == 0, whole.err
    for words in ("33 x 1 x 17 = 561 points", "boussinesq equations", "iterations per step", "Courant number"):
        assert words in whole.out
    assert eagre("run", write(tmp_path, "parts", 80.0)).code == 0
    more = eagre("run", write(tmp_path, "parts"), "--restart", tmp_path / "parts_restart.nc")
    assert more.code == 0, more.err
    one, two = opened(tmp_path / "whole.nc"), opened(tmp_path / "parts.nc")
    assert one["w"].dims == ("time", "z", "y", "x") and one.sizes["time"] == 5
    for name in ("u", "w", "theta_perturbation", "dye", "w_max"):
        np.testing.assert_array_equal(one[name].values, two[name].values)
    assert one["w"].values[-1].max() > 0.5
    gauges = [(tmp_path / f"{name}_gauges.csv").read_text() for name in ("whole", "parts")]
    assert gauges[0] == gauges[1]
    assert eagre("plot", tmp_path / "whole.nc", "-v", "theta_perturbation").code == 0
    assert eagre("plot", tmp_path / "whole.nc", "-v", "w", "--slice", "x = 1600").code == 0
    assert eagre("animate", tmp_path / "whole.nc", "-v", "w").code == 0


def test_a_step_that_is_too_long_is_a_blow_up_with_its_place(eagre, tmp_path):
    done = eagre("run", write(tmp_path, "fast", 2000.0, "time_step = 100.0"))
    assert done.code == exits.BLOW_UP, done.err
    assert "Courant number" in done.err and "maximum wind speed" in done.err and "courant_number = 0.5" in done.err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("top_height = 1600.0", "", "top_height = 10000.0"),
        ("courant_number = 0.5", "courant_number = 0.5\ntime_step = 2.0", "one of them"),
        ('"2 * exp', '"2 * exq', 'the function "exq"'),
        ('boundaries_x = "wall"', 'boundaries_x = "shut"', "periodic, wall"),
        ("dye =", "w =", "a Python identifier"),
        ("interval = 20.0", 'interval = 20.0\nvariables = ["w"]', "w_max"),
        ("[numerics]", "[numerics]\nviscosity = 1.0\n[sponge]\nthickness = 9000.0\nrate = 0.1", "thickness"),
    ],
)
def test_errors_name_the_key(eagre, tmp_path, old, new, words):
    path = write(tmp_path, "wrong")
    path.write_text(path.read_text().replace(old, new, 1))
    done = eagre("run", path)
    assert done.code == exits.BAD_INPUT, (done.out, done.err)
    assert words in done.err


def test_the_template_keeps_to_the_courant_number_that_a_plane_bears(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text(template("anelastic"))
    case = load_case(path)
    model = case.build(device="cpu")
    for record in range(1, 16):
        model.advance(60.0 * record)
    assert model.time == case.run.end_time
    assert 0.45 < model.engine.fastest <= 0.5 < max_stable_courant((33, 1, 129))


def test_a_restart_with_another_start_date_is_refused(eagre, tmp_path):
    """Its time is counted from the date: records and weather would be at other dates."""
    begun, later = (
        "end_time = 80.0\nstart_date = 2026-01-31T12:00:00",
        "end_time = 160.0\nstart_date = 2026-01-31T12:01:20",
    )
    path = write(tmp_path, "dated", 80.0)
    text = path.read_text()
    path.write_text(text.replace("end_time = 80.0", begun))
    assert eagre("run", path).code == 0
    for dated, got in ((later, "2026-01-31T12:01:20"), ("end_time = 160.0", "none")):
        path.write_text(text.replace("end_time = 80.0", dated))
        more = eagre("run", path, "--restart", tmp_path / "dated_restart.nc")
        assert more.code == exits.BAD_INPUT, more.out
        for words in (f"start_date = {got}", "start_date = 2026-01-31T12:00:00", "run"):
            assert words in more.err
    path.write_text(text.replace("end_time = 80.0", begun.replace("80.0", "160.0")))
    assert eagre("run", path, "--restart", tmp_path / "dated_restart.nc").code == 0


def test_pressure_of_the_first_record_is_missing(eagre, opened, tmp_path):
    """The plots of this record, of the run and of a slice show no value and do not fail."""
    path = write(tmp_path, "run", 40.0)
    text = path.read_text().replace('"w_max"]', '"w_max", "pressure"]')
    path.write_text(text + '[[slices]]\nfile = "cut.nc"\ninterval = 40.0\nz = 250.0\nvariables = ["pressure", "w"]\n')
    told = eagre("run", path)
    assert told.code == 0, told.err
    for name in ("run.nc", "cut.nc"):
        pressure = opened(tmp_path / name)["pressure"]
        assert np.isnan(pressure.encoding["_FillValue"])
        assert np.isnan(pressure.values[0]).all() and np.isfinite(pressure.values[1]).all()
        for more in ((), ("--time", "0")):
            drawn = eagre("plot", tmp_path / name, "-v", "pressure", *more)
            assert drawn.code == 0, drawn.err
    assert eagre("animate", tmp_path / "run.nc", "-v", "pressure").code == 0
    assert eagre("info", tmp_path / "run.nc").code == 0
