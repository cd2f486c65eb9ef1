"""``eagre plot`` and ``eagre animate``: pictures and animations of results."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eagre.cli.support.options import Perspective, Slice, Variable, Vectors, WetDepth

if TYPE_CHECKING:
    from eagre.plots.data.reading import Results


def plot(
    file: Annotated[
        Path,
        typer.Argument(help="Any output file of eagre run except restart files; a spectrum; a raster (.tif, .asc)."),
    ],
    other: Annotated[Path | None, typer.Argument(help="Second file of fields, for --contours.")] = None,
    variable: Variable = None,
    time: Annotated[
        str | None, typer.Option("--time", "-t", help='Time, e.g. "2 h", a date, first or last (default).')
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Picture file: .png (default), .pdf or .svg.")
    ] = None,
    observed: Annotated[
        Path | None, typer.Option("--observed", help="Table of observations for a gauge file, e.g. measured.csv.")
    ] = None,
    dpi: Annotated[int, typer.Option("--dpi", min=30, max=1200, help="Dots per inch.")] = 150,
    perspective: Perspective = False,
    vectors: Vectors = False,
    wet_depth: WetDepth = None,
    plane: Slice = None,
    contours: Annotated[
        str | None,
        typer.Option("--contours", metavar="FIELD", help="Contour lines of a field: black, of a second file red."),
    ] = None,
    isosurface: Annotated[
        str | None,
        typer.Option("--isosurface", metavar="FIELD=LEVEL", help="Isosurface of a 3-D field, e.g. vorticity=0.5."),
    ] = None,
) -> None:
    """Draw a map, section, time series, profile, spectrum or particle tracks from a result file or a raster."""
    from eagre import plots
    from eagre.cli.support.console import console
    from eagre.plots.data.reading import SUFFIXES

    maps = {"perspective": perspective or None, "vectors": vectors or None, "wet-depth": wet_depth}
    if (contours, isosurface, other) != (None, None, None):
        others, common = {"variable": variable, "observed": observed, **maps}, {"time": time, "dpi": dpi}
        return _plot_levels(file, other, plane, contours, isosurface, output, others, common)
    raster = file.suffix.lower() in SUFFIXES
    if raster:
        _reject(file, "a raster", "--variable, --output and --dpi", time=time, observed=observed, slice=plane)
    results = plots.open_raster(file, variable) if raster else plots.open_results(file, plane)
    target = picture_path(file, output, (".png", ".pdf", ".svg"), observed)
    if not isinstance(results, plots.FieldFile):
        _reject(file, _contents(results), "--{} with a file of fields", **maps)
    if isinstance(results, plots.FieldFile):
        _reject(file, "fields", "--observed with a gauge file", observed=observed)
        plots.plot_map(
            results, target, variable=variable, time=time, dpi=dpi, perspective=perspective, vectors=vectors,
            wet_depth=depth_of(wet_depth, "--wet-depth"),
        )  # fmt: skip
    elif isinstance(results, plots.ProfileFile):
        _reject(file, "profiles", "--observed with a gauge file", observed=observed)
        plots.plot_profiles(results, target, variable=variable, time=time, dpi=dpi)
    elif isinstance(results, plots.SpectrumFile):
        _reject(file, "spectra", "--observed with a gauge file", observed=observed)
        plots.plot_spectra(results, target, variable=variable, time=time, dpi=dpi)
    elif isinstance(results, plots.NumberFile):
        _reject(file, _contents(results), "--variable, --output and --dpi", time=time, observed=observed)
        plots.plot_numbers(results, target, variable=variable, dpi=dpi)
    elif isinstance(results, plots.TrackFile):
        _reject(file, "tracks", "--output and --dpi", variable=variable, time=time, observed=observed)
        plots.plot_tracks(results, target, dpi=dpi)
    else:
        _reject(file, _contents(results), "--time with a file of fields", time=time)
        if results.axis:
            _reject(file, _contents(results), "--observed with a gauge file", observed=observed)
        plots.plot_gauges(results, target, variable=variable, observed=observed, dpi=dpi)
    console().print(f"wrote {target}", soft_wrap=True, markup=False)


def _plot_levels(
    file: Path, other: Path | None, plane: str | None, contours: str | None, isosurface: str | None,
    output: Path | None, others: dict[str, object], common: dict[str, Any],
) -> None:  # fmt: skip
    """Draw contour lines or an isosurface; others : options that do not apply."""
    from eagre import plots
    from eagre.cli.support.console import console
    from eagre.errors import InputError
    from eagre.plots.isosurface import parse_isosurface

    if other is not None and contours is None:
        raise InputError(f"two files, {file.name} and {other.name}", allowed="one file, or two with --contours",
                         fix="--contours w", problem="Two files are drawn as contour lines only.")  # fmt: skip
    option = "--contours" if isosurface is None else "--isosurface"
    if isosurface is not None:
        others = {"contours": contours, "slice": plane, **others}
    for name, value in others.items():
        if value is not None:
            raise InputError(f"--{name} with {option}", allowed="--time, --output and --dpi, with --contours --slice",
                             problem=f"The option --{name} does not apply to {option}.")  # fmt: skip
    fields = []
    for path in (file, *([] if other is None else [other])):
        results = plots.open_results(path, plane)
        if not isinstance(results, plots.FieldFile):
            _reject(path, _contents(results), f"{option} with a file of fields", **{option[2:]: True})
        fields.append(results)
    target = picture_path(file, output, (".png", ".pdf", ".svg"), other)
    if isosurface is None:
        plots.plot_contours(fields, target, name=str(contours), **common)
    else:
        name, level = parse_isosurface(isosurface)
        plots.plot_isosurface(fields[0], target, name=name, level=level, **common)
    console().print(f"wrote {target}", soft_wrap=True, markup=False)


def _contents(results: Results) -> str:
    """Return the contents of a file in a few words."""
    from eagre import plots

    if isinstance(results, plots.GaugeFile):
        return "spectra" if results.axis else "series"
    names = {plots.ProfileFile: "profiles", plots.SpectrumFile: "spectra", plots.NumberFile: "scalar time series"}
    return next((text for kind, text in names.items() if isinstance(results, kind)), "tracks")


def _reject(file: Path, contents: str, allowed: str, **options: object) -> None:
    """Raise `InputError` for the first given option that does not apply to the contents of a file."""
    from eagre.errors import InputError

    for name, value in options.items():
        if value is not None:
            raise InputError(
                f"--{name} for {file.name}, which holds {contents}", allowed=allowed.format(name),
                problem=f"The option --{name} does not apply to {contents}.",
            )  # fmt: skip


def depth_of(text: str | None, option: str) -> float:
    """Return a depth threshold, m, of an option such as ``"5 cm"``; the default is that of plots.

    Raises
    ------
    InputError
        If the value is not a length or is negative.
    """
    from eagre.config.values.units import parse_quantity
    from eagre.errors import InputError
    from eagre.plots.data.fields import WET_DEPTH
    from eagre.plots.data.selection import number_or_text

    if text is None:
        return WET_DEPTH
    depth = float(parse_quantity(number_or_text(text), "length", option))
    if depth < 0.0:
        raise InputError(
            f"{option} {text}", allowed="a depth of 0 or more", fix=f'{option} "1 cm"',
            problem="The depth threshold is negative.",
        )  # fmt: skip
    return depth


def picture_path(file: Path, output: Path | None, endings: tuple[str, ...], *others: Path | None) -> Path:
    """Return the path of a picture: `output`, or the name of `file` with the first of `endings`.

    Parameters
    ----------
    file : Path
        Input file.
    output : Path or None
    endings : tuple of str
        Allowed file extensions.
    *others : Path or None
        Further input files.

    Raises
    ------
    InputError
        If the file extension is not one of `endings`, or `output` is a folder or an input file.
    OutputError
        If the folder does not exist.
    """
    from eagre.cli.support.exits import OutputError
    from eagre.io.files import output_file

    target = output if output is not None else file.with_suffix(endings[0])
    if not target.resolve().parent.is_dir():
        raise OutputError(f"cannot write {target.resolve()}: the folder {target.resolve().parent} does not exist")
    inputs = [file, *(other for other in others if other is not None)]
    output_file(target, suffixes=endings, overwrite=True, what="-o", inputs=inputs)
    return target


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
