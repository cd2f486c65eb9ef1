"""``eagre new`` and ``eagre library``: files to start from, a case and the C library."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eagre.models.registry import KINDS


def new(
    kind: Annotated[str, typer.Argument(help=f"Model: {', '.join(KINDS)}.", show_default=False)] = "",
    directory: Annotated[Path, typer.Argument(help="Folder for the case file; created if it does not exist.")] = Path(
        "."
    ),
    name: Annotated[str, typer.Option("--name", help="Name of the case file.")] = "case.toml",
) -> None:
    """Write a commented case file that runs without changes."""
    from shlex import quote

    from eagre.cli.support.console import console
    from eagre.cli.support.exits import OutputError
    from eagre.errors import InputError

    text = template(kind)
    path = directory / name
    if directory.is_file():
        raise InputError(
            str(directory),
            allowed="a folder",
            fix=f"eagre new {kind}",
            problem=f"The path {directory} is a file, not a folder.",
        )
    if Path(name).name != name:
        raise InputError(
            f"--name {name}",
            allowed="the name of a file, without a folder",
            fix="--name case.toml",
            problem="The file name contains a folder.",
        )
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(
            str(path.resolve()),
            allowed="a new file name: existing files are not overwritten",
            fix=f"eagre new {kind} {quote(str(directory))} --name my_{kind.replace('-', '_')}.toml",
            problem=f"The file {path.resolve()} exists already.",
        ) from None
    except OSError as error:
        raise OutputError(f"cannot write {path.resolve()}: {error.strerror}") from None
    out = console()
    out.print(f"wrote {path}", soft_wrap=True, markup=False)
    out.print(f"next: eagre run {quote(str(path))}", style="dim", soft_wrap=True, markup=False)


def template(kind: str) -> str:
    """Return the text of the case file that ``eagre new`` writes for a model.

    Raises
    ------
    InputError
        If the model does not exist; the message names the nearest model.
    """
    from importlib.resources import files

    from eagre.errors import InputError
    from eagre.names import nearest

    if kind not in KINDS:
        near = nearest(kind, KINDS) or next(iter(KINDS))
        what = f'model "{kind}"' if kind else "no kind of model"
        raise InputError(
            what,
            allowed=", ".join(KINDS),
            fix=f"eagre new {near}",
            problem=f'Unknown model "{kind}".' if kind else "The kind of model is missing.",
        )
    return (files("eagre.cli") / "templates" / f"{kind}.toml").read_text(encoding="utf-8")


def library(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder for the files; created if missing.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Permission to replace existing files.")] = False,
) -> None:
    """Write and compile a library that C and Fortran programs call: eagre.h, eagre.f90, eagre.c, libeagre.so."""
    from shlex import join

    from eagre.cli.support.console import console
    from eagre.library.start import libpython
    from eagre.library.write import compile_command, compile_library, write_library

    libpython()
    written = write_library(folder, overwrite)
    compiled = compile_library(folder)
    out = console()
    for path in [*written, *([compiled] if compiled else [])]:
        out.print(f"wrote {path}", soft_wrap=True, markup=False)
    if compiled is None:
        line = join(compile_command(folder))
        out.print(f"No C compiler was found. Compile with: {line}", soft_wrap=True, markup=False)
    link = join([f"-L{folder}", "-leagre", f"-Wl,-rpath,{folder.resolve()}"])
    out.print(f"C:       cc program.c {join([f'-I{folder}'])} {link}", style="dim", soft_wrap=True, markup=False)
    module = join([f"{folder}/eagre.f90"])
    out.print(f"Fortran: gfortran {module} program.f90 {link}", style="dim", soft_wrap=True, markup=False)
