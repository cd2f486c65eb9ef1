"""Early exit: dry rows are passed over, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.cases.amundsen2014 import circular_dam_big
from eagre.models.shallow_water import march_cpu

FIELDS = ("surface_elevation", "discharge_x", "discharge_y")


def big_dry_dam(early_exit, precision, **options):
    """Amundsen's case for early exit, on fewer cells."""
    return circular_dam_big(96).model(device="cpu", precision=precision, early_exit=early_exit, **options)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_early_exit_changes_no_bit(precision):
    ours, full = (big_dry_dam(early_exit, precision) for early_exit in (True, False))
    for time in (0.25, 1.0):
        ours.advance(time)
        full.advance(time)
        assert ours.statistics() == full.statistics()
        for name in FIELDS:
            np.testing.assert_array_equal(ours.field(name), full.field(name), err_msg=name)
    assert 0.1 < ours.diagnostics()["wet_fraction"] < 0.9


def test_early_exit_passes_over_dry_rows():
    bed = np.zeros((9, 9))
    scratch = np.zeros(march_cpu.SCRATCH)
    p = big_dry_dam(True, "double")._engine.parameters
    assert march_cpu.look_at_row(bed, scratch, 1, 0, 6, p) == march_cpu.SHORES  # the switch is off by default
    look = march_cpu.look_at_row.function
    skipping = type(look)(look.__code__, {**look.__globals__, "SKIP_DRY": True})
    assert skipping(bed, scratch, 1, 0, 6, p) == march_cpu.DRY
    scratch[march_cpu.OVER1 + 3] = 2.0
    assert skipping(bed, scratch, 1, 0, 6, p) == march_cpu.SHORES
    scratch[march_cpu.W0 : march_cpu.W2 + march_cpu.WIDTH] = 1.0
    assert skipping(bed, scratch, 1, 0, 6, p) == march_cpu.COVERED


def test_the_documents_treatment_has_no_early_exit():
    assert big_dry_dam(None, "double", wet_dry="kurganov-petrova").settings()["early_exit"] == "false"
    with pytest.raises(eagre.InputError, match="early_exit = True"):
        big_dry_dam(True, "double", wet_dry="kurganov-petrova")
