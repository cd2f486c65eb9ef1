"""The text of docs/reference/python.md, from the public names in the source and their docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import eagre
from eagre.boundaries import NAMES as CONDITIONS
from eagre.contract import Model
from eagre.terms import NAMES as TERMS

HEAD = """\
<!-- Made by tools/make_reference.py (make reference); change the source, not this page. -->

# Python

The public names, a line each. `help(eagre.ShallowWater)` tells parameters with shapes and units, errors and sources.
Arrays are NumPy's, fields have the shape (ny, nx) or (nz, ny, nx), all is in SI units. Names that are not on this page
belong to the inside of the package and may change.
"""


class Part(NamedTuple):
    """A section of the page.

    title, text : what it is. module : where its names are imported from.
    names : of classes, functions and constants; all public ones of the module if empty.
    brief : of classes the call alone, where their members serve models and not users.
    """

    title: str
    text: str
    module: str
    names: Sequence[str] = ()
    brief: bool = False


MODELS = (
    "ShallowWater", "ShallowWaterADI", "ShallowWaterADIEnsemble", "BarotropicVorticity", "PotentialWaves",
    "AnelasticFlow",
)  # fmt: skip
AIR = "eagre.models.anelastic"
PARTS = (
    Part("Models", "Assemblies of a grid, a bed, conditions and options.", "eagre", MODELS),
    Part("Cases", "What `eagre run` runs; [how to](../how-to/python.md).", "eagre", ("load_case",)),
    Part("Grids and series", "In the plane, and over time.", "eagre", ("Grid", "Series")),
    Part(
        "Sides of shallow water", "For `boundaries`; [how to](../how-to/boundaries.md).", "eagre",
        ("Boundaries", "BoundarySegment", "InternalLine", "InternalArea", *sorted(CONDITIONS)), brief=True,
    ),
    Part(
        "Terms of shallow water", "For `sources`; [weather](../how-to/weather.md).", "eagre",
        (*sorted(TERMS), "TimeVaryingField", "RecordTimeAxis", "NodeGrid"), brief=True,
    ),
    Part("Gyres", "In SI units for the nondimensional numbers; for `layers`.", "eagre", ("DoubleGyre", "Layers")),
    Part(
        "Sides of waves", "For `relaxation_zones`, `wavemakers` and `sponges`.", "eagre",
        ("RelaxationZone", "Wavemaker", "SpongeLayer"), brief=True,
    ),
    Part(
        "Maps", "For `maps` and `time_statistics`; [how to](../how-to/maps.md).", "eagre",
        ("Maps", "TimeStatistics"), True,
    ),
    Part("Errors", "All are `EagreError`s.", "eagre", tuple(name for name in eagre.__all__ if name.endswith("Error"))),
    Part(
        "Air at rest", "For `atmosphere` of `AnelasticFlow`.", f"{AIR}.atmosphere",
        ("incompressible", "boussinesq", "anelastic", "from_sounding"),
    ),
    Part("Profiles of air", "Along height.", f"{AIR}.profiles", ("Exponential", "Linear", "Table", "Formula"), True),
    Part("What drives air", "For `forcing` of `AnelasticFlow`.", f"{AIR}.forcing", ("Forcing", "Nudging"), True),
    Part("Ground under air", "For `surface` of `AnelasticFlow`.", f"{AIR}.surface", ("Surface",), True),
    Part("Closure of air", "For `closure` of `AnelasticFlow`.", f"{AIR}.closure", ("Smagorinsky",), True),
    Part("Wind over an ocean", "For `wind_forcing`.", "eagre.models.barotropic.inputs", ("curl_of_stress",)),
    Part("Cyclones", "[How to](../how-to/weather.md).", "eagre.cyclone", ("Track", "cyclone_fields", "holland"), True),
    Part("Tides", "[How to](../how-to/boundaries.md#tides).", "eagre.tides", ("speed", "argument", "heights"), True),
    Part("Waves", "Usable without a model; [how to](../how-to/waves.md).", "eagre.waves"),
    Part("Advection", "[How to](../how-to/advection.md).", "eagre.advection"),
    Part("Poisson solver", "[How to](../how-to/poisson.md).", "eagre.solvers.poisson"),
    Part("Tridiagonal systems", "[How to](../how-to/tridiagonal.md).", "eagre.solvers.tridiagonal"),
    Part("GCR(k)", "[How to](../how-to/gcr.md).", "eagre.solvers.gcr"),
    Part("Multigrid", "[How to](../how-to/multigrid.md).", "eagre.solvers.multigrid"),
    Part("Files", "What `eagre run` reads and writes.", "eagre.io"),
    Part(
        "Files of OpenFAST", "[How to](../how-to/waves.md#forces-and-openfast).", "eagre.io.openfast",
        ("SeaStateGrid", "SeaStateFiles", "write_elevation"),
    ),
    Part("Pictures", "What `eagre plot` and `eagre animate` do.", "eagre.plots"),
    Part("Set-ups", "Of water; its modules have the cases.", "eagre.cases"),
    Part("Validation", "What `eagre validate` does.", "eagre.validation"),
    Part("Benchmarks", "What `eagre bench` does.", "eagre.bench"),
    Part("Cost of kernels", "[How to](../how-to/gpu.md#what-a-kernel-will-cost).", "eagre.tuning"),
    Part("Tuned devices", "[How to](../how-to/tuning.md).", "eagre.backend.tuned", ("chosen",)),
)  # fmt: skip


def first_line(value: Any) -> str:
    """First line of a docstring, fit for a cell of a table."""
    line = (inspect.getdoc(value) or "").strip().split("\n")[0]
    return re.sub(r"([|<])", r"\\\1", line)


def signature(name: str, value: Any) -> str:
    """A call with the names of arguments and their defaults, without types."""
    try:
        found = inspect.signature(value)
    except ValueError:
        return name
    plain = [
        one.replace(annotation=one.empty, default=... if inspect.isroutine(one.default) else one.default)
        for one in found.parameters.values()
        if one.name != "self"
    ]
    return name + str(inspect.Signature(plain)).replace("Ellipsis", "...").replace("<factory>", "...")


def members(owner: type, without: frozenset[str]) -> Iterator[tuple[str, Any]]:
    """Public methods and properties of a class, those of its bases too, in the order of the alphabet."""
    for name in sorted(dir(owner)):
        value = inspect.getattr_static(owner, name)
        is_member = inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod)
        if name[0] != "_" and name not in without and is_member and not _is_builtin(owner, name):
            yield name, value


def names_of(owner: type) -> frozenset[str]:
    """Names of the members of a class."""
    return frozenset(name for name, _ in members(owner, frozenset()))


def _is_builtin(owner: type, name: str) -> bool:
    """Tell whether a member comes from Python itself, as those of tuples and exceptions do."""
    return next(base for base in owner.__mro__ if name in vars(base)).__module__.split(".")[0] != "eagre"


def rows(owner: type, without: frozenset[str] = frozenset()) -> Iterator[str]:
    """Table rows of what a class offers."""
    for name, value in members(owner, without):
        call = name if isinstance(value, property) else signature(name, getattr(owner, name))
        yield f"| `{call}` | {first_line(getattr(value, '__func__', value))} |"


def table(lines: Iterator[str], head: str) -> list[str]:
    """A table with its head, empty if it has no rows."""
    found = list(lines)
    return [f"| {head} | what |", "|---|---|", *found, ""] if found else []


def heading(name: str, value: type, kind: str, offered: list[str]) -> Iterator[str]:
    """Heading, first line, what kind of another class it is, call and members of a class."""
    call = textwrap.fill(signature(name, value), 110, subsequent_indent="    ", break_on_hyphens=False)
    yield from (f"### {name}", "", first_line(value) + kind, "", "```text", call, "```", "", *offered)


def part(one: Part, shared: frozenset[str]) -> Iterator[str]:
    """A section: its classes with members, then a table of all else, then constants."""
    module = importlib.import_module(one.module)
    found = {name: getattr(module, name) for name in one.names or module.__all__}
    plain = []
    known = [value for value in found.values() if inspect.isclass(value)]
    yield from (f"## {one.title}: `{one.module}`", "", one.text, "")
    for name, value in found.items():
        bases = [base for base in value.__mro__[1:] if base in known] if inspect.isclass(value) else []
        inherited = shared.union(*(names_of(base) for base in bases))
        offered = [] if one.brief or value not in known else table(rows(value, inherited), "member")
        kind = f" A `{bases[0].__name__}`." if bases else ""
        if offered:
            yield from heading(name, value, kind, offered)
        elif inspect.isclass(value) or inspect.isfunction(value):
            call = name if inspect.isclass(value) and issubclass(value, Exception) else signature(name, value)
            plain.append(f"| `{call}` | {first_line(value)}{kind} |")
    yield from table(iter(plain), "name")
    constants = [name for name, value in found.items() if not inspect.isclass(value) and not inspect.isfunction(value)]
    if constants:
        yield from (f"Constants: {', '.join(f'`{name}`' for name in constants)}.", "")


def page() -> str:
    """The whole page."""
    every = names_of(Model)
    lines = [HEAD, "## What every model has", "", *table(rows(Model), "member")]
    for one in PARTS:
        lines += part(one, every if one.names == MODELS else frozenset())
    return "\n".join(lines).rstrip() + "\n"
