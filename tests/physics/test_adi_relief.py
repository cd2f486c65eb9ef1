"""Dam breaks over rough ground by the implicit model: thin water beside deep water ends no run, nonsense does."""

from __future__ import annotations

import numpy as np
import pytest

import eagre


def dam_break(seed, relief, courant, manning, surface=10.0, cells=(18, 14), **options):
    """Water `surface` m high over two thirds of cells of 10 m, with a random bed of that relief, m; then dry ground."""
    grid = eagre.Grid(*cells, 10.0, 10.0)
    bed = 0.5 * relief * np.random.default_rng(seed).uniform(-1.0, 1.0, grid.shape_of("corner"))
    x, y = grid.mesh()
    level = np.where((x < 5.0 * cells[0]) & (y < 7.0 * cells[1]), surface, -2.0 * relief)
    time_step = courant * 10.0 / np.sqrt(9.81 * surface)
    return eagre.ShallowWaterADI(
        grid, bed, time_step, surface_elevation=level, manning=manning, device="cpu", precision="double", **options
    )


@pytest.mark.parametrize("manning", [0.0, 0.03])
@pytest.mark.parametrize("courant", [0.2, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_over_a_relief_twice_as_high_as_a_cell_is_wide(seed, courant, manning):
    """Slopes above 1 are beyond the model: no error ends the run, the volume is exact, depths stay above -0.5 m.

    Speeds are not bounded here. A cell of millimetres that lost its water within a step reports the discharge of
    that step over the depth that remains.
    """
    model = dam_break(seed, 24.0, courant, manning)
    for _ in range(60):
        model.advance(model.time + model.time_step)
        found = model.diagnostics()
        assert found["volume_error"] == pytest.approx(0.0, abs=1e-13) and found["min_depth"] > -0.05 * 10.0


def test_a_front_of_one_step_has_no_energy_of_its_own():
    """The first thin cells of a dam break on flat ground: 1.24 times the energy of the start was read out of them."""
    model = dam_break(0, 0.0, 0.1, 0.03, surface=2.0, cells=(13, 8))
    for _ in range(10):
        model.advance(model.time + model.time_step)


def test_the_summary_tells_of_cells_that_lost_more_than_they_held():
    """Where and when the lowest depth was, if it is more than a film."""
    model = dam_break(0, 24.0, 0.5, 0.0)
    lowest = {}
    for _ in range(60):
        model.advance(model.time + model.time_step)
        signed = model.state()["z"] - model.bed
        cell = np.unravel_index(signed.argmin(), signed.shape)
        lowest[signed.min()] = (model.time, tuple(int(k) for k in cell))
    depth = min(lowest)
    time, cell = lowest[depth]
    told = f"minimum {depth:.2g} m, at t = {time:.6g} s in cell (j, i) = {cell}: the outflow exceeded the volume of the"
    assert depth < -0.1 and told in dict(model.summary_rows)["depth"]
    still = dam_break(0, 2.0, 0.2, 0.03)
    still.advance(10.0)
    assert "depth" not in dict(still.summary_rows)


@pytest.mark.parametrize(("seed", "relief", "courant"), [(0, 2.0, 8.0), (4, 24.0, 2.0), (15, 24.0, 2.0)])
def test_nonsense_ends_a_run_with_its_place_and_what_to_do(seed, relief, courant):
    """Water that would cross several cells a step. The error is of the first bad step, which the way back finds again:
    bounds that rose with each state on that way let it pass."""
    model = dam_break(seed, relief, courant, 0.0)
    with pytest.raises(eagre.BlowUpError, match=r"(?s)cell \(j, i\) = .*try: +a shorter time_step") as caught:
        model.advance(200.0 * model.time_step)
    assert "had none" not in str(caught.value) and np.isfinite(model.field("depth")).all()
    assert model.time == caught.value.time < 200.0 * model.time_step
