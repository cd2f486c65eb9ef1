"""Samples of functions, expressions and constituents: errors of the lines between them.

Exact errors: a line between samples h apart of A cos(2 pi t / T) is off by A (1 - cos(pi h / T)) in the middle of an
interval that is centred at a crest.
"""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from case_texts import stage_in_the_west
from eagre.config.problems import ConfigError
from eagre.errors import InputError
from eagre.models.potential_waves.config import PotentialWavesCase
from eagre.models.shallow_water.config import ShallowWaterCase
from eagre.time_varying import tides
from eagre.time_varying.sampling import rounded_down
from eagre.time_varying.series import Series

FLUME = """\
model = "potential-waves"
[run]
end_time = "20 s"
device = "cpu"
[basin]
nx = 65
length_x = 6.4
depth = 0.4
[[wavemakers]]
side = "west"
position = {{expression = "0.01 * sin(pi * t)", every = {every}}}
"""


def sampled(text, every, end):
    names = {name: getattr(np, name) for name in ("sin", "cos", "where", "minimum", "maximum", "exp", "sign")}
    function = eval(f"lambda t: {text}", {"__builtins__": {}, "pi": math.pi, **names})
    return Series.sampled(lambda t: float(function(t)), end=end, every=every)


def expression(text, every, end):
    level = f'{{expression = "{text}", every = {every}}}'
    return ShallowWaterCase.loads(stage_in_the_west(end, "value = -5.0", level)).build().boundaries.west.level


WAYS = {"python": sampled, "case": expression}
RESOLVED = [
    ("sin(2 * pi * t / 44712)", 600.0, 86400.0),
    ("sin(2 * pi * t / 20)", 1.5, 60.0),  # 13 samples a period
    ("1.5 + 0.0 * t", 600.0, 86400.0),
    ("2 * t", 0.1, 1.0),
    ("where(t < 610, 0.5, 1.0)", 60.0, 3600.0),  # discontinuities
    ("where(sin(2 * pi * t / 1200) > 0, 1.0, 0.0)", 60.0, 3600.0),
    ("t % 600", 60.0, 3600.0),
    ("minimum(t / 600, 1)", 60.0, 3600.0),
    ("1e3 + 1e-12 * sin(t)", 60.0, 3600.0),  # rounding
]
UNRESOLVED = [  # text, every, end, and an every that is enough
    ("sin(2 * pi * t / 44712)", 43200.0, 864000.0),
    ("sin(pi * t)", 1.0, 20.0),  # zero at all samples
    ("cos(2 * pi * t)", 1.0, 20.0),  # 1 at all samples
    ("cos(20 * pi * t)", 0.1, 20.0),
    ("cos(2 * pi * t) + cos(4 * pi * t) + cos(6 * pi * t)", 0.5, 20.0),
    ("sin(2 * pi * t / 20)", 3.0, 60.0),
    ("exp(-((t - 1830) / 9) ** 2)", 60.0, 7200.0),  # a pulse between two samples
    ("where(sin(2 * pi * t / 60) > 0, 1.0, 0.0)", 60.0, 3600.0),  # a square wave of the step
    ("minimum(t / 90, 1)", 60.0, 3600.0),
]


@pytest.mark.parametrize(("text", "every", "end"), RESOLVED)
@pytest.mark.parametrize("way", WAYS)
def test_functions_that_are_resolved(way, text, every, end):
    series = WAYS[way](text, every, end)
    assert series.times[1] == every


@pytest.mark.parametrize(("text", "every", "end"), UNRESOLVED)
@pytest.mark.parametrize("way", WAYS)
def test_functions_that_are_not_resolved(way, text, every, end):
    """The step of the message is enough, and its error as large as it says."""
    with pytest.raises((InputError, ConfigError), match="too far apart") as caught:
        WAYS[way](text, every, end)
    message = str(caught.value)
    said = re.search(r"between t = (\S+) and (\S+) s the interpolation error is (\S+),", message)
    assert said is not None
    low, high, error = float(said[1]), float(said[2]), float(said[3])
    names = {name: getattr(np, name) for name in ("sin", "cos", "where", "minimum", "exp")}
    function = eval(f"lambda t: {text}", {"__builtins__": {}, "pi": math.pi, **names})
    t = np.linspace(low, high, 2001)
    truth = np.abs(function(t) - np.interp(t, [low, high], [function(low), function(high)])).max()
    assert 0.8 * truth <= error <= 1.05 * truth
    better = re.search(r"every = (\S+)$", message.strip())
    assert better is not None and float(better[1]) < every
    WAYS[way](text, float(better[1]), end)


@pytest.mark.parametrize(("part", "passes"), [(0.6, True), (1.6, False)])
def test_the_limit_is_2_percent_of_the_range(part, passes):
    """1 - cos(pi h / T) = 0.04 times a part: 2 % of the range 2 A at part 1."""
    every = 100.0 / math.pi * math.acos(1.0 - 0.04 * part)
    if passes:
        sampled("cos(2 * pi * t / 100)", every, 5000.0)
        return
    with pytest.raises(InputError, match="too far apart"):
        sampled("cos(2 * pi * t / 100)", every, 5000.0)


def test_a_paddle_that_would_stand_still():
    with pytest.raises(ConfigError, match="too far apart") as caught:
        PotentialWavesCase.loads(FLUME.format(every='"1 s"')).build()
    better = re.search(r"every = (\S+)$", str(caught.value).strip())
    assert better is not None and 0.02 <= float(better[1]) <= 0.2


def test_the_step_that_is_proposed_for_an_expression():
    for text, low, high in (("sin(pi * t)", 0.05, 0.2), ("sin(2 * pi * t / 44712)", 50.0, 60.0), ("1 / t", 60.0, 60.0)):
        with pytest.raises(ConfigError) as caught:
            ShallowWaterCase.loads(stage_in_the_west(600.0, "value = -5.0", f'"{text}"'))
        every = re.search(r"every = ([\d.]+)}", str(caught.value))
        assert every is not None and low <= float(every[1]) <= high


@pytest.mark.parametrize(
    ("names", "shortest"), [(["M2"], 44714.2), (["M2", "M8"], 44714.2 / 4), (["K1", "S2"], 43200.0)]
)
def test_constituents(names, shortest):
    made = {name: (1.0, 30.0) for name in names}
    Series.from_tides(made, end=864000.0, phases="start", every=shortest / 20.0 - 0.1)
    with pytest.raises(InputError, match="too far apart for the constituents") as caught:
        Series.from_tides(made, end=864000.0, phases="start", every=shortest / 20.0 + 0.1)
    assert caught.value.fix == f"every = {rounded_down(shortest / 20.0):g}"


def test_the_error_of_a_constituent():
    """M2 every 12 h: 1 - cos(pi 43200 / 44714.16) = 1.99436; a constituent of amplitude 0 does not count."""
    with pytest.raises(InputError, match=r"error is up to 1\.99\b"):
        Series.from_tides({"M2": (1.0, 0.0)}, end=864000.0, phases="start", every=43200.0)
    every = 900.0
    series = Series.from_tides({"M2": (1.0, 0.0), "M8": (0.0, 0.0)}, end=864000.0, phases="start", every=every)
    t = np.arange(0.0, 864000.0, 37.0)
    error = np.abs(np.interp(t, series.times, series.values) - np.cos(2 * np.pi * t / 44714.16)).max()
    assert error == pytest.approx(1.0 - math.cos(math.pi * every / 44714.16), rel=0.05)


def test_the_default_resolves_every_constituent():
    Series.from_tides({name: (1.0, 0.0) for name in tides.NAMES}, end=600.0, phases="start")


def test_tides_in_cases():
    level = '{constituents = {M2 = [1.2, 143.0]}, phases = "start", every = "12 h"}'
    with pytest.raises(ConfigError, match=r"too far apart(.|\n)*every = 2000"):
        ShallowWaterCase.loads(stage_in_the_west(86400.0, "value = -5.0", level)).build()


@pytest.mark.parametrize(
    ("number", "expected"), [(0.05, 0.05), (0.049, 0.02), (1.0, 1.0), (9.9, 5.0), (2235.7, 2000.0), (60.0, 50.0)]
)
def test_round_steps(number, expected):
    assert rounded_down(number) == pytest.approx(expected, rel=1e-12)
