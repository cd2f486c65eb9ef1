"""What ends an iteration on a GPU adds up as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.compilation.cells import cell
from eagre.backend.device import Launch, PlainDevice
from eagre.backend.group import Group
from eagre.decomposition import bands
from eagre.device_mesh import DeviceMesh
from eagre.errors import ConvergenceError
from eagre.models.potential_waves.laplace.solver_subdomains import SharedTest
from eagre.stepping.convergence_loop import (
    ITERATING,
    ITERATIONS,
    MOST,
    NORM,
    SIZE,
    SMALL,
    THREADS,
    ConvergenceLoop,
    Prologue,
    StopTest,
    check_convergence_cuda,
    is_iterating,
)
from until_problem import DeviceWithGraphs


@cell
def halve(i, values, partials, control):
    """The norm of an iteration is half of that before."""
    if is_iterating(control):
        values[i] *= 0.5
        partials[i] = values[i] * values[i]


@cell
def set_to(i, values, to):
    """What leads: where iterations begin."""
    values[i] = to


@pytest.mark.nojit
@pytest.mark.parametrize("device", [PlainDevice(), DeviceWithGraphs()])
def test_what_leads_is_part_of_the_first_round(device):
    """Seven iterations are two rounds and a part of one; what leads comes before all of them, each time."""
    test, values = StopTest(device, 1), device.zeros((1,), np.float64)
    one = device.over(device.loop(halve, "double"), (1,), (values, test.partials, test.control))
    until = ConvergenceLoop(device, test, [one], iterations_per_check=3)
    for begin, iterations in ((1.0, 7), (1.0, 7), (8.0, 10)):
        lead = device.over(device.loop(set_to, "double"), (1,), (values, begin))
        made = until.run(1.0 / 128.0, 20, Prologue(begin, [lead]))
        assert made.iterations == iterations and made.norm == 1.0 / 128.0 == float(device.host(values)[0])
    assert until.run(1.0 / 256.0, 20).iterations == 1


@pytest.mark.nojit
@pytest.mark.parametrize("with_start", [False, True])
def test_several_devices_of_graphs_send_and_read_the_control_data(with_start):
    """All devices receive the tolerance and stop together; the host reads the control data of one device."""
    group = Group([DeviceWithGraphs(), DeviceWithGraphs()])
    group.graphs = True
    mesh = DeviceMesh(group, bands(4, 3, [2, 2], halo=(1, 0), leading=(0, 0)))
    tests = [StopTest(device, 1) for device in group.devices]
    values = mesh.array(np.full(1, 2.0 if with_start else 1.0))
    step = [
        [device.over(device.loop(halve, "double"), (1,), (values.parts[rank], tests[rank].partials, test.control))]
        for rank, (device, test) in enumerate(zip(group.devices, tests, strict=True))
    ]
    until = ConvergenceLoop(mesh, SharedTest(tests), [step], [step] if with_start else (), 3)
    assert until.run(1.0 / 128.0, 20) == (7, 1.0 / 128.0)
    assert [float(part[0]) for part in values.parts] == [1.0 / 128.0] * 2
    assert all(np.array_equal(test.control, [0.0, 1.0 / 128.0, 7.0, 1.0 / 128.0, 20.0]) for test in tests)
    tests[1].control[ITERATIONS] = 5.0
    assert mesh.host(until.control)[ITERATIONS] == 7.0


@pytest.mark.nojit
@pytest.mark.parametrize("device", [PlainDevice(), DeviceWithGraphs()])
def test_norms_of_all_iterations_are_recorded(device):
    """Also in a second run that continues the first one, and no more than there is room for."""
    test, values = StopTest(device, 1, recorded=7), device.array(np.ones(1))
    one = device.over(device.loop(halve, "double"), (1,), (values, test.partials, test.control))
    until = ConvergenceLoop(device, test, [one], iterations_per_check=3)
    with pytest.raises(ConvergenceError) as caught:
        until.run(2.0**-8, 4)
    assert caught.value.iterations == 4 and device.host(test.norms).tolist() == [0.5, 0.25, 0.125, 0.0625, 0, 0, 0]
    assert until.run(2.0**-8, 20, completed=4) == (8, 2.0**-8)
    assert device.host(test.norms).tolist() == [2.0**-n for n in range(1, 8)]


@pytest.mark.simulator
@pytest.mark.parametrize(("count", "going"), [(3, 1.0), (THREADS, 1.0), (2 * THREADS + 5, 0.0)])
def test_simulated_judge(count, going):
    from eagre.backend.simulated import SimulatedDevice

    partials, control = np.arange(1.0, count + 1.0), np.zeros(SIZE)
    norm = np.sqrt(0.5 * count * (count + 1))
    control[[ITERATING, SMALL, MOST]] = 1.0, norm * (0.9 if going else 1.1), 100.0
    device = SimulatedDevice()
    held, norms = device.array(control), device.array(np.zeros(2))
    arguments = device.array(partials), held, norms
    device.run([Launch(device.program(check_convergence_cuda, "double"), arguments, (1,), (THREADS,))])
    found = device.host(held)
    assert device.host(norms).tolist() == [norm, 0.0]
    assert found[NORM] == norm and found[ITERATIONS] == 1.0 and found[ITERATING] == going
