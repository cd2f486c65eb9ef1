"""Iterations that stop by themselves on a real card: graphs of gated iterations, as many as on the CPU."""

from __future__ import annotations

import pytest

from eagre.backend.select import cuda_problem, select
from eagre.errors import ConvergenceError
from until_problem import Jacobi

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(cuda_problem() is not None, reason=f"no CUDA: {cuda_problem()}"),
]
SHAPE, SCREENING = (300, 201), 100.0


def test_as_the_cpu():
    ours, theirs = (Jacobi(select(device), SHAPE, SCREENING) for device in ("cuda", "cpu"))
    found = [problem.until.run(1e-8, 1000) for problem in (ours, theirs)]
    assert found[0].iterations == found[1].iterations > 20 and found[0].norm == pytest.approx(found[1].norm, rel=1e-6)
    assert ours.error < 1e-9


def test_the_start_and_a_batch_are_one_graph_each_and_iterations_stop_within_it():
    problem = Jacobi(select("cuda"), SHAPE, SCREENING, look_every=64)
    found = problem.until.run(1e-4, 1000)
    assert found.iterations % 64 != 0
    graphs = problem.until._graphs
    assert len(graphs) == 2 and all(hasattr(one, "graph") for one in graphs.values())
    assert problem.until.run(1e-4, 1000).iterations == 0


def test_norms_are_recorded_on_the_device():
    """Of as many iterations as there is room for; the last one is the norm of the control data."""
    problem = Jacobi(select("cuda"), SHAPE, SCREENING, look_every=7, with_start=False, recorded=1000)
    result = problem.until.run(1e-4, 1000)
    norms = problem.device.host(problem.test.norms)
    assert norms[result.iterations - 1] == result.norm and (norms[: result.iterations - 1] > 1e-4).all()
    assert not norms[result.iterations :].any()


def test_too_few_iterations_are_an_error():
    problem = Jacobi(select("cuda"), SHAPE, SCREENING)
    with pytest.raises(ConvergenceError, match="after 7 iterations"):
        problem.until.run(1e-8, 7)
