"""The text of docs/reference/case-file.md, from the sections that the source declares."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

from pydantic.fields import FieldInfo

from eagre.config.conditions import CONDITIONS, InsidePlace, Place
from eagre.config.expressions import CONSTANTS, FUNCTIONS
from eagre.config.fieldvalues import ClassRaster, FieldValue, RasterFile
from eagre.config.places import PlacesFile
from eagre.config.section import Section
from eagre.config.signals import SeriesExpression, SeriesFile, SeriesTable, Signal
from eagre.config.tides import SeriesTides
from eagre.config.toml import literal
from eagre.config.units import DIMENSIONS
from eagre.config.volumes import VolumeValue
from eagre.config.waves import WAVES
from eagre.config.zone_series import ZoneSeries
from eagre.config.zones import Zones
from eagre.models.registry import KINDS

SERIES = (SeriesFile, SeriesTable, SeriesExpression, SeriesTides)
HEAD = """\
<!-- Made by tools/make_reference.py (make reference); change the source, not this page. -->

# Case files

A case is one TOML file for `eagre run`. The key `model` names the kind. Keys that are not listed here are refused
with the nearest name. Relative paths start from the case file's folder.

## Values

| a key may hold | for example | meaning |
|---|---|---|
| a quantity | `2.5`, `"2 h"`, `"1 h 30 min"`, `"20 mm/h"` | a plain number is in SI units, a text names its unit |
| a field | `0.03`, `"where(x < 10, 2.5, 0.5)"` | a number, an expression in x, y and bed, a raster, zones (below) |
| a signal | `0.5`, `"150 m3/s"` | a number, or a series over time (four forms below) |

Series are linear between their rows and must cover the run.
"""


def section_of(field: FieldInfo) -> type[Section] | None:
    """The section that a key holds, or None for a plain value."""
    return _section_in(field.annotation)


def _section_in(annotation: Any) -> type[Section] | None:
    """The first section in a type: itself, or one of those it is made of."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    return next((found for part in typing.get_args(annotation) if (found := _section_in(part))), None)


def default_of(field: FieldInfo) -> str:
    """A key's default as it would be written, or a word for none."""
    if field.is_required():
        return "needed"
    value = field.default
    if isinstance(value, Signal | FieldValue | VolumeValue):
        value = value.source
    if value is None or field.default_factory is not None:
        return "-"
    return f"`{literal(value)}`"


def rows(section: type[Section], skip: tuple[str, ...] = ()) -> Iterator[str]:
    """Table rows of the plain keys of a section."""
    for name, field in section.model_fields.items():
        if section_of(field) is None and name not in skip:
            example = f"`{literal(field.examples[0])}`" if field.examples else ""
            what = (field.description or "").replace("|", "\\|").replace("<", "\\<")
            yield f"| `{field.alias or name}` | {default_of(field)} | {what} | {example} |"


def table(section: type[Section], skip: tuple[str, ...] = ()) -> list[str]:
    """Table of a section's plain keys, empty if it has none."""
    lines = list(rows(section, skip))
    return ["| key | default | what | example |", "|---|---|---|---|", *lines, ""] if lines else []


def first_line(section: type[Section]) -> str:
    """What a section is, in its docstring's first line."""
    return (section.__doc__ or "").strip().splitlines()[0]


def sections(section: type[Section], path: str = "") -> Iterator[str]:
    """Headings and tables of all sections below `section`, in the order of the source."""
    for name, field in section.model_fields.items():
        inner = section_of(field)
        if inner is None:
            continue
        here = f"{path}.{name}" if path else name
        heading = f"[[{here}]]" if typing.get_origin(field.annotation) is list else f"[{here}]"
        yield from (f"### {heading}", "", first_line(inner), "", *table(inner))
        if name == "boundaries":
            yield from conditions()
        yield from sections(inner, here)


def conditions() -> Iterator[str]:
    """The kinds of boundary conditions and their keys."""
    yield from ("A side is a table `{ kind = ... }`, or a list of such tables with the keys", "", *table(Place))
    yield from ("`[[boundaries.internal]]`, a wall or a discharge inside the domain, has beside `kind` the keys", "")
    yield from table(InsidePlace)
    for kind, (section, name) in CONDITIONS.items():
        keys = table(section, skip=("kind",))
        about = first_line(section) if keys else "No keys of its own."
        yield from (f'#### kind = "{kind}" (`eagre.boundaries.{name}`)', "", about, "", *keys)


def waves() -> Iterator[str]:
    """The kinds of waves and their keys."""
    yield from ("### Waves", "", "A wave is a table `{ kind = ..., ... }` with the keys of its kind.", "")
    for section in dict.fromkeys(WAVES.values()):
        names = " or ".join(f'"{kind}"' for kind, one in WAVES.items() if one is section)
        yield from (f"#### kind = {names}", "", first_line(section), "", *table(section, skip=("kind",)))


def page() -> str:
    """The whole page."""
    lines = [HEAD]
    for form in (
        SeriesFile,
        SeriesTable,
        SeriesExpression,
        SeriesTides,
        RasterFile,
        ClassRaster,
        Zones,
        ZoneSeries,
        PlacesFile,
    ):
        lines += [f"### {first_line(form).rstrip('.')}", "", *table(form)]
    lines += waves()
    lines += ["### Expressions", "", f"Functions: {', '.join(f'`{name}`' for name in FUNCTIONS)}."]
    lines += [f"Constants: {', '.join(f'`{name}`' for name in CONSTANTS)}."]
    lines += [
        "Operators: `+ - * / // % **`, comparisons (1 where true, else 0), `and`, `or`, `not`, `a if c else b`.",
        "",
    ]
    lines += ["### Units", "", "| quantity | SI | also |", "|---|---|---|"]
    lines += [f"| {name} | {dimension.si} | {dimension.units} |" for name, dimension in DIMENSIONS.items()] + [""]
    for kind in KINDS.values():
        case = kind.case_class()
        lines += [f'## model = "{kind.name}"', "", f"{kind.summary[0].upper()}{kind.summary[1:]}.", "", *table(case)]
        lines += sections(case)
    return "\n".join(lines).rstrip() + "\n"
