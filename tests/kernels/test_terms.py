"""Terms: what their quantities are read from, how their cells are put together, and what a kernel loads for them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import eagre
from eagre.backend.compilation.cells import cell, real, written
from eagre.backend.compilation.program import source_of
from eagre.backend.select import select
from eagre.terms.base import Quantity
from eagre.terms.collect import Contribution, Terms, terms_of
from eagre.terms.compose import TermArrays, bind
from kernels.recording import RecordingDevice, name_of

GRID = eagre.Grid(6, 4, 10.0, 20.0)
X, Y = GRID.mesh()
GUST = eagre.Series(np.array([0.0, 9.0]), np.array([0.1, 0.3]))
HERE = TermArrays(*[lambda role, values: values] * 2)


@pytest.mark.parametrize(
    ("values", "dimensions"), [(2.0, 0), (np.full(GRID.shape, 2.0), 0), (Y[:, 0], 1), (Y, 1), (X, 2), (X + Y, 2)]
)
def test_a_quantity_is_as_small_as_its_values_allow(values, dimensions):
    quantity = Quantity.of(values)
    assert quantity.values.ndim == dimensions
    whole = np.asarray(values, float)
    np.testing.assert_array_equal(
        quantity.map(GRID), np.broadcast_to(whole[:, None] if whole.ndim == 1 else whole, GRID.shape)
    )


def test_the_order_of_a_list_and_what_is_zero_do_not_count():
    given = [eagre.Coriolis(f=1e-4, beta=1e-9), eagre.WindStress(0.1), eagre.Rain(GUST, 1e-6 * X)]
    found = [terms_of(order, GRID) for order in (given, given[::-1])]
    assert [part.name for part in found[0].x] == [part.name for part in found[1].x] == ["WindStress", "Coriolis"]
    assert [part.name for part in found[0].y] == ["Coriolis"]  # there is no wind along y


def test_numbers_columns_maps_and_factors_that_change():
    """A kernel's arguments hold each quantity once, in the precision of the run, with a constant factor in it."""
    given = [eagre.Coriolis(f=1e-4, beta=1e-9), eagre.WindStress(GUST, 0.5), eagre.Rain(2.0e-6, X)]
    bound = bind(terms_of(given, GRID), {"WATER": "water", "FORCE_X": "x"}, np.zeros((2, 5)), 3, np.float32, HERE)
    _, first, rain, over_density, f = bound.arguments
    assert first == 3
    np.testing.assert_array_equal(rain, 2.0e-6 * X)
    assert over_density == np.float32(1e-3) and over_density.dtype == np.float32
    np.testing.assert_allclose(f, 1e-4 + 1e-9 * (Y[:, 0] - 40.0))
    assert "wind_stress(h, along, across, factors[0] * terms[3])" in bound.switches["FORCE_X"].source
    assert "values[row, first + 1]" in bound.switches["TERM_FACTORS"].source  # slot 0 is the rain's, for the balance
    values = np.arange(10.0).reshape(2, 5)
    forcing = (bound.arguments, bound.switches["TERM_FACTORS"]((values, *bound.arguments[1:]), 1))
    assert forcing[1] == (9.0,)
    push = bound.switches["FORCE_X"](7.0, 2.0, 0.0, 3.0, forcing, 2, (2, 5))
    assert push == pytest.approx(7.0 + 9e-3 + 3.0 * f[2], rel=1e-6)
    assert bound.switches["WATER"](1.0, forcing, 2, (2, 5)) == 1.0 + rain[2, 5]


@cell
def quadratic_drag(h, along, across, coefficient):
    """-c |U| U / h^2."""
    return -coefficient * (along * along + across * across) ** real(0.5) * along / (h * h)


def caller(switches):
    """A cell over a region that takes the force at depth 2 m, with unit discharges 3 and 4 m2/s, onto 1."""
    state = "real(1.0), real(2.0), real(3.0), real(4.0)"
    text = f"def calls(j, i, terms, out):\n    out[j, i] = FORCE_X({state}, (terms, real(1.0)), j, (j, i))\n"
    return written(text, {"FORCE_X": switches["FORCE_X"], "real": real})


@pytest.mark.parametrize("target", ["cpu", "cuda", "simulator", "python"])
def test_a_composed_cell_becomes_part_of_a_program(target):
    """Any function of depth and discharges, here one that is not linear."""
    terms = Terms(GRID, x=(Contribution("drag", quadratic_drag, (Quantity.of(0.01),)),))
    switches = bind(terms, {"FORCE_X": "x"}, np.zeros((1, 1)), 0, np.float64, HERE).switches
    calls = caller(switches)
    text = source_of(calls, target, "double", switches)
    assert text.index("def quadratic_drag(") < text.index("def FORCE_X(") < text.index("def calls(")


def test_a_composed_cell_on_the_cpu():
    """Plain Python and compiled."""
    terms = Terms(GRID, x=(Contribution("drag", quadratic_drag, (Quantity.of(X),)),))
    bound = bind(terms, {"FORCE_X": "x"}, np.zeros((1, 1)), 0, np.float64, HERE)
    calls = caller(bound.switches)
    out, device = np.zeros(GRID.shape), select("cpu")
    device.run([device.over(device.loop(calls, "double", bound.switches), GRID.shape, (bound.arguments, out))])
    np.testing.assert_allclose(out, 1.0 - X * 5.0 * 3.0 / 4.0)


def loads(model, kernel, launches):
    """Loads from arrays in the PTX of the first launch of a kernel."""
    pytest.importorskip("numba_cuda", reason="pip install 'eagre[sim]'")
    from numba import typeof

    from eagre.backend.cuda.compiler import ptx

    launch = next(one for one in launches if name_of(one.program) == kernel)
    return len(re.findall(r"ld\.(?:volatile\.)?global", ptx(launch.program, tuple(map(typeof, launch.arguments)))))


UNIFORM = [eagre.Rain(1e-5), eagre.Coriolis(f=1e-4), eagre.WindStress(0.1, 0.2)]


def test_a_march_loads_no_array_for_what_is_the_same_everywhere():
    counts = []
    for sources in ([], UNIFORM, [*UNIFORM[1:], eagre.Rain(1e-5, X)]):
        model = eagre.ShallowWater(
            GRID, -5.0, surface_elevation=0.0, boundaries=eagre.Boundaries(west=eagre.Absorbing()), sources=sources,
            device=RecordingDevice(), scheme="euler",
        )  # fmt: skip
        counts.append(loads(model, "stage_cuda", model._engine.schedule.launches))
    assert counts[0] == counts[1] < counts[2]


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["sweep_x_cuda", "sweep_y_cuda"])
def test_a_sweep_loads_no_array_for_what_is_the_same_everywhere(kernel):
    counts = []
    for sources in ([], UNIFORM, [*UNIFORM[1:], eagre.Rain(1e-5, X)]):
        model = eagre.ShallowWaterADI(GRID, -5.0, 1.0, surface_elevation=0.0, sources=sources, device=RecordingDevice())
        counts.append(loads(model, kernel, model._engine.launches(0, 0)))
    assert counts[0] == counts[1] < counts[2]
