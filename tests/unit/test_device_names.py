"""What names no device is told as that, wherever a device is given."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.backend.select import select, select_devices
from eagre.errors import InputError
from eagre.laboratory.bench import benchmark
from eagre.laboratory.bench.benchmark import kernel_times
from eagre.laboratory.bench.suite import suite
from eagre.laboratory.validation import validate
from eagre.solvers.multigrid import Multigrid

CELLS, POINTS = eagre.Grid(12, 10, 100.0, 100.0), eagre.Grid.from_points(12, 10, 3.0, 2.0)
CASE = (
    'model = "shallow-water"\nrun = {end_time = 1, device = "cpu"}\ngrid = {nx = 9, ny = 9, dx = 1}\nbed.value = -1\n'
)
WAYS = {
    "ShallowWater": lambda device: eagre.ShallowWater(CELLS, -5.0, device=device),
    "ShallowWaterADI": lambda device: eagre.ShallowWaterADI(CELLS, -5.0, 8.0, device=device),
    "BarotropicVorticity": lambda device: eagre.BarotropicVorticity(POINTS, time_step=0.01, device=device),
    "PotentialWaves": lambda device: eagre.PotentialWaves(POINTS, 0.3, device=device),
    "AnelasticFlow": lambda device: eagre.AnelasticFlow(POINTS, 6, top_height=5.0, device=device),
    "Multigrid": lambda device: Multigrid((17, 17), (1.0, 1.0), device=device),
    "select": select,
    "select_devices": select_devices,
    "validate": lambda device: validate("barotropic", ["first-step"], None, device=device),
    "measurements": lambda device: next(iter(benchmark.measurements("barotropic", device, "single", [33]))),
    "kernel_times": lambda device: kernel_times("barotropic", device, "single", 33),
    "suite": lambda device: next(iter(suite(device))),
}


@pytest.mark.parametrize("device", [None, 0, 1.5, True, b"cpu", {"cpu"}, "", "gpu", np.zeros(2)], ids=repr)
@pytest.mark.parametrize("way", WAYS)
def test_a_value_that_names_no_device_is_rejected(way, device):
    with pytest.raises(InputError) as caught:
        WAYS[way](device)
    for words in ("names no device", "got device = ", '"auto", "cpu", "cuda", "cuda:N"', 'write:   device = "auto"'):
        assert words in str(caught.value)


@pytest.mark.parametrize("device", [[], (), ["cpu", None], [None, None], [["cpu"], "cpu"]], ids=repr)
def test_lists_hold_names_of_devices(device):
    with pytest.raises(InputError, match="names no device"):
        select_devices(device)


def test_a_case_without_a_device_takes_its_own():
    """The default of `build` is None: the device of the section [run]."""
    from eagre.models.shallow_water.config import ShallowWaterCase

    case = ShallowWaterCase.loads(CASE)
    assert case.place(None, None, 100)["device"] == "cpu"
    with pytest.raises(InputError, match="names no device"):
        case.place("", None, 100)
