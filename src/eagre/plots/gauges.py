"""Series at gauges, with observations where there are any."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eagre.errors import InputError
from eagre.names import nearest
from eagre.plots.labels import time_unit
from eagre.plots.results import GaugeFile
from eagre.plots.style import INK, RC, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MODEL, _OBSERVED = "#1f6ba6", "#d0562f"
_MAX_PANELS = 24


def plot_gauges(
    gauges: GaugeFile,
    output: str | Path,
    *,
    variable: str | None = None,
    observed: str | Path | None = None,
    dpi: int = 150,
) -> Path:
    """Draw one panel per gauge.

    Parameters
    ----------
    gauges : GaugeFile
    output : str or Path
        Picture to write.
    variable : str, optional
        Without it the surface elevation.
    observed : str or Path, optional
        Table with a time column and one column per gauge; units in the header are converted.
    dpi : int
        Dots per inch.

    Returns
    -------
    Path
        `output`.

    Raises
    ------
    InputError
        If the variable is not in the file, or the observations name none of the gauges.
    """
    from matplotlib import rc_context

    name = gauges.check_variable(variable)
    measured = _observed(gauges, observed) if observed is not None else {}
    count = min(len(gauges.names), _MAX_PANELS)
    unit, factor = time_unit(float(gauges.times[-1] - gauges.times[0]) if gauges.times.size else 0.0)
    with rc_context(RC):
        figure = new_figure(9.0, 1.2 + 1.9 * count)
        panels = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
        for index, axes in enumerate(panels):
            _panel(axes, gauges, name, index, measured, factor)
        panels[-1].set_xlabel(f"time ({unit})")
        label = gauges.labels[name]
        figure.supylabel(label, fontsize=RC["font.size"])
        figure.suptitle(gauges.title, x=0.01, ha="left", fontsize=RC["axes.titlesize"], fontweight="bold")
        if measured:
            panels[0].legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderpad=0.0, ncols=2)
        figure.savefig(output, dpi=dpi)
    return Path(output)


def misfit(times: np.ndarray, values: np.ndarray, when: np.ndarray, measured: np.ndarray) -> float:
    """Root mean square difference to observations inside the computed time span; NaN without any."""
    inside = (when >= times[0]) & (when <= times[-1]) & np.isfinite(measured)
    if not inside.any():
        return float("nan")
    return float(np.sqrt(np.mean((np.interp(when[inside], times, values) - measured[inside]) ** 2)))


def _panel(
    axes: Axes,
    gauges: GaugeFile,
    name: str,
    index: int,
    measured: dict[str, tuple[np.ndarray, np.ndarray]],
    factor: float,
) -> None:
    """One gauge."""
    gauge, values = gauges.names[index], gauges.values[name][:, index]
    note = gauge
    if gauge in measured:
        when, data = measured[gauge]
        axes.plot(when * factor, data, color=_OBSERVED, linewidth=1.1, label="observed")
        note += f"   rms difference {misfit(gauges.times, values, when, data):.3g}"
    axes.plot(gauges.times * factor, values, color=_MODEL, linewidth=1.4, label="computed")
    axes.set_title(note, fontsize=RC["font.size"])
    axes.grid(color=INK, alpha=0.15, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    if gauges.times.size > 1:
        axes.set_xlim(gauges.times[0] * factor, gauges.times[-1] * factor)


def _observed(gauges: GaugeFile, path: str | Path) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Observations by the name of the gauge."""
    from eagre.plots.tables import read_observed

    when, columns = read_observed(path)
    found = {name: (when, columns[name]) for name in gauges.names if name in columns}
    if not found:
        near = nearest(next(iter(columns), ""), gauges.names) or gauges.names[0]
        raise InputError(
            f"{path} with the columns {', '.join(columns)}",
            allowed=f"columns named as the gauges: {', '.join(gauges.names)}",
            fix=f"time(s),{near}(m)",
        )
    return found
