"""Tables in text files: gauge output and spectra in CSV, and observations."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from eagre.config.toml import existing_file
from eagre.config.values.units import UNITS
from eagre.errors import InputError
from eagre.io.tables.table import Table, read_table, split_unit
from eagre.plots.data.results import GaugeFile, NumberFile
from eagre.plots.drawing.labels import label_of, with_units

_SPECTRAL = ("frequency", "wavenumber")  # names of the first column of a spectrum


def read_columns(path: str | Path) -> tuple[list[str], np.ndarray]:
    """Read a text table with empty fields.

    Parameters
    ----------
    path : str or Path
        File with one header line; columns separated by commas, semicolons, tabs or blanks.

    Returns
    -------
    names : list of str
        Column names, with units in parentheses if the file has them.
    values : (rows, columns) array
        Empty fields are NaN.

    Raises
    ------
    InputError
        If a row has another number of columns than the header, or a field is not numeric.
    """
    table = read_table(existing_file(Path(path), "table"))
    return table.names, np.array([_row(table, row) for row in range(len(table.rows))])


def read_observed(path: str | Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Read observations: times, s, and values in SI units, by column name.

    Units in the header, as in ``time(min)`` or ``ch5 (cm)``, are converted.
    """
    header, values = read_columns(path)
    names = [split_unit(column) for column in header]
    times = values[:, 0] * _scale(names[0][1])
    columns = {name: values[:, i] * _scale(unit) for i, (name, unit) in enumerate(names) if i > 0}
    return times, columns


def read_series_csv(path: Path) -> GaugeFile | NumberFile:
    """Read gauge output in CSV: one column per point and variable, ``"pier surface_elevation (m)"``.

    Columns without a point in several units, ``"max_w (m s-1)"``, are scalar time series. If the first column is a
    frequency or a wavenumber, ``"frequency (Hz)"``, the columns are spectra.
    """
    header, table = read_columns(path)
    columns = [split_unit(column) for column in header[1:]]
    if len({unit for _, unit in columns}) > 1 and not any(" " in name for name, _ in columns):
        values = {name: table[:, index] for index, (name, _) in enumerate(columns, start=1)}
        labels = {name: label_of({"units": unit}, name) for name, unit in columns}
        return NumberFile(path, table[:, 0] * _scale(split_unit(header[0])[1]), values, labels, path.stem)
    return _gauges(path, header, table)


def _gauges(path: Path, header: list[str], table: np.ndarray) -> GaugeFile:
    """Return series or spectra at points."""
    names: list[str] = []
    columns: dict[str, dict[str, np.ndarray]] = {}
    units: dict[str, str] = {}
    for index, column in enumerate(header[1:], start=1):
        text, unit = split_unit(column)
        text = text.replace("variance density", "variance_density")
        point, _, variable = text.rpartition(" ")
        point, variable = (point, variable) if point else (variable, "value")
        if point not in names:
            names.append(point)
        columns.setdefault(variable, {})[point] = table[:, index]
        units[variable] = unit
    if not columns:
        raise InputError(
            f"{path} with one column", allowed="a time column and one column per point and variable",
            problem="The table has no values.",
        )  # fmt: skip
    missing = np.full(table.shape[0], np.nan)
    values = {
        variable: np.stack([series.get(point, missing) for point in names], axis=1)
        for variable, series in columns.items()
    }
    labels = {name: with_units(name.replace("_", " "), units[name]) for name in columns}
    first, unit = split_unit(header[0])
    if any(word in first.lower() for word in _SPECTRAL):
        return GaugeFile(path, table[:, 0], names, values, labels, path.stem, with_units(first, unit))
    return GaugeFile(path, table[:, 0] * _scale(unit), names, values, labels, path.stem)


def _row(table: Table, row: int) -> list[float]:
    """Return the numbers of a row; empty fields are NaN."""
    cells = table.cells(row)
    where = f"{table.path}, line {table.lines[row]}"
    if len(cells) != len(table.names):
        raise InputError(
            f"{where}: {len(cells)} columns", allowed=f"{len(table.names)}, as in the header",
            problem="A row has another number of columns than the header.",
        )  # fmt: skip
    try:
        return [float(cell) if cell else np.nan for cell in cells]
    except ValueError as error:
        raise InputError(
            f"{where}: {error}", allowed="numbers and empty fields", problem="A field of the table is not numeric."
        ) from None


def _scale(unit: str) -> float:
    """Return the factor from a known unit to SI units (``"s since ..."`` is s), else 1."""
    word = unit.split(" ")[0]
    return UNITS[word][0] if word in UNITS else 1.0
