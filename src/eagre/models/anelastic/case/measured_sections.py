"""Sections of a case file for in-run sampling: profiles, slices, probes, spectra, maxima."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from eagre.config.problems import Key
from eagre.config.section import Section, case_key
from eagre.config.sections import AveragesSection, MeasuredSection, check_unique_names, named
from eagre.config.values.types import (
    FieldsFile,
    Metres,
    NetcdfFile,
    PositiveSeconds,
    SeriesOutputFile,
    VariableNames,
)
from eagre.errors import InputError
from eagre.models.anelastic.sampling.slices import ACROSS

if TYPE_CHECKING:
    from eagre.io import MeasuredWriter, ProbeWriter, ProfileWriter
    from eagre.models.anelastic.model import AnelasticFlow
    from eagre.stepping.averages import TimeStatistics


class ProfilesSection(MeasuredSection):
    """Time series of horizontally averaged profiles, in a NetCDF file."""

    at_start: ClassVar[bool] = False

    file: NetcdfFile = case_key("a file name that ends in .nc, relative to the case file", "profiles.nc")
    interval: PositiveSeconds = case_key("averaging interval", "10 min")
    every: int = case_key("number of steps between two samples", 10, default=10, ge=1)
    heights: list[Metres] | None = case_key(
        "heights above z = 0, metres; by default the levels (over terrain, the levels of flat terrain)",
        [10.0, 50.0, 100.0],
        default=None,
    )

    @property
    def note(self) -> str:
        """Description of the file content."""
        return f"averages over {self.interval:g} s, sampled every {self.every} steps"

    def open(self, path: Path, model: AnelasticFlow, **options: Any) -> ProfileWriter:
        """Open the writer of the profile statistics."""
        from eagre.io import ProfileWriter

        statistics = model.profile_statistics or model.profiles(self.every, self.heights)
        return ProfileWriter(path, model, statistics, **options)


class AnelasticMapsSection(AveragesSection):
    """Fields of means, variances, covariances and extremes over time, in a NetCDF file or a Zarr store."""

    usual: ClassVar[str] = "u"

    levels: list[int] | None = case_key(
        "indices of the levels to store, increasing; 0 is the lowest; all by default", [0], default=None
    )

    def time_statistics(self, **options: Any) -> TimeStatistics | None:
        """See `AveragesSection`."""
        return super().time_statistics(**options, levels=self.levels)


def _several(value: Any) -> Any:
    """Return a single height as a list."""
    return value if isinstance(value, list) else [value]


class SliceSection(MeasuredSection):
    """Time series of fields in a plane (one of x, y, z, i, j, k), in a NetCDF file or a Zarr store."""

    file: FieldsFile = case_key(
        "a file name that ends in .nc or .zarr, relative to the case file; a separate file for each slice", "slice.nc"
    )
    interval: PositiveSeconds = case_key("output interval", "10 s")
    x: Metres | None = case_key("x of the plane, metres", 5000.0, default=None)
    y: Metres | None = case_key("y of the plane, metres", 0.0, default=None)
    z: Metres | None = case_key("height of a horizontal plane, metres", 100.0, default=None)
    i: int | None = case_key("index of the plane along x, from 0", default=None, ge=0)
    j: int | None = case_key("index of the plane along y, from 0", default=None, ge=0)
    k: int | None = case_key("index of a terrain-following level", 1, default=None, ge=0)
    variables: VariableNames | None = case_key(
        "names of fields, velocity for u, v and w; wind and theta_perturbation by default", ["w"], default=None
    )

    @property
    def plane(self) -> dict[str, float]:
        """Coordinate or index of the plane, by key."""
        return {name: getattr(self, name) for name in ACROSS if getattr(self, name) is not None}

    @model_validator(mode="after")
    def _one_plane(self) -> SliceSection:
        if len(self.plane) != 1:
            raise InputError(
                " and ".join(self.plane) or "a slice without a plane",
                allowed="one of x, y, z, i, j, k",
                fix="z = 100.0",
                problem="A slice requires exactly one plane.",
            )
        return self

    @property
    def note(self) -> str:
        """Description of the file content."""
        ((name, value),) = self.plane.items()
        return f"{name} = {value:g}{' m' if name in 'xyz' else ''}"

    def open(self, path: Path, model: AnelasticFlow, **options: Any) -> MeasuredWriter:
        """Open the writer of a slice."""
        from eagre.io import MeasuredWriter

        return MeasuredWriter(path, model, model.slice(self.variables, **self.plane), **options)


class ProbeSection(Section):
    """Probe at one or several heights, or column of all levels."""

    name: str = case_key("unique name of the probe in the file", "mast", min_length=1)
    x: Metres = case_key("x of the probe, metres", 1600.0)
    y: Metres | None = case_key("y of the probe, metres; required if ny > 1", 0.0, default=None)
    z: Annotated[list[Metres], BeforeValidator(_several), Field(min_length=1)] | None = case_key(
        "height or heights above z = 0, metres; default: all levels", [10.0, 40.0], default=None
    )


Points = Annotated[
    list[ProbeSection], named(ProbeSection, {"x": 1600.0, "z": [10.0, 40.0]}), AfterValidator(check_unique_names)
]


class ProbesSection(MeasuredSection):
    """Time series of fields at points and in columns, in a NetCDF or CSV file."""

    culprit: ClassVar[Key] = ("points",)

    file: SeriesOutputFile = case_key("a file name that ends in .nc or .csv, relative to the case file", "probes.nc")
    interval: PositiveSeconds = case_key("output interval", "1 s")
    points: Points = case_key(
        "tables by name, or the sections [[probes.points]]", [{"name": "mast", "x": 1600.0, "z": [10.0, 40.0]}]
    )
    variables: VariableNames | None = case_key(
        "names of fields, velocity for u, v and w; wind and theta by default", ["u", "w"], default=None
    )

    @property
    def any(self) -> bool:
        """True if at least one probe is defined."""
        return bool(self.points)

    @property
    def note(self) -> str:
        """Description of the file content."""
        return f"{len(self.points)} probe{'' if len(self.points) == 1 else 's'} every {self.interval:g} s"

    def open(self, path: Path, model: AnelasticFlow, **options: Any) -> ProbeWriter:
        """Open the writer of the probes."""
        from eagre.io import ProbeWriter

        points = {one.name: one.model_dump(exclude={"name"}) for one in self.points}
        return ProbeWriter(path, model, model.probes(points, self.variables), **options)


class SpectraSection(MeasuredSection):
    """Time series of spectra along periodic axes x and y at heights, in a NetCDF file or a Zarr store."""

    file: FieldsFile = case_key("a file name that ends in .nc or .zarr, relative to the case file", "spectra.nc")
    interval: PositiveSeconds = case_key("output interval", "10 min")
    heights: Annotated[list[Metres], BeforeValidator(_several)] = case_key(
        "heights above z = 0 and above all terrain, metres", [100.0, 500.0]
    )
    axes: list[Literal["x", "y"]] | None = case_key(
        "axes of the spectra; all periodic axes by default", ["x"], default=None
    )
    variables: VariableNames | None = case_key(
        "names of fields, velocity for u, v and w; wind and theta_perturbation by default", ["w"], default=None
    )

    @property
    def any(self) -> bool:
        """True if at least one height is defined."""
        return bool(self.heights)

    @property
    def note(self) -> str:
        """Description of the file content."""
        return f"at {len(self.heights)} height{'' if len(self.heights) == 1 else 's'} every {self.interval:g} s"

    def open(self, path: Path, model: AnelasticFlow, **options: Any) -> MeasuredWriter:
        """Open the writer of the spectra."""
        from eagre.io import MeasuredWriter

        return MeasuredWriter(path, model, model.spectra(self.heights, self.variables, self.axes), **options)


class MaximaSection(MeasuredSection):
    """Time series of extremes of wind, theta and scalars, Courant numbers, divergence and iterations."""

    file: SeriesOutputFile = case_key("a file name that ends in .nc or .csv, relative to the case file", "maxima.csv")
    interval: PositiveSeconds = case_key("output interval", "10 s")

    @property
    def note(self) -> str:
        """Description of the file content."""
        return f"extremes every {self.interval:g} s"

    def open(self, path: Path, model: AnelasticFlow, **options: Any) -> MeasuredWriter:
        """Open the writer of the extremes."""
        from eagre.io import MeasuredWriter

        return MeasuredWriter(path, model, model.maxima(), **options)
