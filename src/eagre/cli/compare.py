"""``eagre compare``: norms of the difference of two runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import xarray as xr


def compare(
    first: Annotated[Path, typer.Argument(help="Field file of eagre run (.nc).")],
    second: Annotated[Path, typer.Argument(help="Field file of another run with the same points (.nc).")],
    variable: Annotated[
        list[str] | None,
        typer.Option("--variable", "-v", help="Field to compare; repeat the option for several. Default: all."),
    ] = None,
    record: Annotated[int, typer.Option("--record", help="Record number, from 1; -1 is the last record.")] = -1,
) -> None:
    """Compare two runs: L1, L2 and maximum norms of the difference, and the maximum divided by the number of points."""
    from eagre.cli.support.console import console, grid_table
    from eagre.errors import InputError
    from eagre.io.files import read_values
    from eagre.laboratory.validation.comparison.compare import difference, differing_axis
    from eagre.plots.data.reading import open_dataset

    with open_dataset(first) as a, open_dataset(second) as b:
        names = _fields(first, a, second, b, variable)
        one, other = _at(first, a, record), _at(second, b, record)
        rows = []
        for name in names:
            if one[name].shape != other[name].shape:
                shapes = " and ".join(str(data[name].shape) for data in (one, other))
                raise InputError(
                    f"{name} of the shapes {shapes} in {first} and {second}",
                    allowed="files with the same points",
                    problem=f"The shapes of {name} in the two files differ.",
                )
            if (axis := differing_axis(first, one, second, other, name)) is not None:
                problem = f"{first} and {second} differ in {axis}, so their values cannot be compared."
                raise InputError(f"{name} of two files", allowed="the same points and times", problem=problem)
            norms = difference(read_values(one[name], first), read_values(other[name], second))
            if norms.points == 0:
                problem = f"{first} and {second} have no point where both have a value of {name}."
                raise InputError(
                    f"{name} of two files", allowed="files with a common point with values", problem=problem
                )
            numbers = norms.l1, norms.l2, norms.largest, norms.largest_over_points, norms.relative
            rows.append([name, *(f"{number:.4g}" for number in numbers), str(norms.points), str(norms.alone)])
        times = [f"{float(data['time']):.10g} s" for data in (one, other) if "time" in data.variables]
    out = console()
    out.print(
        f"at {' and '.join(dict.fromkeys(times)) or 'one time'}, {first} - {second}", markup=False, soft_wrap=True
    )
    heads = ["field", "L1", "L2", "max", "max/points", "L1/mean", "points", "in one only"]
    out.print(grid_table(heads, rows))


def _fields(first: Path, a: xr.Dataset, second: Path, b: xr.Dataset, requested: list[str] | None) -> list[str]:
    """Return the names of the fields in both files; raise `InputError` if there are no such fields."""
    from eagre.errors import InputError
    from eagre.names import components

    both = [
        name
        for name in map(str, a.data_vars)
        if name in b and a[name].dtype.kind == b[name].dtype.kind == "f" and a[name].ndim
    ]
    requested = [one for name in requested or [] for one in components(name, both) or [name]]
    if missing := [name for name in requested if name not in both]:
        raise InputError(
            f"no field {missing[0]} in both {first} and {second}",
            allowed=", ".join(both) or "none",
            problem=f"The field {missing[0]} is not in both files.",
        )
    over_time = [name for name in both if "time" in a[name].dims and "time" in b[name].dims]
    if not both or not (requested or over_time or "time" not in a.dims or "time" not in b.dims):
        problem = f"{first} and {second} have no field over time in common."
        got = f"files whose common fields are {', '.join(both) or 'none'}"
        fix = f"-v {both[0]}" if both else ""
        raise InputError(
            got, allowed="two files of the same model and with the same variables", fix=fix, problem=problem
        )
    return requested or both


def _at(path: Path, data: xr.Dataset, record: int) -> xr.Dataset:
    """The fields of one record."""
    from eagre.plots.data.reading import record_at

    count = data.sizes.get("time", 0)
    return data.isel(time=record_at(record, count, path)) if count else data
