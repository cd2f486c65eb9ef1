"""Series and spectra at gauges, with observations, and scalar time series."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eagre.errors import InputError
from eagre.names import nearest
from eagre.plots.data.results import GaugeFile, NumberFile
from eagre.plots.drawing.frames import save
from eagre.plots.drawing.style import INK, RC, new_figure, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    """Draw series, or spectra on logarithmic axes, one panel per gauge.

    Parameters
    ----------
    gauges : GaugeFile
    output : str or Path
        Picture to write.
    variable : str, optional
        Name of the variable; without it the surface elevation, or else the first variable.
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
        If the file does not have the variable, or no column of the observations has the name of a gauge.
    """
    from matplotlib import rc_context

    name = gauges.check_variable(variable)
    measured = _observed(gauges, observed) if observed is not None else {}
    count = min(len(gauges.names), _MAX_PANELS)
    axis, factor = (gauges.axis, 1.0) if gauges.axis else _time_axis(gauges.times)
    with rc_context(RC):
        figure, panels = stacked(count, gauges.title, axis)
        for index, axes in enumerate(panels):
            _panel(axes, gauges, name, index, measured, factor)
        label = gauges.labels[name]
        figure.supylabel(label, fontsize=RC["font.size"])
        if measured:
            panels[0].legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderpad=0.0, ncols=2)
        save(figure, output, dpi)
    return Path(output)


def plot_numbers(numbers: NumberFile, output: str | Path, *, variable: str | None = None, dpi: int = 150) -> Path:
    """Draw scalar time series, one panel per variable.

    Parameters
    ----------
    numbers : NumberFile
    output : str or Path
        Picture to write.
    variable : str, optional
        Name of the variable; without it up to 24 variables.
    dpi : int
        Dots per inch.

    Returns
    -------
    Path
        `output`.

    Raises
    ------
    InputError
        If the file does not have the variable.
    """
    from matplotlib import rc_context

    names = [*numbers.values][:_MAX_PANELS] if variable is None else [numbers.check_variable(variable)]
    axis, factor = _time_axis(numbers.times)
    with rc_context(RC):
        figure, panels = stacked(len(names), numbers.title, axis)
        for name, axes in zip(names, panels, strict=True):
            series(axes, numbers.times * factor, numbers.values[name], numbers.labels[name])
        save(figure, output, dpi)
    return Path(output)


def _time_axis(times: np.ndarray) -> tuple[str, float]:
    """Return the label of the time axis and the factor from seconds to its unit."""
    unit, factor = time_unit(float(times[-1] - times[0]) if times.size else 0.0)
    return f"time ({unit})", factor


def stacked(count: int, title: str, axis: str) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels above each other that share an abscissa with the label `axis`."""
    figure = new_figure(9.0, 1.2 + 1.9 * count)
    panels = list(figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0])
    panels[-1].set_xlabel(axis)
    figure.suptitle(title, x=0.01, ha="left", fontsize=RC["axes.titlesize"], fontweight="bold")
    return figure, panels


def series(axes: Axes, times: np.ndarray, values: np.ndarray, note: str) -> None:
    """Draw a line over time, with a note above it."""
    axes.plot(times, values, color=_MODEL, linewidth=1.4, label="computed")
    axes.set_title(note, fontsize=RC["font.size"])
    axes.grid(color=INK, alpha=0.15, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    if times.size > 1:
        axes.set_xlim(times[0], times[-1])


def misfit(times: np.ndarray, values: np.ndarray, when: np.ndarray, measured: np.ndarray) -> float:
    """Return the root-mean-square difference to the observations in the computed period; NaN without any."""
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
    """Draw a gauge."""
    gauge, values = gauges.names[index], gauges.values[name][:, index]
    note, times = gauge, gauges.times * factor
    if gauges.axis:  # zero has no logarithm
        axes.set(xscale="log", yscale="log")
        times, values = times[times > 0.0], np.where(values > 0.0, values, np.nan)[times > 0.0]
    if gauge in measured:
        when, data = measured[gauge]
        axes.plot(when * factor, data, color=_OBSERVED, linewidth=1.1, label="observed")
        note += f"   rms difference {misfit(gauges.times, values, when, data):.3g}"
    series(axes, times, values, note)


def _observed(gauges: GaugeFile, path: str | Path) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return times and observations by the name of the gauge."""
    from eagre.plots.data.reading import read_observed

    when, columns = read_observed(path)
    observed = {name: (when, columns[name]) for name in gauges.names if name in columns}
    if not observed:
        near = nearest(next(iter(columns), ""), gauges.names) or gauges.names[0]
        raise InputError(
            f"{path} with the columns {', '.join(columns)}",
            allowed=f"columns with the names of gauges: {', '.join(gauges.names)}",
            fix=f"time(s),{near}(m)",
            problem="No column of the observations has the name of a gauge.",
        )
    return observed
