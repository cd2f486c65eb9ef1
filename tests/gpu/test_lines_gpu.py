"""Discharge through lines on a GPU: a ring closes the balance, and its volumes are those of the CPU."""

from __future__ import annotations

import pytest

from physics.test_lines import RING, inside_of, pond

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_a_ring_closes_the_balance_on_a_gpu(implicit, precision):
    ours, theirs = (pond(implicit, precision, device=device) for device in ("cuda", "cpu"))
    own = inside_of(RING, ours.grid)
    first = ours.field("depth")[own].astype(float).sum() * ours.grid.cell_area
    for model in (ours, theirs):
        model.advance(8.0)
    change = ours.field("depth")[own].astype(float).sum() * ours.grid.cell_area - first
    through, expected = ours.cross_sections.volumes(), theirs.cross_sections.volumes()
    tolerance = 1e-9 if precision == "double" else 1e-3
    assert through["ring"] == pytest.approx(expected["ring"], rel=tolerance)
    assert change + through["ring"] == pytest.approx(96.0, rel=tolerance)
