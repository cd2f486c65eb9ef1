"""Mass of rain on slopes in the implicit model with its defaults, against rain times area times time."""

from __future__ import annotations

import pytest

import eagre
from eagre.models.shallow_water_adi.config import ShallowWaterADICase

RAIN = 50e-3 / 3600.0  # m s-1
END = 900.0
CASE = """
model = "shallow-water-adi"
[grid]
nx = 12
ny = 4
dx = "50 m"
dy = "50 m"
[bed]
expression = "0.5 * x"
[sources.rain]
rate = "50 mm/h"
[friction]
manning = 0.03
[numerics]
time_step = "2 s"
[run]
end_time = "10 s"
"""


def hillside(slope, **options):
    """A closed plane of 600 by 200 m in heavy rain."""
    grid = eagre.Grid(12, 4, 50.0, 50.0)
    x, _ = grid.mesh("corner")
    return eagre.ShallowWaterADI(
        grid, slope * x, 2.0, depth=0.0, manning=0.03, sources=[eagre.Rain(RAIN)], device="cpu", **options
    )


@pytest.mark.parametrize("slope", [0.0, 0.005, 0.05, 0.5])
def test_rain_with_the_default_precision(slope):
    model = hillside(slope)
    model.advance(END)
    assert model.diagnostics()["volume"] == pytest.approx(RAIN * END * 600.0 * 200.0, rel=1e-3)


def test_the_choice_of_double_precision_is_reported():
    model = hillside(0.5)
    assert model.precision == "double" and model.settings()["precision"] == "double"
    assert "Double precision is used because" in model.settings()["precision_note"]
    assert any("Double precision is used because" in note for note in model.notes)


def test_a_given_precision_is_kept():
    model = hillside(0.5, precision="single")
    assert model.precision == "single" and any("rounding can change the rain volume" in note for note in model.notes)
    assert "precision_note" not in model.settings()
    assert hillside(0.0).precision == "single"


@pytest.mark.parametrize(("text", "precision"), [(CASE, "double"), (CASE + 'precision = "single"\n', "single")])
def test_case_files(text, precision):
    assert ShallowWaterADICase.loads(text).build(device="cpu").precision == precision
