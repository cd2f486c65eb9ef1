"""Pictures of flows: a field as filled contours or colours."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from eagre.grid import Grid


def draw_flow(path: Path, values: np.ndarray, grid: Grid, name: str, title: str) -> Path:
    """Draw a field that changes sign, (ny, nx), with contours of equal steps, and write it to `path`."""
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
