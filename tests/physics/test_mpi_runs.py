"""One run in several processes: the bits of as many devices of one process."""

from __future__ import annotations

import json

import pytest

from mpi_processes import mpiexec
from mpi_runs import RUNS, assert_same, hashes


@pytest.fixture(scope="module")
def in_processes():
    """Hashes of all runs in 2 and 3 processes; one start for each number. An error of one process ends all."""
    program = ("-m", "mpi4py", "tests/mpi_runs.py", *RUNS)
    return {count: json.loads(mpiexec(count, *program).stdout.splitlines()[-1]) for count in (2, 3)}


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("name", RUNS)
def test_the_bits_of_devices_of_one_process(in_processes, name, count):
    expected = hashes(RUNS[name](["cpu"] * count))
    assert len(in_processes[count][name]) == count
    assert_same(in_processes[count][name], expected)
