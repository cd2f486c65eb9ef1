"""Orders with a bed: steady channels with friction, shocks, and moving shores."""

from __future__ import annotations

import pytest

from eagre.cases import basins, channels, dam_breaks
from eagre.validation.measures import convergence_study


@pytest.mark.parametrize("flow", ["subcritical", "transcritical"])
def test_macdonald_channel(flow, device):
    """Towards the exact steady flow, and the prescribed discharge all along (measured: 1.98 and 2.00)."""
    study = convergence_study(lambda n: channels.macdonald(n, flow), (25, 50, 100), device=device, precision="double")
    assert min(study.depth_orders) > 1.9 and min(study.discharge_orders) > 1.9
    assert study.depth_errors[-1] < 3e-4 and study.discharge_errors[-1] < 1e-4


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
