"""Kernels of a step, watched."""

from __future__ import annotations

import pytest

from eagre.errors import InputError
from eagre.laboratory.bench.benchmark import kernel_times


@pytest.mark.parametrize(("kind", "size"), [("potential-waves", 17), ("shallow-water", 32)])
def test_shares_of_kernels(kind, size):
    rows = kernel_times(kind, "cpu", "single", size)
    assert sum(row.share for row in rows) == pytest.approx(1.0)
    assert [row.share for row in rows] == sorted((row.share for row in rows), reverse=True)
    assert all(row.calls > 0.0 and row.microseconds > 0.0 for row in rows)
    assert len({row.name for row in rows}) == len(rows) > 1


def test_calls_are_counted():
    """Four stages a step; a solution looks at its norm once an iteration, and each begins with a residual."""
    calls = {row.name: row.calls for row in kernel_times("potential-waves", "cpu", "double", 17)}
    assert calls["rates_cpu"] == calls["next_stage"] == 4.0
    assert calls["residual_cpu"] == calls["check_convergence_cpu"] == calls["correct_cpu"] > 4.0


def test_a_watched_device_changes_no_bits():
    from eagre.backend.select import select
    from eagre.backend.timing import profiling_device
    from eagre.laboratory.cases.wave_tanks import TANKS

    found = []
    for device in (select("cpu"), profiling_device(select("cpu"))):
        model = TANKS["standing-wave"](17, device=device, precision="single")
        model.advance(1e6, max_steps=2)
        found.append(model.field("surface_elevation"))
    assert (found[0] == found[1]).all()


def test_a_variant_that_is_none():
    with pytest.raises(InputError, match="the variant 'slow'"):
        kernel_times("shallow-water", "cpu", variant="slow")
