"""Maps of runs on a GPU: those of the CPU, and the same bits after a restart."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.models.shallow_water import schedules
from physics.test_averages import WATER, gyre
from physics.test_maps import dam_break, flood

pytestmark = pytest.mark.gpu
BESIDE = eagre.Maps(["max_surface_elevation", "max_speed", "time_of_max_depth"])  # WATER has max_depth
TOLERANCE = {"single": 1e-4, "double": 1e-10}


def march_only(kernel, monkeypatch):
    if kernel == "march":
        monkeypatch.setattr(schedules.Tiles, "serve", staticmethod(lambda setup, device: False))


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("kernel", ["march", "tiles", "reference", "implicit"])
def test_maps_of_a_gpu_are_those_of_the_cpu(kernel, precision, monkeypatch):
    march_only(kernel, monkeypatch)
    make = flood if kernel == "implicit" else dam_break
    options = {"kernels": "reference"} if kernel == "reference" else {}
    ours, theirs = (make(precision, device=device, **options) for device in ("cuda", "cpu"))
    for model in (ours, theirs):
        model.advance(40.0 if kernel == "implicit" else 2.0)
    expected = theirs.maps.sample()
    for name, values in ours.maps.sample().items():
        same = np.isclose(values, expected[name], rtol=0, atol=TOLERANCE[precision], equal_nan=True)
        least = 0.9 if precision == "single" else 0.99  # ties, thresholds that rounding crosses
        assert same.mean() >= least, name


@pytest.mark.parametrize("kernel", ["march", "tiles", "implicit"])
def test_maps_of_a_gpu_go_on_bit_for_bit(kernel, monkeypatch):
    march_only(kernel, monkeypatch)
    make, middle, end = (flood, 21.0, 60.0) if kernel == "implicit" else (dam_break, 1.3, 3.0)
    whole, cut, on = (make("single", device="cuda") for _ in range(3))
    for one in (whole, cut):
        one.advance(middle)
    whole.advance(end)
    on.restore(cut.state())
    on.advance(end)
    for name, values in whole.maps.sample().items():
        np.testing.assert_array_equal(values, on.maps.sample()[name], err_msg=name)


def test_maps_leave_a_run_on_a_gpu_as_it_is(monkeypatch):
    march_only("march", monkeypatch)
    plain, model = dam_break("single", device="cuda", maps=None), dam_break("single", device="cuda")
    for one in (plain, model):
        one.advance(2.0)
    np.testing.assert_array_equal(plain.field("depth"), model.field("depth"))
    with pytest.raises(eagre.InputError):
        eagre.Maps(["depth"])


def with_averages(kernel, precision, device):
    """A model that averages: of an explicit one the marching kernels, which tiles have no averages beside."""
    if kernel == "gyre":
        return gyre(precision, device=device)
    options = {"kernels": "reference"} if kernel == "reference" else {"scheme": "ds2"} if kernel == "sweeps" else {}
    make = flood if kernel == "implicit" else dam_break
    return make(precision, device=device, maps=BESIDE, time_statistics=WATER, **options)


ENDS = {"gyre": (0.02, 0.06), "implicit": (21.0, 60.0)}


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("kernel", ["march", "sweeps", "reference", "implicit", "gyre"])
def test_averages_of_a_gpu_are_those_of_the_cpu_and_go_on_bit_for_bit(kernel, precision):
    middle, end = ENDS.get(kernel, (0.6, 1.3))
    whole, cut, on, there = (with_averages(kernel, precision, name) for name in ("cuda", "cuda", "cuda", "cpu"))
    for one in (whole, cut, there):
        one.advance(middle)
    on.restore(cut.state())
    for one in (whole, on, there):
        one.advance(end)
    expected, again = there.maps.sample(), on.maps.sample()
    for name, values in whole.maps.sample().items():
        np.testing.assert_array_equal(again[name], values, err_msg=name)
        if not name.startswith(("mean", "variance", "covariance", "eddy")):
            continue
        size = np.nanmax(np.abs(expected[name]))
        assert size > 0.0, name
        same = np.isclose(values, expected[name], rtol=0, atol=(2e-3 if precision == "single" else 1e-9) * size)
        assert same.mean() >= (0.95 if precision == "single" else 0.99), name


def test_averages_leave_a_run_on_a_gpu_as_it_is(monkeypatch):
    march_only("march", monkeypatch)
    plain, model = (dam_break("single", device="cuda", maps=None, time_statistics=one) for one in (None, WATER))
    for one in (plain, model):
        one.advance(2.0)
    np.testing.assert_array_equal(plain.field("depth"), model.field("depth"))
