"""Program of several processes: copies to the host of arrays that have the same values on all devices.

``mpiexec -n 2 python tests/mpi_replicated.py found.json`` writes a JSON file: the value that each process reads of an
array that holds its rank, on equal and on different processors; and the number of broadcasts of values per step.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np
from mpi4py import MPI

from anelastic_runs import RUNS as AIR
from eagre.backend.mpi.group import Shared, connected
from eagre.backend.mpi.launch import device_of_process
from potential_waves_runs import torus

STEPS = 3


def value_read(group):
    """The value that this process reads of an array that holds the rank of each process."""
    return float(group.host_of_replicated([device.array(np.full(3, float(group.rank))) for device in group.devices])[0])


def value_transferred(group):
    """The value of the same array that reaches pinned memory; None if the processes must send it."""
    pinned = group.pinned_of_replicated((3,), np.float64)
    if pinned is not None:
        group.local.run([group.local.transfer(pinned, group.local.array(np.full(3, float(group.rank))))])
        group.synchronize()
    return None if pinned is None else float(pinned[0])


def broadcasts_per_step(model):
    """Number of broadcasts of values per step."""
    go, begin, sent = model.steps_without_checks(STEPS), Shared.begin_broadcast, []

    def counted(device, values):
        sent.extend(requests := begin(device, values))
        return requests

    go()
    with patch.object(Shared, "begin_broadcast", counted):
        go()
    return len(sent) / STEPS


def main():
    """Write what all processes found."""
    comm = MPI.COMM_WORLD
    local = device_of_process(comm, "cpu")
    group = connected(local, comm)
    with patch.object(type(local), "processor", f"processor {comm.rank}"):
        unlike = connected(local, comm)
    found = {
        "equal": comm.allgather(value_read(group)),
        "transferred": comm.allgather(value_transferred(group)),
        "transferred, different": comm.allgather(value_transferred(unlike)),
        "different": comm.allgather(value_read(unlike)),
        "broadcasts of waves": broadcasts_per_step(torus(group)),
        "broadcasts of air": broadcasts_per_step(AIR["turbulence"](device=group)),
    }
    if comm.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
