"""``eagre animate``: animation of a file of fields."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from eagre.cli.support.options import Perspective, Slice, Variable, Vectors, WetDepth


def animate(
    file: Annotated[Path, typer.Argument(help="Output file of eagre run with fields, e.g. bay.nc.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Animation file: .gif (default), or .mp4, which needs ffmpeg.")
    ] = None,
    variable: Variable = None,
    fps: Annotated[float, typer.Option("--fps", help="Frames per second, 0.01 to 100.")] = 10.0,
    every: Annotated[int, typer.Option("--every", min=1, help="Interval between drawn records, e.g. 2.")] = 1,
    dpi: Annotated[int, typer.Option("--dpi", min=30, max=600, help="Dots per inch.")] = 90,
    perspective: Perspective = False,
    vectors: Vectors = False,
    wet_depth: WetDepth = None,
    plane: Slice = None,
) -> None:
    """Animate the records of a field as GIF or MP4."""
    from rich.progress import Progress

    from eagre.cli.plot import depth_of, picture_path
    from eagre.cli.support.console import console
    from eagre.errors import InputError
    from eagre.plots import FieldFile, open_results
    from eagre.plots import animate as draw

    results = open_results(file, plane)
    if not isinstance(results, FieldFile):
        fix = f"eagre plot {quote(str(file))}"
        raise InputError(f"{file}, which holds no fields", allowed="a file of fields", fix=fix,
                         problem="The file has no fields to animate.")  # fmt: skip
    target = picture_path(file, output, (".gif", ".mp4"))
    out = console()
    with Progress(console=out, transient=True, disable=not out.is_terminal) as progress:
        task = progress.add_task("frames", total=None)

        def show(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        draw(
            results, target, variable=variable, fps=fps, every=every, dpi=dpi, perspective=perspective,
            vectors=vectors, wet_depth=depth_of(wet_depth, "--wet-depth"), on_frame=show,
        )  # fmt: skip
    out.print(f"wrote {target}", soft_wrap=True, markup=False)
