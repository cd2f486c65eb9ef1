"""The same cells on every target: plain Python, compiled CPU, CUDA simulator."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import Boundaries, Grid, ShallowWater, Wall
from eagre.backend.device import PlainDevice
from eagre.boundaries import InternalLine
from eagre.models.shallow_water import schedules
from eagre.stepping.maps import Maps
from kernels.conftest import BOUNDARIES, options_of

TOLERANCE = {"single": 3e-6, "double": 3e-14}
SCHEMES = [("rk2", "hydrostatic", "single"), ("rk2", "kurganov-petrova", "double"), ("euler", "hydrostatic", "double")]


def ran(device, precision, *, steps=3, nx=9, ny=7, boundaries=None, **more):
    """Model after a few steps of a fixed length."""
    options = {**options_of(nx, ny, seed=1), **more}
    model = ShallowWater(boundaries=boundaries or BOUNDARIES["walls"], device=device, precision=precision, **options)
    model.advance(0.02 * steps)
    assert model.steps == steps
    return model


def states(*arguments, **options):
    """State after a few steps of a fixed length, (w, hu, hv)."""
    return state_of(ran(*arguments, **options))


def state_of(model):
    return np.stack([model.field(name) for name in ("surface_elevation", "discharge_x", "discharge_y")])


@pytest.mark.parametrize(("scheme", "wet_dry", "precision"), SCHEMES)
def test_plain_python_equals_compiled(scheme, wet_dry, precision):
    plain = states(PlainDevice(), precision, steps=2, scheme=scheme, wet_dry=wet_dry)
    compiled = states("cpu", precision, steps=2, scheme=scheme, wet_dry=wet_dry)
    assert abs(plain - compiled).max() < TOLERANCE[precision]
    assert abs(compiled[1]).max() > 1e-2


# A simulated lane is a Python thread: grids are tiny, and one step shows what there is to show.
# On a GPU small grids are made of tiles, unless they are told not to serve; all else marches.
SIMULATED = [
    ("rk2", "hydrostatic", "double", "open", "march"),
    ("rk2", "kurganov-petrova", "single", "open", "march"),
    ("rk2", "hydrostatic", "double", "open", "tiles"),
    ("rk2", "hydrostatic", "single", "periodic", "tiles"),
    ("rk2", "kurganov-petrova", "double", "walls", "tiles"),
    ("euler", "hydrostatic", "single", "walls", "march"),
]


@pytest.fixture
def kernel(request, monkeypatch):
    """Make the simulated GPU use a kernel whatever the size of the grid."""
    if request.param == "march":
        monkeypatch.setattr(schedules.Tiles, "serve", staticmethod(lambda setup, device: False))
    return request.param


@pytest.mark.simulator
@pytest.mark.parametrize(("scheme", "wet_dry", "precision", "sides", "kernel"), SIMULATED, indirect=["kernel"])
def test_simulated_kernels_equal_the_cpu(scheme, wet_dry, precision, sides, kernel):
    from eagre.backend.simulated import SimulatedDevice

    options = {"steps": 1, "nx": 9, "ny": 5, "scheme": scheme, "wet_dry": wet_dry, "boundaries": BOUNDARIES[sides]}
    simulated, compiled = (ran(device, precision, **options) for device in (SimulatedDevice(), "cpu"))
    assert abs(state_of(simulated) - state_of(compiled)).max() < TOLERANCE[precision]
    assert simulated.inflow == pytest.approx(compiled.inflow, rel=TOLERANCE[precision], abs=TOLERANCE[precision])


@pytest.mark.simulator
@pytest.mark.parametrize("kernel", ["march"], indirect=True)
@pytest.mark.parametrize(
    ("scheme", "wet_dry"), [("rk2", "hydrostatic"), ("srk2", "kurganov-petrova"), ("ds1", "hydrostatic")]
)
def test_simulated_walls_inside_equal_the_reference_kernels(kernel, scheme, wet_dry):
    from eagre.backend.simulated import SimulatedDevice

    corner = [(3.0, 0.0), (3.0, 4.5), (6.0, 4.5), (6.0, 7.5)]
    options = {"boundaries": Boundaries(internal=[InternalLine(corner, Wall())]), "scheme": scheme, "wet_dry": wet_dry}
    options |= {"steps": 2, "nx": 9, "ny": 5}
    simulated = states(SimulatedDevice(), "double", **options)
    compiled = states("cpu", "double", kernels="reference", **options)
    assert abs(simulated - compiled).max() < TOLERANCE["double"]
    assert abs(simulated - states("cpu", "double", **options | {"boundaries": Boundaries()})).max() > 1e-3


@pytest.mark.simulator
@pytest.mark.parametrize(("nx", "ny", "scheme"), [(1, 1, "euler"), (29, 2, "euler"), (33, 9, "rk2")])
def test_simulated_odd_sizes(nx, ny, scheme):
    from eagre.backend.simulated import SimulatedDevice

    simulated = states(SimulatedDevice(), "double", steps=1, nx=nx, ny=ny, scheme=scheme)
    compiled = states("cpu", "double", steps=1, nx=nx, ny=ny, scheme=scheme)
    assert abs(simulated - compiled).max() < TOLERANCE["double"]


@pytest.mark.simulator
@pytest.mark.parametrize("kernel", ["march"], indirect=True)
def test_simulated_march_passes_over_dry_rows_only(kernel):
    """Water on two rows flows onto the dry ones on both sides: early exit must see the wet neighbour."""
    from eagre.backend.simulated import SimulatedDevice

    depth = np.zeros((11, 3))
    depth[5:7] = 1.0
    options = {"nx": 3, "ny": 11, "steps": 1, "scheme": "euler", "bed_elevation": 0.0, "velocity_x": 0.0}
    options |= {"surface_elevation": None, "depth": depth, "velocity_y": 0.0}
    simulated, compiled = (states(device, "double", **options) for device in (SimulatedDevice(), "cpu"))
    assert abs(simulated - compiled).max() < TOLERANCE["double"]
    assert (compiled[0].max(axis=1) > 0.0).tolist() == [False] * 4 + [True] * 4 + [False] * 3


@pytest.mark.simulator
@pytest.mark.parametrize("kernel", ["march"], indirect=True)
def test_simulated_list_of_tiles_changes_no_bit(kernel):
    """A pond at a corner of a tile: its water flows to three others, and over the edge of a strip of 28 columns."""
    from eagre.backend.simulated import SimulatedDevice

    depth = np.zeros((10, 34))
    depth[3, 27] = 1.0
    maps = Maps(arrival_depths=[0.001], duration_depths=[0.0])  # what is gathered in the march
    options = {"depth": depth, "precision": "single", "device": SimulatedDevice(), "maps": maps}
    listed, full = (ShallowWater(Grid(34, 10, 1.0, 1.0), 0.0, active_tiles=way, **options) for way in ("on", "off"))
    shares = []
    for step in range(3):
        for model in (listed, full):
            model.advance(9.0, max_steps=1)
        assert listed.statistics() == full.statistics()
        for name, values in listed.state().items():
            np.testing.assert_array_equal(values, full.state()[name], err_msg=name)
        shares.append(listed._engine.active_fraction())
        if step == 1:
            listed.field("depth")  # makes use of a buffer
    assert shares == [1.0, 4 / 6, 1.0]


@pytest.mark.simulator
@pytest.mark.parametrize("kernel", ["march", "tiles"], indirect=True)
def test_simulated_time_step_control_equals_the_cpu(kernel):
    from eagre.backend.simulated import SimulatedDevice

    results = []
    for device in (SimulatedDevice(), "cpu"):
        options = {**options_of(6, 3, seed=2), "time_step": None}
        model = ShallowWater(device=device, precision="double", **options)
        model.advance(0.1)
        results.append((model.steps, model.statistics()["dt_min"], model.diagnostics()["volume"]))
    assert results[0][0] == results[1][0] > 1
    assert results[0][1] == pytest.approx(results[1][1], rel=1e-12)
    assert results[0][2] == pytest.approx(results[1][2], rel=1e-13)


@pytest.mark.simulator
def test_simulated_tiles_restart_with_the_same_bits():
    from eagre.backend.simulated import SimulatedDevice

    options = {**options_of(6, 4, seed=2), "time_step": None, "precision": "double"}
    unbroken, restarted = (ShallowWater(device=SimulatedDevice(), **options) for _ in range(2))
    unbroken.advance(0.1)
    kept = unbroken.state()
    ghost, mirrored = kept["q"][:, 1, 2:-2], kept["q"][:, 2, 2:-2] * np.array([[1.0], [1.0], [-1.0]])
    np.testing.assert_array_equal(ghost, mirrored)  # a model that reads ghosts may take it up
    unbroken.advance(0.3)
    restarted.restore(kept)
    restarted.advance(0.3)
    assert unbroken.statistics()["redone_steps"] > 0
    for name, values in unbroken.state().items():
        np.testing.assert_array_equal(values, restarted.state()[name], err_msg=name)
