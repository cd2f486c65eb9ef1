"""The barotropic model and the Poisson solver on a real card: as the CPU, in every basin, size and precision."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import BarotropicVorticity, Grid, Layers
from eagre.backend.device import cuda_problem, select
from eagre.solvers.poisson import PoissonSolver, reference

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(cuda_problem() is not None, reason=f"no CUDA: {cuda_problem()}"),
]
TOLERANCE = {"single": 2e-5, "double": 1e-11}


def model_on(device, nx=65, ny=49, precision="double", time_step=1e-4, **options):
    rng = np.random.default_rng(3)
    grid = Grid.of_points(nx, ny, 2.6, 3.0)
    zeta = np.zeros((ny, nx))
    zeta[1:-1, 1:-1] = 20.0 * rng.standard_normal((ny - 2, nx - 2))
    curl = rng.standard_normal((ny, nx))
    if options.pop("all_terms", False):
        options |= {
            "topography": 5.0 * curl[::-1],
            "biharmonic_viscosity": 1e-7,
            "layers": Layers(3.0, 1.0),
            "vorticity_lower": zeta[::-1],
            "tracer": np.abs(curl),
            "particles": [[0.5, 0.5], [1.0, 2.0]],
        }
    return BarotropicVorticity(
        grid, time_step=time_step, beta=3.0, viscosity=0.02, wind_curl=curl, vorticity=zeta, bottom_friction=0.1,
        device=device, precision=precision, **options,
    )  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scheme": "ab2", "jacobian": "advective", "nx": 33, "ny": 700},
        {"nx": 59, "ny": 31, "walls": "no-slip"},
        {"nx": 769, "ny": 101, "walls": "no-slip-thom"},
        {"nx": 1025, "ny": 129, "time_step": 2e-5},
        {"viscous": "implicit"},
        {"deformation_radius": 0.4, "nx": 129},
        {"all_terms": True},
        {"basin": "channel", "nx": 60, "all_terms": True},
        {"basin": "periodic", "nx": 60, "ny": 50},
        {"precision": "single", "nx": 1025, "ny": 301, "time_step": 2e-5},
        {"precision": "single", "nx": 59, "ny": 31, "walls": "no-slip"},
    ],
    ids=str,
)
def test_as_the_cpu(options):
    options = dict(options)
    precision = options.pop("precision", "double")
    ours, theirs = model_on("cuda", precision=precision, **options), model_on("cpu", precision=precision, **options)
    for model in (ours, theirs):
        model.advance(53 * model.time_step)
    assert ours.steps == theirs.steps == 53
    expected = theirs.state()
    for name, value in ours.state().items():
        if name not in ("landed", "steps", "start"):
            scale = np.abs(expected[name]).max()
            assert np.abs(value - expected[name]).max() <= TOLERANCE[precision] * scale, name


@pytest.mark.parametrize("points", [31, 129, 259, 513, 2049])
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


@pytest.mark.parametrize("precision", ["single"])
def test_runs_repeat_and_restart_bit_for_bit(precision):
    whole, again, cut, on = (model_on("cuda", precision=precision, walls="no-slip") for _ in range(4))
    for model in (whole, again):
        model.advance(0.0431)
    cut.advance(0.0107)
    on.restore(cut.state())
    on.advance(0.0431)
    for other in (again, on):
        for name, value in whole.state().items():
            assert np.array_equal(value, other.state()[name], equal_nan=True), name


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
