"""Orders with a bed: steady channels with friction, shocks, and moving shores."""

from __future__ import annotations

import pytest

from eagre.laboratory.cases import basins, channels, dam_breaks
from eagre.laboratory.validation.measures import convergence_study


@pytest.mark.parametrize("flow", ["subcritical", "transcritical"])
def test_macdonald_channel(flow, device):
    """Towards the exact steady flow, and the prescribed discharge all along (measured: 1.98 and 2.00)."""
    study = convergence_study(lambda n: channels.macdonald(n, flow), (25, 50, 100), device=device, precision="double")
    assert min(study.depth_orders) > 1.9 and min(study.discharge_orders) > 1.9
    assert study.depth_errors[-1] < 3e-4 and study.discharge_errors[-1] < 1e-4


def test_supercritical_channel(device):
    """Depth and discharge are given where it enters (measured: 2.27 and 2.12; the error was 2.4e-3 on any grid)."""

    def make(n):
        return channels.macdonald(n, "supercritical")

    study = convergence_study(make, (50, 100, 200), device=device, precision="double")
    assert min(study.depth_orders) > 1.9 and min(study.discharge_orders) > 1.9
    assert study.depth_errors[-1] < 4e-4


def test_channel_with_a_jump(device):
    """The jump keeps its place, and all errors fall (measured: 1.2e-3, 6.3e-4, 4.6e-4)."""

    def make(n):
        return channels.macdonald(n, "jump")

    study = convergence_study(make, (50, 100, 200), device=device, precision="double")
    assert study.depth_errors[0] < 1.5e-3
    assert min(study.depth_orders) > 0.45 and min(study.discharge_orders) > 0.45


@pytest.mark.parametrize("low", [0.0, 0.1], ids=["ritter", "stoker"])
def test_dam_break_is_first_order(low, device):
    study = convergence_study(
        lambda n: dam_breaks.dam_break(n, 1.0, low), (100, 200, 400), device=device, precision="double"
    )
    assert min(study.depth_orders[-1], study.discharge_orders[-1]) > 0.9


@pytest.mark.parametrize("make", [basins.planar_bowl, basins.radial_bowl], ids=["planar", "radial"])
def test_bowl_is_better_than_first_order(make, device):
    study = convergence_study(make, (25, 50, 100), device=device, precision="double")
    assert min(study.depth_orders) > 1.0


@pytest.mark.slow
@pytest.mark.parametrize("make", [basins.planar_bowl, basins.radial_bowl], ids=["planar", "radial"])
def test_bowl_on_fine_grids(make, device):
    study = convergence_study(make, (100, 200, 400), device=device, precision="double")
    assert min(study.depth_orders) > 1.2 and study.depth_errors[-1] < 0.002
