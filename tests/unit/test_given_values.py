"""What Python code hands to a model: taken as a copy, or refused with a sentence that says why."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.errors import InputError

GRID = eagre.Grid(8, 6, 10.0, 10.0)
CORNERS, CENTRES = GRID.shape_of("corner"), GRID.shape
HOLE = np.ma.masked_array(np.ones(CORNERS), mask=np.eye(*CORNERS, dtype=bool))


class Made(Exception):
    """Everything was checked."""


@pytest.fixture
def only_checks(monkeypatch):
    """Models end where their engine, which compiles, would be made; `seen` are their set-ups."""
    seen = []

    def stop(setup, *arguments):
        seen.append(setup)
        raise Made

    for name in ("shallow_water.model.engine_for", "shallow_water_adi.model.engine_for", "barotropic.model.Engine"):
        monkeypatch.setattr(f"eagre.models.{name}", stop)
    return seen


def make(kind, bed=0.0, **options):
    if kind == "barotropic":
        options = {"beta": 1e-11, "viscosity": 10.0, "time_step": 10.0, **options}
        return eagre.BarotropicVorticity(GRID, topography=bed, device="cpu", **options)
    if kind == "shallow-water-adi":
        return eagre.ShallowWaterADI(GRID, bed, 1.0, device="cpu", **options)
    return eagre.ShallowWater(GRID, bed, device="cpu", **options)


@pytest.mark.parametrize("kind", ["shallow-water", "shallow-water-adi", "barotropic"])
@pytest.mark.parametrize(
    ("values", "words"),
    [
        (HOLE, "masked"),
        (np.ones(CORNERS) + 1j, "complex128"),
        (np.full(CORNERS, np.datetime64("2026-01-01")), "datetime64"),
        (np.full(CORNERS, "1.0"), "<U3"),
        ([[1.0, 2.0], [3.0]], "rows of one length"),
        (np.full(CORNERS, None), "object"),
        ("1.0", "= '1.0'"),
        (lambda x, y: x, r"a function as .*[\s\S]*function\(\*grid\.mesh\(\)\)"),
    ],
)
def test_arrays_that_are_no_plain_numbers(only_checks, kind, values, words):
    if kind == "barotropic" and isinstance(values, np.ndarray):
        values = values[:-1, :-1]
    with pytest.raises(InputError, match=words):
        make(kind, values)


def test_series_and_maps_are_looked_at_too(only_checks):
    with pytest.raises(InputError, match="masked"):
        eagre.Series([0.0, 1.0], np.ma.masked_array([0.0, 1.0], [False, True]))
    with pytest.raises(InputError, match="complex"):
        eagre.Series([0.0, 1.0], [0.0, 1j])
    with pytest.raises(InputError, match="masked"):
        make("shallow-water", sources=[eagre.Rain(1e-6, pattern=HOLE[:-1, :-1])])


@pytest.mark.parametrize("name", ["x0", "y0"])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_a_place_that_is_no_number(name, value):
    with pytest.raises(InputError, match=name):
        eagre.Grid(8, 6, 10.0, 10.0, **{name: value})


@pytest.mark.parametrize("kind", ["shallow-water", "shallow-water-adi"])
@pytest.mark.parametrize("given", ["wall", {"west": eagre.Wall()}])
def test_boundaries_by_name_or_table(only_checks, kind, given):
    with pytest.raises(InputError, match=r"Boundaries\(west=Wall\(\)\)"):
        make(kind, boundaries=given)


@pytest.mark.parametrize("given", ["wall", eagre.Wall, [1.0]])
def test_a_side_that_is_no_condition(given):
    with pytest.raises(InputError, match=r"west = Wall\(\)"):
        eagre.Boundaries(west=given)


@pytest.mark.parametrize("kind", ["shallow-water", "shallow-water-adi"])
def test_arrays_of_the_caller_are_copied(only_checks, kind):
    bed, manning, rates = np.zeros(CORNERS), np.full(CENTRES, 0.03), np.array([0.0, 1e-6])
    series = eagre.Series(np.array([0.0, 1.0]), rates)
    with pytest.raises(Made):
        make(kind, bed, manning=manning, sources=[eagre.Rain(series)])
    bed[:], manning[:], rates[:] = 7.0, 7.0, 7.0
    assert not only_checks[0].bed.any() and series.values[1] == 1e-6
    if kind == "shallow-water":
        assert (only_checks[0].manning == 0.03).all()


def state_of(model):
    return {name: value.copy() for name, value in model.state().items()}


@pytest.fixture(scope="module")
def gyre():
    return eagre.BarotropicVorticity.double_gyre(9, reynolds=1.6, time_step=2e-6, device="cpu")


@pytest.mark.parametrize("wrong", ["nan", "missing", "shape", "spacing", "no psi", "no time", "tendency", "type"])
def test_a_state_that_is_not_the_models(gyre, wrong):
    state = state_of(gyre)
    if wrong == "nan":
        state["q0"][3, 3] = np.nan
    if wrong == "missing":
        del state["q0"]
    if wrong == "shape":
        state["q0"] = state["q0"][..., :-1]
    if wrong == "spacing":
        state["grid"][2] *= 2.0
    if wrong == "no psi":
        del state["psi0"]
    if wrong == "no time":
        del state["landed"]
    if wrong == "tendency":
        state["tendency0_1"] = state["tendency0_1"][1:]
    if wrong == "type":
        state["psi0"] = state["psi0"] + 1j
    words = {
        "nan": "not finite", "missing": "without q0", "shape": "of shape", "spacing": "dx", "no psi": "without psi0",
        "no time": "without landed", "tendency": "tendency0_1 of shape", "type": "psi0 of type complex",
    }[wrong]  # fmt: skip
    before = state_of(gyre)
    with pytest.raises(InputError, match=words):
        gyre.restore(state)
    for name, value in gyre.state().items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)
    gyre.restore(before)


@pytest.mark.parametrize(
    "make",
    [
        lambda: eagre.RelaxationZone("west", "4 m", 2.0), lambda: eagre.RelaxationZone("west", 4.0, 2.0, ramp="1 s"),
        lambda: eagre.Coriolis("35 deg"), lambda: eagre.Coriolis(f="1e-4"), lambda: eagre.Layers("1", 2.0),
        lambda: eagre.Layers(1.0, None),
    ],
)  # fmt: skip
def test_texts_where_numbers_belong(make):
    with pytest.raises(InputError, match="allowed: a number"):
        make()
