"""`eagre bench potential-waves`, and the tanks that it times."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.bench import bench
from eagre.cases.wave_tanks import TANKS, berkhoff_depth, whalin_depth


def test_every_tank_is_compared_and_timed():
    records = bench("potential-waves", "cpu", "single", [65], repeats=1, seconds=1e-4, commit="abc")
    assert {record["variant"] for record in records} == set(TANKS)
    assert all("from double precision" in record["error"] and record["ms_per_step"] > 0.0 for record in records)


def test_depths_of_the_tanks():
    """Whalin: 0.4572 m before the shoal, 0.1524 m behind it, on the axis from x = 7.62 m on; Berkhoff: by hand."""
    x = np.array([0.0, 7.0, 7.622, 10.0, 15.25, 25.0])
    assert whalin_depth(x, 3.048) == pytest.approx([0.4572, 0.4572, 0.4572, 0.3621, 0.1524, 0.1524], abs=2e-4)
    assert whalin_depth(np.array([10.66, 11.67]), 0.0) == pytest.approx([0.4572, 0.4172], abs=1e-4)
    assert berkhoff_depth(np.array([-9.0]), np.array([0.0])) == pytest.approx(0.45)
    assert berkhoff_depth(np.array([0.0]), np.array([0.0])) == pytest.approx(0.45 - 0.1168 - 0.2)
    found = berkhoff_depth(np.array([10.0, 14.9]), np.array([0.0, 0.0]))
    assert found == pytest.approx([0.45 - 0.02 * (5.84 + 9.397), 0.07], abs=1e-4)


@pytest.mark.parametrize("name", TANKS)
def test_tanks_run(name):
    model = TANKS[name](65, device="cpu")
    model.advance(10.0, max_steps=4)
    assert np.isfinite(model.field("surface_elevation")).all()
