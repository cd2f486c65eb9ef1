"""Copies between host and device, and steps with copies."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from eagre.backend.select import select
from eagre.errors import InputError
from eagre.laboratory.bench import transfers
from eagre.laboratory.bench.transfers import TransferTime, hidden_fraction, transfer_times


def test_steps_and_copies_on_a_cpu():
    """Three loops; all time-dependent fields count."""
    rows = transfer_times("barotropic", "cpu", "double", 17, steps=3, repeats=1)
    assert [row.name for row in rows] == [
        "3 steps alone",
        "3 copies of all fields alone",
        "3 steps, all fields copied after each",
    ]
    assert all(row.seconds > 0.0 for row in rows)
    fields = 6  # streamfunction, two vorticities, two velocities, speed; the wind forcing is static
    assert [row.bytes for row in rows] == [0, 3 * fields * 8 * 17**2, 3 * fields * 8 * 17**2]


def test_chosen_fields_are_copied():
    rows = transfer_times("anelastic", "cpu", "double", 16, steps=2, repeats=1, fields=("u", "w"))
    assert [row.name for row in rows[1:]] == ["2 copies of u, w alone", "2 steps, u, w copied after each"]
    assert [row.bytes for row in rows[1:]] == [2 * 2 * 8 * 16**3] * 2


def test_every_step_is_followed_by_a_copy():
    """The order of the calls: a copy is received before the next one starts."""
    calls: list[str] = []
    values = np.zeros(5)

    def snapshot(names):
        calls.append("copy")
        return lambda: calls.append("received")

    model: Any = SimpleNamespace(
        variables={"a": SimpleNamespace(static=False), "bed": SimpleNamespace(static=True)},
        field=lambda name: values,
        snapshot=snapshot,
        advance=lambda until, max_steps: calls.append("step"),
    )
    rows = transfers._step_copies(model, 2, 1)
    assert [row.bytes for row in rows] == [0, 2 * 40, 2 * 40]
    first, steps, copies, both = calls[:3], calls[3:5], calls[5:9], calls[9:]
    assert first == ["step", "copy", "received"] and steps == ["step"] * 2
    assert copies == ["copy", "received"] * 2
    assert [call for call in both if call != "received"] == ["step", "copy"] * 2 and both.count("received") == 2


def test_all_arrays_of_a_gpu_go_in_and_out():
    """Four copies of the same number of bytes; the arrays return unchanged."""
    device, state = select("cpu"), {"a": np.arange(6.0).reshape(2, 3), "b": np.arange(4, dtype=np.float32)}
    rows = transfers._array_copies(device, state, 2)
    assert [row.name for row in rows] == [
        f"all arrays {way}, {memory}" for memory in ("pageable", "pinned") for way in ("in", "out")
    ]
    assert {row.bytes for row in rows} == {6 * 8 + 4 * 4}


@pytest.mark.parametrize(("both", "hidden"), [(6.0, 0.0), (5.0, 0.25), (1.0, 1.0), (9.0, 0.0)])
def test_hidden_fraction(both, hidden):
    rows = [TransferTime("steps", 2.0, 0), TransferTime("copies", 4.0, 1), TransferTime("both", both, 1)]
    assert hidden_fraction(rows) == hidden


def test_a_size_that_the_benchmark_does_not_support():
    with pytest.raises(InputError, match="--size 65"):
        transfer_times("potential-waves", "cpu", size=33, variant="whalin")
