"""Notes on prescribed waves: variance outside the frequency band, and points per wave length."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eagre.constants import GRAVITY
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.potential_waves.boundaries.wave_checks import points_per_length, wave_notes
from eagre.models.potential_waves.config import PotentialWavesCase
from eagre.waves import AiryWave, FocusedGroup, Jonswap, LinearWaves, MeasuredWaves, PiersonMoskowitz, Sea

HEAD = 'model = "potential-waves"\n[run]\nend_time = 1\ndevice = "cpu"\n'
SEA = 'kind = "jonswap", significant_height = 0.05, peak_period = "2 s", count = 50'


def fraction(low: float, high: float) -> float:
    """Fraction of the variance of the Pierson-Moskowitz spectrum between two multiples of its peak frequency."""
    return math.exp(-1.25 / high**4) - math.exp(-1.25 / low**4)


def made(text: str):
    return PotentialWavesCase.loads(HEAD + text).build()


@pytest.mark.parametrize(("low", "high"), [(0.5, 5.0), (0.9, 1.3), (1.5, 3.0)])
def test_fraction_of_the_variance_in_the_band(low, high):
    spectrum = PiersonMoskowitz(2.0, 8.0)
    band = (low / 8.0, high / 8.0)
    expected = pytest.approx(fraction(low, high), rel=1e-3)
    assert Sea(spectrum, 20.0, band=band).energy_fraction == expected
    assert Sea(spectrum, 20.0, band=band, amplitudes="random", count=20).energy_fraction == expected
    assert FocusedGroup(spectrum, 20.0, crest_height=3.0, band=band).energy_fraction == expected


def test_fraction_of_the_variance_of_a_record():
    t = 0.25 * np.arange(2000)
    eta = 4.0 + np.sin(2 * np.pi * 0.1 * t) + 0.5 * np.sin(2 * np.pi * 1.0 * t)
    assert MeasuredWaves(t, eta, 12.0).energy_fraction == pytest.approx(1.0)
    assert MeasuredWaves(t, eta, 12.0, band=(0.05, 0.5)).energy_fraction == pytest.approx(0.8, rel=1e-9)
    assert LinearWaves(amplitude=1.0, angular_frequency=1.0, depth=3.0).energy_fraction == 1.0


def test_note_on_a_band_without_much_of_the_variance():
    grid = Grid.from_points(401, 1, 400.0, 1.0)
    spectrum = PiersonMoskowitz(2.0, 8.0)
    (note,) = wave_notes(Sea(spectrum, 20.0, band=(0.9 / 8.0, 1.3 / 8.0)), grid, "zone in the west")
    height = 2.0 * math.sqrt(fraction(0.9, 1.3))
    assert f"{fraction(0.9, 1.3):.1%} of the variance" in note and f"Hs is {height:.3g} m instead of 2 m" in note
    assert "0.1125 to 0.1625 Hz" in note and note.startswith("zone in the west: ")
    assert wave_notes(Sea(spectrum, 20.0, band=(0.07, 0.4)), grid, "sea") == []


@pytest.mark.parametrize(
    ("section", "what", "units"),
    [
        (
            '[[relaxation_zones]]\nside = "west"\nwidth = 6\nwave = {WAVE}\n',
            "relaxation zone in the west",
            ('"0.32 Hz"', '"320 mHz"', "0.32"),
        ),
        ("[initial]\nwave = {WAVE}\n", "initial wave", ('"0.32 1/s"', '"2.010619298297468 rad/s"')),
    ],
)
def test_notes_of_a_case(section, what, units):
    """Hz, rad/s and mHz for the highest frequency: the same sea, 0.32 Hz, and the same note."""
    basin = "[basin]\nnx = 65\nlength_x = 32.0\ndepth = 0.5\n"
    notes = set()
    for highest in units:
        model = made(basin + section.format(WAVE=f"{{{SEA}, highest = {highest}}}"))
        found = [note for note in model.notes if note.startswith(what) and "of the variance" in note]
        notes.update(found)
        assert len(found) == 1 and "to 0.32 Hz" in found[0]
    assert len(notes) == 1


def test_a_time_is_no_frequency():
    case = HEAD + f'[basin]\nnx = 65\nlength_x = 32.0\ndepth = 0.5\n[initial]\nwave = {{{SEA}, highest = "3 s"}}\n'
    with pytest.raises(InputError, match="not a unit of frequency"):
        PotentialWavesCase.loads(case)


# -- points per wave length ------------------------------------------------------------------------------


def test_points_per_length_along_both_axes():
    """The smaller number of the two: a length along an axis is that of the wave over the cosine of the angle."""
    for direction, expected in ((0.0, 8.0), (0.5 * math.pi, 4.0), (math.pi / 6.0, 8.0), (0.1, 8.0 / math.cos(0.1))):
        wave = AiryWave(0.01, math.inf, length=8.0, direction=direction)
        assert points_per_length(wave, Grid.from_points(9, 9, 8.0, 16.0))[0] == pytest.approx(expected)
    flume = Grid.from_points(17, 1, 8.0, 1.0)
    assert points_per_length(AiryWave(0.01, math.inf, length=8.0), flume)[0] == pytest.approx(16.0)


@pytest.mark.parametrize("direction", [0.0, 0.5 * math.pi, math.pi, 0.25 * math.pi])
def test_note_on_short_regular_waves(direction):
    wave = AiryWave(0.01, math.inf, length=8.0, direction=direction)
    fine, coarse = Grid.from_points(65, 65, 32.0, 32.0), Grid.from_points(33, 33, 32.0, 32.0)
    assert wave_notes(wave, fine, "wave") == []
    short = wave_notes(wave, coarse, "wave")
    if math.isclose(abs(math.cos(direction)), math.sqrt(0.5)):
        assert short == []  # 11.3 points along each axis
    else:
        assert len(short) == 1 and "8.0 points per wave length of 8 m" in short[0]


@pytest.mark.parametrize("gamma", [1.0, 3.3, 7.0])
@pytest.mark.parametrize("direction", [0.0, 0.5 * math.pi])
def test_note_on_the_shortest_components_of_a_sea(gamma, direction):
    """The default band ends at 5 f_p, where waves in deep water are 25 times shorter than those of the peak."""
    period, g = 8.0, 9.81
    peak = g * period**2 / (2.0 * math.pi)
    sea = Sea(Jonswap(2.0, period, gamma), math.inf, mean_direction=direction, bins="equal_frequency")
    coarse, fine = (round(100.0 * points / peak) for points in (42.5, 150.0))
    grids = [Grid.from_points(count + 1, count + 1, 100.0, 100.0) for count in (coarse, fine)]
    (note,) = wave_notes(sea, grids[0], "sea")
    assert "fewer than 5 points per wave length" in note and "1.7 at the highest frequency, 0.62" in note
    assert wave_notes(sea, grids[1], "sea") == []
    cut = Sea(Jonswap(2.0, period, gamma), math.inf, mean_direction=direction, band=(0.5 / period, 2.5 / period))
    assert not any("points per wave length" in one for one in wave_notes(cut, grids[0], "sea"))


def test_note_on_coarse_components_that_are_not_aliased():
    """Up to 2.5 f_p with 20 points per wave of the peak: 5 points at 2 f_p and 3.2 at the highest frequency."""
    period = 8.0
    sea = Sea(PiersonMoskowitz(2.0, period), math.inf, band=(0.5 / period, 2.5 / period), count=2000)
    points = round(500.0 / (GRAVITY * period**2 / (2.0 * math.pi) / 20.0)) + 1
    (coarse,) = [note for note in wave_notes(sea, Grid.from_points(points, 1, 500.0, 1.0), "sea") if "points" in note]
    expected = fraction(2.0, 2.5) / fraction(0.5, 2.5)
    share = float(coarse.split("components with ")[1].split("%")[0]) / 100.0
    assert share == pytest.approx(expected, abs=0.005) and "3.2 at the highest frequency" in coarse
