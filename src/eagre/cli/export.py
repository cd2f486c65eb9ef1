"""``eagre export``: maps and outlines for a GIS from a result file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import numpy as np

    from eagre.io.cog import Band, Frame
    from eagre.plots.results import FieldFile

GEOTIFF, GEOJSON = (".tif", ".tiff"), (".geojson", ".json")


def export(
    file: Annotated[Path, typer.Argument(metavar="RESULT.nc", help="Fields of eagre run.")],
    variable: Annotated[
        list[str] | None, typer.Option("--variable", "-v", help="Field, or velocity; repeat for more.")
    ] = None,
    time: Annotated[
        list[str] | None,
        typer.Option("--time", "-t", help='Such as "2 h", a date, first, last or all; else the last. Repeat.'),
    ] = None,
    record: Annotated[
        list[int] | None, typer.Option("--record", help="Number of a record, from 1; -1 is the last. Repeat.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=".tif: maps. .geojson: outline of the flooded area.")
    ] = None,
    deeper: Annotated[str, typer.Option("--deeper-than", help="Depth up to which a cell counts as dry.")] = "1 mm",
    crs: Annotated[str | None, typer.Option("--crs", help="Coordinate system, where the file names none.")] = None,
    plane: Annotated[str | None, typer.Option("--slice", help='Of fields on levels: "z = 500 m".')] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
) -> None:
    """Write maps as a Cloud-Optimised GeoTIFF, or the outline of the flooded area as GeoJSON."""
    from eagre.cli.console import console
    from eagre.config.units import parse_quantity
    from eagre.errors import InputError
    from eagre.io.files import output_file
    from eagre.plots import FieldFile, open_results
    from eagre.plots.results import number_or_text

    results = open_results(file, plane)
    if not isinstance(results, FieldFile) or results.axes != ("x", "y"):
        raise InputError(f"{file}, which holds no maps over x and y", allowed="a file of fields, or a slice of one z")
    if results.place and plane is None:
        raise InputError(f"{file} with fields on levels", allowed="one level", fix=f'--slice "{results.place}"')
    target = output if output is not None else file.with_suffix(GEOTIFF[0])
    endings = (*GEOTIFF, *GEOJSON)
    target = output_file(target, suffixes=endings, overwrite=overwrite, replace="--overwrite", inputs=[file])
    dry = float(parse_quantity(number_or_text(deeper), "length", "--deeper-than"))
    if dry < 0.0:
        raise InputError(f"--deeper-than {deeper}", allowed="a depth of 0 or more", fix='--deeper-than "1 cm"')
    frame = _frame(results, crs)
    names = results.check_variables(variable or [])
    records = _records(results, time, record)
    if target.suffix.lower() in GEOJSON:
        _write_outlines(results, target, frame, names, records, dry)
    else:
        _write_maps(results, target, frame, names or [results.default_variable()], records, dry)
    console().print(f"wrote {target}", soft_wrap=True, markup=False)


def _frame(results: FieldFile, given: str | None) -> Frame:
    """Where the cells lie."""
    from eagre.errors import InputError
    from eagre.io.cog import Frame
    from eagre.io.grid_mapping import crs_of
    from eagre.io.raster import parse_crs

    items = results.dataset.data_vars.values()
    known = next((crs for item in items if (crs := crs_of(results.dataset, item, results.path))), None)
    wanted = parse_crs(given)
    if given is not None and wanted is None:
        raise InputError(f"--crs {given}", allowed="an EPSG code, or WKT", fix="--crs EPSG:32633")
    if known is not None and wanted is not None and known != wanted:
        raise InputError(
            f"--crs {given} for {results.path.name}, which is in {known.to_string()[:60]}",
            allowed="--crs for files that name none; gdalwarp projects a map",
        )
    y = results.y if results.y.size < 2 or results.y[0] < results.y[-1] else results.y[::-1]
    return Frame.from_centres(results.x, y, known if known is not None else wanted)


def _records(results: FieldFile, times: list[str] | None, numbers: list[int] | None) -> list[int]:
    """Indices of the records that were asked for, each once, in the order of time."""
    from eagre.plots.reading import record_at

    count = results.times.size
    found: set[int] = set()
    for text in times or ([] if numbers else ["last"]):
        found |= set(range(count)) if text == "all" else {results.record_at(text)}
    found |= {record_at(number, count, results.path) for number in numbers or []}
    return sorted(found)


def _write_maps(results: FieldFile, path: Path, frame: Frame, names: list[str], records: list[int], dry: float) -> None:
    """One band a variable and record; fields that do not change have one band."""
    from eagre.errors import InputError
    from eagre.io.cog import write_geotiff

    wanted = [(name, record) for name in names for record in (records if name in results.variables else [0])]
    classes = [name for name in names if "flag_values" in results.dataset[name].attrs]
    if classes and len(classes) < len(names):
        raise InputError(
            f"{', '.join(names)} in one file", allowed="classes in a file of their own", fix=f"-v {classes[0]}"
        )
    attributes = results.dataset.attrs
    tags = {name: str(attributes[name]) for name in ("title", "source", "institution") if name in attributes}
    bands = (_band(results, name, record, dry) for name, record in wanted)
    shape = (results.y.size, results.x.size)
    write_geotiff(path, frame, shape, bands, len(wanted), tags=tags, classes=bool(classes))


def _band(results: FieldFile, name: str, record: int, dry: float) -> Band:
    """One map, nothing where it is dry."""
    import numpy as np

    from eagre.io.cog import Band

    values, about = results.values(name, record), results.dataset[name].attrs
    depth = results.depth_of(name, record)
    if depth is not None:
        values = np.where(depth > dry, values, np.nan)
    tags = {key: str(about[key]) for key in ("long_name", "standard_name", "cell_methods") if key in about}
    tags |= {"variable": name}
    text = ", ".join(filter(None, (str(about.get("long_name") or name), results.place)))
    if name in results.variables:
        seconds, date = float(results.times[record]), results.date(record)
        tags |= {"time_seconds": f"{seconds:.10g}"} | ({"date": date} if date else {})
        text = f"{text}, {date or f't = {seconds:.10g} s'}"
    return Band(values, text, str(about.get("units", "")), tags)


def _write_outlines(
    results: FieldFile, path: Path, frame: Frame, names: list[str], records: list[int], dry: float
) -> None:
    """One feature a record: the cells with water deeper than `dry`."""
    from eagre.errors import InputError
    from eagre.io.outline import outline, write_geojson

    if len(names) > 1:
        raise InputError(f"-v {' -v '.join(names)} for an outline", allowed="one depth", fix=f"-v {names[0]}")
    name = names[0] if names else "" if results.depth(records[0]) is not None else results.largest_depth() or ""
    if name and not ("depth" in name and results.dataset[name].attrs.get("units") == "m"):
        raise InputError(f"-v {name} for an outline", allowed="a depth, m", fix="-v depth, or none")
    features: list[dict[str, Any]] = []
    for record in records if not name or name in results.variables else [0]:
        depth = results.values(name, record) if name else results.depth(record)
        if depth is None:
            raise InputError(
                f"{results.path.name}, which does not tell where it is dry",
                allowed="a file with depth, or with surface_elevation and bed",
                fix='variables = ["depth"] in [output]',
            )
        features.append(outline(depth > dry, frame, _properties(results, name, record, dry, depth, frame)))
    write_geojson(path, features)


def _properties(
    results: FieldFile, name: str, record: int, dry: float, depth: np.ndarray, frame: Frame
) -> dict[str, Any]:
    """What a GIS lists beside an outline."""
    area = float((depth > dry).sum()) * frame.dx * frame.dy
    found: dict[str, Any] = {"title": results.title, "variable": name or "depth", "deeper_than_m": dry, "area_m2": area}
    if not name or name in results.variables:
        found["time_s"] = float(results.times[record])
        if date := results.date(record):
            found["date"] = date
    return found
