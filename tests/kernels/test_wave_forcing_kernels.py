"""What acts on potential-flow waves: CUDA (simulated) = CPU."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from eagre import Grid, PotentialWaves, Series, SpongeLayer, Wavemaker
from eagre.backend.device import HostCall, Launch
from eagre.backend.group import Group
from eagre.backend.select import select
from eagre.models.potential_waves.boundaries.wavemaker import Inlet, profile_coefficients
from eagre.models.potential_waves.laplace.solver import LaplaceProblem
from eagre.models.potential_waves.laplace.solver_subdomains import DistributedLaplace
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.potential_waves.surface.breaking import BAD, CREST_FIELDS, PART, Breaking
from eagre.models.potential_waves.surface.surface_filter import SurfaceFilter
from launch_setups import RecordingDevice
from wave_forcing_runs import rates_of_forcing

DEPTH, SPACING, SHAPE, GRAVITY, TIME = 0.2, 0.05, (37, 41), 9.81, 0.7
SIGNALS = (lambda t: 0.3 * t), (lambda t: 0.3 - t)
PISTON = {"position": lambda t: 0.05 * t}
ABSORBING = {"target": lambda t: 0.01 * t, "target_rate": lambda t: 0.02 * t}


@pytest.mark.simulator
def test_simulated_cuda_equals_the_cpu():
    from eagre.backend.simulated import SimulatedDevice

    (ours, our_log), (theirs, their_log) = (rates_of_forcing(d) for d in (SimulatedDevice(), select("cpu")))
    assert our_log and [breaker.x for breaker in our_log] == [breaker.x for breaker in their_log]
    assert np.abs(ours - theirs).max() < 1e-12


def motion_of_side(device, side, **options):
    """Velocity and acceleration of a side with a surface that varies along it; the surface and its rates."""
    kind: Any = DistributedLaplace if isinstance(device, Group) else LaplaceProblem
    h, linear = np.full(SHAPE, DEPTH), bool(options.get("linear"))
    problem = kind(h, (SPACING, SPACING), Vertical(4, 2), (False, False), device, "double", linear)
    rng = np.random.default_rng(3)
    eta, rates = 0.02 * rng.standard_normal(SHAPE), rng.standard_normal((2, *SHAPE))
    problem.device.fill(problem.fields, np.stack([eta, 0.0 * eta]))
    on_device = problem.surface_zeros(2)
    problem.device.fill(on_device, rates)
    inlet = Inlet(problem, h, side, *SIGNALS, GRAVITY, **options)
    inlet.add(TIME, 0.01, 0, on_device)
    return np.array(inlet.motion()), eta, rates[0]


@pytest.mark.parametrize("options", [PISTON, ABSORBING, PISTON | ABSORBING, ABSORBING | {"linear": True}, {}])
@pytest.mark.parametrize("side", ["west", "east", "south", "north"])
@pytest.mark.parametrize("name", ["cpu", "several", pytest.param("simulated", marks=pytest.mark.simulator)])
def test_motion_of_a_side_as_the_formulas(name, side, options):
    """U = X' - sqrt(g / h) (eta - target) + X eta_t / (h + eta), solved for U, with means over the side."""
    device = {"cpu": select("cpu"), "several": Group([select("cpu")] * 3)}.get(name)
    if device is None:
        from eagre.backend.simulated import SimulatedDevice

        device = SimulatedDevice()
    found, eta, rates = motion_of_side(device, side, **options)
    edge = {"west": np.s_[:, 0], "east": np.s_[:, -1], "south": np.s_[0], "north": np.s_[-1]}[side]
    weights = np.ones(eta[edge].size)
    weights[[0, -1]] = 0.5
    f = profile_coefficients()
    k = (2.0 * np.arange(f.size) + 1.0) * math.pi / (4.0 * DEPTH)
    a_z = np.sin(np.multiply.outer(DEPTH + (0.0 if "linear" in options else 1.0) * eta[edge], k)) @ f
    level, rate, rise = (np.average(values, weights=weights) for values in (eta[edge], rates[edge], a_z))
    (speed, acceleration), root = (signal(TIME) for signal in SIGNALS), math.sqrt(GRAVITY / DEPTH)
    if "target" in options:
        speed -= root * (level - 0.01 * TIME)
    if "position" in options:
        ratio = 0.05 * TIME / (DEPTH + level)
        speed = (speed + ratio * rate) / (1.0 - ratio * rise)
    if "target" in options:
        acceleration -= root * (rate + speed * rise - 0.02 * TIME)
    np.testing.assert_allclose(found, [speed, acceleration], rtol=1e-12, atol=1e-13)
    if name == "several":
        assert np.array_equal(found, motion_of_side(select("cpu"), side, **options)[0])


@pytest.mark.simulator
@pytest.mark.parametrize("wrong", [None, np.nan, np.inf])
def test_partial_maxima_on_simulated_cuda(wrong):
    from eagre.backend.simulated import SimulatedDevice

    device, shape = SimulatedDevice(), (2, 2 * PART + 6)
    problem = LaplaceProblem(np.ones(shape), (0.5, 0.5), Vertical(3, 2), (False, True), device, "double")
    breaking = Breaking(problem, np.ones(shape), (0.5, 0.5), (False, True), 9.81)
    values = np.random.default_rng(4).standard_normal((CREST_FIELDS, *shape))
    if wrong is not None:
        values[1, 1, PART + 3] = wrong
    device.fill(breaking._crest_fields, values)
    device.run(breaking._set_maxima(CREST_FIELDS))
    expected = np.maximum(values.max(axis=(1, 2)), 0.0)
    if wrong is not None:
        expected[1] = BAD
    assert np.array_equal(breaking._maxima_of(CREST_FIELDS), expected)


class Calls(RecordingDevice):
    """Counts of what the host asks of a GPU: graphs, launches outside graphs, and waits."""

    def __init__(self):
        super().__init__()
        self.count = Counter()

    def run(self, launches):
        self.count["launches"] += sum(isinstance(one, (Launch, HostCall)) for one in launches)

    def repeated(self, launches, times):
        def go():
            self.count["graphs"] += 1
            self.count["kernels"] += times * sum(isinstance(one, Launch) for one in launches)

        return go

    def host(self, array):
        self.count["waits"] += 1
        return super().host(array)

    def sample(self, array, *indices):
        self.count["waits"] += 1
        return super().sample(array, *indices)

    def fill(self, array, values):
        self.count["waits"] += 1
        super().fill(array, values)

    def synchronize(self):
        self.count["waits"] += 1


@pytest.mark.parametrize(
    ("option", "graphs", "kernels", "waits"),
    [
        ("default", 0, 0, 0),
        ("sponges", 0, 4, 0),
        ("wavemakers", 0, 12, 0),
        ("breaking", 2, 4, 2),
    ],
)
def test_graphs_and_waits_of_a_gpu_step(option, graphs, kernels, waits):
    """Beyond those of a step without an option; no launches outside graphs."""
    push = Series(np.array([0.0, 1.0, 2.0, 60.0]), np.array([0.0, 0.05, -0.05, 0.0]), "push")
    options = {
        "sponges": [SpongeLayer("east", 10.0, 0.3)],
        "wavemakers": [Wavemaker("west", velocity=push, active_absorption=True)],
        "breaking": True,
    }
    counts = []
    for chosen in ({}, {option: options[option]} if option in options else {}):
        device = Calls()
        model = PotentialWaves(
            Grid.from_points(33, 9, 32.0, 8.0), 2.0, order=4, vertical_points=6, device=device, **chosen
        )
        for _ in range(3):
            device.count.clear()
            model.steps_without_checks(1)()
        counts.append(device.count)
    default, count = counts
    assert count["launches"] == 0 and default["graphs"] == 6
    found = [count[name] - default[name] for name in ("graphs", "kernels", "waits")]
    assert found == [graphs, kernels, waits]


@pytest.mark.simulator
def test_the_filter_of_the_surface_on_simulated_cuda():
    from eagre.backend.simulated import SimulatedDevice

    filtered = []
    for device in (SimulatedDevice(), select("cpu")):
        problem = LaplaceProblem(np.ones((9, 12)), (0.5, 0.5), Vertical(3, 2), (False, True), device, "double")
        device.fill(problem.fields, np.random.default_rng(2).normal(size=(2, 9, 12)))
        SurfaceFilter(problem).apply()
        filtered.append(device.host(problem.fields))
    np.testing.assert_allclose(filtered[0], filtered[1], rtol=0, atol=1e-14)
