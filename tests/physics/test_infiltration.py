"""Infiltration of both shallow-water models: the formula of a cell, exact solutions, balance, restarts, messages."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import eagre
import explicit_runs
from eagre.backend.compilation.cells import cell
from eagre.models.shallow_water.infiltration import launches as explicit_launches
from eagre.models.shallow_water_adi.memory_layout import PADDING
from eagre.stepping.clock import DT, PARITY, RUNNING
from eagre.terms.infiltration import green_ampt, infiltrated, removed
from oracle.infiltration import (
    after_step,
    green_ampt_depth,
    inverse,
    time_under_constant_head,
    time_under_falling_head,
)

MM_H = 1e-3 / 3600.0
GRID = eagre.Grid(3, 2, 5.0, 4.0)
LOAM = {"hydraulic_conductivity": 13.0 * MM_H, "suction_head": 0.11, "moisture_deficit": 0.3}


def explicit(device, sources, depth=0.02, **options):
    return eagre.ShallowWater(GRID, 0.0, depth=depth, sources=sources, device=device, time_step=10.0, **options)


def implicit(device, sources, depth=0.02, time_step=10.0, **options):
    return eagre.ShallowWaterADI(GRID, 0.0, time_step, depth=depth, sources=sources, device=device, **options)


MODELS = pytest.mark.parametrize("make", [explicit, implicit])


# -- the formula of a cell --------------------------------------------------------------------------


def test_formula_against_oracle(rng):
    h, total = rng.uniform(0.0, 2.0, 200), rng.uniform(0.0, 0.3, 200) * (rng.random(200) > 0.2)
    soil = rng.uniform(0.0, 1e-4, 200), rng.uniform(0.0, 0.5, 200), rng.uniform(0.0, 1.0, 200)
    expected = green_ampt_depth(h, total, 30.0, *soil)
    ours = [green_ampt(h[k], total[k], 30.0, *(one[k] for one in soil)) for k in range(200)]
    np.testing.assert_allclose(ours, expected, rtol=1e-9)
    assert green_ampt(0.1, 0.0, 30.0, 0.0, 0.1, 0.3) == green_ampt(0.1, 0.2, 30.0, 0.0, 0.1, 0.3) == 0.0


def test_constant_head_against_the_implicit_equation():
    """Second order after the first step, which infiltrates from F = 0."""
    soil, end = (2e-6, 0.2, 0.35), 7200.0
    exact = inverse(lambda total: time_under_constant_head(total, soil[0], soil[1] + 0.05, soil[2]), end)
    errors = []
    for steps in (40, 80, 160):
        total = 0.0
        for _ in range(steps):  # the formula lets the pond fall within a step: its mean depth is the constant one
            depth = green_ampt(0.05, total, end / steps, *soil)
            total += green_ampt(0.05 + 0.5 * depth, total, end / steps, *soil)
        errors.append(abs(total - exact) / exact)
    assert errors[-1] < 2e-4 and errors[0] > 2.5 * errors[1] > 2.5**2 * errors[2]


def test_slow_infiltration_is_not_lost_in_single_precision():
    """1e-8 m per step, a fiftieth of the precision of the surface at 5 m."""
    fall = removed.variants[None, "single"]
    eta, total = np.float32(5.0), 0.0
    for _ in range(2000):
        eta, total = np.float32(eta - fall(1e-8, total, eta)), total + 1e-8
    assert 5.0 - float(eta) == pytest.approx(2e-5, abs=5e-7)


def test_a_cell_loses_at_most_its_water():
    assert infiltrated(1.5, 1.25, 0.125, 1.0, ((), None), 0, (0, 0)) == (1.5, 0.125)  # no infiltration by default
    for depth in (0.0, -1e-9):
        assert infiltrated(1.0 + depth, 1.0, 0.1, 1.0, ((), None), 0, (0, 0)) == (1.0 + depth, 0.1)


# -- models against exact solutions -----------------------------------------------------------------


@MODELS
@pytest.mark.parametrize("precision", ["single", "double"])
def test_a_pond_falls_linearly_and_dries(make, precision, light_device):
    rate = np.array([[36.0, 72.0, 0.0], [18.0, 36.0, 360.0]]) * MM_H
    walls = {"boundaries": eagre.Boundaries(internal=ring())}
    model = make(light_device, [eagre.Infiltration(rate)], precision=precision, **walls)
    for time in (300.0, 600.0, 2500.0):
        model.advance(time)
        expected = after_step(np.full(GRID.shape, 0.02), 0.0, rate * time)
        tolerance = 1e-15 if precision == "double" else 1e-8
        assert model.field("infiltration_depth") == pytest.approx(expected[1], rel=0, abs=tolerance)
        assert model.field("depth") == pytest.approx(expected[0], rel=0, abs=tolerance)
    assert (model.field("depth") == 0.0).sum() == 4  # exactly dry
    balance = model.diagnostics()
    assert balance["volume_infiltrated"] == pytest.approx(expected[1].sum() * 20.0, rel=1e-6)
    assert abs(balance["volume_error"]) < {"single": 2e-7, "double": 1e-14}[precision]


def ring():
    """Walls between all cells."""
    lines = [[(5.0 * i, 0.0), (5.0 * i, 8.0)] for i in (1, 2)] + [[(0.0, 4.0), (15.0, 4.0)]]
    return [eagre.InternalLine(line, eagre.Wall()) for line in lines]


@MODELS
def test_green_ampt_under_a_falling_pond(make, light_device):
    """The time steps, which are long, converge with the second order."""
    exact = inverse(lambda total: time_under_falling_head(total, *LOAM.values(), 0.05), 1800.0)
    errors = []
    for step in (300.0, 150.0):
        options = {"time_step": step} if make is implicit else {}
        model = make(light_device, [eagre.GreenAmpt(**LOAM)], 0.05, precision="double", **options)
        if make is explicit:
            model = eagre.ShallowWater(
                GRID, 0.0, depth=0.05, sources=[eagre.GreenAmpt(**LOAM)], device=light_device, time_step=step,
                precision="double",
            )  # fmt: skip
        model.advance(1800.0)
        errors.append(abs(model.field("infiltration_depth") - exact).max() / exact)
    assert 0.02 < exact < 0.05 and errors[1] < 2e-3 and errors[0] > 2.5 * errors[1]


@MODELS
def test_weak_rain_never_ponds_and_heavy_rain_does(make, light_device):
    """Rain below the rate infiltrates completely; with a Green-Ampt soil ponding begins with time."""
    weak = make(light_device, [eagre.Rain(9.0 * MM_H), eagre.Infiltration(10.0 * MM_H)], 0.0, precision="double")
    weak.advance(600.0)
    assert (weak.field("depth") == 0.0).all()
    assert weak.field("infiltration_depth") == pytest.approx(9.0 * MM_H * 600.0, rel=1e-12)
    heavy = make(light_device, [eagre.Rain(80.0 * MM_H), eagre.GreenAmpt(**LOAM)], 0.0, precision="double")
    # time of ponding under constant rain (Mein and Larson 1973): K psi theta / (R (R - K))
    ponding = 13.0 * 110.0 * 0.3 / (80.0 * 67.0) * 3600.0
    heavy.advance(10.0 * np.floor(0.9 * ponding / 10.0))
    assert (heavy.field("depth") == 0.0).all()
    heavy.advance(10.0 * np.ceil(1.2 * ponding / 10.0))
    assert (heavy.field("depth") > 1e-4).all()
    assert abs(heavy.diagnostics()["volume_error"]) < 1e-13


def test_water_infiltrates_at_constant_velocity(light_device):
    sides = eagre.Boundaries(*(eagre.Periodic() for _ in range(4)))
    model = explicit(
        light_device, [eagre.Infiltration(1e-4)], 0.5, velocity_x=0.3, boundaries=sides, precision="double"
    )
    model.advance(100.0)
    assert model.field("depth") == pytest.approx(0.49) and model.field("velocity_x") == pytest.approx(0.3, rel=1e-12)


# -- runs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("active_tiles", ["on", "off"])
def test_listed_tiles_and_rejected_steps_change_no_bit(active_tiles):
    """A pond that spreads over dry ground; "exact" rejects every step once."""
    pond = np.pad(np.full((4, 11), 0.8), ((13, 21), (3, 27)))
    options = {"surface_elevation": None, "depth": pond, "sources": explicit_runs.loam(41, 38)}
    ours = explicit_runs.basin("cpu", active_tiles=active_tiles, time_step_control="exact", **options)
    theirs = explicit_runs.basin("cpu", active_tiles="off", time_step_control="exact", kernels="reference", **options)
    for model in (ours, theirs):
        model.advance(1e3, max_steps=40)
    assert ours.statistics()["redone_steps"] >= 40
    assert ours.field("infiltration_depth") == pytest.approx(theirs.field("infiltration_depth"), abs=1e-12)
    assert 0 < (ours.field("infiltration_depth") > 0.0).sum() < 41 * 38 and ours.steps == theirs.steps
    assert abs(ours.diagnostics()["volume_error"]) < 1e-13


@MODELS
def test_restarts_with_and_without_infiltration(make, light_device):
    """Another soil goes on with the cumulative depth; a state without one starts at 0; the balance closes."""
    dry, loam = make(light_device, [], precision="double"), [eagre.GreenAmpt(**LOAM)]
    dry.advance(100.0)
    model = make(light_device, loam, precision="double")
    model.restore(dry.state())
    assert (model.field("infiltration_depth") == 0.0).all()
    model.advance(200.0)
    other = make(light_device, [eagre.Infiltration(1e-6)], precision="double")
    other.restore(model.state())
    np.testing.assert_array_equal(other.field("infiltration_depth"), model.field("infiltration_depth"))
    other.advance(300.0)
    assert abs(other.diagnostics()["volume_error"]) < 1e-14
    dry.restore(other.state())
    assert "infiltration_depth" not in dry.variables and "volume_infiltrated" not in dry.diagnostics()
    with pytest.raises(eagre.InputError, match="infiltration of another shape"):
        model.restore({**model.state(), "infiltration": np.zeros((3, 3))})


# -- messages ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (lambda: eagre.Infiltration(-1e-6), "negative"),
        (lambda: eagre.Infiltration(10.0), '"10 mm/h"'),
        (lambda: eagre.Infiltration(np.zeros((3, 2))), "wrong shape"),
        (lambda: eagre.Infiltration(np.full((2, 3), np.nan)), "not finite"),
        (lambda: eagre.Infiltration("fast"), "not a finite number"),
        (lambda: eagre.GreenAmpt(**{**LOAM, "suction_head": 110.0}), '"110 mm"'),
        (lambda: eagre.GreenAmpt(**{**LOAM, "suction_head": -0.1}), "positive"),
        (lambda: eagre.GreenAmpt(**{**LOAM, "moisture_deficit": 30.0}), "percent"),
    ],
)
def test_bad_values_get_an_error(term, text, light_device):
    with pytest.raises(eagre.InputError, match=text):
        explicit(light_device, [term()])


@MODELS
def test_one_kind_of_infiltration_and_no_gauges(make, light_device):
    with pytest.raises(eagre.InputError, match="GreenAmpt and Infiltration in sources"):
        make(light_device, [eagre.Infiltration(1e-6), eagre.GreenAmpt(**LOAM)])
    model = make(light_device, [eagre.Infiltration(0.0)])
    assert model.variables["infiltration_depth"].units == "m"
    with pytest.raises(eagre.InputError, match="infiltration_depth"):
        model.sample(["infiltration_depth"], [(0, 0)])


def test_members_of_an_ensemble_have_soils_of_their_own(light_device):
    rates = np.array([36.0, 72.0])[:, None, None] * MM_H * np.ones(GRID.shape)
    sources = [eagre.Infiltration(rates)]
    runs = eagre.ShallowWaterADIEnsemble(GRID, 0.0, 10.0, 2, depth=0.02, sources=sources, device=light_device)
    runs.advance(300.0)
    assert runs.field("infiltration_depth") == pytest.approx(rates * 300.0, rel=1e-6)
    assert runs.field("depth") == pytest.approx(0.02 - rates * 300.0, rel=1e-6)


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("term", [eagre.Infiltration(1e-4), eagre.GreenAmpt(**LOAM)])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_surface_that_is_not_finite_stays_so(bad, term, precision):
    """Minima and maxima could turn it into a dry cell, and the run would go on."""
    for make in (explicit, implicit):
        model = make("cpu", [term], precision=precision)
        model.advance(10.0)
        engine: Any = model._engine
        if make is explicit:
            surface, row, column = engine.q[0][0], 3, 3
            engine.clock[RUNNING], engine.clock[PARITY], engine.clock[DT] = 1.0, 0.0, 10.0
            launches = explicit_launches(engine, 0, 0, 0, None)
        else:
            surface, row, column = engine.z[0], 2, PADDING + 1
            launches = engine.infiltration(surface)
        other = surface[row, column - 1]
        surface[row, column] = bad
        engine.device.run(launches)
        np.testing.assert_equal(surface[row, column], surface.dtype.type(bad))
        assert surface[row, column - 1] < other


@cell
def set_removed(j, i, out, depth, soil, eta):
    out[j, i] = removed(depth[j, i], soil[j, i], eta[j, i])


def test_a_gpu_rounds_the_fall_of_the_surface_as_a_cpu():
    """Compilers with fast math could simplify (x + ROUND) - ROUND to x."""
    pytest.importorskip("numba_cuda", reason="pip install 'eagre[sim]'")
    from numba import types

    from eagre.backend.compilation.program import load, loop_source
    from eagre.backend.cuda.compiler import ptx

    field, total = types.float32[:, ::1], types.float64[:, ::1]
    program = load(loop_source(set_removed, "cuda", "single", {}), "set_removed")
    text = ptx(program.run, (types.int64, types.int64, field, field, total, field))
    assert len(re.findall(r"fma.*0d4338000000000000|add.*0d4338000000000000", text)) == 2
