"""One process for each GPU: the bits of as many GPUs of one process. Needs `mpirun` and two GPUs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT, count_gpus
from mpi_processes import environment
from mpi_runs import RUNS, assert_same, hashes

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(count_gpus() < 2 or shutil.which("mpirun") is None, reason="needs two GPUs and mpirun"),
]


@pytest.fixture(scope="module", params=["peer memory", "nccl"])
def in_processes(request, tmp_path_factory):
    """Hashes of all runs in two processes, from one start, for each transport."""
    path = tmp_path_factory.mktemp("mpi") / "found.json"
    command = ["mpirun", "--bind-to", "none", "-n", "2", sys.executable, "tests/mpi_runs.py", str(path), *RUNS]
    more = {"EAGRE_TRANSPORT": request.param, "MPI_RUNS_DEVICE": "cuda"}
    more |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    subprocess.run(command, cwd=ROOT, env=environment(**more), check=True)
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", RUNS)
def test_the_bits_of_gpus_of_one_process(in_processes, name):
    expected = hashes(RUNS[name](["cuda:0", "cuda:1"]))
    assert len(in_processes[name]) == 2
    assert_same(in_processes[name], expected)
