"""From a case file of the implicit model to its arguments; the template and what it leaves commented."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eagre.cli.new import template
from eagre.config.problems import ConfigError
from eagre.models.shallow_water_adi.config import ShallowWaterADICase

FLAT = """
model = "shallow-water-adi"
run.end_time = "1 h"
grid = { nx = 4, ny = 3, dx = 100.0 }
bed.expression = "-5 + 0.02 * x"
numerics.time_step = "20 s"
"""


@pytest.fixture
def built(monkeypatch, tmp_path):
    """A function that builds a case and returns the model's arguments; files lie in `tmp_path`."""
    taken: dict[str, Any] = {}

    def model(grid, bed_elevation, **options):
        taken.update(options, grid=grid, bed_elevation=bed_elevation)

    monkeypatch.setattr("eagre.models.shallow_water_adi.model.ShallowWaterADI", model)

    def build(text: str, **options) -> dict[str, Any]:
        taken.clear()
        ShallowWaterADICase.loads(text, tmp_path).build(**options)
        return dict(taken)

    return build


def test_defaults_leave_the_choice_to_the_model(built):
    taken = built(FLAT)
    assert taken["time_step"] == 20.0 and taken["boundaries"].closed
    left_out = {"viscosity", "drying", "dry_depth", "start", "dissipation", "momentum_advection", "gravity"}
    assert not {"land_mask", "manning", "chezy", *left_out} & set(taken)


def test_everything_arrives(built):
    taken = built(
        FLAT.replace('numerics.time_step = "20 s"', "")
        + 'land_mask.where = "(x > 300) and (bed > 1)"\nfriction.chezy = "50 + x / 100"\n'
        + 'numerics = { time_step = 5.0, viscosity = "2.5 m2/s", drying = "off", start = "zero", dissipation = "none", '
        + 'momentum_advection = "off", dry_depth = "2 cm", gravity = 9.8 }\n',
        device="cpu", precision="double",
    )  # fmt: skip
    np.testing.assert_array_equal(taken["land_mask"], np.array([[False, False, False, True]] * 3))
    np.testing.assert_allclose(taken["chezy"][0], [50.5, 51.5, 52.5, 53.5])
    wanted = {"time_step": 5.0, "viscosity": 2.5, "drying": "off", "start": "zero", "dissipation": "none"}
    wanted |= {"momentum_advection": "off", "dry_depth": 0.02, "gravity": 9.8, "device": "cpu", "precision": "double"}
    assert {name: taken[name] for name in wanted} == wanted
    assert built(FLAT + 'land_mask.where = "x > 200"\n')["land_mask"].sum() == 6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("friction = {manning = 0.03, chezy = 50.0}", "both manning and chezy"),
        ("friction = {}", "neither manning nor chezy"),
        ("numerics.start = 'half'", "half-step"),
        ("numerics.viscosity = '2 m/s'", "m2/s"),
        ("numerics.courant_number = 0.25", 'Unknown key "courant_number"'),
        ("land_mask.wher = 1", "where"),
        ("land.where = 1", 'did you mean "land_mask"'),
        ("numerics.convection = 'off'", 'did you mean "momentum_advection"'),
    ],
)
def test_what_is_refused(built, text, words):
    with pytest.raises(ConfigError, match=words):
        built(FLAT + text)


def test_commented_lines_of_the_template_are_valid_too(tmp_path):
    (tmp_path / "tide.csv").write_text("time,level\n0,0\n86400,1\n")
    text = template("shallow-water-adi")
    for beginning in ("start_date", "[sources", "latitude", "x =", "viscosity", "dissipation", "dry_depth"):
        assert f"\n# {beginning}" in text
        text = text.replace(f"\n# {beginning}", f"\n{beginning}")
    ShallowWaterADICase.loads(text, tmp_path)
    river = text.replace('west = {kind = "absorbing"', '# west = {kind = "absorbing"').replace(
        '\n# west = {kind = "stage', '\nwest = {kind = "stage'
    )
    for beginning in ("[[boundaries.north", "kind", 'rate = "50', "from =", "to ="):
        assert f"\n# {beginning}" in river
        river = river.replace(f"\n# {beginning}", f"\n{beginning}")
    case = ShallowWaterADICase.loads(river, tmp_path)
    assert len(case.boundaries.make(lambda signal, key: 0.0, lambda place, condition, key: [])) == 4
