"""The command-line program ``eagre``."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from eagre.cli import bench, export, info, new, plot, run, sweep, tune, validate, waves
from eagre.cli.support.console import discard
from eagre.cli.support.exits import EPILOG, is_usage, report


class Commands(TyperGroup):
    """Group of commands that accepts ``--debug`` at any position and turns every error into an exit code."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Move ``--debug`` to the front."""
        end = args.index("--") if "--" in args else len(args)
        if "--debug" in args[:end]:
            args = ["--debug", *(item for index, item in enumerate(args) if item != "--debug" or index > end)]
        ctx.meta["arguments"] = [item for item in args if item != "--debug"]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; report an error and exit with its code."""
        try:
            _check_processes(*ctx.meta["arguments"])
            return super().invoke(ctx)
        except BrokenPipeError:
            discard(sys.stdout)
            raise typer.Exit(0) from None
        except (Exception, KeyboardInterrupt) as error:
            if is_usage(error):
                raise
            raise typer.Exit(report(error, debug=bool(ctx.params.get("debug")))) from None


app = typer.Typer(
    name="eagre",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EPILOG,
)


def _version(requested: bool) -> None:
    if requested:
        from eagre import __version__

        typer.echo(f"eagre {__version__}")
        raise typer.Exit


IN_PROCESSES = {"run": "", "sweep": "", "info": "--mpi"}
"""Commands that several processes can share, with the option that they need for it."""


def _check_processes(command: str = "", *arguments: str) -> None:
    """Raise `InputError` in the first of several processes, and end the others, if each would repeat the command."""
    from eagre.backend.mpi.launch import is_first_process, started_processes
    from eagre.errors import InputError

    count, needed = started_processes(), IN_PROCESSES.get(command)
    if count == 1 or needed in ("", *arguments) or {"-h", "--help"} & {*arguments}:
        return
    if not is_first_process():
        raise typer.Exit  # with code 0: another code could end the first process before its message
    raise InputError(
        f"{count} processes of eagre {command}",
        allowed="one process; several for eagre run, eagre sweep and eagre info --mpi",
        fix=f"eagre {command} ...",
        problem="Each of the processes would run the whole command.",
    )


@app.callback()
def main(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of errors.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Simulate water and air on CPU cores or a GPU from one case file.

    Start with [bold]eagre new shallow-water[/], then [bold]eagre run case.toml[/], then [bold]eagre plot out.nc[/].
    """


app.command("run")(run.run)
app.command("new")(new.new)
app.command("check")(run.check)
app.command("sweep")(sweep.sweep)
app.command("info")(info.info)
app.command("plot")(plot.plot)
app.command("animate")(plot.animate)
app.command("export")(export.export)
app.command("compare")(info.compare)
app.command("waves")(waves.waves)
app.command("bench")(bench.bench)
app.command("tune")(tune.tune)
app.command("validate")(validate.validate)
app.command("library")(new.library)
app.command("reproduce")(validate.reproduce)
