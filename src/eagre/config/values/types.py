"""Types of values in case files: quantities with a unit, file paths, names."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, ValidationInfo

from eagre.config.toml import existing_file, literal
from eagre.config.values.units import parse_quantity
from eagre.constants import FARTHEST
from eagre.errors import InputError
from eagre.io.records.store_zarr import SUFFIX, need_zarr
from eagre.names import nearest


def key_of(info: ValidationInfo) -> str:
    """Return the name of the key that is read, as in a case file."""
    return (info.field_name or "value").rstrip("_")


def directory_of(info: ValidationInfo) -> Path:
    """Return the folder of relative paths: the folder of the case file, or the current folder."""
    return Path((info.context or {}).get("directory", "."))


def quantity(dimension: str) -> BeforeValidator:
    """Return a validator that reads a number in SI units or a string with a unit of `dimension`."""

    def read(value: Any, info: ValidationInfo) -> float:
        return parse_quantity(value, dimension, key_of(info))

    return BeforeValidator(read)


def _with_home(value: str | Path, info: ValidationInfo) -> Path:
    """Return a path with the home folder for ``~``."""
    try:
        return Path(value).expanduser()
    except RuntimeError:
        raise InputError(
            f'{key_of(info)} = "{value}"', allowed="a path, or ~ for the home folder of a user of this machine"
        ) from None


def _input_file(value: Any, info: ValidationInfo) -> Path:
    if not isinstance(value, (str, Path)) or not str(value):
        raise InputError(f"{key_of(info)} = {literal(value)}", allowed="the path of a file, relative to the case file")
    path = existing_file(directory_of(info) / _with_home(value, info), "file")
    (info.context or {}).get("inputs", []).append(path)
    return path


def _input_files(value: Any, info: ValidationInfo) -> tuple[Path, ...]:
    if isinstance(value, list) and not value:
        raise InputError(
            f"{key_of(info)} = []", allowed="at least one file", fix=f'{key_of(info)} = ["fine.tif", "coarse.tif"]'
        )
    return tuple(_input_file(one, info) for one in (value if isinstance(value, list) else [value]))


def _class_table(value: Any, info: ValidationInfo) -> str | Path:
    from eagre.io.landcover import SHIPPED

    if value in SHIPPED:
        return value
    if isinstance(value, str) and value and not value.lower().endswith(".csv"):
        near = nearest(value, SHIPPED)
        allowed = f"{', '.join(SHIPPED)}, or a .csv file with the columns class and n"
        raise InputError(f'{key_of(info)} = "{value}"', allowed=allowed, fix=f'{key_of(info)} = "{near or SHIPPED[0]}"')
    return _input_file(value, info)


def input_of(value: str, info: ValidationInfo, *suffixes: str) -> Path:
    """Return the file of a key, with one of `suffixes`; register the file as an input of the case."""
    path = _input_file(value, info)
    if path.suffix.lower() not in suffixes:
        raise InputError(f'{key_of(info)} = "{value}"', allowed=f"a file with the suffix {' or '.join(suffixes)}")
    return path


def _vector_file(value: Any, info: ValidationInfo) -> Path:
    from eagre.io.vectors import SUFFIXES

    return input_of(value, info, *SUFFIXES)


def _output_file(*suffixes: str) -> Callable[[Any, ValidationInfo], Path]:
    def read(value: Any, info: ValidationInfo) -> Path:
        key = key_of(info)
        allowed = f"a file name with the suffix {' or '.join(suffixes)}, relative to the case file"
        if not isinstance(value, (str, Path)) or not str(value):
            raise InputError(f"{key} = {literal(value)}", allowed=allowed, fix=f'{key} = "{key}{suffixes[0]}"')
        path = _with_home(value, info)
        if path.suffix.lower() not in suffixes:
            is_folder = path.name in ("", "..") or os.path.isdir(directory_of(info) / path)
            name = path / f"{key}{suffixes[0]}" if is_folder else path.with_suffix(suffixes[0])
            raise InputError(f'{key} = "{value}"', allowed=allowed, fix=f'{key} = "{name}"')
        if path.suffix.lower() == SUFFIX:
            need_zarr(path)
        return directory_of(info) / path

    return read


def _nodata(value: Any, info: ValidationInfo) -> str | float:
    if value == "error":
        return "error"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    allowed = '"error", or a number that replaces missing values'
    raise InputError(f"{key_of(info)} = {literal(value)}", allowed=allowed, fix='nodata = "error"')


def _is_device(name: str) -> bool:
    kind, colon, index = name.partition(":")
    return kind in ("auto", "cpu", "cuda") and (not colon or (kind == "cuda" and index.isdigit()))


def _device(value: Any, info: ValidationInfo) -> str:
    if all(_is_device(name.strip()) for name in str(value).split(",")):
        return str(value)
    near = nearest(str(value), ("auto", "cpu", "cuda")) or "auto"
    fix = f'device = "{near}"'
    raise InputError(
        f"device = {literal(value)}",
        allowed="auto, cpu, cuda, cuda:0, cuda:1 ..., or several separated by commas",
        fix=fix,
    )


Seconds = Annotated[float, quantity("time")]
PositiveSeconds = Annotated[float, quantity("time"), Field(gt=0)]
Metres = Annotated[float, quantity("length")]
PositiveMetres = Annotated[float, quantity("length"), Field(gt=0)]
Acceleration = Annotated[float, quantity("acceleration"), Field(gt=0)]
Rate = Annotated[float, quantity("rate")]
Viscosity = Annotated[float, quantity("viscosity"), Field(ge=0)]
Temperature = Annotated[float, quantity("temperature")]
Beta = Annotated[float, quantity("beta")]
InputFile = Annotated[Path, PlainValidator(_input_file)]
InputFiles = Annotated[tuple[Path, ...], PlainValidator(_input_files)]
ClassTable = Annotated[str | Path, PlainValidator(_class_table)]
VectorFile = Annotated[Path, PlainValidator(_vector_file)]
NetcdfFile = Annotated[Path, PlainValidator(_output_file(".nc"))]
FieldsFile = Annotated[Path, PlainValidator(_output_file(".nc", SUFFIX))]
SeriesOutputFile = Annotated[Path, PlainValidator(_output_file(".nc", ".csv"))]
NoData = Annotated[str | float, PlainValidator(_nodata)]
DeviceName = Annotated[str, PlainValidator(_device)]
Precision = Literal["single", "double"]


def _extent(extent: list[float]) -> list[float]:
    if len(extent) != 4 or not (extent[0] < extent[1] and extent[2] < extent[3]):
        raise InputError(
            f"extent = {extent}", allowed="[west, east, south, north], metres", fix="extent = [0.0, 1000.0, 0.0, 500.0]"
        )
    return extent


Coordinate = Annotated[float, quantity("length"), Field(ge=-FARTHEST, le=FARTHEST)]
Extent = Annotated[list[Coordinate], AfterValidator(_extent)]


def _shift(shift: list[float]) -> list[float]:
    if len(shift) != 2:
        raise InputError(f"shift = {shift}", allowed="[x, y], metres", fix="shift = [-500000.0, -4600000.0]")
    return shift


Shift = Annotated[list[float], AfterValidator(_shift)]


def variable_names(example: str = "") -> AfterValidator:
    """Return a validator of names of variables: unique, at least one; `example` is used in corrections."""

    def read(names: list[str], info: ValidationInfo) -> list[str]:
        key, once = key_of(info), list(dict.fromkeys(names))
        if not names:
            fix = f'{key} = ["{example}"]' if example else ""
            raise InputError(f"{key} = []", allowed="at least one variable; leave the key out for none", fix=fix)
        if len(once) < len(names):
            twice = ", ".join(name for name in once if names.count(name) > 1)
            raise InputError(f"{twice} more than once", allowed="each variable once", fix=f"{key} = {literal(once)}")
        return names

    return AfterValidator(read)


PointXY = Annotated[tuple[float, float], Field(strict=False)]  # a list in a file
TwoNames = Annotated[tuple[str, str], Field(strict=False)]
VariableNames = Annotated[list[str], variable_names("depth")]
AveragedNames = Annotated[list[str], variable_names()]
