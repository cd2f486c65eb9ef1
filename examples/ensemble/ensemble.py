"""An ensemble of double gyres over Reynolds numbers, spread over devices: a process each, and no talk between them.

Usage: ``python ensemble.py [DEVICE ...]``: ``cuda:0 cuda:1`` uses two GPUs; the CPU if nothing is named. Each member
gives what it would give alone, to the last bit. The flow at the end is in ``output/ensemble.nc``.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import eagre

REYNOLDS = (0.2, 0.4, 0.8, 1.6)
OUTPUT = Path(__file__).resolve().parent / "output" / "ensemble.nc"


def member(reynolds: float, device: str, points: int, end: float) -> tuple[np.ndarray, dict[str, float]]:
    """Streamfunction, (points, points), and diagnostics of one gyre at the time `end`."""
    model = eagre.BarotropicVorticity.double_gyre(
        points, reynolds=reynolds, time_step=2e-6, device=device, precision="single"
    )
    model.advance(end)
    return model.field("streamfunction"), model.diagnostics()


def ensemble(devices: Sequence[str], points: int = 257, end: float = 0.02) -> list[np.ndarray]:
    """Run all members, print a line for each, and return their streamfunctions."""
    context = multiprocessing.get_context("spawn")  # a GPU cannot be shared with a copy of this process
    pools = [ProcessPoolExecutor(1, context) for _ in devices]
    turns = [k % len(devices) for k in range(len(REYNOLDS))]
    runs = [
        pools[turn].submit(member, reynolds, devices[turn], points, end)
        for turn, reynolds in zip(turns, REYNOLDS, strict=True)
    ]
    found = []
    for reynolds, turn, run in zip(REYNOLDS, turns, runs, strict=True):
        psi, facts = run.result()
        found.append(psi)
        told = f"psi_max {facts['max_streamfunction']:.3f}, energy {facts['energy']:.1f}"
        print(f"Re = {reynolds:g} on {devices[turn]}: {told}, max |v| {facts['max_velocity_y']:.1f}")
    for pool in pools:
        pool.shutdown()
    return found


def main(devices: Sequence[str]) -> None:
    """Run the ensemble and keep its flow in a file."""
    import xarray as xr

    psi = np.stack(ensemble(devices or ("cpu",)))
    coordinates = {"reynolds": list(REYNOLDS)}
    OUTPUT.parent.mkdir(exist_ok=True)
    xr.Dataset({"streamfunction": (("reynolds", "y", "x"), psi)}, coordinates).to_netcdf(OUTPUT, engine="h5netcdf")
    print("wrote", OUTPUT)


if __name__ == "__main__":
    main(sys.argv[1:])
