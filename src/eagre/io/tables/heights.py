"""Values at heights from text tables."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from eagre.errors import InputError
from eagre.io.files import input_file
from eagre.io.tables.table import find_column, read_table, split_unit

_METRES = {"": 1.0, "m": 1.0, "km": 1000.0, "ft": 0.3048}


def read_heights(
    path: str | os.PathLike[str],
    *,
    height: str | None = None,
    value: str | None = None,
    scale: Callable[[str], float] = lambda unit: 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Read heights, m, and values, both (n,), from a text table with a header.

    Parameters
    ----------
    path : path-like
    height, value : str, optional
        Columns. Default: the first and the second. A unit of the heights in brackets, ``z (km)``, is applied.
    scale : callable
        Function that returns the factor on the values for their unit in brackets.

    Raises
    ------
    InputError
        If the file or a column is missing, or a cell is not a number.
    """
    full = input_file(path, "table of heights")
    table = read_table(full, "a level", ("z,value", "0,0.0"))
    if len(table.names) < 2:
        raise InputError(
            f"{full} with one column",
            allowed="two or more columns: heights and values",
            problem=f"The table {full} has fewer than two columns.",
        )
    columns = [
        position if name is None else find_column(table.names, name, full, what)
        for position, (name, what) in enumerate(((height, "height"), (value, "value")))
    ]
    numbers = table.numbers(columns)
    unit, unit_of_values = (split_unit(table.names[column])[1] for column in columns)
    if unit not in _METRES:
        raise InputError(
            f"{full}: heights in {unit!r}",
            allowed=", ".join(one for one in _METRES if one),
            problem=f"The units of the heights in {full} are not supported.",
        )
    return _METRES[unit] * numbers[:, 0], scale(unit_of_values) * numbers[:, 1]
