"""Wind set-up and seiche in a lake.

A wind stress along a closed basin of constant depth raises the water at the lee end. The stress increases over one
period of the first mode, T = 2 L / sqrt(g h) (formula of Merian), so the increase excites no oscillation. When the
wind stops, the sloping surface oscillates with the period T: the elevation at the lee end is a triangular wave.
The script compares the computed elevation with the exact solution of linear long waves.

Run:       python examples/wind_seiche/wind_seiche.py
Plot:      examples/wind_seiche/output/wind_seiche.png
Run time:  5 s
Model:     shallow-water-adi
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import eagre

LENGTH, WIDTH, DEPTH = 20e3, 4e3, 10.0  # of the basin, m
GRAVITY, DENSITY = 9.81, 1000.0  # m s-2, kg m-3
STRESS = 0.5  # wind stress after the increase, N m-2
PERIOD = float(2 * LENGTH / np.sqrt(GRAVITY * DEPTH))  # of the first mode, s
SET_UP = STRESS * LENGTH / (2 * DENSITY * GRAVITY * DEPTH)  # elevation at the lee end under steady wind, m
STOP, END = 2 * PERIOD, 5 * PERIOD  # of the wind and of the run, s
OUTPUT = Path(__file__).resolve().parent / "output" / "wind_seiche.png"


def step_response(times: np.ndarray) -> np.ndarray:
    """Return the elevation at the lee end, m, for the full stress from time 0 on: a triangular wave, 0 to 2 SET_UP."""
    return np.where(times > 0, 2 * SET_UP * (1 - np.abs(1 - 2 * np.mod(times / PERIOD, 1.0))), 0.0)


def exact(times: np.ndarray) -> np.ndarray:
    """Return the elevation at the lee end, m: the sum of the responses to the changes of the stress."""
    starts = (np.arange(1000) + 0.5) / 1000 * PERIOD  # the increase in 1000 equal steps
    increase = np.mean([step_response(times - start) for start in starts], axis=0)
    return increase - step_response(times - STOP)


def simulate(cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Return times, s, and the surface elevation at the lee end, m."""
    size = LENGTH / cells
    grid = eagre.Grid(nx=cells, ny=round(WIDTH / size), dx=size, dy=size)
    step = PERIOD / cells / 2  # Courant number 1
    wind = eagre.Series([0.0, PERIOD, STOP, STOP + step, END], [0.0, STRESS, STRESS, 0.0, 0.0])
    model = eagre.ShallowWaterADI(
        grid, -DEPTH, step, surface_elevation=0.0, sources=[eagre.WindStress(x=wind)], drying="off",
        gravity=GRAVITY, precision="double",
    )  # fmt: skip
    end = (LENGTH - size / 2, WIDTH / 2)
    result = model.run(END, gauges={"lee": end}, gauge_interval=PERIOD / 50)
    return result["gauge_time"].values, result["gauge_surface_elevation"].sel(gauge="lee").values


def draw(times: np.ndarray, elevation: np.ndarray) -> None:
    """Draw the computed and the exact elevation."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
    axes.plot(times / 3600, 100 * exact(times), color="#d0562f", linewidth=3, alpha=0.6, label="exact, linear")
    axes.plot(times / 3600, 100 * elevation, color="#1f6ba6", linewidth=1.4, label="computed")
    axes.axvline(STOP / 3600, color="0.4", linewidth=0.8, linestyle="--")
    axes.annotate(" wind stops", (STOP / 3600, 100 * SET_UP), color="0.3", va="bottom")
    axes.set(xlabel="time (h)", ylabel="surface elevation at the lee end (cm)", xlim=(0, END / 3600), ylim=(-6, 7))
    axes.set_title("Wind set-up and seiche in a lake", loc="left", fontweight="bold")
    axes.grid(alpha=0.2)
    axes.legend(frameon=False, loc="upper right", ncols=2)
    OUTPUT.parent.mkdir(exist_ok=True)
    figure.savefig(OUTPUT, dpi=150)
    plt.close(figure)


def main(cells: int = 100) -> float:
    """Run the case, draw the picture and return the RMS difference from the exact solution divided by the set-up."""
    times, elevation = simulate(cells)
    difference = float(np.sqrt(np.mean((elevation - exact(times)) ** 2)) / SET_UP)
    print(f"set-up {100 * SET_UP:.2f} cm, period {PERIOD:.0f} s: RMS difference {100 * difference:.2f} % of the set-up")
    draw(times, elevation)
    return difference


if __name__ == "__main__":
    main()
