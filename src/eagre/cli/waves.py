"""``eagre waves``: wave statistics of gauge records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import numpy as np

    from eagre.plots.data.results import GaugeFile

EVENNESS = 1e-6  # tolerance of even spacing, as a fraction of the interval
MIN_TIMES = 16  # minimum number of times of a record
LARGE_RESIDUAL = 0.1  # fraction of the variance above which a warning is printed
DEPTH_TOLERANCE = 0.1  # as a fraction of the depth


def waves(
    file: Annotated[Path, typer.Argument(help="Gauge file of eagre run (.nc, .csv).")],
    variable: Annotated[
        str | None, typer.Option("--variable", "-v", help="Variable. Default: the surface elevation.")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", help='Start of the analysis window, e.g. "2 min" or 120 (s).')
    ] = None,
    end: Annotated[str | None, typer.Option("--to", help="End of the analysis window.")] = None,
    depth: Annotated[
        float | None,
        typer.Option("--depth", help="Water depth, m: separate incident and reflected waves with all gauges (.nc)."),
    ] = None,
    spectrum: Annotated[
        Path | None, typer.Option("--spectrum", help="CSV file for the variance density spectra.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
) -> None:
    """Compute wave heights, periods, skewness and set-up at gauges, and the reflection along a line of gauges."""
    from eagre.cli.support.console import console, grid_table
    from eagre.errors import InputError
    from eagre.plots import open_results
    from eagre.plots.data.results import GaugeFile
    from eagre.waves import sea_state
    from eagre.waves.statistics import is_still

    target = None if spectrum is None else _target(spectrum, overwrite, file)
    if depth is not None and not depth > 0.0:
        problem = "The depth is not positive."
        raise InputError(f"--depth {depth:g}", allowed="a number > 0, metres", fix="--depth 1", problem=problem)
    results = open_results(file)
    if not isinstance(results, GaugeFile):
        problem = f"The file {file} holds no gauge series."
        raise InputError(str(file), allowed="a gauge file of eagre run", problem=problem)
    times, values = _even(results, results.check_variable(variable), start, end)
    interval, rows = float(times[1] - times[0]), []
    for name, surface in zip(results.names, values.T, strict=True):
        if is_still(surface):
            rows.append([name, *["-"] * 8, f"{surface[0]:.4g}", "0"])
            continue
        state = sea_state(surface, interval)
        numbers = (state.significant_height, state.one_third_height, state.highest, state.mean_period)
        numbers += (state.peak_period, state.tm01, state.skewness, state.asymmetry, state.mean_level)
        rows.append([name, *(f"{number:.4g}" for number in numbers), str(state.count)])
    out = console()
    out.print(f"{times[0]:.6g} s to {times[-1]:.6g} s, every {interval:g} s", markup=False, soft_wrap=True)
    heads = ["gauge", "Hs m", "H1/3 m", "Hmax m", "Tz s", "Tp s", "Tm01 s", "skewness", "asymmetry", "level m", "waves"]
    out.print(grid_table(heads, rows))
    if depth is not None:
        out.print(_reflection(results, values, interval, depth), markup=False, soft_wrap=True)
    if target is not None:
        _write_spectra(target, results.names, values, interval)
        out.print(f"wrote {target}", markup=False, soft_wrap=True)


def _target(path: Path, overwrite: bool, file: Path) -> Path:
    """Check the path of the spectra before the computation, and return it."""
    from eagre.io.files import output_file

    options = {"suffixes": (".csv",), "what": "--spectrum", "replace": "--overwrite"}
    return output_file(path, overwrite=overwrite, inputs=[file], **options)


def _write_spectra(target: Path, names: Sequence[str], values: np.ndarray, interval: float) -> None:
    """Write columns: frequency, Hz, and the variance density of each gauge, m2/Hz (`eagre.waves.power_spectrum`)."""
    import numpy as np

    from eagre.io.tables.csv_rows import write_rows
    from eagre.waves import power_spectrum

    spectra = [power_spectrum(surface, interval) for surface in _moving(names, values)]
    table = np.column_stack([spectra[0].frequency, *(one.values for one in spectra)])
    heads = ["frequency (Hz)", *(f"{name} variance density (m2/Hz)" for name in names)]
    write_rows(target, heads, table.tolist())


def _moving(names: Sequence[str], values: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the series of the gauges; raise `InputError` for a constant series."""
    from eagre.errors import InputError
    from eagre.waves.statistics import is_still

    for name, surface in zip(names, values.T, strict=True):
        if is_still(surface):
            raise InputError(
                f"gauge {name}, with a constant surface",
                allowed="gauges with a varying surface",
                problem=f"The water surface at gauge {name} does not move.",
            )
        yield surface


def _even(results: GaugeFile, name: str, start: str | None, end: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the times, s, and the series, (n, gauges), of the analysis window, which must be evenly spaced."""
    import numpy as np

    from eagre.config.values.units import parse_quantity
    from eagre.errors import InputError

    low = -np.inf if start is None else parse_quantity(start, "time", "--from")
    high = np.inf if end is None else parse_quantity(end, "time", "--to")
    inside = (results.times >= low) & (results.times <= high)
    times, values = results.times[inside], results.values[name][inside]
    if times.size > 2 and abs(times[-1] - times[-2] - (times[1] - times[0])) > EVENNESS * (times[1] - times[0]):
        times, values = times[:-1], values[:-1]  # the end time of a run that is not a multiple of the interval
    steps = np.diff(times)
    if times.size < MIN_TIMES:
        within = f" from {times[0]:g} s to {times[-1]:g} s" if times.size else ""
        raise InputError(
            f"{times.size} times in {results.path}{within}", allowed=f"{MIN_TIMES} or more at even intervals",
            problem="The record is too short for statistics of waves.",
        )  # fmt: skip
    if np.ptp(steps) > EVENNESS * steps[0] + 1e-9 * abs(times[-1]):
        raise InputError(
            f"{times.size} times in {results.path}, {steps.min():g} to {steps.max():g} s apart",
            allowed=f"{MIN_TIMES} or more at even intervals",
            problem="The times of the record are not evenly spaced.",
        )  # fmt: skip
    return times, values


def _reflection(results: GaugeFile, values: np.ndarray, interval: float, depth: float) -> str:
    """Return the heights of the incident and reflected waves, and the quality of their separation."""
    import numpy as np

    from eagre.errors import InputError
    from eagre.waves import separate_reflection

    if results.path.suffix.lower() == ".csv":
        raise InputError(
            f"--depth for {results.path}", allowed="a NetCDF file of gauges", fix='file = "gauges.nc"',
            problem="A CSV file does not hold the positions of the gauges.",
        )  # fmt: skip
    axis, positions = _line_of_gauges(results.path)
    _check_depths(results, depth)
    result = separate_reflection(values.T, positions, interval, depth)
    heights = f"incident Hs {result.incident_height:.4g} m, reflected {result.reflected_height:.4g} m"
    extent = f"{positions.size} gauges at {axis} = {positions.min():g} to {positions.max():g} m"
    quality = f"{result.variance_fraction:.0%} of the variance used"
    if positions.size > 2:
        quality += f", residual {result.residual:.1%}"
    text = f"{heights}, reflection coefficient {result.coefficient:.3f} from {extent}; {quality}"
    if np.isfinite(result.residual) and result.residual > LARGE_RESIDUAL:
        text += (
            "\nThe records do not fit small waves along the line of gauges: check the depth, the positions of "
            "the gauges and the direction of the waves."
        )
    return text


def _line_of_gauges(path: Path) -> tuple[str, np.ndarray]:
    """Return the axis of the line of gauges and their positions, m."""
    import numpy as np

    from eagre.errors import InputError
    from eagre.io.files import read_values
    from eagre.plots.data.reading import open_dataset

    with open_dataset(path) as dataset:
        x, y = (read_values(dataset[name], path).astype(np.float64) for name in "xy")
    if x.size < 2:
        raise InputError(
            f"{x.size} gauge in {path}", allowed="two gauges or more in a line",
            problem="One gauge cannot separate incident from reflected waves.",
        )  # fmt: skip
    if np.ptp(x) > 0.0 and np.ptp(y) > EVENNESS * np.ptp(x):
        raise InputError(
            f"gauges from ({x[0]:g}, {y[0]:g}) to ({x[-1]:g}, {y[-1]:g}) m in {path}",
            allowed="gauges along x with one y, or along y with one x",
            problem="The gauges are not in a line along an axis.",
        )  # fmt: skip
    return ("x", x) if np.ptp(x) > 0.0 else ("y", y)


def _check_depths(results: GaugeFile, depth: float) -> None:
    """Reject gauges whose measured depths, where the file holds them, differ from the given one."""
    from eagre.errors import InputError

    if "depth" not in results.values:
        return
    measured = results.values["depth"].mean(axis=0)
    if abs(measured - depth).max() > DEPTH_TOLERANCE * depth:
        raise InputError(
            f"--depth {depth:g} and mean depths of {measured.min():.4g} to {measured.max():.4g} m in {results.path}",
            allowed="gauges over a level bed of that depth", fix=f"--depth {measured.mean():.4g}",
            problem="The depth at the gauges differs from the given depth.",
        )  # fmt: skip
