"""The suite of `eagre bench anelastic --suite`: its grids, records and checks."""

from __future__ import annotations

import math
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from eagre.backend.select import select
from eagre.errors import EagreError, InputError
from eagre.laboratory.bench import suite as parts
from eagre.laboratory.bench import suite as suites
from eagre.laboratory.bench.benchmark import KEYS

QUICK = {"repeats": 1, "seconds": 1e-4, "commit": "abc"}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(suites.machine, "copy_speeds", lambda device: {1: 1e10})
    monkeypatch.setattr(suites, "GRIDS", suites.GRIDS[:2])
    made = [
        part._replace(shapes=[shape])
        for part, shape in zip(suites.PARTS, [(16, 16, 16)] + 3 * [(16, 12, 20)], strict=True)
    ]
    monkeypatch.setattr(suites, "PARTS", made)


def test_the_grids_are_those_of_the_tables():
    assert len(suites.GRIDS) == 10 and set(suites.PAPER_SECONDS) == set(suites.GRIDS)
    assert suites.GRIDS[0] == (16, 16, 16) and suites.GRIDS[-1] == (64, 512, 512)
    assert [shape[0] for shape in suites.CUBES] == [64, 128, 192, 256, 320, 384, 448, 512, 576]


@pytest.mark.parametrize("precision", [pytest.param("single", marks=pytest.mark.slow), "double"])
def test_records_of_the_suite(small, precision):
    records = list(suites.suite("cpu", precision, **QUICK))
    assert [record["case"] for record in records] == ["mpdata", "laplacian", "gcr, test 1", "gcr, test 2"]
    for record in records:
        assert tuple(record) == KEYS and record["model"] == "anelastic" and record["precision"] == precision
        assert record["fraction_of_copy"] is None and record["commit"] == "abc"
        points = math.prod(record["shape"])
        assert math.isclose(record["cell_steps_per_s"] * record["ms_per_step"], points * 1e3)
    assert records[0]["steps"] >= 2 and "in bounds" in records[0]["error"]
    assert ("paper 0.44 ms (core)" in records[0]["error"]) == (precision == "double")
    assert "from plain sums" in records[1]["error"] and "iterations to 1e-3" in records[3]["error"]


def test_grids_above_the_limit_are_left_out(small, monkeypatch):
    monkeypatch.setattr(suites, "PARTS", [suites.PARTS[0]._replace(shapes=suites.GRIDS)])
    assert [record["shape"] for record in suites.suite("cpu", "double", most=5000, **QUICK)] == [[16, 16, 16]]
    with pytest.raises(InputError, match="smallest grid"):
        list(suites.suite("cpu", most=100))


def test_fluxes_have_no_divergence():
    v1, v2, v3 = parts.winds((5, 6, 7), np.float64)
    assert [one.shape for one in (v1, v2, v3)] == [(5, 6, 8), (5, 7, 7), (6, 6, 7)]
    assert not (np.diff(v1, axis=2).any() or np.diff(v2, axis=1).any() or np.diff(v3, axis=0).any())
    assert np.ptp(v1) > 0.3


def test_a_wrong_answer_is_no_record(monkeypatch):
    work, _, verified = parts.advection(select("cpu"), "double", (8, 8, 8))
    work()
    assert "mass" in verified()
    host = type(select("cpu")).host
    monkeypatch.setattr(type(select("cpu")), "host", lambda device, array: host(device, array) * (1.0 + 1e-9))
    with pytest.raises(EagreError, match="Mass changed"):
        verified()
    _, _, verified = parts.laplacian(select("cpu"), "double", (8, 8, 8))
    with pytest.raises(EagreError, match="plain sums"):
        verified()


def test_the_peer_gets_the_same_work(small, monkeypatch):
    """A stand-in for PyMPDATA with its names: it takes arrays as they come and makes no step."""
    seen = {}

    class Field:
        def __init__(self, data, halo, boundary_conditions):
            self.data, self.halo, self.sides = data, halo, boundary_conditions

        def get(self):
            return self.data

    class Solver:
        def __init__(self, stepper, advectee, advector, g_factor):
            seen.update(grid=stepper.grid, options=stepper.options, shapes=[one.shape for one in advector.data])
            self.advectee, self.steps = advectee, 0

        def advance(self, steps):
            self.steps += steps

    theirs: Any = ModuleType("PyMPDATA")
    sides: Any = ModuleType("PyMPDATA.boundary_conditions")
    sides.Periodic = SimpleNamespace
    theirs.Options = lambda **given: SimpleNamespace(n_halo=2, **given)
    theirs.Stepper = lambda **given: SimpleNamespace(**given)
    theirs.ScalarField = theirs.VectorField = Field
    theirs.Solver, theirs.boundary_conditions = Solver, sides
    monkeypatch.setitem(sys.modules, "PyMPDATA", theirs)
    monkeypatch.setitem(sys.modules, "PyMPDATA.boundary_conditions", sides)
    monkeypatch.setattr(suites, "peer_is_there", lambda: True)
    monkeypatch.setattr(suites, "PARTS", suites.PARTS[:1])
    records = list(suites.suite("cpu", "double", most=5000, **QUICK))
    assert [record["case"] for record in records] == ["mpdata", "pympdata"]
    assert seen["grid"] == (16, 16, 16) and seen["shapes"] == [(17, 16, 16), (16, 17, 16), (16, 16, 17)]
    assert seen["options"].infinite_gauge and seen["options"].nonoscillatory and seen["options"].n_iters == 2
