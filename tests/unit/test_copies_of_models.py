"""Models can be pickled, copied and sent to other processes; a forked process says what it cannot do."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import eagre
from eagre.models.anelastic.base.atmosphere import Atmosphere

pytestmark = pytest.mark.nojit
GRID = eagre.Grid(12, 9, 10.0, 10.0)
BED = np.random.default_rng(1).uniform(-1.5, 0.2, GRID.shape_of("corner"))
WATER = {"surface_elevation": np.where(GRID.mesh()[0] < 60.0, 1.0, 0.0), "device": "cpu"}
MODELS = {
    "shallow-water": lambda: eagre.ShallowWater(GRID, BED, time_step=0.2, **WATER),
    "shallow-water-adi": lambda: eagre.ShallowWaterADI(GRID, BED, 1.0, **WATER),
    "barotropic": lambda: eagre.BarotropicVorticity.double_gyre(9, reynolds=1.6, time_step=2e-6, device="cpu"),
}
MODELS["potential-waves"] = lambda: eagre.PotentialWaves(
    eagre.Grid.from_points(6, 5, 1.0, 0.8), 0.3, surface_elevation=0.01 * np.arange(30.0).reshape(5, 6), order=2,
    vertical_points=3, device="cpu", relaxation_zones=[eagre.RelaxationZone("east", 0.5, 1.0)],
)  # fmt: skip
MODELS["anelastic"] = lambda: eagre.AnelasticFlow(
    eagre.Grid.from_points(4, 3, 400.0, 300.0, periodic=(True, True)), 3, top_height=200.0, time_step=2.0, device="cpu",
    atmosphere=Atmosphere.boussinesq(buoyancy_frequency=0.01),
    theta_perturbation=0.1 * np.arange(36.0).reshape(3, 3, 4),
)  # fmt: skip
ENDS = {"barotropic": (4e-5, 8e-5), "potential-waves": (0.05, 0.11)}
WAYS = {"pickle": lambda model: pickle.loads(pickle.dumps(model)), "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", MODELS)
def test_a_copy_goes_on_with_the_same_bits(kind, way):
    model = MODELS[kind]()
    ends = ENDS.get(kind, (5.0, 11.0))
    model.advance(ends[0])
    other = WAYS[way](model)
    model.advance(ends[1])
    assert other.time == ends[0] and other.device is model.device
    other.advance(ends[1])
    expected, found = model.state(), other.state()
    assert expected.keys() == found.keys()
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)
    assert other.diagnostics() == model.diagnostics() and other.settings() == model.settings()


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_takes_up_other_layouts_and_goes_on_with_the_same_bits(kind):
    model, other = MODELS[kind](), MODELS[kind]()
    first, last = ENDS.get(kind, (5.0, 11.0))
    where = model.device.with_parameters({"cpu.shallow-water.rows": 8, "cpu.barotropic.pieces": 8}, "a test")
    for one in (model, other):
        one.advance(first)
    model.use_tuning(where)
    assert model.time == first and model.device is model._engine.device is where
    for one in (model, other):
        one.advance(last)
    for name, expected in other.state().items():
        np.testing.assert_array_equal(model.state()[name], expected, err_msg=name)
    assert model.diagnostics() == other.diagnostics()


def test_a_band_of_devices_is_copied():
    model = eagre.BarotropicVorticity.double_gyre(17, reynolds=1.6, time_step=2e-6, device=["cpu", "cpu"])
    assert [str(one) for one in copy.deepcopy(model).device.devices] == [str(model.device.devices[0])] * 2


FORKED = """
import os
import numpy as np
from eagre.backend.select import select
from kernels.programs import halved

device = select("cpu")
x, out = np.ones((4, 8)), np.zeros((4, 8))
launch = device.over(device.loop(halved, "double"), x.shape, (x, out))
again = device.repeated([launch], 2)
device.run([launch])
for work in (lambda: device.run([launch]), again):
    child = os.fork()
    if child == 0:
        try:
            work()
        except Exception as error:
            os._exit(40 + ("get_context" in str(error)))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="no threads")
@pytest.mark.parametrize(("layer", "code"), [("omp", "41"), ("workqueue", "0")])
def test_a_forked_process_says_that_it_has_no_threads(layer, code):
    paths = os.pathsep.join([os.path.dirname(os.path.dirname(__file__)), *sys.path])
    environment = {**os.environ, "NUMBA_THREADING_LAYER": layer, "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", FORKED], env=environment, capture_output=True, text=True)
    if "No threading layer" in done.stderr:
        pytest.skip(f"no {layer} here")
    assert done.stdout.split() == [code, code], done.stderr


SOURCES = [
    eagre.Rain(eagre.Series(np.array([0.0, 99.0]), np.array([0.0, 1e-3]), "rate")),
    eagre.Coriolis(latitude=40.0),
    eagre.BodyForce(1e-3, 1e-3),
]


@pytest.mark.parametrize("way", WAYS)
def test_a_model_with_sources_is_copied(way):
    """Formulas are pickled by name; a copy without the formula of any source differs."""
    for model in (
        eagre.ShallowWater(GRID, BED, sources=SOURCES, **WATER),
        eagre.ShallowWaterADI(GRID, BED, 1.0, sources=SOURCES, **WATER),
    ):
        model.advance(5.0)
        other = WAYS[way](model)
        for one in (model, other):
            one.advance(11.0)
        np.testing.assert_array_equal(other.field("velocity_x"), model.field("velocity_x"))
