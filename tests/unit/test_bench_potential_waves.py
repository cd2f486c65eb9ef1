"""`eagre bench potential-waves`, and the tanks that it times."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from eagre.backend.select import select
from eagre.errors import EagreError, InputError
from eagre.laboratory.bench import bench
from eagre.laboratory.bench.benchmark import SUBJECTS, subject_of
from eagre.laboratory.bench.potential_waves import Tanks
from eagre.laboratory.cases.wave_tanks import TANKS, berkhoff_depth, whalin_depth


def test_every_tank_is_compared_and_timed():
    records = bench("potential-waves", "cpu", "single", [65], repeats=1, seconds=1e-4, commit="abc")
    assert {record["variant"] for record in records} == set(TANKS)
    assert all("from double precision" in record["error"] and record["ms_per_step"] > 0.0 for record in records)


@pytest.mark.parametrize("gigabytes", [8, 16, 40, 80, 141])
@pytest.mark.parametrize("kind", SUBJECTS)
def test_the_sizes_of_a_benchmark_are_those_that_its_model_accepts(kind, gigabytes):
    """Sizes of which one field of each layer fits the memory: what else is needed is asked when a model is made."""
    subject = subject_of(kind)
    for variant in (*subject.variants, *subject.also):
        for device in ("cpu", "cuda"):
            for size in subject.sizes[device]:
                if 4 * math.prod(subject.shape(size, variant)) > gigabytes * 2**30:
                    continue
                subject.check_size(size, variant)
                assert subject.better_size(size, variant) == size


@pytest.mark.parametrize(("size", "better"), [(3457, 3585), (50, 57), (65, 65)])
def test_a_size_that_cannot_be_halved_gets_one_that_can(size, better):
    """3456 is 27 times a power of two: 28 points are left, which is too many for the coarsest grid."""
    assert Tanks().better_size(size, "standing-wave") == better


def test_what_the_model_refuses_is_said_in_terms_of_the_command(monkeypatch):
    def refused(*_):
        raise InputError("nx = 50 and ny = 50, of which (50, 50) are left on the coarsest grid", fix="nx = 57")

    monkeypatch.setattr(Tanks, "model", refused)
    with pytest.raises(InputError, match="are left on the coarsest grid") as error:
        Tanks().checked_model(50, select("cpu"), "double", "standing-wave")
    assert error.value.fix == "--size 57"


@pytest.mark.parametrize(("kind", "maker"), [("barotropic", "double_gyre"), ("anelastic", "_turbulence")])
@pytest.mark.parametrize(("precision", "other"), [("single", "double"), ("double", "single")])
def test_no_model_is_compared_with_itself(kind, maker, precision, other, monkeypatch):
    """On a CPU the reference has other kernels (barotropic) or the other precision (anelastic)."""
    made = []

    class Constant:
        time_step = 1.0

        def __init__(self, value):
            self.value = value

        def advance(self, *_, **__):
            pass

        def field(self, name):
            return np.full((3, 3), self.value)

    def make(points, *arguments, **options):
        made.append((options.get("precision") or arguments[1], options.get("kernels")))
        return Constant(1.0 + (error if len(made) % 2 == 1 else 0.0))

    monkeypatch.setattr(f"eagre.laboratory.bench.{kind}.{maker}", make)
    subject = subject_of(kind)
    reference = ("double", "reference") if kind == "barotropic" else (other, None)
    limit = subject.largest_difference[precision if kind == "barotropic" else "single"]
    error = 0.9 * limit
    subject.compared((17, 17), select("cpu"), precision, subject.variants[0])
    assert made == [(precision, None), reference]
    error = 1.1 * limit
    with pytest.raises(EagreError, match="differs from its reference by"):
        subject.compared((17, 17), select("cpu"), precision, subject.variants[0])


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


@pytest.mark.parametrize(("crest", "accepted"), [(0.0552, True), (0.11, False), (float("nan"), False)])
def test_a_focused_crest_is_plausible(crest, accepted):
    """Behind the shoal, crests exceed the wave height of 4.64 cm; 0.0552 m was measured in a long run on 129 points."""
    model = SimpleNamespace(
        diagnostics=lambda: {"max_surface_elevation": crest},
        device="cpu",
        statistics=lambda: {"iterations_a_solve": 2.0},
    )
    if accepted:
        assert Tanks().verified(model, None) == "2.0 iterations"
    else:
        with pytest.raises(EagreError, match="crest"):
            Tanks().verified(model, None)
