"""``eagre sweep``: runs of one case with changed values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eagre.cli.support.options import CaseFile, Device

if TYPE_CHECKING:
    from eagre.sweeps.running import Member


def sweep(
    case_file: CaseFile,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE,...",
            help="Values of a key, e.g. friction.manning=0.02,0.03. Repeatable: all combinations.",
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option("--table", help="CSV file: one row per member, one column per key. Combined with --set."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder of the members. Default: members, next to the case file."),
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Members at the same time, each on its own cores or GPU.")
    ] = 1,
    selection: Annotated[
        str | None,
        typer.Option(
            "--part",
            metavar="K/N",
            help="Run part K of N only. Default: the task of a SLURM array and the rank of mpirun, else 1/1.",
        ),
    ] = None,
    device: Device = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace members that were run with other values or another case file.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print failed members only.")] = False,
) -> None:
    """Run a case for several values of its keys. The same command again runs the members that have not finished."""
    import os

    from eagre.cli.support.console import console, print_rows
    from eagre.sweeps.records import TABLE, write_table
    from eagre.sweeps.running import Stopped, find_selection, run_sweep
    from eagre.sweeps.sweep import parse_values
    from eagre.sweeps.sweep import sweep as make_sweep

    chosen = find_selection(selection, os.environ)
    lists, rows = parse_values(values or ()), () if table is None else table
    runs = make_sweep(case_file, lists, table=rows, folder=output, device=device, overwrite=overwrite)
    selected, folder, out, number = chosen.of(runs), runs[0].folder.parent, console(), 0
    write_table(folder)

    def on_change(run: Member, state: str) -> None:
        if state == "failed" or not quiet:
            out.print(_line(run, state), soft_wrap=True, markup=False)

    if not quiet:
        which = f"part {chosen.number} of {chosen.count} ({chosen.origin}): " if chosen.count > 1 else ""
        print_rows(out, [("members   ", f"{which}{len(selected)} of {len(runs)} in {folder}")])
    try:
        run_sweep(selected, workers, on_change=on_change, first_device=chosen.local_rank * workers)
    except Stopped as error:
        number = error.number
    if not quiet:
        print_rows(out, [("wrote     ", str(folder / TABLE))])
    if chosen.greatest(any(run.record.state != "finished" for run in selected)):
        raise _incomplete(selected, number)


def _line(run: Member, state: str) -> str:
    """Return the line of a member: name, state, values, and wall time or error."""
    from eagre.cli.support.console import duration
    from eagre.sweeps.records import LOG, text_of

    record = run.record
    items = [f"{key} = {text_of(value)}" for key, value in run.values.items()]
    if state in ("finished", "interrupted"):
        items.append(duration(record.seconds))
    if state == "failed":
        items += [f"exit code {record.exit_code}: {record.message}".rstrip(": "), f"see {run.folder / LOG}"]
    return f"{run.name}  {state:<11}  {', '.join(items)}"


def _incomplete(runs: list[Member], number: int) -> BaseException:
    """Return the exception that ends the command; `number` is the signal that stopped it, or 0."""
    import signal

    from eagre.cli.support.exits import Terminated
    from eagre.errors import EagreError

    left = [run for run in runs if run.record.state != "finished"]
    failed = [run.name for run in left if run.record.state == "failed"]
    text = f"{len(left)} of {len(runs)} members have not finished" + (
        f"; failed: {', '.join(failed)}" if failed else ""
    )
    text += "\ntry:     the same command again, which runs the members that have not finished"
    if number:
        return KeyboardInterrupt(text) if number == signal.SIGINT else Terminated(text, number)
    return EagreError(text)
