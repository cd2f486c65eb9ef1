"""``eagre bench``: speed of the models on this machine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer


def bench(
    model: Annotated[str | None, typer.Argument(help="Model. Default: all models.")] = None,
    device: Annotated[str, typer.Option("--device", help="auto, cpu, cuda or cuda:1.")] = "auto",
    precision: Annotated[str | None, typer.Option("--precision", help="single or double. Default: both.")] = None,
    size: Annotated[
        list[int] | None, typer.Option("--size", min=8, help="Cells per side; repeat the option for several sizes.")
    ] = None,
    suite: Annotated[
        bool,
        typer.Option(
            "--suite", help="Time the parts of the anelastic model that its paper times: advection, operator, solver."
        ),
    ] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="JSON file to update with the results.")] = None,
    kernels: Annotated[
        bool, typer.Option("--kernels", help="Print the fraction of the step time of each kernel only.")
    ] = False,
    transfers: Annotated[
        bool,
        typer.Option(
            "--transfers", help="Print the times of copies between host and device, and of steps with copies."
        ),
    ] = False,
) -> None:
    """Verify the results, then measure the speed: cell-steps per second and per cent of the copy bandwidth."""
    if kernels or transfers:
        option = "--kernels" if kernels else "--transfers"
        _alone(option, {"--suite": suite, "--output": output, "--transfers": kernels and transfers})
        return (_kernels if kernels else _transfers)(model, device, precision, size)
    from eagre.cli.support.console import console
    from eagre.cli.validate import print_device

    out = console()
    output = None if output is None else _target(output)
    records = _records(model, device, precision, size, suite)
    print_device(device, out)
    columns = ["model", *(["case"] if suite else []), "variant", "precision", "threads", "cells", "ms/step", "best"]
    columns += ["cell-steps/s", "of copy", "verified"]
    out.print(_line(columns, suite), markup=False, soft_wrap=True)
    with out.status("measuring ...") if out.is_terminal else nullcontext():
        for record in records:
            out.print(
                _line(_row(record, suite), suite), markup=False, soft_wrap=True
            )  # each row at once, because a model takes minutes
            if output is not None:
                update(output, [record])
    if output is not None:
        out.print(f"wrote {output}", markup=False, soft_wrap=True)


def _target(path: Path) -> Path:
    """Check the file to update before the measurements start, and return its path."""
    from eagre.io.files import output_file

    output_file(path, suffixes=(".json",), overwrite=True, what="--output")
    if path.exists():
        _updated(path, [])
    return path


def _records(
    model: str | None, device: str, precision: str | None, size: list[int] | None, suite: bool
) -> Iterator[dict[str, Any]]:
    """Yield the measurements. The largest grids of the suite have as many points as a cube of the largest size."""
    from eagre.cli.validate import kinds_of
    from eagre.errors import InputError
    from eagre.laboratory.bench import benchmark
    from eagre.laboratory.bench import suite as parts

    if not suite:
        kinds = kinds_of(model)
        return (one for kind in kinds for one in benchmark.measurements(kind, device, precision, size or None))
    if model != "anelastic":
        got = f"--suite of {model or 'all models'}"
        raise InputError(
            got,
            allowed="anelastic",
            fix="eagre bench anelastic --suite",
            problem="The option --suite supports the anelastic model only.",
        )
    minimum = round(math.prod(parts.GRIDS[0]) ** (1.0 / 3.0))
    if size and max(size) < minimum:
        raise InputError(
            f"--size {max(size)} with --suite",
            allowed=f"{minimum} or more",
            fix=f"--size {minimum}",
            problem="The benchmark cannot be run at this size.",
        )
    return parts.suite(device, precision, most=max(size) ** 3 if size else None)


def _alone(option: str, others: Mapping[str, Any]) -> None:
    """Raise `InputError` if an option with a separate report is combined with another one."""
    from eagre.errors import InputError

    for flag in (name for name, value in others.items() if value):
        raise InputError(
            f"{option} with {flag}",
            allowed="one of the two",
            fix=f"eagre bench MODEL {option}",
            problem=f"The options {option} and {flag} cannot be combined.",
        )


def _each(
    model: str | None, device: str, precision: str | None, size: list[int] | None
) -> Iterator[tuple[str, str, int | None]]:
    """Print the device, then yield each model, precision and size (None: the minimum)."""
    from eagre.cli.support.console import console
    from eagre.cli.validate import kinds_of, print_device

    out = console()
    print_device(device, out)
    for kind in kinds_of(model):
        for real in (precision,) if precision else ("single", "double"):
            for points in size or (None,):
                yield kind, real, points


def _kernels(model: str | None, device: str, precision: str | None, size: list[int] | None) -> None:
    """Print the kernel profiles, one table per model, precision and size."""
    from eagre.cli.support.console import console, grid_table
    from eagre.laboratory.bench.benchmark import kernel_times

    for kind, real, points in _each(model, device, precision, size):
        rows = kernel_times(kind, device, real, points)
        numbers = [[row.name, f"{row.calls:.3g}", f"{row.microseconds:.4g}", f"{row.share:.0%}"] for row in rows]
        console().print(f"{kind}, {real}")
        console().print(grid_table(["kernel", "calls/step", "us/step", "fraction"], numbers))


def _transfers(model: str | None, device: str, precision: str | None, size: list[int] | None) -> None:
    """Print the times of copies, one table per model, precision and size."""
    from eagre.cli.support.console import console, grid_table
    from eagre.laboratory.bench.transfers import hidden_fraction, transfer_times

    for kind, real, points in _each(model, device, precision, size):
        rows = transfer_times(kind, device, real, points)
        numbers = [
            [row.name, f"{1e3 * row.seconds:.4g}", f"{1e-9 * row.bytes / row.seconds:.3g}" if row.bytes else ""]
            for row in rows
        ]
        console().print(f"{kind}, {real}")
        console().print(grid_table(["work", "ms", "GB/s"], numbers))
        console().print(f"{hidden_fraction(rows):.0%} of the copy time is hidden behind the steps")


def update(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write records into a JSON list; a record with the same identity replaces the older record.

    Raises
    ------
    InputError
        If the file exists and does not hold a list of records.
    OutputError
        If it cannot be written.
    """
    import json

    from eagre.cli.support.exits import OutputError

    updated = _updated(path, records)
    try:
        path.write_text(json.dumps(updated, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {path.resolve()}: {error.strerror}") from None


def _updated(path: Path, records: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Return the records of a file merged with new records, which replace records with the same identity."""
    import json

    from eagre.errors import InputError
    from eagre.laboratory.bench.benchmark import merged

    try:
        return merged(json.loads(path.read_text(encoding="utf-8")) if path.exists() else [], records)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise InputError(
            f"{path} without a list of measurements",
            allowed="a file written by eagre bench",
            problem=f"The file {path} is not a list of measurements.",
        ) from None


WIDTHS = (17, 14, 9, 7, 18, 9, 9, 12, 7)
"""Widths of the columns of a row, except the last column, whose width is not limited."""


def _line(row: list[str], case: bool) -> str:
    """Return one row of the table with columns of `WIDTHS`; each row is printed before the next is known."""
    widths = (WIDTHS[0], 14, *WIDTHS[1:]) if case else WIDTHS
    numeric = len(widths) - 6  # index of the first right-aligned column
    cells = [
        f"{cell:>{width}}" if n >= numeric else f"{cell:<{width}}"
        for n, (cell, width) in enumerate(zip(row[:-1], widths, strict=True))
    ]
    return "  ".join([*cells, row[-1]])


def _row(record: Mapping[str, Any], case: bool = False) -> list[str]:
    """Return the cells of one row of the table."""
    from eagre.cli.support.console import quantity

    def number(key: str, form: str) -> str:
        value = record.get(key)
        return "-" if value is None else f"{value:{form}}"

    shape = " x ".join(str(count) for count in reversed(record.get("shape") or ()))
    speed = record.get("cell_steps_per_s")
    return [
        *(str(record.get(key, "")) for key in ("model", *(["case"] if case else []), "variant", "precision")),
        str(record.get("threads") or "GPU"),
        shape,
        number("ms_per_step", ".4g"),
        number("ms_best", ".4g"),
        "-" if speed is None else quantity(speed),
        number("fraction_of_copy", ".0%"),
        number("error", ".2g") if isinstance(record.get("error"), (int, float)) else str(record.get("error") or "-"),
    ]
