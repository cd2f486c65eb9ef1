"""The model of potential-flow waves on a real card: the CPU's fields, the same bits again and after a restart."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import BlowUpError, Grid, PotentialWaves, RelaxationZone, TimeStatistics
from eagre.backend.select import cuda_problem
from eagre.laboratory.cases.wave_tanks import TANKS
from eagre.waves import AiryWave, CosineSpreading, Jonswap, Sea
from restarts import assert_repeats_and_restarts

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(cuda_problem() is not None, reason=f"no CUDA: {cuda_problem()}"),
]

ASKED = TimeStatistics(["velocity"], ["surface_elevation"], maximum=["velocity"], time_of_maximum=["surface_elevation"])


def basin(device="cuda", precision="single"):
    """A short-crested sea over a shoal, with breaking and statistics."""
    grid = Grid.from_points(49, 33, 60.0, 40.0)
    depth = 8.0 - 5.0 * np.exp(-((grid.x - 35.0) ** 2 + (grid.y[:, None] - 20.0) ** 2) / 100.0)
    sea = Sea(Jonswap(0.6, 3.5), 8.0, spreading=CosineSpreading(s=15.0), count=50)
    zones = [RelaxationZone("west", 15.0, 3.5, sea, ramp=3.5), RelaxationZone("east", 15.0, 3.5)]
    return PotentialWaves(
        grid,
        depth,
        relaxation_zones=zones,
        device=device,
        precision=precision,
        breaking=True,
        statistics_from=1.0,
        time_statistics=ASKED,
    )


@pytest.mark.parametrize("precision", ["single", "double"])
def test_as_the_cpu(precision):
    ours, theirs = basin("cuda", precision), basin("cpu", "double")
    for model in (ours, theirs):
        model.advance(4.0)
    for name in ours.variables:
        apart = np.abs(ours.field(name) - theirs.field(name)).max()
        assert apart < 1e-4 * max(np.abs(theirs.field(name)).max(), 1e-3), name
    assert ours.diagnostics()["energy"] == pytest.approx(theirs.diagnostics()["energy"], rel=1e-4)
    expected = theirs.maps.sample()
    for name, values in ours.maps.sample().items():
        apart = np.abs(values - expected[name])
        if name.startswith("time"):
            assert np.mean(apart < 1e-9) > 0.9
        else:
            assert apart.max() < 1e-4 * max(np.abs(expected[name]).max(), 1e-3), name
    place = ours.kinematics([30.0, 35.0], 20.0, z=-1.0).velocity
    assert place == pytest.approx(theirs.kinematics([30.0, 35.0], 20.0, z=-1.0).velocity, abs=1e-3)


def test_averages_go_on_bit_for_bit():
    whole, cut, on = (basin() for _ in range(3))
    for one in (whole, cut):
        one.advance(1.0)
    on.restore(cut.state())
    for one in (whole, on):
        one.advance(2.0)
    for name, values in whole.maps.sample().items():
        np.testing.assert_array_equal(on.maps.sample()[name], values, err_msg=name)


def test_restart_bit_for_bit():
    assert_repeats_and_restarts(basin, lambda model: model.advance(10.0, max_steps=9), 3.0)


@pytest.mark.parametrize("name", TANKS)
def test_tanks(name):
    model = TANKS[name](129, device="cuda")
    model.advance(0.5)
    assert np.isfinite(model.field("surface_elevation")).all() and model.statistics()["iterations_a_solve"] < 12.0


def test_a_blow_up_says_where():
    grid = Grid.from_points(64, 1, 1.0, 1.0, periodic=(True, False))
    wave = AiryWave(height=0.12, depth=0.5, length=1.0)
    surface = [part(grid.x[None], 0.0, 0.0) for part in (wave.elevation, wave.surface_potential)]
    model = PotentialWaves(
        grid, 0.5, surface_elevation=surface[0], surface_potential=surface[1], periodic="x", device="cuda"
    )
    with pytest.raises(BlowUpError, match="slope of"):
        model.advance(5.0)
    assert np.isfinite(model.state()["surface"]).all()
