"""The ADI model and the tridiagonal solvers on a GPU: the CPU's answer, the same bits, restarts, exact passes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adi_runs import lines_along, pool, scattered_walls
from eagre import Boundaries, InternalArea, InternalLine, Wall
from eagre.laboratory.cases import mike21
from eagre.solvers.tridiagonal import solve
from kernels.test_tridiagonal import banded, systems
from physics.test_adi_against_oracle import bay, everything, model_of

pytestmark = pytest.mark.gpu

TOLERANCE = {"single": 2e-5, "double": 1e-12}


def assert_agree(ours, theirs):
    """Both models hold the same water."""
    first, second = ours.state(), theirs.state()
    for name in ("z", "p", "q_before", "q_after"):
        scale = max(1.0, abs(second[name]).max())
        assert abs(first[name].astype(float) - second[name]).max() / scale <= TOLERANCE[ours.precision], name


@pytest.mark.parametrize("precision", ["single", "double"])
def test_gpu_agrees_with_the_cpu(precision):
    ours, theirs = (everything(precision, device) for device in ("cuda", "cpu"))
    for model in (ours, theirs):
        model.advance(100.0)
    assert_agree(ours, theirs)


@pytest.mark.parametrize(("ny", "nx"), [(2048, 2048), (256, 256), (1300, 1100)])
def test_a_hundred_steps_in_the_pool_as_the_cpu(ny, nx):
    ours, theirs = (mike21.pool((ny, nx), device, "double", "mike21") for device in ("cuda", "cpu"))
    for model in (ours, theirs):
        model.advance(100 * mike21.DT)
    assert ours.steps == 100
    assert_agree(ours, theirs)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_walls_inside_as_the_cpu(precision):
    """A tenth of the faces along x and y are closed, in a bay with all terms and open sides, partly dry."""
    case = bay()
    case = replace(case, walls=scattered_walls(case.shape))
    ours, theirs = (model_of(case, precision, device) for device in ("cuda", "cpu"))
    for model in (ours, theirs):
        model.advance(100.0)
    assert ours.settings()["kernels"] == "fast"
    assert_agree(ours, theirs)


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("exact", [False, True])
def test_walls_inside_on_lines_of_many_blocks(precision, exact):
    """Odd numbers of cells, a ring, an oblique wall and single faces; partitions of lines coupled in both ways."""
    ring = [(20e3, 15e3), (95e3, 15e3), (95e3, 60e3), (20e3, 60e3)]
    faces = lines_along(scattered_walls((41, 61)), 100.0, 70.0)
    walls = [InternalArea(ring, Wall()), InternalLine([(5e3, 4e3), (120e3, 70e3)], Wall()), *faces]
    options = {"nx": 1301, "ny": 1103, "time_step": 15.0, "boundaries": Boundaries(internal=walls)}
    ours, theirs = (pool(device, precision, **options) for device in ("cuda", "cpu"))
    if exact:
        ours._engine.replan(exact=True)
    for model in (ours, theirs):
        model.advance(150.0)
    assert_agree(ours, theirs)


def test_exact_passes_agree_with_pieces():
    quick, exact = (everything("double", "cuda") for _ in range(2))
    exact._engine.replan(exact=True, rows=4, threads=4, mode_y=2)
    for model in (quick, exact):
        model.advance(100.0)
    assert "two passes" in exact.settings()["lines"]
    assert_agree(exact, quick)


def test_many_steps_are_one_captured_graph():
    model = everything("single", "cuda")
    model.advance(200.0)
    rounds = model._engine.step_graphs.bound
    assert rounds and all(hasattr(go, "graph") for go in rounds.values())
    assert max(count for _, count in rounds) > 1


def test_same_bits_and_restart():
    whole, first, second = (everything("single", "cuda") for _ in range(3))
    whole.advance(200.0)
    first.advance(200.0, max_steps=7)
    second.restore(first.state())
    second.advance(200.0)
    for name, values in whole.state().items():
        np.testing.assert_array_equal(values, second.state()[name], err_msg=name)


@pytest.mark.parametrize("kind", ["dominant", "second-difference"])
@pytest.mark.parametrize(("lines", "n"), [(3, 1), (5, 2), (4, 3), (7, 65), (33, 1001), (2, 5000), (70, 130)])
def test_solvers(kind, lines, n):
    import cupy

    system = systems(lines, n, kind)
    wanted = banded(*system)
    limit = 1e-13 * max(1.0, n if kind != "dominant" else 1.0) ** 2
    for method in ("partition", "thomas", "pcr", "cr-pcr"):
        rows = solve(*(cupy.asarray(x) for x in system), method=method)
        columns = solve(*(cupy.asarray(np.ascontiguousarray(x.T)) for x in system), axis=0, method=method)
        for found in (cupy.asnumpy(rows), cupy.asnumpy(columns).T):
            assert abs(found - wanted).max() < limit * max(1.0, abs(wanted).max())
