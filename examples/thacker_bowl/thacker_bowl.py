"""Oscillation of water in a paraboloid basin.

The script compares the water depth after one period with the exact solution of Thacker. The water surface stays a
plane that rotates around the axis of the basin (W. C. Thacker, Some exact solutions to the nonlinear shallow-water
wave equations, J. Fluid Mech. 107, 1981, doi:10.1017/S0022112081001882). The picture shows the surface in a section
through the axis during the first half of the period T.

Run:       python examples/thacker_bowl/thacker_bowl.py [CELLS]
Plot:      examples/thacker_bowl/output/thacker_bowl.png
Run time:  5 s
Model:     shallow-water

CELLS is the number of cells along a side, 100 by default.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import eagre

DEPTH = 1.0  # still-water depth at the centre, m
LENGTH = 2500.0  # radius of the shoreline of still water, m
GRAVITY = 9.81  # m s-2
OFFSET = LENGTH / 2  # initial displacement of the water in x, m
SIDE = 8000.0  # length of the domain, m
FREQUENCY = np.sqrt(2 * GRAVITY * DEPTH) / LENGTH
PERIOD = 2 * np.pi / FREQUENCY
STAGES = {"0": "#1d4a86", "T/6": "#2f93bf", "T/3": "#f2a65a", "T/2": "#a83a57"}  # times and colours in the picture
OUTPUT = Path(__file__).resolve().parent / "output" / "thacker_bowl.png"


def bowl(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the bed elevation, m, 0 at the still shoreline."""
    return DEPTH * ((x**2 + y**2) / LENGTH**2 - 1)


def exact(x: np.ndarray, y: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the depth, m, and the velocity components, m s-1, at `time`, s."""
    c, s = np.cos(FREQUENCY * time), np.sin(FREQUENCY * time)
    surface = 2 * OFFSET * DEPTH * (x * c + y * s - OFFSET / 2) / LENGTH**2
    depth = np.maximum(surface - bowl(x, y), 0.0)
    wet = depth > 0
    return depth, np.where(wet, -OFFSET * FREQUENCY * s, 0.0), np.where(wet, OFFSET * FREQUENCY * c, 0.0)


def draw(x: np.ndarray, y: np.ndarray, times: np.ndarray, depths: np.ndarray) -> None:
    """Draw the computed, (time, x), and the exact surface along a row of cells at y, (1,)."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
    fine = np.linspace(x[0], x[-1], 2001)
    axes.fill_between(fine / 1000, -1.2, bowl(fine, y), color="#d9cfa6", edgecolor="#6b5a48")
    for time, depth, (label, colour) in zip(times, depths, STAGES.items(), strict=True):
        wet, exact_depth = depth > 0.01, exact(fine, y, time)[0]
        surface = np.where(exact_depth > 0, bowl(fine, y) + exact_depth, np.nan)
        axes.plot(fine / 1000, surface, color=colour, linewidth=1.2, label=f"t = {label}")
        axes.plot(x[wet] / 1000, (bowl(x, y) + depth)[wet], "o", color=colour, markersize=3.5)
    axes.set(xlabel="x (km)", ylabel="elevation (m)", ylim=(-1.2, 1.6), xlim=(x[0] / 1000, x[-1] / 1000))
    axes.set_title("Paraboloid basin: computed (dots) and exact (lines)", loc="left", fontweight="bold")
    axes.legend(frameon=False, loc="upper center")
    OUTPUT.parent.mkdir(exist_ok=True)
    figure.savefig(OUTPUT, dpi=150)
    plt.close(figure)


def main(cells: int = 100) -> float:
    """Run one period, draw the picture and return the relative L1 error of the depth."""
    grid = eagre.Grid(nx=cells, ny=cells, dx=SIDE / cells, dy=SIDE / cells, x0=-SIDE / 2, y0=-SIDE / 2)
    x, y = grid.mesh()
    depth, velocity_x, velocity_y = exact(x, y, 0.0)
    model = eagre.ShallowWater(
        grid, bowl(*grid.mesh("corner")), depth=depth, velocity_x=velocity_x, velocity_y=velocity_y,
        gravity=GRAVITY, precision="double",
    )  # fmt: skip
    result = model.run(until=PERIOD, output_interval=PERIOD / 6, variables=["depth"])
    draw(x[0], y[cells // 2, :1], result["time"].values[:4], result["depth"].values[:4, cells // 2])
    reference = exact(x, y, model.time)[0]
    error = float(np.abs(model.field("depth") - reference).sum() / reference.sum())
    print(f"{cells} x {cells} cells, {model.steps} steps: error of the depth after one period {100 * error:.2f} %")
    return error


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
