"""Volume that a discharge series delivers through each side and part of a side, against the integral of the series."""

from __future__ import annotations

import numpy as np
import pytest

import eagre

SERIES = {
    "kinks between steps": ([0.0, 130.0, 333.0, 900.0], [5.0, 40.0, 10.0, 10.0]),
    "kinks at steps": ([0.0, 200.0, 600.0], [0.0, 40.0, 10.0]),
    "jumps": ([0.0, 210.0, 210.001, 400.0, 400.001, 900.0], [0.0, 0.0, 40.0, 40.0, 10.0, 10.0]),
    "from the middle": ([-100.0, 200.0, 1000.0], [10.0, 40.0, 10.0]),
    "out": ([0.0, 200.0, 600.0], [0.0, -40.0, -10.0]),
}
END = 600.0


def integral(times, values):
    """From 0 to `END`, by the trapezoidal rule between all rows."""
    nodes = np.unique(np.clip([0.0, END, *times], 0.0, END))
    return np.trapezoid(np.interp(nodes, times, values), nodes)


def sides_of(side, part, times, values):
    """A discharge through a side, or through a part of it."""
    condition = eagre.Discharge(eagre.Series(np.array(times), np.array(values)))
    return eagre.Boundaries(**{side: [eagre.BoundarySegment(100.0, 250.0, condition)] if part else condition})


@pytest.mark.parametrize("part", [False, True])
@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("side", ["west", "east", "south", "north"])
def test_implicit_model(side, name, part):
    """To rounding, for time steps that divide the run."""
    for dt in (50.0, 20.0, 7.5):
        model = eagre.ShallowWaterADI(
            eagre.Grid(8, 6, 50.0, 50.0), -4.0, dt, surface_elevation=0.0, device="cpu", precision="double",
            boundaries=sides_of(side, part, *SERIES[name]),
        )  # fmt: skip
        model.advance(END)
        assert sum(model.inflow.values()) == pytest.approx(integral(*SERIES[name]), rel=1e-11)
        assert model.diagnostics()["volume"] == pytest.approx(8 * 6 * 2500.0 * 4.0 + integral(*SERIES[name]), rel=1e-12)


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("drying", ["off", "on"])
@pytest.mark.parametrize("name", ["constant", "ramp", "out", "kinks between steps"])
@pytest.mark.parametrize("side", ["west", "east", "south", "north"])
def test_implicit_model_with_short_steps_before_output_times(side, name, drying, devices):
    """To rounding where the series is linear; a short step at a kink gives at most the change over one step."""
    times, values = {"constant": ([0.0, END], [20.0, 20.0]), "ramp": ([0.0, 900.0], [0.0, 45.0]), **SERIES}[name]
    model = eagre.ShallowWaterADI(
        eagre.Grid(8, 12, 50.0, 50.0), -4.0, 20.0, surface_elevation=0.0, device=["cpu"] * devices, drying=drying,
        precision="double", boundaries=sides_of(side, False, times, values), kernels="reference",
    )  # fmt: skip
    for until in (50.5, 101.0, 190.0, 250.25, 333.0, 500.1, END):
        model.advance(until)
    tolerance = 1e-11 if name in ("constant", "ramp") else 2e-3
    assert sum(model.inflow.values()) == pytest.approx(integral(times, values), rel=tolerance)


@pytest.mark.parametrize("side", ["west", "east", "south", "north"])
def test_implicit_model_onto_dry_ground(side):
    """No value is negative before the water comes, as dry ground would give none."""
    times, values = [0.0, 90.0, 300.0, 500.0, 900.0], [0.0, 0.0, 8.0, 0.0, 0.0]
    for dt in (12.0, 5.0):
        model = eagre.ShallowWaterADI(
            eagre.Grid(8, 8, 50.0, 50.0), 0.0, dt, depth=0.0, manning=0.03, device="cpu", precision="double",
            boundaries=sides_of(side, False, times, values),
        )  # fmt: skip
        model.advance(END)
        assert sum(model.inflow.values()) == pytest.approx(integral(times, values), rel=1e-11)


@pytest.mark.parametrize("part", [False, True])
@pytest.mark.parametrize("side", ["west", "east", "south", "north"])
def test_explicit_model(side, part, light_device):
    """Within the second order of its steps, and alike on all sides."""
    times, values = SERIES["kinks between steps"]
    model = eagre.ShallowWater(
        eagre.Grid(8, 8, 50.0, 50.0), -4.0, surface_elevation=0.0, device=light_device, precision="double",
        boundaries=sides_of(side, part, times, values),
    )  # fmt: skip
    model.advance(END)
    assert sum(model.inflow.values()) == pytest.approx(integral(times, values), rel=2e-5)


CONDITIONS = {"level": eagre.Stage, "waves": eagre.Absorbing}


@pytest.mark.parametrize("kind", CONDITIONS)
def test_a_level_series_acts_alike_on_all_sides_of_the_implicit_model(kind):
    """West and east to rounding; sweeps along y differ from those along x by the second order of the time step."""
    level = eagre.Series(np.array([0.0, 100.0, 300.0, 900.0]), np.array([0.0, 0.3, -0.2, 0.3]))
    apart = []
    for dt in (10.0, 5.0):
        found = {}
        for side in ("west", "east", "south", "north"):
            model = eagre.ShallowWaterADI(
                eagre.Grid(8, 8, 50.0, 50.0), -4.0, dt, surface_elevation=0.0, device="cpu", precision="double",
                boundaries=eagre.Boundaries(**{side: CONDITIONS[kind](level)}), manning=0.03,
            )  # fmt: skip
            model.advance(END)
            z = model.field("surface_elevation")
            found[side] = {"west": z, "east": z[:, ::-1], "south": z.T, "north": z[::-1].T}[side]
        assert np.allclose(found["east"], found["west"], atol=1e-12)
        assert np.allclose(found["north"], found["south"], atol=1e-12)
        apart.append(abs(found["south"] - found["west"]).max())
    assert apart[1] < 0.35 * apart[0]
    assert apart[0] < 0.02
