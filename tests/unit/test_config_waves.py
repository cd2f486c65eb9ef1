"""Waves in case files: kinds, keys, units, and errors with the line to write."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import numpy as np
import pytest

from eagre import waves
from eagre.config.problems import Problems, spell_key
from eagre.config.section import Section, check
from eagre.config.wave_tables import WAVES, Wave
from eagre.errors import InputError

FOLDER = Path(__file__).parent


class Case(Section):
    wave: Wave


def read(text: str, directory: Path = FOLDER):
    data = tomllib.loads("[wave]\n" + text)
    return check(Case, data, {"directory": directory, "inputs": []}).wave


def make(text: str, directory: Path = FOLDER):
    return read(text, directory).make(0.5, 9.81)


def test_stream_function_wave():
    wave = make(
        'kind = "stream_function"\nheight = "10 cm"\nperiod = "2 s"\nstokes_current = 0.0\ndirection = "30 deg"'
    )
    expected = waves.StreamFunctionWave(0.1, 0.5, period=2.0, stokes_current=0.0, direction=math.radians(30.0))
    assert (wave.length, wave.direction) == (expected.length, expected.direction)
    assert isinstance(wave, waves.StreamFunctionWave)
    still = make('kind = "stream_function"\nheight = 0.1\nperiod = 2.0\nstokes_current = 0.0\ndatum = "still_water"')
    assert still.mean_level < 0.0 == wave.mean_level
    assert abs(still.potential_rate) < 1e-15 < abs(wave.potential_rate)


def test_other_regular_waves():
    airy = make('kind = "airy"\nheight = 0.01\nlength = 3.0\ncoming_from = "270 deg"\nphase = "90 deg"')
    assert isinstance(airy, waves.AiryWave) and airy.length == pytest.approx(3.0)
    assert (airy.direction, airy.phase) == (pytest.approx(0.0), pytest.approx(math.pi / 2))
    stokes = make('kind = "stokes"\nheight = 0.05\nperiod = "1.2 s"\neulerian_current = "0.1 m/s"\norder = 3')
    assert isinstance(stokes, waves.StokesWave) and (stokes.order, stokes.eulerian_current) == (3, 0.1)


@pytest.mark.parametrize("kind", ["jonswap", "pierson_moskowitz", "tma"])
def test_seas(kind):
    text = f'kind = "{kind}"\nsignificant_height = 0.05\npeak_period = "1.5 s"\nphase_seed = 7\ncount = 50\n'
    sea = make(
        text + 'spreading = { width = "25 deg" }\ncoming_from = "180 deg"\nhighest = "2 Hz"\namplitudes = "random"'
    )
    spectrum = {
        "jonswap": waves.Jonswap(0.05, 1.5), "tma": waves.TMA(0.05, 1.5, depth=0.5),
        "pierson_moskowitz": waves.PiersonMoskowitz(0.05, 1.5),
    }[kind]  # fmt: skip
    expected = waves.Sea(
        spectrum, 0.5, count=50, phase_seed=7, spreading=waves.CosineSpreading(width=math.radians(25.0)),
        mean_direction=math.pi / 2, band=(spectrum.band[0], 2.0), amplitudes="random",
    )  # fmt: skip
    for name in ("amplitude", "angular_frequency", "direction", "phase"):
        assert np.allclose(getattr(sea, name), getattr(expected, name)), name
    assert sea.seeds == (7, 2)


@pytest.mark.parametrize(
    "highest", ['"3 rad/s"', '"0.477464829275686 Hz"', '"477.464829275686 mHz"', "0.477464829275686"]
)
def test_units_of_the_highest_frequency(highest):
    """3 rad/s is 3 / (2 pi) Hz; the height within the band is that of the integrated spectrum."""
    sea = make(f'kind = "jonswap"\nsignificant_height = 2.0\npeak_period = 8.0\nhighest = {highest}\ncount = 100')
    spectrum = waves.Jonswap(2.0, 8.0)
    f = np.linspace(0.0625, 3.0 / (2.0 * math.pi), 20001)
    assert sea.band[1] == pytest.approx(3.0 / (2.0 * math.pi), rel=1e-12)
    assert sea.significant_height == pytest.approx(4.0 * math.sqrt(np.trapezoid(spectrum.density(f), f)), rel=1e-5)
    assert sea.significant_height > 1.97


def test_files(tmp_path):
    (tmp_path / "s.csv").write_text("f (Hz),S (m2/Hz)\n0.1,0\n0.5,0.01\n1.0,0\n")
    sea = make('kind = "spectrum"\nfile = "s.csv"\nspreading = { normal = "10 deg" }\ncount = 20', tmp_path)
    assert sea.variance == pytest.approx(0.5 * 0.9 * 0.01, rel=1e-3)
    t = 0.1 * np.arange(200)
    (tmp_path / "g.csv").write_text("t,eta\n" + "".join(f"{a:.3f},{0.02 * math.sin(math.pi * a)}\n" for a in t))
    measured = make('kind = "measured"\nfile = "g.csv"\nx = 2.0\nlowest = "0.2 Hz"', tmp_path)
    assert measured.elevation(2.0, 0.0, t) == pytest.approx(0.02 * np.sin(math.pi * t), abs=1e-12)


def test_focused_group():
    text = 'kind = "focused_group"\ncrest_height = 0.08\npeak_period = "1.5 s"\nx = 7.0\ntime = "20 s"\n'
    group = make(text + "spreading = { s = 20 }")
    assert group.elevation(7.0, 0.0, 20.0) == pytest.approx(0.08)
    assert np.unique(group.direction).size == 31


REGULAR = 'kind = "stream_function"\nheight = 0.1\n'
FULL = REGULAR + "length = 3.0\neulerian_current = 0.0\n"
SEA = 'kind = "jonswap"\nsignificant_height = 1.0\npeak_period = 8.0\n'


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ('kind = "streamfunction"', "wave", ["streamfunction", 'kind = "stream_function"', "jonswap"]),
        ("height = 1.0", "wave", ["no kind"]),
        (REGULAR + "length = 3.0", "wave", ["neither eulerian_current nor stokes_current", "closed flume"]),
        (FULL + "stokes_current = 0.0", "wave", ["both eulerian_current and stokes_current"]),
        (REGULAR + "eulerian_current = 0.0", "wave", ["neither length nor period", 'period = "2 s"']),
        (FULL + "period = 2.0", "wave", ["both length and period"]),
        (FULL.replace("height = 0.1", "height = -1"), "wave.height", ["greater than 0", "height = 0.1"]),
        (FULL + "heigth = 1.0", "wave.heigth", ['did you mean "height"']),
        (FULL + "Hs = 1.0", "wave.Hs", ['did you mean "height"', "height = 1.0"]),
        (FULL + 'Tp = "8 s"', "wave.Tp", ['did you mean "period"', 'period = "8 s"']),
        (SEA + "Hs = 2.0", "wave.Hs", ['did you mean "significant_height"']),
        (SEA + "Tp = 9.0", "wave.Tp", ['did you mean "peak_period"']),
        (FULL + "direction = 30", "wave.direction", ['direction = "30 deg"', "radians"]),
        (FULL + 'direction = "30 m"', "wave.direction", ['"30 m"']),
        (FULL + 'direction = 1.0\ncoming_from = "90 deg"', "wave", ["both direction and coming_from"]),
        (FULL + "order = 1", "wave.order", ["greater than or equal to 2"]),
        (SEA + "gamma = 0.3", "wave.gamma", ["gamma = 0.3"]),
        (SEA + 'bins = "equal"', "wave.bins", ["equal_energy, equal_frequency"]),
        (SEA + "phase_seed = -1", "wave.phase_seed", ["phase_seed = -1"]),
        (SEA + "spreading = {}", "wave.spreading", ["none of the keys", "s = 10"]),
        (SEA + 'spreading = { s = 3, width = "20 deg" }', "wave.spreading", ["s and width"]),
        (SEA + 'spreading = { width = "80 deg" }', "wave.spreading", ["1.15 rad"]),
        ('kind = "spectrum"\nfile = "none.csv"', "wave.file", ["none.csv"]),
        (
            'kind = "swan"\nfile = "test_config_waves.py"\ndirection = 1.0',
            "wave",
            ["with a directional spectrum"],
        ),
    ],
)
def test_problems(text, key, words):
    with pytest.raises(Problems) as caught:
        read(text)
    found = {spell_key(problem.key): str(problem) for problem in caught.value.problems}
    assert key in found
    for word in words:
        assert word in found[key]


def test_waves_that_do_not_exist_are_told_when_they_are_made():
    with pytest.raises(InputError, match=r"H/L = 0.2000.*limit"):
        make(FULL.replace("0.1", "0.6"))


def test_every_kind_has_words():
    for section in WAVES.values():
        assert section.__doc__ and all(field.description for field in section.model_fields.values())
