"""A condition is one class: this one is known to no model, list or section, and runs in both of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pytest

import eagre
from eagre.backend.compilation.cells import cell, real
from eagre.boundaries import Boundaries, Condition
from eagre.boundaries.base import Key
from eagre.config.problems import Problems
from eagre.config.section import check
from eagre.config.water import conditions
from eagre.time_varying.series import Series

DEPTH, SPEED = 2.0, 0.01  # m, m/s: slow enough for the surface to stay level


@cell
def seeping_ghost(cell_data, value, level, p):
    """Water leaves with the velocity `value`."""
    surface = cell_data.near[0]
    return surface, -value * (surface - cell_data.bed_1), real(0.0)


@cell
def seeping_end(value, end, p):
    """P = -value h."""
    return real(1.0), real(0.0), -end.inward * value * (end.z - end.d)


@dataclass(frozen=True)
class Seeping(Condition):
    """A wall that leaks.

    Parameters
    ----------
    speed : float or Series
        m s-1, out of the domain.
    share : float
        Part of the side that leaks, 0 to 1.
    """

    speed: Annotated[float | Series, Key("velocity out of the domain, m/s", "speed", "1 cm/s")]
    share: Annotated[float, Key("part that leaks", "number")] = 1.0
    ghost = seeping_ghost
    line_end = seeping_end

    def value(self, width: float) -> Series:
        speed = Series.of(self.speed)
        return Series(speed.times, self.share * speed.values, speed.name)


def models():
    grid = eagre.Grid(12, 8, 5.0, 5.0)
    sides = Boundaries(east=Seeping(2.0 * SPEED, share=0.5))
    yield "explicit", eagre.ShallowWater(grid, 0.0, depth=DEPTH, boundaries=sides, device="cpu", precision="double")
    options = {"boundaries": sides, "device": "cpu", "precision": "double"}
    yield "implicit", eagre.ShallowWaterADI(grid, 0.0, 0.5, depth=DEPTH, **options)


@pytest.mark.parametrize("number", [0, 1], ids=["explicit", "implicit"])
def test_it_runs(number):
    model = [one for _, one in models()][number]
    model.advance(100.0)
    length = 60.0
    depth = DEPTH * np.exp(-SPEED * 100.0 / length)  # dh/dt = -speed h / length
    assert model.field("depth").mean() == pytest.approx(depth, rel=2e-3)
    assert model.diagnostics()["volume_error"] == pytest.approx(0.0, abs=1e-12)
    assert model.inflow["east"] == pytest.approx((depth - DEPTH) * 60.0 * 40.0, rel=0.05)


def test_its_keys_follow_from_its_arguments():
    section = conditions._section_of(Seeping)
    read = check(section, {"kind": "seeping", "speed": "2 cm/s"})
    assert read.speed.resolve(0.0, 1.0) == 0.02 and read.share == 1.0
    series = {"times": [0, 1], "values": [0, 1]}
    assert check(section, {"kind": "seeping", "speed": series}).speed.source.times == [0, 1]
    with pytest.raises(Problems) as caught:
        check(section, {"kind": "seeping"})
    (problem,) = caught.value.problems
    assert problem.allowed == "velocity out of the domain, m/s" and problem.fix == 'speed = "1 cm/s"'
    with pytest.raises(Problems):
        check(section, {"kind": "seeping", "speed": 1.0, "share": series})


@pytest.mark.parametrize("name", sorted(eagre.boundaries.NAMES))
def test_every_argument_has_its_key(name):
    kind, (section, named) = getattr(eagre.boundaries, name), conditions.CONDITIONS[eagre.boundaries.NAMES[name]]
    assert named == name and set(section.keys()) == {"kind", *getattr(kind, "__dataclass_fields__", {})}
