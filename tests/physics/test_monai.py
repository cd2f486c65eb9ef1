"""Tsunami run-up at Monai Valley: the surface at the three gauges."""

from __future__ import annotations

import pytest

from eagre.errors import InputError
from eagre.laboratory.cases import monai
from eagre.laboratory.validation.measures import root_mean_square, surface_at


def needs_monai_data():
    """The folder of the measured data; skips the test where there is none."""
    try:
        return monai.find_data()
    except InputError:
        pytest.skip("no Monai Valley data: set EAGRE_DATA")


def check(coarsen, device, precision):
    folder = needs_monai_data()
    measured = monai.read_measurement(folder)
    case = monai.monai_valley(folder, coarsen)
    found = surface_at(case.model(device=device, precision=precision), case.gauges, measured.times)
    for name, values in measured.elevation.items():
        assert root_mean_square(found[name] - values) < 0.005, name
        assert found[name].max() == pytest.approx(values.max(), rel=0.1), name
        assert measured.times[found[name].argmax()] == pytest.approx(measured.times[values.argmax()], abs=0.3), name


def test_gauges_on_a_coarse_grid(device):
    check(3, device, "single")


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["single", "double"])
def test_gauges_on_the_full_grid(precision, device):
    check(1, device, precision)
