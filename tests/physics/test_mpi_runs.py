"""One run in several processes: the bits of as many devices of one process."""

from __future__ import annotations

import json
from functools import cache

import pytest

from mpi_processes import mpiexec
from mpi_runs import RUNS, assert_same, hashes


@cache
def expected(name, count):
    """Hashes of a run on devices of this process."""
    return hashes(RUNS[name](["cpu"] * count))


@pytest.fixture(scope="module")
def in_processes(tmp_path_factory):
    """Hashes of all runs in 2 and 3 processes; one start for each number. An error of one process ends all.

    This process compiles the kernels first, so that the others do not compile the same kernels at the same time.
    """
    for name in RUNS:
        expected(name, 2)
    path = tmp_path_factory.mktemp("mpi") / "found.json"
    found = {}
    for count in (2, 3):
        mpiexec(count, "-m", "mpi4py", "tests/mpi_runs.py", str(path), *RUNS)
        found[count] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_values_that_are_equal_on_all_devices_are_not_sent(tmp_path):
    """Each process reads its own copy; if processors differ, all use the copy of the first."""
    mpiexec(2, "-m", "mpi4py", "tests/mpi_replicated.py", str(tmp_path / "found.json"))
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert found == {
        "equal": [0.0, 1.0], "different": [0.0, 0.0], "broadcasts of waves": 0.0, "broadcasts of air": 0.0,
        "transferred": [0.0, 1.0], "transferred, different": [None, None],
    }  # fmt: skip


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("name", RUNS)
def test_the_bits_of_devices_of_one_process(in_processes, name, count):
    assert len(in_processes[count][name]) == count
    assert_same(in_processes[count][name], expected(name, count))
