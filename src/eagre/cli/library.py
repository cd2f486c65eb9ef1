"""``eagre library``: the C library for standalone C and Fortran programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


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
