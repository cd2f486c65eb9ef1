"""The text of docs/reference/python.rst: the public names by subject. Sphinx adds the docstrings."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import eagre
from eagre.boundaries import NAMES as CONDITIONS
from eagre.terms import NAMES as TERMS

HEAD = """\
.. Made by tools/make_reference.py (make reference); change the source, not this page.

Python API
==========

All public names by subject. Arrays are NumPy arrays; fields have the shape (ny, nx) or (nz, ny, nx); all
quantities are in SI units. Names that are not listed are internal and may change without notice.
"""


class Section(NamedTuple):
    """A section of the page.

    title, text : heading and introduction. module : module that exports the names.
    names : names of the section; all names in ``__all__`` of the module if empty.
    """

    title: str
    text: str
    module: str
    names: Sequence[str] = ()


MODELS = (
    "ShallowWater", "ShallowWaterADI", "ShallowWaterADIEnsemble", "BarotropicVorticity", "PotentialWaves",
    "AnelasticFlow",
)  # fmt: skip
SECTIONS = (
    Section("Models", "", "eagre", MODELS),
    Section("Common interface of the models", "Every model has these members.", "eagre.contract", ("Model",)),
    Section("Case files", "See :doc:`../how-to/python`.", "eagre", ("load_case",)),
    Section("Parameter studies", "See :doc:`../how-to/sweeps`.", "eagre", ("sweep", "run_sweep", "open_sweep")),
    Section("Members of a parameter study", "", "eagre.sweeps.running", ("Member",)),
    Section("Several processes", "See :doc:`../how-to/processes`.", "eagre", ("distributed",)),
    Section("Grids and time series", "", "eagre", ("Grid", "Series")),
    Section(
        "Shallow-water boundary conditions", "For `boundaries`; see :doc:`../how-to/boundaries`.", "eagre",
        ("Boundaries", "BoundarySegment", "InternalLine", "InternalArea", *sorted(CONDITIONS)),
    ),
    Section(
        "Shallow-water source terms", "For `sources`; see :doc:`../how-to/weather`.", "eagre",
        (*sorted(TERMS), "TimeVaryingField", "RecordTimeAxis", "NodeGrid"),
    ),
    Section("Ocean gyres", "Scales, stratification and wind forcing.", "eagre", ("DoubleGyre", "Layers")),
    Section("Wind-stress curl", "For `wind_forcing` of `BarotropicVorticity`.", "eagre",
            ("curl_of_stress", "varying_curl", "moving_curl")),
    Section(
        "Wave generation and absorption", "For `relaxation_zones`, `wavemakers` and `sponges`.", "eagre",
        ("RelaxationZone", "Wavemaker", "SpongeLayer"),
    ),
    Section("Convergence of the Laplace solver", "Returned by `PotentialWaves.convergence`.",
            "eagre.models.potential_waves.laplace.iteration", ("Convergence",)),
    Section("Maps and time statistics", "See :doc:`../how-to/maps`.", "eagre", ("Maps", "TimeStatistics")),
    Section("Errors", "", "eagre", tuple(name for name in eagre.__all__ if name.endswith("Error"))),
    Section("Atmosphere", "For `atmosphere`, `forcing`, `surface` and `closure` of `AnelasticFlow`.", "eagre",
            ("Atmosphere", "Surface", "Smagorinsky", "Forcing", "Nudging")),
    Section("Vertical profiles", "For `Atmosphere`, `Forcing` and `Nudging`.", "eagre",
            ("ExponentialProfile", "LinearProfile", "TableProfile", "FormulaProfile")),
    Section("Tropical cyclones", "See :doc:`../how-to/weather`.", "eagre.time_varying.cyclone", (
        "Track", "cyclone_fields", "holland",
    )),
    Section("Tides", "See :doc:`../how-to/boundaries`.", "eagre.time_varying.tides", ("speed", "argument", "heights")),
    Section("Wave theories and analysis", "See :doc:`../how-to/waves`.", "eagre.waves"),
    Section("Advection", "See :doc:`../how-to/advection`.", "eagre.advection"),
    Section("Poisson solver", "See :doc:`../how-to/poisson`.", "eagre.solvers.poisson"),
    Section("Tridiagonal solver", "See :doc:`../how-to/tridiagonal`.", "eagre.solvers.tridiagonal"),
    Section("GCR(k) solver", "See :doc:`../how-to/gcr`.", "eagre.solvers.gcr"),
    Section("Multigrid solver", "See :doc:`../how-to/multigrid`.", "eagre.solvers.multigrid"),
    Section(
        "Local Fourier analysis of smoothers", "See :doc:`../how-to/multigrid`.", "eagre.solvers.multigrid.analysis",
        ("Smoother", "SmoothingFactor"),
    ),
    Section("Input and output", "", "eagre.io"),
    Section("OpenFAST files", "See :doc:`../how-to/waves`.", "eagre.io.writers.openfast",
            ("SeaStateGrid", "SeaStateFiles", "write_elevation")),
    Section("Plots and animations", "", "eagre.plots"),
    Section("Test cases", "", "eagre.laboratory.cases"),
    Section("Validation", "", "eagre.laboratory.validation"),
    Section("Benchmarks", "", "eagre.laboratory.bench"),
    Section("Tables and figures of papers", "See :doc:`reproduce`.", "eagre.laboratory.reproduce"),
    Section("Resource model", "See :doc:`../how-to/gpu`.", "eagre.tuning"),
    Section("Tuned devices", "See :doc:`../how-to/tuning`.", "eagre.backend.tuned", ("chosen",)),
)  # fmt: skip


def names_of(section: Section) -> list[str]:
    """Return the names of a section."""
    return list(section.names or importlib.import_module(section.module).__all__)


def lines_of(section: Section) -> Iterator[str]:
    """Yield the lines of a section."""
    yield from ("", section.title, "-" * len(section.title), "")
    if section.text:
        yield from (section.text, "")
    yield from (f".. currentmodule:: {section.module}", "", ".. autosummary::", "   :toctree: api", "")
    yield from (f"   {name}" for name in names_of(section))


def page() -> str:
    """Return the page."""
    return HEAD + "\n".join(line for section in SECTIONS for line in lines_of(section)) + "\n"
