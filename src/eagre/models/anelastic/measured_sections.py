"""Sections of a case file for what is measured on the way: profiles, slices, probes, spectra, maxima."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from eagre.config.maps import AveragesSection
from eagre.config.places import named, own_names
from eagre.config.problems import Key
from eagre.config.section import Section
from eagre.config.sections import MeasuredSection
from eagre.config.values import FieldsFile, Metres, NetcdfFile, PositiveSeconds, SeriesOutputFile, VariableNames, one_of
from eagre.errors import InputError
from eagre.models.anelastic.slices import ACROSS

if TYPE_CHECKING:
    from eagre.io import MeasuredWriter, ProbeWriter, ProfileWriter
    from eagre.models.anelastic.model import AnelasticFlow
    from eagre.stepping.averages import TimeStatistics


class ProfilesSection(MeasuredSection):
    """Horizontally averaged profiles over time, in a NetCDF file."""

    at_start: ClassVar[bool] = False

    file: NetcdfFile = Field(
        description="a file name that ends in .nc, relative to the case file", examples=["profiles.nc"]
    )
    interval: PositiveSeconds = Field(description="the time that an average is taken over", examples=["10 min"])
    every: int = Field(default=10, description="steps between two samples of an average", ge=1, examples=[10])
    heights: list[Metres] | None = Field(
        default=None,
        description="where, metres over z = 0; without them the levels, over a hill those of flat ground",
        examples=[[10.0, 50.0, 100.0]],
    )

    @property
    def note(self) -> str:
        """What the file holds."""
        return f"averages over {self.interval:g} s of every {self.every} steps"

    def open(self, path: Path, model: AnelasticFlow, **options: Any) -> ProfileWriter:
        """The writer of what the model gathers."""
        from eagre.io import ProfileWriter

        statistics = model.profile_statistics or model.profiles(self.every, self.heights)
        return ProfileWriter(path, model, statistics, **options)


class AirMapsSection(AveragesSection):
    """Fields of means, variances, covariances and extremes over time, in a NetCDF file or a Zarr store."""

    usual: ClassVar[str] = "u"

    levels: list[int] | None = Field(
        default=None,
        description="indices of levels that are kept, rising, from 0, the lowest; all if not given",
        examples=[[0]],
    )

    def time_statistics(self, **options: Any) -> TimeStatistics | None:
        """As of `AveragesSection`."""
        return super().time_statistics(**options, levels=self.levels)


def _several(value: Any) -> Any:
    """One height as a list."""
    return value if isinstance(value, list) else [value]


class SliceSection(MeasuredSection):
    """Fields in a plane over time, in a NetCDF file or a Zarr store; one of x, y, z, i, j and k says where."""

    file: FieldsFile = Field(
        description="a file name that ends in .nc or .zarr, relative to the case file; its own for each slice",
        examples=["slice.nc"],
    )
    interval: PositiveSeconds = Field(description="the time between records", examples=["10 s"])
    x: Metres | None = Field(default=None, description="the plane at this x, metres", examples=[5000.0])
    y: Metres | None = Field(default=None, description="the plane at this y, metres", examples=[0.0])
    z: Metres | None = Field(default=None, description="the level plane at this height, metres", examples=[100.0])
    i: int | None = Field(default=None, description="the plane of this point along x, from 0", ge=0)
    j: int | None = Field(default=None, description="the plane of this point along y, from 0", ge=0)
    k: int | None = Field(default=None, description="this level, which follows the ground, from 0", ge=0, examples=[1])
    variables: VariableNames | None = Field(
        default=None,
        description="names of fields, velocity for u, v and w; wind and theta_perturbation if not given",
        examples=[["w"]],
    )

    @property
    def place(self) -> dict[str, float]:
        """Where it is, by the key."""
        return {name: getattr(self, name) for name in ACROSS if getattr(self, name) is not None}

    @model_validator(mode="after")
    def _one_place(self) -> SliceSection:
        if len(self.place) != 1:
            raise InputError(
                " and ".join(self.place) or "no place of a slice", allowed="one of x, y, z, i, j, k", fix="z = 100.0"
            )
        return self

    @property
    def note(self) -> str:
        """What the file holds."""
        ((name, value),) = self.place.items()
        return f"{name} = {value:g}{' m' if name in 'xyz' else ''}"

    def open(self, path: Path, model: AnelasticFlow, **options: Any) -> MeasuredWriter:
        """The writer of a plane of the model."""
        from eagre.io import MeasuredWriter

        return MeasuredWriter(path, model, model.slice(self.variables, **self.place), **options)


class ProbeSection(Section):
    """A probe, or a column of them."""

    name: str = Field(description="its name in the file; unlike the others", min_length=1, examples=["mast"])
    x: Metres = Field(description="place, metres; between points fields are linear", examples=[1600.0])
    y: Metres | None = Field(default=None, description="place, metres; needed unless there is one row", examples=[0.0])
    z: Annotated[list[Metres], BeforeValidator(_several), Field(min_length=1)] | None = Field(
        default=None, description="height or heights over z = 0, metres; without it all levels", examples=[[10.0, 40.0]]
    )


Points = Annotated[list[ProbeSection], named(ProbeSection, {"x": 1600.0, "z": [10.0, 40.0]}), AfterValidator(own_names)]


class ProbesSection(MeasuredSection):
    """Fields at points and in columns over time, in a NetCDF or CSV file."""

    culprit: ClassVar[Key] = ("points",)

    file: SeriesOutputFile = Field(
        description="a file name that ends in .nc or .csv, relative to the case file", examples=["probes.nc"]
    )
    interval: PositiveSeconds = Field(description="the time between records", examples=["1 s"])
    points: Points = Field(
        description="tables by name, or the sections [[probes.points]]",
        examples=[[{"name": "mast", "x": 1600.0, "z": [10.0, 40.0]}]],
    )
    variables: VariableNames | None = Field(
        default=None,
        description="names of fields, velocity for u, v and w; wind and theta if not given",
        examples=[["u", "w"]],
    )

    @property
    def any(self) -> bool:
        """Whether there is a probe."""
        return bool(self.points)

    @property
    def note(self) -> str:
        """What the file holds."""
        return f"{len(self.points)} place{'' if len(self.points) == 1 else 's'} every {self.interval:g} s"

    def open(self, path: Path, model: AnelasticFlow, **options: Any) -> ProbeWriter:
        """The writer of a model's probes."""
        from eagre.io import ProbeWriter

        points = {one.name: one.model_dump(exclude={"name"}) for one in self.points}
        return ProbeWriter(path, model, model.probes(points, self.variables), **options)


class SpectraSection(MeasuredSection):
    """Spectra along the periodic ones of x and y at heights over time, in a NetCDF file or a Zarr store."""

    file: FieldsFile = Field(
        description="a file name that ends in .nc or .zarr, relative to the case file", examples=["spectra.nc"]
    )
    interval: PositiveSeconds = Field(description="the time between records", examples=["10 min"])
    heights: Annotated[list[Metres], BeforeValidator(_several)] = Field(
        description="over z = 0, above all ground, metres", examples=[[100.0, 500.0]]
    )
    axes: list[Annotated[str, one_of("x", "y")]] | None = Field(
        default=None, description="along which; the periodic ones if not given", examples=[["x"]]
    )
    variables: VariableNames | None = Field(
        default=None,
        description="names of fields, velocity for u, v and w; wind and theta_perturbation if not given",
        examples=[["w"]],
    )

    @property
    def any(self) -> bool:
        """Whether there is a height."""
        return bool(self.heights)

    @property
    def note(self) -> str:
        """What the file holds."""
        return f"at {len(self.heights)} height{'' if len(self.heights) == 1 else 's'} every {self.interval:g} s"

    def open(self, path: Path, model: AnelasticFlow, **options: Any) -> MeasuredWriter:
        """The writer of a model's spectra."""
        from eagre.io import MeasuredWriter

        return MeasuredWriter(path, model, model.spectra(self.heights, self.variables, self.axes), **options)


class MaximaSection(MeasuredSection):
    """Extremes of wind, theta and scalars, Courant numbers, divergence and iterations over time."""

    file: SeriesOutputFile = Field(
        description="a file name that ends in .nc or .csv, relative to the case file", examples=["maxima.csv"]
    )
    interval: PositiveSeconds = Field(description="the time between records", examples=["10 s"])

    @property
    def note(self) -> str:
        """What the file holds."""
        return f"extremes every {self.interval:g} s"

    def open(self, path: Path, model: AnelasticFlow, **options: Any) -> MeasuredWriter:
        """The writer of a model's extremes."""
        from eagre.io import MeasuredWriter

        return MeasuredWriter(path, model, model.maxima(), **options)
