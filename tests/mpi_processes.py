"""Start of programs in several processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from conftest import ROOT

SECONDS = 400  # limit of a program; processes that wait for each other would wait forever
BESIDE = Path(sys.executable).parent / "mpiexec"  # of the package mpich


def environment(**more):
    """One thread for each process, without what this process was told."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NUMBA_NUM_THREADS",)}
    paths = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return kept | {"NUMBA_NUM_THREADS": "1", "PYTHONPATH": paths} | more


def mpiexec(count, *program, check=True, folder=ROOT, **more):
    """Run a Python program in some processes and return what it printed."""
    command = [str(BESIDE), "-n", str(count), sys.executable, *program]
    done = subprocess.run(
        command, cwd=folder, env=environment(**more), capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def mpi_eagre(count, folder, *arguments, check=False, **more):
    """Run the command `eagre` in some processes."""
    return mpiexec(count, "-m", "eagre", *arguments, check=check, folder=folder, **more)
