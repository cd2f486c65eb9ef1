"""What Python code hands over in place of an object: errors that name it and a line to write."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.models.base import run_to_dataset
from eagre.solvers.gcr import gcr
from eagre.solvers.multigrid import Multigrid
from eagre.waves import Sea

GRID = eagre.Grid(8, 6, 10.0, 10.0)
POINTS = eagre.Grid.from_points(9, 9, 1e6, 1e6)
FLUME = eagre.Grid.from_points(65, 1, 24.0, 1.0)
PLANE = eagre.Grid.from_points(17, 1, 1600.0, 1.0)


def water(**options):
    """Water a metre deep."""
    return eagre.ShallowWater(GRID, 0.0, depth=1.0, **options)


def waves(**options):
    """A flume."""
    return eagre.PotentialWaves(FLUME, 1.0, **options)


def air(**options):
    """A plane of air."""
    return eagre.AnelasticFlow(PLANE, 17, top_height=1000.0, **options)


MISTAKES = {
    "a list of cells": (lambda: eagre.Grid([8], 6, 1.0, 1.0), "nx = 100"),
    "the bed before the grid": (lambda: eagre.ShallowWater(np.zeros((7, 9)), GRID), "grid of type ndarray"),
    "no grid of the implicit model": (lambda: eagre.ShallowWaterADI(None, 0.0, 1.0), "grid = None", "eagre.Grid("),
    "no grid of gyres": (lambda: eagre.BarotropicVorticity(5, time_step=1.0), "grid = 5", "eagre.Grid("),
    "no grid of waves": (lambda: eagre.PotentialWaves("a", 1.0), "grid = 'a'", "eagre.Grid("),
    "no grid of air": (lambda: eagre.AnelasticFlow((9, 9), 9, top_height=1.0), "grid = (9, 9)", "eagre.Grid("),
    "names in place of maps": (lambda: water(maps=["max_depth"]), "a Maps", 'Maps(["max_depth"])'),
    "one name of a map": (lambda: eagre.Maps("max_depth"), "a list of str", 'variables = ["max_depth"]'),
    "names in place of averages": (
        lambda: water(time_statistics=["speed"]),
        "a TimeStatistics",
        "TimeStatistics(mean=",
    ),
    "one name of a mean": (lambda: eagre.TimeStatistics(mean="velocity"), "mean = 'velocity'", 'mean = ["velocity"]'),
    "a number of layers": (
        lambda: eagre.BarotropicVorticity(POINTS, time_step=1.0, layers=2), "layers = 2", "Layers(upper=",
    ),
    "a zone alone": (
        lambda: waves(relaxation_zones=eagre.RelaxationZone("west", 4.0, 2.0)),
        "a list of RelaxationZone", 'relaxation_zones=[RelaxationZone("west"',
    ),
    "a side in place of a zone": (
        lambda: waves(relaxation_zones=["west"]),
        "relaxation_zones[0] = 'west'", 'relaxation_zones=[RelaxationZone("west"',
    ),
    "a height in place of waves": (
        lambda: waves(relaxation_zones=[eagre.RelaxationZone("west", 4.0, 2.0, 0.1)]), "waves = 0.1",
    ),
    "a sponge alone": (lambda: waves(sponges=eagre.SpongeLayer("east", 4.0, 2.0)), "a list of SpongeLayer"),
    "a name of an atmosphere": (lambda: air(atmosphere="boussinesq"), "an Atmosphere", "Atmosphere.boussinesq()"),
    "one kind of all sides": (lambda: air(boundaries="wall"), "boundaries = 'wall'", 'boundaries={"x": "wall"}'),
    "a number in place of a closure": (lambda: air(closure=0.17), "closure = 0.17", "Smagorinsky()"),
    "a flux in place of a surface": (lambda: air(surface=0.1), "surface = 0.1", "Surface("),
    "a profile in place of forcing": (lambda: air(forcing=[1.0]), "forcing = [1.0]", "Forcing("),
    "a matrix": (lambda: gcr(np.eye(3), np.ones(3)), "a function of an array", "lambda x: A @ x"),
    "a number of points": (lambda: Multigrid(65, (1.0, 1.0)), "shape = 65", "shape = (65, 129)"),
    "one spacing": (lambda: Multigrid((65, 65), 1.0), "spacing = 1.0"),
    "a height in place of a spectrum": (lambda: Sea(1.0, 20.0), "spectrum = 1.0", "Jonswap("),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_what_is_no_such_object_is_named(name):
    call, *words = MISTAKES[name]
    with pytest.raises(eagre.InputError) as error:
        call()
    assert all(word in str(error.value) for word in words), str(error.value)


@pytest.fixture(scope="module")
def model():
    """A model to run."""
    return water(device="cpu")


@pytest.mark.parametrize(
    ("until", "options", "words"),
    [
        ("10 s", {}, ["until = ", "10 s"]),
        (1.0, {"variables": "depth"}, ["variables = 'depth'", 'variables=["depth"]']),
        (1.0, {"variables": ["h"]}, ['with "h"', "surface_elevation"]),
        (1.0, {"gauges": [(1.0, 2.0)]}, ['gauges={"harbour"']),
    ],
)
def test_what_cannot_be_run_is_named(model, until, options, words):
    with pytest.raises(eagre.InputError) as error:
        run_to_dataset(model, until, **options)
    assert all(word in str(error.value) for word in words), str(error.value)
    assert model.time == 0.0
