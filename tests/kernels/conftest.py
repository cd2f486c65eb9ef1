"""Small states that exercise walls, shores, dry cells and waves."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import Boundaries, BoundarySegment, Discharge, Grid, Outflow, Periodic, Series, Stage

BOUNDARIES = {
    "walls": Boundaries(),
    "periodic": Boundaries(west=Periodic(), east=Periodic()),
    "open": Boundaries(
        west=Stage(Series(np.array([0.0, 10.0]), np.array([0.9, 1.3]))),
        east=Discharge(0.6),
        north=[BoundarySegment(0.0, 4.0, Outflow())],
    ),
}


def options_of(nx: int, ny: int, seed: int) -> dict[str, object]:
    """Arguments of a model on a rough, partly dry bed."""
    rng = np.random.default_rng(seed)
    bed = rng.uniform(0.0, 1.2, (ny + 1, nx + 1))
    bed[:, -1] = bed[:, 0]  # as periodic sides need
    return {
        "grid": Grid(nx, ny, 1.0, 1.5),
        "bed_elevation": bed,
        "surface_elevation": 0.8 + 0.2 * rng.random((ny, nx)),
        "velocity_x": 0.3 * rng.standard_normal((ny, nx)),
        "velocity_y": 0.3 * rng.standard_normal((ny, nx)),
        "manning": 0.03 + 0.01 * rng.random((ny, nx)),
        "time_step": 0.02,
        "desingularisation_depth": 0.01,
    }


@pytest.fixture(params=list(BOUNDARIES))
def boundaries(request):
    """Each set of boundary conditions."""
    return BOUNDARIES[request.param]
