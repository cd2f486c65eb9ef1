"""Plausible ranges: extremes that were observed pass everywhere, and likely mistakes are refused with a correction."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.boundaries import Absorbing, NormalDepth, Stage
from eagre.checks import checked_field
from eagre.plausible import QUANTITIES, check_plausible
from eagre.terms import AtmosphericPressure, Coriolis, Rain, WindStress, ZoneRain
from eagre.time_varying.cyclone import Track
from eagre.time_varying.fields import NodeGrid, RecordTimeAxis, TimeVaryingField

GRID = eagre.Grid(4, 3, 10.0, 10.0)
EXTREMES = {  # observed extremes and laboratory values
    "air_pressure": [87_000.0, 108_500.0],
    "wind": [-113.0, 113.0],
    "rain": [0.0, 0.038 / 60.0, 0.305 / 2520.0],
    "elevation": [-430.0, -10_935.0, 8849.0, 1e-3],
    "depth": [0.0, 1e-3, 10_935.0],
    "manning": [0.0, 0.8],
    "chezy": [2.0, 400.0],
    "coriolis": [-1.458e-4, 6.0],
    "potential_temperature": [200.0, 2000.0],
    "surface_pressure": [50_000.0, 100_000.0],
    "buoyancy_frequency": [0.0, 0.1, 2.0],
}
MISTAKES = {  # value: what the message has to say
    "air_pressure": {1013.0: ["hPa", '"1013 hPa"'], 101.3: ["kPa"], 0.0: ["anomaly"], 29.92: ["inches"]},
    "wind": {-9999.0: ["fill value"], 200.0: ["km/h"]},
    "rain": {20.0: ["mm/h", '"20 mm/h"'], 0.02: ["m/h", '"20 mm/h"'], -1e-6: ["negative"]},
    "wind_stress": {720.0: ["accumulated", "0.2 N/m2"]},
    "manning": {33.0: ["Strickler", "0.0303"], -0.03: []},
    "chezy": {0.03: ["Manning", "33.3"], 1e4: []},
    "channel_slope": {5.0: ["per mille"], 0.0: []},
    "channel_manning": {33.0: ["Strickler"], 0.0: []},
    "coriolis": {45.0: ["latitude", "0.0001031"], 1e3: []},
    "potential_temperature": {27.0: ["Celsius", "300.15"], -999.0: ["fill value"]},
    "surface_pressure": {1000.0: ["hPa", '"1000 hPa"']},
    "buoyancy_frequency": {-0.01: ["below 0"]},
    "elevation": {-32767.0: ["fill value"], 884_900.0: ["cm"], 29_032.0: ["feet"]},
    "depth": {-5.0: ["negative", "= 5"]},
}


@pytest.mark.parametrize(("quantity", "value"), [(name, one) for name, all_ in EXTREMES.items() for one in all_])
def test_observed_extremes_are_plausible(quantity, value):
    check_plausible(quantity, np.array([value]), "x")


@pytest.mark.parametrize(
    ("quantity", "value", "words"),
    [(name, one, words) for name, all_ in MISTAKES.items() for one, words in all_.items()],
)
def test_mistakes_are_named_with_their_correction(quantity, value, words):
    with pytest.raises(eagre.InputError) as raised:
        check_plausible(quantity, value, "x")
    for word in words:
        assert word in str(raised.value)
    assert "write:   x = " in str(raised.value)


def rain(value):
    Rain(value).water(GRID)


def moving(quantity):
    def read(value):
        known = QUANTITIES[quantity]
        values = np.full(NodeGrid(3, 4).shape, value)
        most = max(abs(known.minimum), abs(known.maximum))
        TimeVaryingField(
            RecordTimeAxis(np.array([0.0, 9.0]), "f.nc"), NodeGrid(3, 4), lambda k: values, "a", most, "", quantity
        ).record(0)

    return read


def track(pressure=95e3, wind=45.0):
    at = np.array([0.0, 9000.0])
    Track(at, at, at, at * 0.0 + 20.0, at * 0.0 + pressure, at * 0.0 + wind, at * 0.0 + 40e3)


def series(make):
    return lambda value: make(eagre.Series(np.array([0.0, 9.0]), np.array([value, value]), "s.csv"))


WAYS = {  # every way in: quantity and a function of a value
    "rain": ("rain", rain),
    "rain as a series": ("rain", series(rain)),
    "rain by zone": ("rain", lambda value: ZoneRain([value], np.ones((1, 3, 4))).water(GRID)),
    "rain of a weather file": ("rain", moving("rain")),
    "wind of a weather file": ("wind", moving("wind")),
    "pressure of a weather file": ("air_pressure", moving("air_pressure")),
    "stress of a weather file": ("wind_stress", moving("wind_stress")),
    "stress": ("wind_stress", lambda value: WindStress(value).force("x", GRID)),
    "stress as a series": ("wind_stress", series(lambda value: WindStress(value).force("x", GRID))),
    "pressure map": ("air_pressure", lambda value: AtmosphericPressure(np.full((3, 4), value)).force("x", GRID)),
    "pressure of a track": ("air_pressure", track),
    "coriolis": ("coriolis", lambda value: Coriolis(f=value)),
    "stage": ("elevation", Stage),
    "stage as a series": ("elevation", series(Stage)),
    "level of an absorbing side": ("elevation", lambda value: Absorbing(level=value)),
    "slope of a channel": ("channel_slope", lambda value: NormalDepth(value, 0.03)),
    "roughness of a channel": ("channel_manning", lambda value: NormalDepth(1e-3, value)),
    "bed": ("elevation", lambda value: eagre.ShallowWater(GRID, value, depth=1.0, device="cpu")),
    "manning": ("manning", lambda value: eagre.ShallowWater(GRID, 0.0, depth=1.0, manning=value, device="cpu")),
    "depth": ("depth", lambda value: eagre.ShallowWater(GRID, 0.0, depth=value, device="cpu")),
    "a raster": ("elevation", lambda value: checked_field("b", np.full((3, 4), value), GRID, "centre", "elevation")),
}


@pytest.mark.parametrize("way", [name for name, (quantity, _) in WAYS.items() if quantity in MISTAKES])
def test_every_way_in_refuses_mistakes(way):
    quantity, give = WAYS[way]
    for value in MISTAKES[quantity]:
        if way == "pressure map" and value != 1013.0:
            continue  # anomalies may drive a force
        with pytest.raises(eagre.InputError):
            give(value)


@pytest.mark.parametrize("way", [name for name in WAYS if name not in ("bed", "manning", "depth")])
def test_every_way_in_takes_extremes(way):
    quantity, give = WAYS[way]
    for value in EXTREMES.get(quantity, []):
        give(value)
