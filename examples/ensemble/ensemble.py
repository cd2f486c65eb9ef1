"""Ensemble of double gyres with several Reynolds numbers.

The members run in one process per device. Each member is bitwise identical to a single run. The final streamfunctions
are written to ``output/ensemble.nc``. A larger Reynolds number narrows the western boundary currents.

Run:       python examples/ensemble/ensemble.py [DEVICE ...]
Plot:      examples/ensemble/output/ensemble.png
Run time:  20 s
Model:     barotropic

DEVICE is the device of a process, such as cuda:0 cuda:1 for two GPUs; the default is the CPU.
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
    """Return the streamfunction, (points, points), and the diagnostics of one gyre at the time `end`."""
    model = eagre.BarotropicVorticity.double_gyre(
        points, reynolds=reynolds, time_step=2e-6, device=device, precision="single"
    )
    model.advance(end)
    return model.field("streamfunction"), model.diagnostics()


def ensemble(devices: Sequence[str], points: int = 257, end: float = 0.02) -> list[np.ndarray]:
    """Run all members, print one line per member, and return their streamfunctions."""
    context = multiprocessing.get_context("spawn")  # CUDA does not support forked processes
    pools = [ProcessPoolExecutor(1, context) for _ in devices]
    workers = [k % len(devices) for k in range(len(REYNOLDS))]
    runs = [
        pools[worker].submit(member, reynolds, devices[worker], points, end)
        for worker, reynolds in zip(workers, REYNOLDS, strict=True)
    ]
    streamfunctions = []
    for reynolds, worker, run in zip(REYNOLDS, workers, runs, strict=True):
        psi, diagnostics = run.result()
        streamfunctions.append(psi)
        summary = f"psi_max {diagnostics['max_streamfunction']:.3f}, energy {diagnostics['energy']:.1f}"
        print(f"Re = {reynolds:g} on {devices[worker]}: {summary}, max |v| {diagnostics['max_velocity_y']:.1f}")
    for pool in pools:
        pool.shutdown()
    return streamfunctions


def draw(psi: np.ndarray) -> None:
    """Draw the streamfunctions, (member, y, x), divided by their maxima."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(psi), figsize=(9, 3.2), layout="constrained", sharey=True)
    levels = np.linspace(-1.0, 1.0, 21)
    height = (psi.shape[1] - 1) / (psi.shape[2] - 1)
    for ax, flow, reynolds in zip(axes, psi, REYNOLDS, strict=True):
        shown = ax.contourf(flow / np.abs(flow).max(), levels, cmap="RdBu_r", extent=(0, 1, 0, height))
        ax.set_title(f"Re = {reynolds:g}", fontsize=10)
        ax.set(aspect="equal", xlabel="x")
    axes[0].set_ylabel("y")
    figure.colorbar(shown, ax=axes, label="streamfunction / maximum", ticks=[-1, 0, 1])
    figure.suptitle("Double gyres with several Reynolds numbers", x=0.02, ha="left", fontweight="bold")
    figure.savefig(OUTPUT.with_suffix(".png"), dpi=150)
    plt.close(figure)


def main(devices: Sequence[str]) -> None:
    """Run the ensemble, write the final streamfunctions to a file and draw them."""
    import xarray as xr

    psi = np.stack(ensemble(devices or ("cpu",)))
    coordinates = {"reynolds": list(REYNOLDS)}
    OUTPUT.parent.mkdir(exist_ok=True)
    xr.Dataset({"streamfunction": (("reynolds", "y", "x"), psi)}, coordinates).to_netcdf(OUTPUT, engine="h5netcdf")
    draw(psi)
    print("wrote", OUTPUT)


if __name__ == "__main__":
    main(sys.argv[1:])
