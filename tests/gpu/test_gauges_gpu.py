"""Values that a run on a GPU takes on its way: those of a run that is stopped for each of them, bit for bit."""

from __future__ import annotations

import pytest

from gpu.test_maps_gpu import march_only
from physics.test_gauges import assert_same, both
from physics.test_maps import flood

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("kernel", ["march", "tiles", "reference"])
def test_values_taken_on_the_way_are_those_of_stops(kernel, precision, monkeypatch):
    march_only(kernel, monkeypatch)
    options = {"kernels": "reference"} if kernel == "reference" else {}
    assert_same(*both(precision=precision, device="cuda", **options))


@pytest.mark.parametrize("precision", ["single", "double"])
def test_the_implicit_model_takes_its_values_on_the_way(precision):
    assert_same(*both(flood, every=7.0, end=60.0, precision=precision, device="cuda"))


@pytest.mark.parametrize("kernels", ["fast", "reference"])
def test_several_gpus_take_the_values_of_an_implicit_run(kernels, devices):
    """Points in the first slab and beside a cut."""
    points = [(3, 7), (61, 3), (62, 3), (123, 2)]
    assert_same(*both(flood, points, every=7.0, end=60.0, precision="single", device=devices, kernels=kernels))
