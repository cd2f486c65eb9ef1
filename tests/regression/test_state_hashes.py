"""States and GPU launches of small runs of every option equal the pinned ones; `make record` rewrites the file."""

from __future__ import annotations

import json

import numpy as np
import pytest

from launch_record import PINNED, shapes_record, small_setups
from option_setups import ALL, SINGLE_ONLY
from state_record import machine, state_record

RECORD = json.loads(PINNED.read_text())
PINS, SETUPS = RECORD["setups"], small_setups()
TOLERANCE = {"double": 1e-10, "single": 2e-4}
"""Relative to the root mean square. Other instructions change the last digit (1e-16, 6e-8) of each operation; 6 steps
with thin films and square roots amplify it up to some 1000 times."""
ITERATED = {"PotentialWaves": 1e-5, "AnelasticFlow": 1e-7}
"""Minimum tolerances of models with iterative solvers: rounding can change the number of iterations."""
SMALLEST_SCALE = 1e-6  # fields below this are 0 but for rounding errors
BITWISE = {"ShallowWater", "PotentialWaves"}  # several CPUs give the bits of one; see docs/models
NAMES = list(dict.fromkeys((kind, name) for kind, name, _ in ALL))


def is_slow(kind, name, precision):
    """CI runs each set-up in one precision, in turns, and `make test-slow` in the other: compilation takes long."""
    return (kind, name) not in SINGLE_ONLY and precision == ("double", "single")[NAMES.index((kind, name)) % 2]


CASES = [
    pytest.param(
        f"{kind}: {name}, {precision}", kind, precision, marks=[pytest.mark.slow] * is_slow(kind, name, precision)
    )
    for kind, name, precision in ALL
]


def different_numbers(found, expected, tolerance):
    """Names of fields whose root mean square or weighted mean differ."""
    assert found.keys() == expected.keys()
    return {
        name: (values, expected[name])
        for name, values in found.items()
        if not np.allclose(values, expected[name], rtol=0.0, atol=tolerance * max(expected[name][0], SMALLEST_SCALE))
    }


def test_every_setup_is_pinned():
    assert PINS.keys() == SETUPS.keys()


@pytest.mark.parametrize(("setup", "kind", "precision"), CASES)
def test_states(setup, kind, precision):
    found, pinned = state_record(SETUPS[setup]), PINS[setup]
    tolerance = max(TOLERANCE[precision], ITERATED.get(kind, 0.0))
    assert different_numbers(found["numbers"], pinned["numbers"], tolerance) == {}
    assert found["restart differs in"] == []
    assert found["several"].keys() == pinned["several"].keys()
    for several in found["several"].values():
        one = {name: found["numbers"][name] for name in several["numbers"]}
        assert different_numbers(several["numbers"], one, tolerance) == {}
    if kind in BITWISE:
        assert {one["fields"] for one in found["several"].values()} <= {found["hashes"]["fields"]}
    if machine() == RECORD["machines"][pinned["machine"]]:
        assert found["hashes"] == pinned["hashes"]
        assert {count: one["fields"] for count, one in found["several"].items()} == pinned["several"]


@pytest.mark.parametrize("setup", SETUPS)
def test_launch_shapes(setup):
    assert shapes_record(SETUPS[setup]) == PINS[setup]["launches"]
