"""Manning's n from land-cover classes by a table; tables of ESA WorldCover and NLCD are included."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np

from eagre.errors import InputError
from eagre.io.files import input_file, listing
from eagre.io.rasters.raster import Dem
from eagre.io.tables.table import reading_rows

SHIPPED = ("esa-worldcover", "nlcd")


def read_class_table(table: str | Path) -> dict[int, float]:
    """Read values by class from a CSV file with the columns ``class`` and ``n``; lines that begin with # are comments.

    Semicolons or tabs may also separate the columns; decimals then have a comma or a point.

    Parameters
    ----------
    table : str or Path
        A name in `SHIPPED`, or a file.

    Raises
    ------
    InputError
        If the file is missing or has other columns, a class is not an integer or occurs twice, or n is not > 0.
    """
    if table in SHIPPED:
        name, text = str(table), (resources.files(__name__) / f"{table}.csv").read_text(encoding="utf-8")
    else:
        path = input_file(table, "table of classes")
        name, text = str(path), path.read_bytes().decode("utf-8-sig", "replace")
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip() and not line.startswith("#")]
    delimiter = next((one for one in ";\t" if lines and one in lines[0][1]), ",")
    with reading_rows(name):
        rows = csv.DictReader([line for _, line in lines], skipinitialspace=True, delimiter=delimiter)
        heads, held = rows.fieldnames or (), list(rows)
    comma = "," if delimiter != "," else "."  # of decimals, where no comma parts the columns
    if not {"class", "n"} <= set(heads):
        got = listing(heads or ["nothing"])
        raise InputError(
            f"{name} with the columns {got}",
            allowed="class, n and, optionally, name",
            fix="class,n,name",
            problem=f"The columns of the table {name} are not valid.",
        )
    values: dict[int, float] = {}
    for row, (number, line) in zip(held, lines[1:], strict=False):
        try:
            code, value = int(row["class"]), float((row["n"] or "").replace(comma, "."))
        except (TypeError, ValueError):
            code, value = 0, math.nan
        if any(row.get(None, ())):  # type: ignore[call-overload]
            code, value = 0, math.nan  # more values than columns
        if not 0.0 < value < math.inf or code in values:
            wrong = f"a second line of class {code}" if code in values and value > 0 else f"{line[:60]!r}"
            raise InputError(
                f"{name}, line {number}: {wrong}",
                allowed="one line per class, with n > 0",
                fix="10,0.1,trees",
                problem=f"Line {number} of the table {name} is not valid.",
            )
        values[code] = value
    return values


def values_of_classes(raster: Dem, table: Mapping[int, float], name: str) -> Dem:
    """Return the raster of the values of a raster of classes; NaN where there is no data.

    Raises
    ------
    InputError
        If a class is not in the table, with its code and its number of cells.
    """
    codes, inverse, counts = np.unique(raster.elevation, return_inverse=True, return_counts=True)
    missing = [(code, count) for code, count in zip(codes, counts, strict=True) if code == code and code not in table]
    if missing:
        code, count = max(missing, key=lambda one: one[1])
        others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(
            f"{raster.name}: class {code:g} in {count} cells{others}, not in {name}",
            allowed=listing((f"{one}" for one in table), 30),
            fix=f"{code:g},0.03,NAME as a line of a separate table",
            problem=f"The table {name} has no class {code:g}.",
        )
    values = np.array([table.get(code, np.nan) if code == code else np.nan for code in codes.tolist()])
    return replace(raster, elevation=values[inverse.reshape(raster.elevation.shape)], units="s m-1/3")
