"""Runs of all models in several processes, and the program of these processes.

``mpiexec -n 3 python tests/mpi_runs.py found.json explicit air`` writes a JSON file: by name, the hash of every array
of the state that each process holds, and the diagnostics. Some versions of ``mpirun`` cut long lines on the screen.
"""

from __future__ import annotations

import json
import os
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np

import adi_runs
import explicit_runs
from anelastic_runs import RUNS as AIR
from barotropic_runs import CASES, model_on
from eagre import Layers, TimeStatistics
from eagre.models.barotropic import state
from eagre.models.potential_waves.laplace import arrays
from potential_waves_runs import basin, torus


def gyre(device):
    """Two layers, a tracer and no-slip walls."""
    mean = {"time_statistics": TimeStatistics(mean=("streamfunction",), variance=("streamfunction",))}
    return model_on(device, 43, 38, layers=Layers(3.0, 1.0), dye=True, walls="no-slip", **mean)


def gyre_with_device_sums(device):
    """A gyre whose sums are taken on the device, as those of large fields."""
    state.MAX_HOST_SIZE = 0
    return gyre(device)


def basin_with_device_sums(device):
    """Waves whose sums are taken on the device, as on grids of more than `MAX_HOST_POINTS` points."""
    arrays.MAX_HOST_POINTS = 0
    return basin(device)


def rising_water(device):
    """Water that rises by 8 m: slabs overlap further in the middle of a run, which returns to its checkpoint."""
    model, start = (adi_runs.pool(one, "single", time_step=20.0, ny=900, nx=5) for one in (device, "cpu"))
    state, overlap = start.state(), model._engine.overlap
    model.restore({**state, "z": state["z"] + np.float32(8.0)})
    model._stepper.checkpoint.keep()
    model.advance(600.0, max_steps=2)
    assert model._engine.overlap > overlap and not model._engine.joined
    model._stepper.checkpoint.roll_back()
    return model


RUNS = {
    "explicit": explicit_runs.bay,
    "explicit, single": lambda device: explicit_runs.basin(device, precision="single", sides="torus"),
    "explicit, walls": lambda device: explicit_runs.bay(
        device, internal=explicit_runs.WALLS, soil=explicit_runs.loam()
    ),
    "explicit, srk2": lambda device: explicit_runs.bay(device, scheme="srk2"),
    "explicit, ds2": lambda device: explicit_runs.basin(device, scheme="ds2"),
    "implicit": adi_runs.bay,
    "implicit, thick slabs": lambda device: adi_runs.bay(device, "single", ny=601),
    "implicit, rising water": rising_water,
    "implicit, reference": lambda device: adi_runs.bay(device, ny=61, kernels="reference", soil=adi_runs.loam(ny=61)),
    "gyre": gyre,
    "gyre, all terms": lambda device: model_on(device, 43, 38, precision="single", **CASES["all terms"]),
    "gyre, implicit": lambda device: model_on(device, 43, 38, **CASES["implicit"]),
    "gyre, sums on the device": gyre_with_device_sums,
    "waves": lambda device: basin(device, time_statistics=TimeStatistics(mean=("surface_elevation",))),
    "waves, periodic": torus,
    "waves, sums on the device": basin_with_device_sums,
    "air": lambda device: AIR["turbulence"](device=device, time_statistics=TimeStatistics(mean=("u",))),
    "air over a hill": lambda device: AIR["hill"](device=device, precision="double", coriolis=0.0),
}
STEPS = 6


def hashes(model):
    """A hash of each array of the state after some steps, and the diagnostics.

    The checkpoint in the rows of each process gives the state back.
    """
    until, stepper = 50.0 * model.time_step, model._stepper
    model.advance(until, max_steps=STEPS)
    found, kept = of_state(model), stepper.state()
    model.advance(until, max_steps=1)
    assert of_state(model) != found
    stepper.restore(kept)
    assert of_state(model) == found
    return found | {name: repr(float(value)) for name, value in model.diagnostics().items()}


def of_state(model):
    """A hash of each array of the state."""
    state = model.state()
    return {name: sha256(np.ascontiguousarray(value).tobytes()).hexdigest() for name, value in state.items()}


def assert_same(found, expected):
    """The first process has all of the state; the others have no field, or the same one."""
    assert found[0] == expected
    assert all(one and one.items() <= expected.items() for one in found[1:])


def main():
    """Run the models whose names follow the file name in all processes."""
    from mpi4py import MPI

    from eagre.backend.mpi.group import connected
    from eagre.backend.mpi.launch import device_of_process

    comm = MPI.COMM_WORLD
    local = device_of_process(comm, os.environ.get("MPI_RUNS_DEVICE", "cpu"))
    every = {name: comm.allgather(hashes(RUNS[name](connected(local, comm)))) for name in sys.argv[2:]}
    if comm.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(every), encoding="utf-8")


if __name__ == "__main__":
    main()
