"""Waves on water of constant depth, usable without a model: regular waves, seas, measured series, statistics."""

from eagre.waves.airy import AiryWave
from eagre.waves.breaking import highest_wave
from eagre.waves.dispersion import angular_frequency, group_velocity, wave_number
from eagre.waves.steady import RegularWave
from eagre.waves.stokes import StokesWave
from eagre.waves.stream_function import StreamFunctionWave

__all__ = [
    "AiryWave",
    "RegularWave",
    "StokesWave",
    "StreamFunctionWave",
    "angular_frequency",
    "group_velocity",
    "highest_wave",
    "wave_number",
]
