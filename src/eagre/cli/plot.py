"""``eagre plot``: a picture of a result file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def plot(
    file: Annotated[Path, typer.Argument(help="What eagre run wrote, but restarts: fields, gauges, profiles ...")],
    variable: Annotated[
        str | None, typer.Option("--variable", "-v", help="What to draw; else the depth or the first.")
    ] = None,
    time: Annotated[str | None, typer.Option("--time", "-t", help='"2 h", a date or first; else the last.')] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Picture: .png, .pdf or .svg.")] = None,
    observed: Annotated[Path | None, typer.Option("--observed", help="Table to draw beside gauges.")] = None,
    dpi: Annotated[int, typer.Option("--dpi", min=30, max=1200, help="Dots per inch.")] = 150,
    perspective: Annotated[bool, typer.Option("--perspective", help="Surface lit, in perspective.")] = False,
    plane: Annotated[str | None, typer.Option("--slice", help='Of fields on levels: "z = 500 m" or "y = 0".')] = None,
) -> None:
    """Draw a map of fields (bed, water, shoreline), series, profiles, spectra or tracks of particles."""
    from eagre import plots
    from eagre.cli.console import console
    from eagre.errors import InputError

    results = plots.open_results(file, plane)
    target = picture_path(file, output, (".png", ".pdf", ".svg"), observed)
    if perspective and not isinstance(results, plots.FieldFile):
        raise InputError(f"--perspective for {file.name}", allowed="--perspective with a file of fields")
    if isinstance(results, plots.FieldFile):
        _refuse(file, "fields", "--observed with a gauge file", observed=observed)
        plots.plot_map(results, target, variable=variable, time=time, dpi=dpi, perspective=perspective)
    elif isinstance(results, plots.ProfileFile):
        _refuse(file, "profiles", "--observed with a gauge file", observed=observed)
        plots.plot_profiles(results, target, variable=variable, time=time, dpi=dpi)
    elif isinstance(results, plots.SpectrumFile):
        _refuse(file, "spectra", "--observed with a gauge file", observed=observed)
        plots.plot_spectra(results, target, variable=variable, time=time, dpi=dpi)
    elif isinstance(results, plots.NumberFile):
        _refuse(file, "numbers over time", "--variable, --output and --dpi", time=time, observed=observed)
        plots.plot_numbers(results, target, variable=variable, dpi=dpi)
    elif isinstance(results, plots.TrackFile):
        _refuse(file, "tracks", "--output and --dpi", variable=variable, time=time, observed=observed)
        plots.plot_tracks(results, target, dpi=dpi)
    else:
        _refuse(file, "series", "--time with a file of fields", time=time)
        plots.plot_gauges(results, target, variable=variable, observed=observed, dpi=dpi)
    console().print(f"wrote {target}", soft_wrap=True, markup=False)


def _refuse(file: Path, holds: str, allowed: str, **given: object) -> None:
    """Raise `InputError` for the first option that was given and means nothing for what a file holds."""
    from eagre.errors import InputError

    for name, value in given.items():
        if value is not None:
            raise InputError(f"--{name} for {file.name}, which holds {holds}", allowed=allowed)


def picture_path(file: Path, output: Path | None, endings: tuple[str, ...], *others: Path | None) -> Path:
    """Path of a picture of `file`: `output`, or the same name with the first ending; `others` are further inputs.

    Raises
    ------
    InputError
        If the ending is not one of `endings`, or `output` is a folder or an input.
    OutputError
        If the folder does not exist.
    """
    from eagre.cli.exits import OutputError
    from eagre.io.files import output_file

    target = output if output is not None else file.with_suffix(endings[0])
    if not target.resolve().parent.is_dir():
        raise OutputError(f"cannot write {target.resolve()}: there is no folder {target.resolve().parent}")
    inputs = [file, *(other for other in others if other is not None)]
    output_file(target, suffixes=endings, overwrite=True, what="-o", inputs=inputs)
    return target
