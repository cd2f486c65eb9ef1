"""Tides from harmonic constituents in case files."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime
from typing import Annotated, Any

import numpy as np
from pydantic import PlainValidator, ValidationInfo

from eagre.config.section import Section, case_key
from eagre.config.toml import literal
from eagre.config.values.types import PositiveSeconds
from eagre.config.values.units import parse_quantity
from eagre.errors import InputError
from eagre.names import nearest
from eagre.time_varying import tides
from eagre.time_varying.series import Series

MAX_SAMPLES = 10_000_000
"""Maximum number of samples of an expression or a tide."""
_PHASES = "reference of the phase lags"


def _phases(value: Any, info: ValidationInfo) -> str | datetime:
    if value in ("greenwich", "start") or isinstance(value, datetime):
        return value
    if isinstance(value, (date, str)):
        with suppress(ValueError):
            return datetime.fromisoformat(value if isinstance(value, str) else value.isoformat())
    near = nearest(value, ("greenwich", "start")) if isinstance(value, str) else None
    raise InputError(
        f"phases = {literal(value)}", allowed=f"{_PHASES}: greenwich, start or a date",
        fix=f'phases = "{near or "greenwich"}"',
    )  # fmt: skip


class SeriesTides(Section):
    """Tide: a mean and constituents, M2 = [amplitude, phase lag in degrees], sampled and interpolated linearly."""

    constituents: dict[str, Any] = case_key(
        "constituents by name: [amplitude, phase lag in degrees]", {"M2": [1.21, 143.0], "S2": [0.42, 190.0]}
    )
    phases: Annotated[str | datetime, PlainValidator(_phases)] = case_key(
        f"{_PHASES}: greenwich, start (of the run) or a date", "greenwich"
    )
    mean: float | str = case_key("mean level added to the sum of constituents", "10 cm", default=0.0)
    every: PositiveSeconds = case_key("time between samples, at most 1/20 of the shortest period", "60 s", default=60.0)

    def checked(self, dimension: str) -> dict[str, tuple[float, float]]:
        """Return amplitudes in SI units of `dimension` and lags; raise `InputError` for invalid values."""
        constituents = {}
        for name, pair in self.constituents.items():
            if not (isinstance(pair, list) and len(pair) == 2 and type(pair[1]) in (int, float)):
                allowed = "[amplitude, phase lag], the lag a number in degrees"
                raise InputError(f"{name} = {literal(pair)}", allowed=allowed, fix=f"{name} = [1.21, 143.0]")
            constituents[name] = parse_quantity(pair[0], dimension, name), float(pair[1])
        return tides.checked(constituents)

    def series(self, start: float, end: float, dimension: str, start_date: datetime | None) -> Series:
        """Sample the tide from `start` to `end`, s, in SI units of `dimension`."""
        if self.phases != "start" and start_date is None:
            raise InputError(
                f"phases = {literal(self.phases)} without start_date in [run]",
                allowed='start_date, or phases = "start"', fix="start_date = 2026-01-31T00:00:00",
            )  # fmt: skip
        check_samples(start, end, self.every)
        return Series.from_tides(
            self.checked(dimension), end, phases=self.phases, start_date=start_date, every=self.every, start=start,
            mean=parse_quantity(self.mean, dimension, "mean"),
        )  # fmt: skip


def check_samples(start: float, end: float, every: float) -> None:
    """Raise an error for more than `MAX_SAMPLES` samples from `start` to `end`, s."""
    count = np.ceil((end - start) / every)
    if count > MAX_SAMPLES:
        raise InputError(f"every = {every:g} s, i.e. {count:.0f} samples", allowed="at most 10 million samples")
