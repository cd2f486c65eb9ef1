"""``eagre animate``: a moving picture of a field file."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer


def animate(
    file: Annotated[Path, typer.Argument(help="Output of eagre run with fields (.nc).")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Ends in .gif, or .mp4 with ffmpeg.")] = None,
    variable: Annotated[str | None, typer.Option("--variable", "-v", help="Field to draw; else the depth.")] = None,
    fps: Annotated[float, typer.Option("--fps", help="Frames per second, 0.01 to 100.")] = 10.0,
    every: Annotated[int, typer.Option("--every", min=1, help="Draw each n-th record.")] = 1,
    dpi: Annotated[int, typer.Option("--dpi", min=30, max=600, help="Dots per inch.")] = 90,
    perspective: Annotated[bool, typer.Option("--perspective", help="Surface lit, in perspective.")] = False,
    plane: Annotated[str | None, typer.Option("--slice", help='Of fields on levels: "z = 500 m" or "y = 0".')] = None,
) -> None:
    """Draw all records of a field as a GIF or MP4."""
    from rich.progress import Progress

    from eagre.cli.console import console
    from eagre.cli.plot import picture_path
    from eagre.errors import InputError
    from eagre.plots import FieldFile, open_results
    from eagre.plots import animate as draw

    results = open_results(file, plane)
    if not isinstance(results, FieldFile):
        fix = f"eagre plot {quote(str(file))}"
        raise InputError(f"{file}, which holds no fields", allowed="a file of fields", fix=fix)
    target = picture_path(file, output, (".gif", ".mp4"))
    out = console()
    with Progress(console=out, transient=True, disable=not out.is_terminal) as progress:
        task = progress.add_task("frames", total=None)

        def show(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        draw(results, target, variable=variable, fps=fps, every=every, dpi=dpi, perspective=perspective, on_frame=show)
    out.print(f"wrote {target}", soft_wrap=True, markup=False)
