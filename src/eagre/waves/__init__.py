"""Wave theories for constant depth (standalone): regular waves, seas, measured records, statistics, forces."""

from eagre.waves.dispersion import angular_frequency, group_velocity, wave_number
from eagre.waves.forces import CylinderForce, morison_force
from eagre.waves.linear import AiryWave, LinearWaves
from eagre.waves.measured import MeasuredWaves, Reflection, separate_reflection
from eagre.waves.points import FixedPoints
from eagre.waves.sea import FocusedGroup, Sea
from eagre.waves.spectra import (
    TMA,
    CosineSpreading,
    DirectionalSpectrum,
    Jonswap,
    NormalSpreading,
    PiersonMoskowitz,
    Spectrum,
    Spreading,
    TabulatedSpectrum,
    WrappedNormalSpreading,
    from_nautical,
    to_nautical,
)
from eagre.waves.spectrum_files import read_directional_spectrum
from eagre.waves.statistics import SeaState, ZeroCrossingWaves, power_spectrum, sea_state, zero_crossings
from eagre.waves.steady import RegularWave, highest_wave
from eagre.waves.stokes import StokesWave
from eagre.waves.stream_function import StreamFunctionWave

__all__ = [
    "TMA",
    "AiryWave",
    "CosineSpreading",
    "CylinderForce",
    "DirectionalSpectrum",
    "FixedPoints",
    "FocusedGroup",
    "Jonswap",
    "LinearWaves",
    "MeasuredWaves",
    "NormalSpreading",
    "PiersonMoskowitz",
    "Reflection",
    "RegularWave",
    "Sea",
    "SeaState",
    "Spectrum",
    "Spreading",
    "StokesWave",
    "StreamFunctionWave",
    "TabulatedSpectrum",
    "WrappedNormalSpreading",
    "ZeroCrossingWaves",
    "angular_frequency",
    "from_nautical",
    "group_velocity",
    "highest_wave",
    "morison_force",
    "power_spectrum",
    "read_directional_spectrum",
    "sea_state",
    "separate_reflection",
    "to_nautical",
    "wave_number",
    "zero_crossings",
]
