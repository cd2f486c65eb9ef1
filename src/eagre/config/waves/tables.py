"""Waves and sea states as tables of a case file: ``wave = { kind = "stream_function", height = 0.1, .. }``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import PlainValidator, ValidationInfo

from eagre.config.section import check
from eagre.config.toml import literal
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
from eagre.errors import InputError
from eagre.names import nearest

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
    kind = value.get("kind") if isinstance(value, Mapping) else None
    if not isinstance(kind, str) or kind not in WAVES:
        got = "no kind" if kind is None and isinstance(value, Mapping) else literal(value if kind is None else kind)
        near = nearest(str(kind), WAVES) or "stream_function"
        fix = f'kind = "{near}"' if isinstance(value, Mapping) else f'{{ kind = "{near}" }}'
        problem = "Waves are a table with a known kind."
        raise InputError(got, allowed=f"kind = one of {', '.join(WAVES)}", fix=fix, problem=problem)
    return check(WAVES[kind], value, info.context)


Wave = Annotated[WaveSection, PlainValidator(_wave)]
"""The type of a key that holds a wave."""
