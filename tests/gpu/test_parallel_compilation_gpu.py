"""Programs of a GPU are compiled in parallel processes at a first start, with the same results as without them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.gpu

CODE = """
import numpy as np
from eagre.backend.compilation import parallel
from eagre.backend.select import select
from kernels.programs import halved, shifted

device = select("cuda")
x, out, other = device.array(np.ones((4, 8))), device.array(np.zeros((4, 8))), device.array(np.zeros((4, 8)))
launches = [
    device.over(device.loop(halved, "double"), x.shape, (x, out)),
    device.over(device.loop(shifted, "double"), x.shape, (x, other)),
]
with parallel.compile_workers():
    device.prepare(launches)
    workers, pending = len(parallel._workers.processes), len(parallel._workers.pending)
    device.run(launches)
    remaining = len(parallel._workers.pending)
print(workers, pending, remaining, (device.host(out) == 0.5).all(), (device.host(other) == 2.0).all())
"""


def test_a_worker_compiles_one_of_two_programs(tmp_path):
    environment = {**os.environ, "EAGRE_CACHE": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    run = [sys.executable, "-c", CODE]
    first, second = (
        subprocess.run(run, env=environment, check=True, capture_output=True, text=True).stdout for _ in range(2)
    )
    assert first == "1 1 0 True True\n"
    assert second == "0 0 0 True True\n"
