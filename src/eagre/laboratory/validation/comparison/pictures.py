"""Pictures of validation runs: profiles, convergence, gauges, flows. Matplotlib is imported at first use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from eagre.grid import Grid


def draw_profile(
    path: Path,
    title: str,
    position: np.ndarray,
    computed: Mapping[str, np.ndarray],
    exact: np.ndarray | None = None,
    bed: np.ndarray | None = None,
    label: str = "surface elevation [m]",
) -> Path:
    """Write curves over `position` (n,), m: computed curves by name, and the exact curve and the bed if known."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.subplots()
    if bed is not None:
        lowest = min(float(np.min(values)) for values in (bed, exact) if values is not None)
        axes.fill_between(position, bed, lowest, color="0.75", label="bed")
    if exact is not None:
        axes.plot(position, exact, "k-", linewidth=1.0, label="exact")
    for name, values in computed.items():
        axes.plot(position, values, "-" if exact is None else ".", markersize=3.0, label=name)
    axes.set(xlabel="x [m]", ylabel=label, title=title)
    axes.legend()
    figure.savefig(path, dpi=120)
    return path


def draw_convergence(path: Path, title: str, cells: Sequence[int], errors: Mapping[str, Sequence[float]]) -> Path:
    """Write errors against the number of cells on logarithmic axes, with lines of order 1 and 2."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.0, 4.0), layout="constrained")
    axes = figure.subplots()
    n = np.array(cells, float)
    for name, values in errors.items():
        axes.loglog(n, values, "o-", label=name)
    first = max(values[0] for values in errors.values())
    for order, style in ((1, "k:"), (2, "k--")):
        axes.loglog(n, first * (n[0] / n) ** order, style, linewidth=0.8, label=f"order {order}")
    axes.set(xlabel="cells along x", ylabel="relative L1 error", title=title)
    axes.legend()
    figure.savefig(path, dpi=120)
    return path


def draw_gauges(
    path: Path,
    title: str,
    times: np.ndarray,
    computed: Mapping[str, np.ndarray],
    measured_times: np.ndarray,
    measured: Mapping[str, np.ndarray],
    reference: str = "measured",
) -> Path:
    """Write one panel per gauge: computed and, if known, measured surface elevation, m, over time, s.

    reference : label of `measured`.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 2.2 * len(computed)), layout="constrained")
    panels = np.atleast_1d(figure.subplots(len(computed), 1, sharex=True))
    for axes, (name, values) in zip(panels, computed.items(), strict=True):
        if name in measured:
            axes.plot(measured_times, 100.0 * measured[name], "k.", markersize=3.0, label=reference)
        axes.plot(times, 100.0 * values, "C0-", label="computed")
        axes.set(ylabel="surface [cm]", title=name)
    panels[0].legend()
    panels[-1].set(xlabel="time [s]")
    figure.suptitle(title)
    figure.savefig(path, dpi=120)
    return path


def draw_harmonics(
    path: Path, title: str, position: np.ndarray, computed: np.ndarray, known: np.ndarray | None, reference: str
) -> Path:
    """Write amplitudes of harmonics, (count, n), m, over `position` (n,), m, and of a `reference`, if known."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.subplots()
    for n, values in enumerate(computed):
        axes.plot(position, 1e3 * values, f"C{n}-", label=f"harmonic {n + 1}")
        if known is not None:
            axes.plot(position, 1e3 * known[n], "k--", linewidth=0.8, label=None if n else reference)
    axes.set(xlabel="x [m]", ylabel="amplitude [mm]", title=title)
    axes.legend()
    figure.savefig(path, dpi=120)
    return path


def draw_flow(path: Path, title: str, values: np.ndarray, grid: Grid, name: str) -> Path:
    """Write a picture of a field of both signs, (ny, nx), with equally spaced contours, to `path`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 5.0), layout="constrained")
    axes = figure.add_subplot()
    limit = float(np.abs(values).max()) or 1.0
    image = axes.pcolormesh(grid.x, grid.y, values, cmap="RdBu_r", vmin=-limit, vmax=limit, shading="nearest")
    if name == "psi":
        axes.contour(grid.x, grid.y, values, levels=np.linspace(-limit, limit, 17), colors="black", linewidths=0.4)
    axes.set(aspect="equal", xlabel="x", ylabel="y", title=title)
    figure.colorbar(image, label=name, shrink=0.85)
    figure.savefig(path, dpi=150)
    return path
