"""One run of potential-flow waves over several devices: on CPUs the bits of one device, whatever is in the run."""

from __future__ import annotations

import numpy as np
import pytest

from barotropic_runs import run_out_of_step
from eagre import (
    BlowUpError,
    Grid,
    InputError,
    MemoryNeededError,
    PotentialWaves,
    RelaxationZone,
    Series,
    SpongeLayer,
    Wavemaker,
)
from eagre.backend.group import Group, LocalTransport
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.solvers.multigrid import distributed
from eagre.solvers.multigrid.plan import Choices, plan_of
from potential_waves_runs import basin, cliff, torus
from restarts import assert_repeats_and_restarts, different_arrays

TWO, THREE = "cpu,cpu", "cpu,cpu,cpu"


def tank(device, side="south", **options):
    """A paddle that lets waves out, a zone and a sponge along other sides, water that breaks early."""
    grid = Grid.from_points(33, 33, 24.0, 24.0)
    times = np.linspace(0.0, 40.0, 401)
    paddle = Wavemaker(side, velocity=Series(times, 0.6 * np.sin(2.0 * times)), active_absorption=True)
    other, beside = {"south": ("north", "east"), "west": ("east", "south")}[side]
    x, y = grid.x, grid.y[:, None]
    hump = 0.3 * np.exp(-(((x - 9.0) / 3.0) ** 2) - ((y - 15.0) / 3.0) ** 2)
    more = {
        "breaking": {"max_crest_speed_ratio": 0.05},
        "order": 4,
        "vertical_points": 6,
        "surface_elevation": hump,
        **options,
    }
    sponges, zones = [SpongeLayer(other, 5.0, 2.5)], [RelaxationZone(beside, 4.0, 2.5)]
    return PotentialWaves(
        grid, 1.0, wavemakers=[paddle], sponges=sponges, relaxation_zones=zones, device=device, **more
    )


RUNS = {
    "basin": (basin, {}),
    "basin, double": (basin, {"precision": "double"}),
    "torus": (torus, {}),
    "torus, linear, Jacobi": (torus, {"linear": True, "multigrid": {"smoother": "jacobi"}}),
    "torus, W": (torus, {"precision": "single", "multigrid": {"cycle": "W", "pre": 2}}),
    "wavemaker in the south": (tank, {}),
    "wavemaker in the west": (tank, {"side": "west"}),
    "cliff": (cliff, {}),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_the_bits_of_one_device(run):
    """Of every array of a restart, and of what is told of the run."""
    make, options = run
    ours, theirs, others = (make(device, **options) for device in (TWO, "cpu", THREE))
    assert isinstance(ours.device, Group) and len(ours._engine.laplace.subdomains) == 2
    for until, steps in ((30.0, 5), (theirs.time_step * (30.3 if make is tank else 7.3), None)):
        for model in (ours, theirs, others):
            model.advance(until, max_steps=steps)
        assert different_arrays(ours, theirs) == [] and different_arrays(others, theirs) == []
    assert ours.diagnostics() == theirs.diagnostics() and ours.statistics() == theirs.statistics()
    assert ours.breakers == theirs.breakers and (make is not tank or ours.breakers)
    assert make is not cliff or "conjugate residuals" in str(theirs._engine.laplace.convergence)
    for name in theirs.variables:
        np.testing.assert_array_equal(ours.field(name), theirs.field(name), err_msg=name)


def test_looks_under_the_surface_and_gauges():
    ours, theirs = basin(THREE), basin("cpu")
    for model in (ours, theirs):
        model.advance(0.5)
    found, wanted = (model.kinematics([30.0, 35.0, 12.3], [20.0, 1.0, 39.0], z=-1.0) for model in (ours, theirs))
    for name in found._fields:
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)
    points = [(3, 4), (16, 20), (17, 20), (32, 40)]
    found, wanted = (model.sample(["surface_elevation", "velocity_z"], points) for model in (ours, theirs))
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values)
    assert different_arrays(ours, theirs) == []


def test_a_run_goes_on_with_another_number_of_devices():
    first, second = basin(THREE), basin("cpu")
    first.advance(0.6)
    second.restore(first.state())
    third = basin(TWO)
    third.restore(second.state())
    for model in (first, second, third):
        model.advance(1.2)
    assert different_arrays(first, second) == [] and different_arrays(third, second) == []


def test_runs_repeat_and_restart_bit_for_bit():
    assert_repeats_and_restarts(lambda: tank(TWO), lambda model: model.advance(10.0, max_steps=5), 0.8)


@pytest.mark.parametrize("lost", ["fields", "squares", "f", "q"])
def test_a_lost_exchange_shows(monkeypatch, lost):
    """That of Psi shows on simulated GPUs: here corrections are whole on every device."""
    exchange, theirs = LocalTransport.exchange, torus("cpu")
    monkeypatch.setattr(
        LocalTransport,
        "exchange",
        lambda transport, messages: exchange(transport, [m for m in messages if m.field != lost or _own(m)]),
    )
    ours = torus(TWO)
    for model in (ours, theirs):
        model.advance(1e3, max_steps=3)
    assert different_arrays(ours, theirs) != []


def _own(message):
    """Whether a message stays where it is."""
    return message.source == message.target


def test_the_barriers_of_a_solution_are_enough():
    """Devices that run ahead of one another up to the next wait give the same bits."""
    found = []
    for run in (Group.run, run_out_of_step):
        laplace = torus(THREE)._engine.laplace
        laplace.go_on()
        iterations = [*laplace.iteration(0.8), laplace.test.launch] * 3
        run(laplace.device.group, [*laplace.start(), *iterations, *laplace.end()])
        found.append([laplace.device.host(array) for array in (laplace.psi, laplace.w, laplace.test.partials)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_blow_up_tells_the_same():
    def said(device):
        with pytest.raises(BlowUpError) as error:
            torus(device, surface_elevation=_steep()).advance(50.0)
        return str(error.value)

    assert said(TWO) == said("cpu")


def _steep():
    return 0.9 * np.cos(2.0 * np.pi * np.arange(48) / 8.0) * np.ones((32, 1))


# -- where rows are cut ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "dy", "periodic", "count"),
    [
        ((2049, 3073), 1.0, False, 2),
        ((2048, 3072), 1.0, True, 4),
        ((1025, 257), 1.0, False, 3),
        ((1025, 3073), 8.0, False, 3),  # x alone is halved first
        ((2049, 1537), 0.4, True, 2),
        ((2049, 1025), 0.3, False, 2),
    ],
)
def test_bands_are_cut_where_grids_nest(shape, dy, periodic, count):
    ny, nx = shape[0] - shape[0] % 2 if periodic else shape[0], shape[1]
    vertical = Vertical(17, 6)
    plan = plan_of((ny, nx), (dy, 1.0), vertical.modes().decay.tolist(), (periodic, False), Choices(), 0.5)
    used = plan.used(0.25 / 20.0**2)
    cut = distributed.GridDecomposition(plan, used, count, 6, 4, 9, periodic)
    assert cut.first > 0 and sum(high - low for ((low, high), _) in map(cut.rows.owned, range(count))) == ny
    for rank in range(count):
        (low, high), (first, last) = cut.rows.owned(rank)[0], cut.rows.held(rank)[0]
        assert {type(row) for row in (low, high, first, last)} == {int}  # launches take no integers of NumPy
        assert low % cut.ratio == 0 and (high % cut.ratio == 0 or high == ny)
        row, rows = first, last - first
        for grid, own in zip(plan.grids[: cut.first + 1], cut.grids(rank), strict=True):
            assert own.shape == (rows, grid.shape[1])
            if grid is not plan.grids[cut.first]:
                assert row % 2 == 0  # colours are those of the whole grid
                assert grid.step_y == 1 or rows % 2 == 1
            row, rows = row // grid.step_y, (rows - 1) // grid.step_y + 1


def test_each_device_has_memory_for_its_share(monkeypatch):
    """Where one of several is too small for its part, though together they have enough."""
    from eagre.backend.device import CpuDevice

    small, large = CpuDevice(), CpuDevice()
    monkeypatch.setattr(small, "free_memory", lambda: 10**5)
    with pytest.raises(MemoryNeededError):
        torus([small, large])
    torus([large, large])


def test_too_many_devices_are_refused():
    with pytest.raises(InputError) as refused:
        torus("cpu" + 8 * ",cpu")
    assert "9 devices for 32 rows of points" in str(refused.value) and "up to 8 devices" in str(refused.value)
    with pytest.raises(InputError, match="one device"):
        PotentialWaves(Grid.from_points(33, 1, 8.0, 1.0), 1.0, device=TWO)
