"""``eagre export``: GeoTIFF maps and flood outlines from a result file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import numpy as np

    from eagre.io.writers.gis import Band, Frame
    from eagre.plots.data.fields import FieldFile

GEOTIFF, GEOJSON = (".tif", ".tiff"), (".geojson", ".json")


def export(
    file: Annotated[
        Path, typer.Argument(metavar="RESULT.nc", help="Output file of eagre run with fields, e.g. bay.nc.")
    ],
    variable: Annotated[
        list[str] | None,
        typer.Option(
            "--variable",
            "-v",
            help="Field, stored or derived (speed, froude), or vector, e.g. velocity. Repeatable. Default: the depth.",
        ),
    ] = None,
    time: Annotated[
        list[str] | None,
        typer.Option("--time", "-t", help='Time, e.g. "2 h", a date, first, last (default) or all. Repeatable.'),
    ] = None,
    record: Annotated[
        list[int] | None, typer.Option("--record", help="Record number, from 1; -1 is the last. Repeatable.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Map (.tif, default) or outline of the flooded area (.geojson)."),
    ] = None,
    deeper: Annotated[
        str, typer.Option("--deeper-than", help='Depth up to which a cell counts as dry, e.g. "10 cm".')
    ] = "1 mm",
    crs: Annotated[
        str | None,
        typer.Option("--crs", help="Coordinate reference system of a file without one, e.g. EPSG:32633."),
    ] = None,
    plane: Annotated[str | None, typer.Option("--slice", help='Level of fields on levels, e.g. "z = 500 m".')] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Permission to replace an existing file.")] = False,
) -> None:
    """Export maps as a Cloud-Optimised GeoTIFF, or the outline of the flooded area as GeoJSON."""
    from eagre.cli.plot import depth_of
    from eagre.cli.support.console import console
    from eagre.errors import InputError
    from eagre.io.files import output_file
    from eagre.plots import FieldFile, open_results

    results = open_results(file, plane)
    if not isinstance(results, FieldFile) or results.axes != ("x", "y"):
        raise InputError(f"{file}, which holds no maps over x and y", allowed="a file of fields, or a slice of one z",
                         problem="The file has no maps to export.")  # fmt: skip
    if results.place and plane is None:
        raise InputError(f"{file} with fields on levels", allowed="one level", fix=f'--slice "{results.place}"',
                         problem="A map of fields on levels requires a level.")  # fmt: skip
    target = output if output is not None else file.with_suffix(GEOTIFF[0])
    endings = (*GEOTIFF, *GEOJSON)
    target = output_file(target, suffixes=endings, overwrite=overwrite, replace="--overwrite", inputs=[file])
    dry = depth_of(deeper, "--deeper-than")
    frame = _frame(results, crs)
    names = results.check_variables(variable or [])
    records = _records(results, time, record)
    if target.suffix.lower() in GEOJSON:
        _write_outlines(results, target, frame, names, records, dry)
    else:
        _write_maps(results, target, frame, names or [results.default_variable()], records, dry)
    console().print(f"wrote {target}", soft_wrap=True, markup=False)


def _frame(results: FieldFile, option: str | None) -> Frame:
    """Return the position of the cells and the coordinate reference system."""
    from eagre.errors import InputError
    from eagre.io.netcdf_attributes import crs_of
    from eagre.io.rasters.raster import parse_crs
    from eagre.io.writers.gis import Frame

    items = results.dataset.data_vars.values()
    known = next((crs for item in items if (crs := crs_of(results.dataset, item, results.path))), None)
    chosen = parse_crs(option)
    if option is not None and chosen is None:
        raise InputError(
            f"--crs {option}", allowed="an EPSG code, or WKT", fix="--crs EPSG:32633",
            problem="The coordinate reference system is unknown.",
        )  # fmt: skip
    if known is not None and chosen is not None and known != chosen:
        raise InputError(
            f"--crs {option} for {results.path.name}, which is in {known.to_string()[:60]}",
            allowed="--crs for files without a coordinate reference system; gdalwarp projects a map",
            problem="The file has another coordinate reference system.",
        )
    y = results.y if results.y.size < 2 or results.y[0] < results.y[-1] else results.y[::-1]
    return Frame.from_centres(results.x, y, known if known is not None else chosen)


def _records(results: FieldFile, times: list[str] | None, numbers: list[int] | None) -> list[int]:
    """Return the indices of the selected records, each once, in order of time."""
    from eagre.plots.data.reading import record_at

    count = results.times.size
    records: set[int] = set()
    for text in times or ([] if numbers else ["last"]):
        records |= set(range(count)) if text == "all" else {results.record_at(text)}
    records |= {record_at(number, count, results.path) for number in numbers or []}
    return sorted(records)


def _write_maps(results: FieldFile, path: Path, frame: Frame, names: list[str], records: list[int], dry: float) -> None:
    """Write one band per variable and record; fields that do not change have one band."""
    from eagre.errors import InputError
    from eagre.io.writers.gis import write_geotiff

    maps = [(name, record) for name in names for record in (records if results.changes(name) else [0])]
    classes = [name for name in names if "flag_values" in results.attributes(name)]
    if classes and len(classes) < len(names):
        raise InputError(
            f"{', '.join(names)} in one file", allowed="classes in a separate file", fix=f"-v {classes[0]}",
            problem="One file cannot hold classes and other fields.",
        )  # fmt: skip
    attributes = results.dataset.attrs
    tags = {name: str(attributes[name]) for name in ("title", "source", "institution") if name in attributes}
    bands = (_band(results, name, record, dry) for name, record in maps)
    shape = (results.y.size, results.x.size)
    write_geotiff(path, frame, shape, bands, len(maps), tags=tags, classes=bool(classes))


def _band(results: FieldFile, name: str, record: int, dry: float) -> Band:
    """Return one map, NaN in dry cells."""
    import numpy as np

    from eagre.io.writers.gis import Band

    values, about = results.values(name, record), results.attributes(name)
    depth = results.depth_of(name, record)
    if depth is not None:
        values = np.where(depth > dry, values, np.nan)
    tags = {key: str(about[key]) for key in ("long_name", "standard_name", "cell_methods") if key in about}
    tags |= {"variable": name}
    text = ", ".join(filter(None, (str(about.get("long_name") or name), results.place)))
    if results.changes(name):
        seconds, date = float(results.times[record]), results.date(record)
        tags |= {"time_seconds": f"{seconds:.10g}"} | ({"date": date} if date else {})
        text = f"{text}, {date or f't = {seconds:.10g} s'}"
    return Band(values, text, str(about.get("units", "")), tags)


def _write_outlines(
    results: FieldFile, path: Path, frame: Frame, names: list[str], records: list[int], dry: float
) -> None:
    """Write one feature per record: the cells with water deeper than `dry`, m."""
    from eagre.errors import InputError
    from eagre.io.writers.gis import outline, write_geojson

    if len(names) > 1:
        raise InputError(
            f"-v {' -v '.join(names)} for an outline", allowed="one depth", fix=f"-v {names[0]}",
            problem="An outline requires a single field.",
        )  # fmt: skip
    name = names[0] if names else "" if results.depth(records[0]) is not None else results.max_depth_name() or ""
    if name and not ("depth" in name and results.attributes(name).get("units") == "m"):
        raise InputError(
            f"-v {name} for an outline", allowed="a depth, m", fix="-v depth, or no -v",
            problem="An outline requires a water depth.",
        )  # fmt: skip
    features: list[dict[str, Any]] = []
    for record in records if not name or name in results.variables else [0]:
        depth = results.values(name, record) if name else results.depth(record)
        if depth is None:
            raise InputError(
                f"{results.path.name} without a depth",
                allowed="a file with depth, or with surface_elevation and bed",
                fix='variables = ["depth"] in [output]',
                problem="The file does not determine which cells are dry.",
            )
        features.append(outline(depth > dry, frame, _properties(results, name, record, dry, depth, frame)))
    write_geojson(path, features)


def _properties(
    results: FieldFile, name: str, record: int, dry: float, depth: np.ndarray, frame: Frame
) -> dict[str, Any]:
    """Return the attributes of an outline."""
    area = float((depth > dry).sum()) * frame.dx * frame.dy
    properties: dict[str, Any] = {
        "title": results.title,
        "variable": name or "depth",
        "deeper_than_m": dry,
        "area_m2": area,
    }
    if not name or name in results.variables:
        properties["time_s"] = float(results.times[record])
        if date := results.date(record):
            properties["date"] = date
    return properties
