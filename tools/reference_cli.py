"""The text of docs/reference/command-line.md, from the commands that the source declares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from eagre.cli.main import app

HEAD = """\
<!-- Made by tools/make_reference.py (make reference); change the source, not this page. -->

# Command line

`eagre COMMAND --help` shows the same on the screen.

## Exit codes

| code | meaning | what to do |
|---|---|---|
| 0 | all went well | |
| 1 | a benchmark or validation failed; or a bug | for a bug: run again with `--debug` and report what it prints |
| 2 | wrong usage, or input that cannot be used | the message states the allowed values and the line to write |
| 3 | the solution blew up | look at the cell that is named; continue from the restart with a smaller `courant_number` |
| 4 | the requested device is not available | `--device auto`, or install the extra `cuda` |
| 5 | the model does not fit the device's memory | a coarser grid, or single precision |
| 6 | an output file cannot be written | another place, or `overwrite = true` |
| 129 | ended by SIGHUP: the terminal was closed | as 130 |
| 130 | interrupted with Ctrl-C | continue from the restart that was written |
| 138 | ended by SIGUSR1, which schedulers can send some time before the wall time | as 130 |
| 143 | ended by SIGTERM, which schedulers send at the wall time | as 130 |
"""


def cell(text: str | None) -> str:
    """A text that fits into one cell of a table."""
    return " ".join((text or "").split()).replace("|", "\\|").replace("<", "\\<")


def plain(text: str) -> str:
    """Help text with the screen's markup turned into Markdown's."""
    return re.sub(r"\[bold\](.*?)\[/(?:bold)?\]", r"`\1`", text)


def rows(command: Any) -> Iterator[str]:
    """Table rows of a command's arguments and options."""
    for parameter in command.params:
        if getattr(parameter, "hidden", False) or parameter.name in ("install_completion", "show_completion"):
            continue
        is_option = parameter.param_type_name == "option"
        argument = getattr(parameter, "metavar", None) or (parameter.name or "").upper()
        names = [*parameter.opts, *parameter.secondary_opts] if is_option else [argument]
        default = "needed" if parameter.required else "-"
        if parameter.default not in (None, "", False, ()) and not callable(parameter.default):
            default = f"`{parameter.default}`"
        told = ", ".join(f"`{cell(name)}`" for name in names)
        yield f"| {told} | {default} | {cell(getattr(parameter, 'help', ''))} |"


def sections(command: Any, name: str) -> Iterator[str]:
    """Heading, help and table of a command, then those of the commands below it."""
    text = plain((command.help or "").split("\f")[0].strip())
    lines = list(rows(command))
    yield from (f"## {name}", "", text, "")
    if lines:
        yield from ("| argument | default | what |", "|---|---|---|", *lines, "")
    for inner, below in sorted(getattr(command, "commands", {}).items()):
        if not below.hidden:
            yield from sections(below, f"{name} {inner}")


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *sections(typer.main.get_command(app), "eagre")]).rstrip() + "\n"
