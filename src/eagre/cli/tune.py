"""``eagre tune``: search for the fastest launch parameters of the kernels on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from eagre.laboratory.bench.tuning.tuner import Found


LEFT_OUT = ": left out: "  # marks lines about searches that were skipped


def tune(
    what: Annotated[str | None, typer.Argument(metavar="[CASE.toml | MODEL]", help="Case file or model.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Tune all models.")] = False,
    device: Annotated[str, typer.Option("--device", help="auto, cpu, cuda or cuda:1.")] = "auto",
    precision: Annotated[str | None, typer.Option("--precision", help="single or double. Default: both.")] = None,
    size: Annotated[
        list[int] | None, typer.Option("--size", min=8, help="Cells per side; repeat the option for several sizes.")
    ] = None,
    space: Annotated[
        list[str] | None,
        typer.Option("--space", help="Search space to tune; repeat the option for several. Default: all."),
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Figure of all timings (.png, .pdf, .svg).")] = None,
    dump: Annotated[Path | None, typer.Option("--dump", help="JSON file for all timings.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Repeat earlier timings.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the table only.")] = False,
) -> None:
    """Verify and time variants of the kernels, and store the fastest for runs on this machine.

    Ctrl-C stops the command; the same command resumes the search.
    """
    import time

    from eagre.backend.select import select
    from eagre.backend.tuned import file_of
    from eagre.cli.support.console import console, duration

    out, start = console(), time.perf_counter()
    chosen = select(device)
    _check_ways_out(file_of(chosen), plot, dump, what)
    out.print(f"device      {chosen}", markup=False, soft_wrap=True)
    results: list[Found] = []
    left_out: list[str] = []
    with (
        _show_completed(out, results, fresh),
        out.status("tuning ...") if out.is_terminal and not quiet else nullcontext() as status,
    ):

        def tell(text: str) -> None:
            if LEFT_OUT in text:
                left_out.append(text)
            if status is not None:
                status.update(text)
            elif not quiet:
                out.print(text, markup=False, soft_wrap=True)

        for one in _searches(what, everything, chosen, precision, size, space or (), fresh, tell):
            results.append(one)
    _show_all(out, results, left_out)
    if plot is not None:
        _draw(results, plot)
        out.print(f"wrote {plot}", markup=False, soft_wrap=True)
    if dump is not None:
        _write(results, dump)
        out.print(f"wrote {dump}", markup=False, soft_wrap=True)
    out.print(f"wall time   {duration(time.perf_counter() - start)}; stored in {file_of(chosen)}", soft_wrap=True)


def _searches(
    what: str | None, everything: bool, device: Any, precision: str | None, sizes: Sequence[int] | None,
    only: Sequence[str], fresh: bool, tell: Any,
) -> Iterator[Found]:  # fmt: skip
    """Yield the results of the searches."""
    from eagre.backend.device import check_precision
    from eagre.cli.validate import kinds_of
    from eagre.errors import InputError
    from eagre.laboratory.bench.tuning.compilers import Compilers
    from eagre.laboratory.bench.tuning.schemes import tune_schemes
    from eagre.laboratory.bench.tuning.tuner import begin_compiling, check_sizes, forget, tune_benchmark, tune_case
    from eagre.models.registry import load_case

    if (what is None) != everything:
        got = f"eagre tune {what} --all" if everything else "eagre tune"
        problem = "The command requires a case, a model or --all."
        raise InputError(got, allowed="a case, a model or --all", fix="eagre tune shallow-water", problem=problem)
    if what is not None and what.endswith(".toml"):
        if sizes or only:
            problem = "The options --size and --space do not apply to a case."
            raise InputError(
                "--size or --space with a case", allowed="neither", fix=f"eagre tune {what}", problem=problem
            )
        yield from tune_case(load_case(what), device, precision, fresh=fresh, tell=tell)
        return
    precisions = (precision,) if precision else ("single", "double")
    for real in precisions:
        check_precision(real, "--precision")
    for kind in kinds_of(what):
        check_sizes(kind, sizes or ())
    with Compilers(device) as compilers:
        for kind in kinds_of(what):
            if fresh:
                forget(kind, device, precisions, sizes, only=only)
            begin_compiling(kind, device, precisions, sizes, compilers, only=only, tell=tell)
            for real in precisions:
                yield from tune_benchmark(kind, device, real, sizes, only=only, compilers=compilers, tell=tell)
                if not only:
                    tune_schemes(kind, device, real, sizes, tell=tell)


def _check_ways_out(timings: Path, plot: Path | None, dump: Path | None, what: str | None) -> None:
    """Check that the results can be written, before the timings start."""
    import os
    from tempfile import TemporaryFile

    from eagre.cli.support.exits import OutputError
    from eagre.io.files import output_file
    from eagre.layouts import store

    inputs = [Path(what)] if what is not None and what.endswith(".toml") else []
    for flag, path, endings in (("--plot", plot, (".png", ".pdf", ".svg")), ("--dump", dump, (".json",))):
        if path is None:
            continue
        if not os.access(path.resolve().parent, os.W_OK):
            raise OutputError(f"cannot write {path.resolve()}: {path.resolve().parent} is not a writable folder")
        output_file(path, suffixes=endings, overwrite=True, what=flag, inputs=inputs)
    try:
        timings.parent.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=timings.parent).close()
    except OSError as error:
        message = (
            f"cannot write {timings.parent}: {error.strerror}\nwrite:   EAGRE_TUNING=/path/to/a/folder eagre tune ..."
        )
        raise OutputError(message) from None
    store.read(timings)


@contextmanager
def _show_completed(out: Any, results: Sequence[Found], fresh: bool) -> Iterator[None]:
    """If a search is stopped, print the results until then and the command that resumes it."""
    try:
        yield
    except KeyboardInterrupt as stop:
        if results:
            _show(out, results)
        same = "the same command without --fresh" if fresh else "the same command"
        raise type(stop)(f"all timings are stored; {same} resumes the search") from None


def _show_all(out: Any, results: Sequence[Found], left_out: Sequence[str]) -> None:
    """Print the table and the skipped searches; raise an error if there are no results."""
    from eagre.errors import EagreError

    if not results:
        raise EagreError("\n".join(["no search was possible", *left_out]))
    _show(out, results)
    for line in left_out:
        out.print(line, markup=False, soft_wrap=True)


def _show(out: Any, results: Sequence[Found]) -> None:
    """Print the table of the results."""
    from eagre.cli.support.console import grid_table
    from eagre.tuning.space import describe

    columns = ["space", "scheme", "precision", "cells", "before, us", "after, us", "gain", "best", "tried", "failed"]
    rows = []
    for one in results:
        outcome = one.outcome
        rows.append(
            [
                *(outcome.space.name, one.use.scheme or "all", one.use.precision, " x ".join(map(str, one.shape))),
                f"{1e6 * outcome.shipped_seconds:.4g}",
                f"{1e6 * outcome.tuned_seconds:.4g}",
                f"{100.0 * outcome.gain:.1f} %",
                describe(outcome.best) + ("" if outcome.same_bits else " (other rounding)"),
                *(str(len(outcome.trials)), str(sum(bool(trial.failed) for trial in outcome.trials))),
            ]
        )
    out.print(grid_table(columns, rows))


def _draw(results: Sequence[Found], path: Path) -> None:
    from eagre.laboratory.bench.tuning.tuner import dump
    from eagre.plots.landscape import draw_landscape

    draw_landscape(dump(results), path)


def _write(results: Sequence[Found], path: Path) -> None:
    import json

    from eagre.cli.support.exits import OutputError
    from eagre.laboratory.bench.tuning.tuner import dump

    try:
        path.write_text(json.dumps(dump(results), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {path.resolve()}: {error.strerror}") from None
