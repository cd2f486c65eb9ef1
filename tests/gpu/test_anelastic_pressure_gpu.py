"""The pressure of anelastic flow on a real card: the velocities and the iterations of the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.select import cuda_problem, select
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.pressure.projection import Projection

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(cuda_problem() is not None, reason=f"no CUDA: {cuda_problem()}"),
]
SHAPE = (17, 20, 32)


def projected(name, precision, sides, terrain, **options):
    """A noise over flat ground or a hill, projected."""
    y, x = np.meshgrid(np.arange(SHAPE[1]) - 10.0, np.arange(SHAPE[2]) - 16.0, indexing="ij")
    metric = Metric(SHAPE, (1.0, 1.5, 2.0), sides, hill=3.0 * np.exp(-(x**2 + y**2) / 30.0) if terrain else None)
    device = select(name)
    tolerance = 1e-10 if precision == "double" else 1e-5
    density = 1.0 if sides[0] == "periodic" else np.exp(-metric.height / 20.0)
    projection = Projection(device, precision, metric, density, tolerance=tolerance, **options)
    fields = (projection.u, projection.v, projection.w)
    for array, values in zip(fields, np.random.default_rng(2).standard_normal((3, *SHAPE)), strict=True):
        device.fill(array, values.astype(array.dtype))
    through = np.random.default_rng(3).standard_normal((2, *SHAPE))
    if "open" in sides:
        ends = {"x": through[..., 0], "y": through[:, :, 0]}
        projection.set_normal(**{axis: ends[axis] for axis, side in zip("zyx", sides, strict=True) if side == "open"})
    made = projection.solve(1.0)
    return np.stack([device.host(one) for one in fields]), made.iterations


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize(
    ("sides", "terrain", "options"),
    [
        (("wall", "periodic", "periodic"), False, {}),
        (("periodic", "periodic", "periodic"), False, {}),
        (("wall", "wall", "periodic"), False, {}),
        (("wall", "wall", "wall"), False, {}),
        (("wall", "open", "open"), False, {}),
        (("wall", "periodic", "open"), False, {}),
        (("periodic", "wall", "open"), False, {}),
        (("wall", "open", "wall"), True, {}),
        (("wall", "periodic", "wall"), True, {}),
        (("wall", "periodic", "wall"), True, {"num_directions": 3, "preconditioner": "line-jacobi"}),
        (("wall", "periodic", "periodic"), False, {"method": "gcr", "preconditioner": "none"}),
        (("wall", "periodic", "periodic"), False, {"method": "gcr", "preconditioner": "chebyshev", "sweeps": 6}),
        (("periodic", "periodic", "periodic"), False, {"method": "gcr", "preconditioner": "chebyshev", "sweeps": 3}),
    ],
)
def test_as_the_cpu(sides, terrain, options, precision):
    (found, made), (expected, plain) = (
        projected(name, precision, sides, terrain, **options) for name in ("cuda", "cpu")
    )
    assert np.abs(found - expected).max() < (1e-8 if precision == "double" else 1e-3)
    assert abs(made - plain) <= 1
