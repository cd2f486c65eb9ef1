"""Waves and sea states as tables of a case file: ``wave = { kind = "stream_function", height = 0.1, .. }``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import PlainValidator, ValidationInfo

from eagre.config.section import check, kind_of
from eagre.config.waves.regular_waves import AirySection, StokesSection, StreamFunctionSection, WaveSection
from eagre.config.waves.seas import (
    DirectionalFileSection,
    FocusedGroupSection,
    JonswapSection,
    MeasuredSection,
    PiersonMoskowitzSection,
    SpectrumFileSection,
    TMASection,
)

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
