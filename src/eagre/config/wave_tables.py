"""Waves and sea states of case files, as tables: ``wave = { kind = "stream_function", height = 0.1, .. }``."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PlainValidator, ValidationInfo, model_validator

from eagre import waves
from eagre.config.section import Section, case_key, check, kind_of, only_one
from eagre.config.toml import literal
from eagre.config.values.types import (
    InputFile,
    Metres,
    PositiveMetres,
    PositiveSeconds,
    Seconds,
    key_of,
    quantity,
)
from eagre.config.values.units import parse_quantity
from eagre.errors import InputError
from eagre.waves.steady import RegularWave


def _angle(value: Any, info: ValidationInfo) -> float:
    """Return radians; raise an error for plain numbers above 2 pi, which are probably degrees."""
    number = parse_quantity(value, "number", key_of(info))
    if not isinstance(value, str) and abs(number) > 2.0 * math.pi:
        raise InputError(
            f"{key_of(info)} = {literal(value)}", allowed="radians, or a string with degrees",
            fix=f'{key_of(info)} = "{number:g} deg"',
        )  # fmt: skip
    return number


Angle = Annotated[float, BeforeValidator(_angle)]
Speed = Annotated[float, quantity("speed")]
Height = Annotated[float, quantity("length"), Field(gt=0)]


class WaveSection(Section):
    """A wave or a sea."""

    synonyms: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **dict.fromkeys(("h", "hs", "hm0", "h_s"), ("significant_height", "height")),
        **dict.fromkeys(("t", "tp", "t_p"), ("peak_period", "period")),
    }

    kind: str = case_key("kind of the wave")
    direction: Angle | None = case_key(
        "propagation direction, from the x axis towards the y axis", "30 deg", default=None
    )
    coming_from: Angle | None = case_key(
        "alternative to direction: direction of origin, clockwise from north, with x to the east",
        "270 deg",
        default=None,
    )

    @model_validator(mode="after")
    def _one_direction(self) -> WaveSection:
        if self.direction is not None and self.coming_from is not None:
            raise InputError("both direction and coming_from", allowed="one of them", fix='coming_from = "270 deg"')
        return self

    def goes_to(self) -> float:
        """Return the propagation direction, rad, from the x axis."""
        if self.coming_from is not None:
            return float(waves.from_nautical(math.degrees(self.coming_from)))
        return self.direction or 0.0

    @abstractmethod
    def make(self, depth: float, gravity: float) -> RegularWave | waves.LinearWaves:
        """Create the wave for a depth, m, and a gravity, m s-2.

        Raises
        ------
        InputError
            If the wave does not exist, for example above the maximum height.
        """


class _Regular(WaveSection):
    height: Height = case_key("wave height (crest to trough), metres", 0.1)
    length: PositiveMetres | None = case_key("wave length, metres", 3.0, default=None)
    period: PositiveSeconds | None = case_key("alternative to length: wave period, s", "2 s", default=None)
    phase: Angle = case_key("phase at x = y = t = 0; 0 is a crest", "90 deg", default=0.0)

    @model_validator(mode="after")
    def _one_size(self) -> _Regular:
        self.size()
        return self

    def size(self) -> dict[str, Any]:
        """Return length or period."""
        return only_one(self, ("length", "period"), 'period = "2 s"')


class AirySection(_Regular):
    """Linear (Airy) wave."""

    eulerian_current: Speed = case_key("uniform current in the direction of the wave, m/s", "0.2 m/s", default=0.0)

    def make(self, depth: float, gravity: float) -> waves.AiryWave:
        return waves.AiryWave(
            self.height, depth, **self.size(), eulerian_current=self.eulerian_current, gravity=gravity,
            direction=self.goes_to(), phase=self.phase,
        )  # fmt: skip


class _Steady(_Regular):
    eulerian_current: Speed | None = case_key(
        "mean Eulerian velocity below the troughs, m/s; 0 in the open sea", 0.0, default=None
    )
    stokes_current: Speed | None = case_key(
        "alternative: mass-transport velocity (volume flux / depth), m/s; 0 in a closed flume", 0.0, default=None
    )

    datum: Literal["mean_level", "still_water"] = case_key(
        "level z = 0: mean_level, or still_water next to water at rest (with set-down)",
        "still_water",
        default="mean_level",
    )

    @model_validator(mode="after")
    def _one_current(self) -> _Steady:
        self.current()
        return self

    def maker(self, theory: Any) -> Any:
        """Return the constructor of a wave theory for the datum."""
        return theory.over_still_water if self.datum == "still_water" else theory

    def current(self) -> dict[str, Any]:
        """Return the one of two currents that is set."""
        fix = "eulerian_current = 0.0, or stokes_current = 0.0 in a closed flume"
        return only_one(self, ("eulerian_current", "stokes_current"), fix)


class StokesSection(_Steady):
    """Steady wave of moderate height, Stokes expansion."""

    order: int = case_key("order of the expansion", 5, default=5, ge=1, le=9)

    def make(self, depth: float, gravity: float) -> waves.StokesWave:
        return self.maker(waves.StokesWave)(
            self.height, depth, **self.size(), **self.current(), gravity=gravity, direction=self.goes_to(),
            phase=self.phase, order=self.order,
        )  # fmt: skip


class StreamFunctionSection(_Steady):
    """Steady wave of any height, stream-function method."""

    order: int | None = case_key(
        "number of Fourier modes; default: as many as needed for rounding accuracy", 20, default=None, ge=2, le=300
    )

    def make(self, depth: float, gravity: float) -> waves.StreamFunctionWave:
        return self.maker(waves.StreamFunctionWave)(
            self.height, depth, **self.size(), **self.current(), gravity=gravity, direction=self.goes_to(),
            phase=self.phase, order=self.order,
        )  # fmt: skip


Frequency = Annotated[float, quantity("frequency"), Field(gt=0)]


class SpreadingSection(Section):
    """Directional spreading, by exactly one of the keys."""

    s: float | None = case_key("exponent of cos^(2s)(angle / 2)", 10.0, default=None, ge=0.5)
    width: Angle | None = case_key(
        "directional width of cos^(2s)(angle / 2), up to 66 deg", "25 deg", default=None, gt=0
    )
    normal: Angle | None = case_key("standard deviation of a normal distribution", "20 deg", default=None, gt=0)
    wrapped_normal: Angle | None = case_key(
        "standard deviation of a wrapped normal distribution", "20 deg", default=None, gt=0
    )

    @model_validator(mode="after")
    def _one_key(self) -> SpreadingSection:
        specified = [name for name in self.keys() if getattr(self, name) is not None]
        if len(specified) != 1:
            raise InputError(
                " and ".join(specified) or "none of the keys", allowed=f"one of {', '.join(self.keys())}", fix="s = 10"
            )
        self.make()
        return self

    def make(self) -> waves.Spreading:
        """Create the spreading."""
        if self.normal is not None:
            return waves.NormalSpreading(self.normal)
        if self.wrapped_normal is not None:
            return waves.WrappedNormalSpreading(self.wrapped_normal)
        return waves.CosineSpreading(self.s, width=self.width)


class _Summed(WaveSection):
    lowest: Frequency | None = case_key(
        'lowest frequency, Hz or a string such as "0.3 rad/s"; default: lowest of the spectrum', "0.05 Hz", default=None
    )
    highest: Frequency | None = case_key(
        'highest frequency, Hz or a string such as "3 rad/s"; default: highest of the spectrum', "0.4 Hz", default=None
    )
    stretching: Literal["wheeler", "constant", "none"] = case_key(
        "stretching of velocities near the surface: wheeler, constant or none", "wheeler", default="wheeler"
    )

    def band(self, low: float, high: float) -> tuple[float, float]:
        """Return the frequency band, Hz, within low .. high."""
        return self.lowest or low, self.highest or high


class _Irregular(_Summed):
    count: int = case_key("number of wave components", 1000, default=1000, ge=1, le=1_000_000)
    phase_seed: int = case_key("seed of the phases", 1, default=1, ge=0)
    amplitude_seed: int = case_key("seed of directions and random amplitudes", 2, default=2, ge=0)
    amplitudes: Literal["deterministic", "random"] = case_key(
        "component amplitudes: deterministic or random", "random", default="deterministic"
    )
    bins: Literal["equal_energy", "equal_frequency"] = case_key(
        "frequency bins: equal_energy or equal_frequency", "equal_energy", default="equal_energy"
    )

    def sea(self, spectrum: waves.Spectrum, depth: float, gravity: float, **more: Any) -> waves.Sea:
        """Create the sea state of a spectrum."""
        return waves.Sea(
            spectrum, depth, count=self.count, phase_seed=self.phase_seed, amplitude_seed=self.amplitude_seed,
            amplitudes=self.amplitudes, bins=self.bins, band=self.band(*spectrum.band), gravity=gravity,
            stretching=self.stretching, **more,
        )  # fmt: skip


class _Spread(_Irregular):
    spreading: SpreadingSection | None = case_key(
        "directional spreading; default: long-crested", {"s": 10.0}, default=None
    )

    def spread_sea(self, spectrum: waves.Spectrum, depth: float, gravity: float) -> waves.Sea:
        """Create the sea state of a frequency spectrum with the spreading of the section."""
        spreading = None if self.spreading is None else self.spreading.make()
        return self.sea(spectrum, depth, gravity, spreading=spreading, mean_direction=self.goes_to())


class PiersonMoskowitzSection(_Spread):
    """Fully developed sea, Pierson-Moskowitz spectrum."""

    significant_height: Height = case_key("Hs = 4 sqrt(m0), metres", 2.0)
    peak_period: PositiveSeconds = case_key("peak period, s", "8 s")

    def make(self, depth: float, gravity: float) -> waves.Sea:
        spectrum = waves.PiersonMoskowitz(self.significant_height, self.peak_period)
        return self.spread_sea(spectrum, depth, gravity)


class JonswapSection(PiersonMoskowitzSection):
    """Fetch-limited sea, JONSWAP spectrum."""

    gamma: float = case_key("peak enhancement factor", 3.3, default=3.3, ge=1, le=20)

    def make(self, depth: float, gravity: float) -> waves.Sea:
        spectrum = waves.Jonswap(self.significant_height, self.peak_period, self.gamma)
        return self.spread_sea(spectrum, depth, gravity)


class TMASection(JonswapSection):
    """Sea in shallow water, TMA spectrum (JONSWAP for finite depth)."""

    def make(self, depth: float, gravity: float) -> waves.Sea:
        spectrum = waves.TMA(self.significant_height, self.peak_period, self.gamma, depth, gravity)
        return self.spread_sea(spectrum, depth, gravity)


class SpectrumFileSection(_Spread):
    """Sea from a text table of frequency and variance density, with units in the header: f (Hz),S (m2/Hz)."""

    file: InputFile = case_key("text table, relative to the case file", "spectrum.csv")

    def make(self, depth: float, gravity: float) -> waves.Sea:
        return self.spread_sea(waves.TabulatedSpectrum.read(self.file), depth, gravity)


class DirectionalFileSection(_Irregular):
    """Sea from a directional spectrum in a SWAN or WAVEWATCH III file (the latter with the library wavespectra)."""

    file: InputFile = case_key("spectral file, relative to the case file", "sea.swn")
    time: int = case_key("index of the time in the file, from 0", 0, default=0)
    site: int = case_key("index of the location in the file, from 0", 0, default=0)

    @model_validator(mode="after")
    def _own_directions(self) -> DirectionalFileSection:
        if self.direction is not None or self.coming_from is not None:
            raise InputError("a direction with a directional spectrum", allowed="neither direction nor coming_from")
        return self

    def make(self, depth: float, gravity: float) -> waves.Sea:
        spectrum = waves.read_directional_spectrum(self.file, self.kind, time=self.time, site=self.site)
        return self.sea(spectrum, depth, gravity)


class FocusedGroupSection(_Summed):
    """Focused wave group of the JONSWAP spectrum (NewWave)."""

    crest_height: Metres = case_key("linear crest elevation at the focus, metres", 3.0)
    peak_period: PositiveSeconds = case_key("peak period, s", "8 s")
    gamma: float = case_key("peak enhancement factor", 3.3, default=3.3, ge=1, le=20)
    x: Metres = case_key("x of the focus, metres", 100.0, default=0.0)
    y: Metres = case_key("y of the focus, metres", 0.0, default=0.0)
    time: Seconds = case_key("time of the focus, s", "60 s", default=0.0)
    spreading: SpreadingSection | None = case_key(
        "directional spreading; default: long-crested", {"s": 10.0}, default=None
    )
    count: int = case_key("number of frequencies", 200, default=200, ge=1, le=100_000)
    direction_count: int = case_key("number of directions", 31, default=31, ge=1, le=1000)

    def make(self, depth: float, gravity: float) -> waves.FocusedGroup:
        spectrum = waves.Jonswap(1.0, self.peak_period, self.gamma)
        return waves.FocusedGroup(
            spectrum, depth, crest_height=self.crest_height, x=self.x, y=self.y, t=self.time, count=self.count,
            spreading=None if self.spreading is None else self.spreading.make(), mean_direction=self.goes_to(),
            direction_count=self.direction_count, band=self.band(*spectrum.band), gravity=gravity,
            stretching=self.stretching,
        )  # fmt: skip


class MeasuredSection(_Summed):
    """Waves from a measured record of the surface elevation."""

    file: InputFile = case_key("CSV or NetCDF file, relative to the case file", "gauge.csv")
    value: str | None = case_key(
        "name of the column of the elevation, metres; default: the second column", "eta", default=None
    )
    x: Metres = case_key("x of the gauge, metres", 5.0, default=0.0)
    y: Metres = case_key("y of the gauge, metres", 0.0, default=0.0)
    taper: float = case_key("fraction of the record that is tapered at each end", 0.05, default=0.0, ge=0, le=0.5)

    def make(self, depth: float, gravity: float) -> waves.MeasuredWaves:
        from eagre.io import read_series

        series = read_series(self.file, value=self.value)
        return waves.MeasuredWaves(
            series.times, series.values, depth, x=self.x, y=self.y, direction=self.goes_to(), taper=self.taper,
            band=self.band(0.0, math.inf), gravity=gravity, stretching=self.stretching,
        )  # fmt: skip


WAVES: dict[str, type[WaveSection]] = {
    "airy": AirySection,
    "stokes": StokesSection,
    "stream_function": StreamFunctionSection,
    "jonswap": JonswapSection,
    "pierson_moskowitz": PiersonMoskowitzSection,
    "tma": TMASection,
    "spectrum": SpectrumFileSection,
    "swan": DirectionalFileSection,
    "ww3": DirectionalFileSection,
    "focused_group": FocusedGroupSection,
    "measured": MeasuredSection,
}
"""Section of each kind of wave."""


def _wave(value: Any, info: ValidationInfo) -> WaveSection:
    """Read a table of waves by its kind."""
    if isinstance(value, WaveSection):
        return value
    kind = kind_of(value, WAVES, "stream_function", "Waves are a table with a known kind.")
    return check(WAVES[kind], value, info.context)


Wave = Annotated[WaveSection, PlainValidator(_wave)]
"""The type of a key that holds a wave."""
