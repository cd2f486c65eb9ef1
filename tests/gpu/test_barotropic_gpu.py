"""The barotropic model and the Poisson solver on a real card: as the CPU, in every basin, size and precision."""

from __future__ import annotations

import numpy as np
import pytest

from barotropic_runs import CASES, assert_repeats_and_restarts, assert_same_states, model_on
from eagre import BarotropicVorticity
from eagre.backend.select import cuda_problem, select
from eagre.laboratory.validation import validate
from eagre.solvers.poisson import PoissonSolver, reference

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(cuda_problem() is not None, reason=f"no CUDA: {cuda_problem()}"),
]
TOLERANCE = {"single": 2e-5, "double": 1e-11}


FINE = {"time_step": 2e-5, "nx": 1025}  # viscosity allows no more
ON_THE_CARD = {
    **CASES,
    "tall": {**CASES["ab2"], "nx": 33, "ny": 700},
    "odd": {**CASES["no-slip"], "nx": 59, "ny": 31},
    "wide": {**CASES["thom"], "nx": 769, "ny": 101, "time_step": 5e-5},
    "wider": {**FINE, "ny": 129},
    "ab2, wide": {**FINE, **CASES["ab2"], "ny": 130},
    "ab2, chirp": {**CASES["reduced gravity"], "scheme": "ab2", "nx": 1250, "ny": 75, "time_step": 1e-5},
    "chirp": {**CASES["reduced gravity"], "nx": 515},
    "channel": {**CASES["channel"], "nx": 60},
    "periodic": {**CASES["periodic"], "nx": 60, "ny": 50},
    "single": {**FINE, "precision": "single", "ny": 301},
    "single, odd": {**CASES["no-slip"], "precision": "single", "nx": 59, "ny": 31},
}


@pytest.mark.parametrize("options", ON_THE_CARD.values(), ids=ON_THE_CARD)
def test_as_the_cpu(options):
    options = {"nx": 65, "ny": 49, **options}
    ours, theirs = (model_on(device, **options) for device in ("cuda", "cpu"))
    for model in (ours, theirs):
        model.advance(53 * model.time_step)
    assert ours.steps == 53
    assert_same_states(ours, theirs, TOLERANCE[options.get("precision", "double")])


@pytest.mark.parametrize("points", [31, 33, 65, 129, 257, 259, 513, 515, 769, 1025, 2049, 4097])
def test_seed_sizes(points):
    models = [
        BarotropicVorticity.double_gyre(points, device=device, precision="double", scheme="ab2", jacobian="advective")
        for device in ("cuda", "cpu")
    ]
    for model in models:
        model.advance(2.5e-6)
    psi, expected = (model.field("streamfunction") for model in models)
    assert np.linalg.norm(psi - expected) < 1e-11 * np.linalg.norm(expected)


def test_thousand_steps():
    fields = []
    for device in ("cuda", "cpu"):
        model = BarotropicVorticity.double_gyre(129, device=device, precision="double")
        model.advance(1e-4)
        fields.append(model.field("streamfunction"))
    assert np.linalg.norm(fields[0] - fields[1]) < 1e-10 * np.linalg.norm(fields[1])


@pytest.mark.parametrize("case", ["precisions", "figure-3.3", "devices"])
def test_validation(case):
    """Among them the ten years of figure 3.3: 356,600 steps with 1025 points."""
    results = validate("barotropic", [case], device="cuda")
    assert results and all(result.passed for result in results), [result.row() for result in results]


@pytest.mark.parametrize("name", ["no-slip", "compensated", "changing wind"])
def test_runs_repeat_and_restart_bit_for_bit(name):
    options = {"nx": 65, "ny": 49, "precision": "single", **CASES[name]}
    assert_repeats_and_restarts(lambda: model_on("cuda", **options), 0.0107, 0.0431)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("shape", "kinds", "location"),
    [
        ((63, 127), "dirichlet", "points"),
        ((255, 1023), "dirichlet", "points"),
        ((50, 70), "dirichlet", "points"),
        ((50, 70), "neumann", "points"),
        ((50, 70), ("periodic", "neumann"), "centres"),
        ((20, 30, 24), ("dirichlet", "periodic", "neumann"), "centres"),
    ],
)
def test_poisson_on_cupy_arrays(dtype, shape, kinds, location):
    import cupy

    f = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    solver = PoissonSolver(shape, (0.1, 0.2, 0.3)[: len(shape)], kinds, screening=0.3, location=location)
    found = solver.solve(cupy.asarray(f))
    assert isinstance(found, cupy.ndarray) and found.dtype == dtype
    expected = solver.solve(f.astype(np.float64))
    limit = 1e-6 if dtype == np.float32 else 1e-12
    assert np.linalg.norm(cupy.asnumpy(found) - expected) < limit * np.linalg.norm(expected)


@pytest.mark.parametrize("n", [1024, 4096])
def test_single_precision_solve(n):
    import cupy

    h = np.pi / n
    y = h * np.arange(1, n)
    f = np.sin(2 * y)[:, None] * np.sin(y) + 0.1 * np.random.default_rng(0).standard_normal((n - 1, n - 1))
    solver = PoissonSolver((n - 1, n - 1), (h, h))
    found = cupy.asnumpy(solver.solve(cupy.asarray(f.astype(np.float32))))
    expected = solver.solve(f)
    assert np.linalg.norm(found - expected) < 1e-6 * np.linalg.norm(expected)


def test_transpose():
    from eagre.backend.device import Launch

    device = select("cuda")
    source = np.random.default_rng(0).standard_normal((1000, 1500)).astype(np.float32)
    a, b = device.array(source), device.zeros((1500, 1000), np.float32)
    program = device.program(reference.transpose_cuda, "single")
    device.run([Launch(program, (a, b), (47, 32), (32, 8))])
    assert np.array_equal(device.host(b), source.T)
