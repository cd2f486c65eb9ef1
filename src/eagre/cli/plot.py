"""``eagre plot``: a picture of a result file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def plot(
    file: Annotated[Path, typer.Argument(help="Output of eagre run: fields, gauges (.nc, .csv) or particles (.nc).")],
    variable: Annotated[str | None, typer.Option("--variable", "-v", help="Field to draw; else the depth.")] = None,
    time: Annotated[str | None, typer.Option("--time", "-t", help='Such as "2 h"; first; else the last.')] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Picture: .png, .pdf or .svg.")] = None,
    observed: Annotated[Path | None, typer.Option("--observed", help="Table to draw beside gauges.")] = None,
    dpi: Annotated[int, typer.Option("--dpi", min=30, max=1200, help="Dots per inch.")] = 150,
    perspective: Annotated[bool, typer.Option("--perspective", help="Surface lit, in perspective.")] = False,
    plane: Annotated[str | None, typer.Option("--slice", help='Of fields on levels: "z = 500 m" or "y = 0".')] = None,
) -> None:
    """Draw a map of fields (bed, water, shoreline), the series of gauges or the tracks of particles."""
    from eagre.cli.console import console
    from eagre.errors import InputError
    from eagre.plots import FieldFile, TrackFile, open_results, plot_gauges, plot_map, plot_tracks

    results = open_results(file, plane)
    target = picture_path(file, output, (".png", ".pdf", ".svg"))
    if isinstance(results, FieldFile):
        if observed is not None:
            raise InputError(f"--observed for {file.name}, which holds fields", allowed="--observed with a gauge file")
        plot_map(results, target, variable=variable, time=time, dpi=dpi, perspective=perspective)
    elif isinstance(results, TrackFile):
        given = {"--variable": variable, "--time": time, "--observed": observed}
        if wrong := [option for option, value in given.items() if value is not None]:
            raise InputError(f"{wrong[0]} for {file.name}, which holds tracks", allowed="--output and --dpi")
        plot_tracks(results, target, dpi=dpi)
    else:
        if time is not None:
            raise InputError(f"--time for {file.name}, which holds series", allowed="--time with a file of fields")
        plot_gauges(results, target, variable=variable, observed=observed, dpi=dpi)
    console().print(f"wrote {target}", soft_wrap=True, markup=False)


def picture_path(file: Path, output: Path | None, endings: tuple[str, ...]) -> Path:
    """Where a picture of `file` goes: `output`, or the same name with the first ending.

    Raises
    ------
    InputError
        If the ending is another one.
    OutputError
        If the folder is not there.
    """
    from eagre.cli.exits import OutputError
    from eagre.errors import InputError

    target = output if output is not None else file.with_suffix(endings[0])
    if target.suffix.lower() not in endings:
        fix = f"-o {target.with_suffix(endings[0])}"
        raise InputError(f"-o {target}", allowed=f"a name that ends in {', '.join(endings)}", fix=fix)
    if not target.resolve().parent.is_dir():
        raise OutputError(f"cannot write {target.resolve()}: there is no folder {target.resolve().parent}")
    return target
