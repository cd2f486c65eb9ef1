"""The ADI model against the plain NumPy oracle: every term, shores, islands, all open sides, series."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adi_runs import lines_along, scattered_walls
from eagre import (
    Absorbing,
    AtmosphericPressure,
    Boundaries,
    BoundarySegment,
    Coriolis,
    Discharge,
    Grid,
    Rain,
    Series,
    ShallowWaterADI,
    Stage,
    WindStress,
)
from eagre.backend.device import PlainDevice
from oracle import adi
from oracle.adi_case import Case, Side, centre_discharges, mean, value

TIMES = (0.0, 25.0, 60.0, 500.0)
LEVEL = (TIMES, (0.2, 0.5, 0.3, 0.3))
RIVER = (TIMES, (50.0, 90.0, 60.0, 60.0))
WAVE = (TIMES, (0.0, 0.1, -0.1, 0.0))


def bay(time_step=10.0, deeper=0.0):
    """A partly dry bay (or one that is so much deeper, m) with an island, all terms and all conditions."""
    nx, ny = 70, 21
    rng = np.random.default_rng(5)
    xc, yc = np.meshgrid(np.arange(nx + 1) * 90.0, np.arange(ny + 1) * 70.0)
    x, y = np.meshgrid((np.arange(nx) + 0.5) * 90.0, (np.arange(ny) + 0.5) * 70.0)
    bed = -2.4 + 2.2 * np.sin(xc / 700.0) * np.cos(yc / 400.0) + 2.0 * np.exp(-(((xc - 3000.0) / 500.0) ** 2))
    return Case(
        90.0, 70.0, time_step, bed - deeper, 0.2 * rng.standard_normal((ny, nx)),
        velocity=(0.1 * np.sin(x / 400.0), 0.1 * np.cos(y / 300.0)), manning=0.02 + 0.01 * rng.random((ny, nx)),
        viscosity=4.0, land=np.hypot(x - 1500.0, y - 700.0) < 150.0,
        sides=[
            Side("west", 0, ny, "level", LEVEL), Side("east", 0, ny, "waves", WAVE, 0.1),
            Side("south", 0, 10, "flux", RIVER), Side("north", 10, 20, "level", 0.25),
            Side("north", 44, 60, "waves", 0.0),
        ],
        rain=(TIMES, (1e-5, 0.0, 2e-5, 0.0)), rain_pattern=1.0 + x / 6300.0, latitude=50.0, beta=1e-9,
        wind=((TIMES, (0.4, -0.2, 0.5, 0.1)), (TIMES, (-0.3, 0.5, -0.1, 0.2))),
        pressure=101325.0 + 80.0 * np.sin(x / 900.0) * np.cos(y / 800.0), pressure_factor=(TIMES, (1.0, 1.5, 0.2, 0.2)),
    )  # fmt: skip


def given(series):
    """A plain number or pair as the package takes it."""
    return Series(np.array(series[0]), np.array(series[1])) if isinstance(series, tuple) else series


def boundaries_of(case):
    """The sides of a case as the package takes them."""
    kinds = {
        "level": lambda one: Stage(given(one.series)),
        "flux": lambda one: Discharge(given(one.series)),
        "waves": lambda one: Absorbing(given(one.series), level=one.level),
    }
    parts = {name: [] for name in ("west", "east", "south", "north")}
    for one in case.sides:
        size = case.dy if one.name in ("west", "east") else case.dx
        parts[one.name].append(BoundarySegment(one.first * size, one.last * size, kinds[one.kind](one)))
    internal = lines_along(case.walls, case.dx, case.dy) if case.walls else ()
    return Boundaries(**{name: found for name, found in parts.items() if found}, internal=internal)


def model_of(case, precision="double", device="cpu", **more):
    """The model of a case; `more` takes the place of what the case has."""
    sources = (
        Rain(given(case.rain), pattern=np.broadcast_to(case.rain_pattern, case.shape)),
        Coriolis(latitude=case.latitude or 0.0, beta=case.beta),
        WindStress(given(case.wind[0]), given(case.wind[1])),
    )
    if case.pressure is not None:
        sources += (AtmosphericPressure(case.pressure, given(case.pressure_factor)),)
    options = {
        "surface_elevation": case.surface, "velocity_x": case.velocity[0], "velocity_y": case.velocity[1],
        "viscosity": case.viscosity, "land_mask": case.land, "boundaries": boundaries_of(case), "sources": sources,
        "dissipation": "froude" if case.dissipation else "none", "drying": "on" if case.drying else "off",
        "manning": case.manning, "chezy": case.chezy, "device": device, "precision": precision,
    } | more  # fmt: skip
    grid = Grid(case.shape[1], case.shape[0], case.dx, case.dy)
    return ShallowWaterADI(grid, case.bed, case.dt, **options)


def everything(precision="double", device="cpu", time_step=10.0, deeper=0.0, **more):
    """The model of `bay`."""
    return model_of(bay(time_step, deeper), precision, device, **more)


def largest_differences(case, steps, precision="double", device="cpu"):
    """Largest differences of z, p, q and of discharges at centres from the oracle, at the start and after steps."""
    model = model_of(case, precision, device)
    kind = np.float32 if precision == "single" else float
    bed = case.centre_bed(kind)  # a dry cell's surface is its bed
    z, p, before, after = (one.astype(kind).astype(float) for one in case.start())
    found = [differences(model, case, bed, z, p, before, after)]
    for k in range(steps):
        first, second = (case.options(k * case.dt, sweep) for sweep in (0, 1))
        z, p, before, after = adi.step(z, p, before, after, bed, first, second)
    model.advance(steps * case.dt)
    found.append(differences(model, case, bed, z, p, before, after))
    return {name: max(one[name] for one in found) for name in found[0]}


def differences(model, case, bed, z, p, before, after):
    """Of a model's state and fields from the oracle's, relative to the largest value or to 1."""
    state = model.state()
    wanted = {"z": z, "p": p, "q_before": before, "q_after": after}
    apart = {name: abs(state[name] - one).max() / max(1.0, abs(one).max()) for name, one in wanted.items()}
    along = centre_discharges(z, p, before, after, bed, case.options(0.0, 0))
    for name, one in zip(("discharge_x", "discharge_y"), along, strict=True):
        apart[name] = abs(model.field(name) - one).max() / max(1.0, abs(one).max())
    return apart


def test_everything_at_once():
    case = bay()
    errors = largest_differences(case, 6)
    assert max(errors.values()) < 1e-11, errors
    wet = case.water()[1] > case.dry_depth()
    assert wet.mean() < 0.95  # it is partly dry


def test_every_condition_on_other_sides():
    """Deep water, long steps: what an absorbing side weighs, discharge from east and north, a level below the bed."""
    sides = [
        Side("west", 0, 21, "waves", WAVE, 0.1), Side("east", 0, 21, "flux", RIVER), Side("south", 0, 70, "waves", 0.2),
        Side("north", 0, 22, "flux", RIVER), Side("north", 33, 50, "level", -30.0), Side("north", 50, 67, "waves", 0.0),
    ]  # fmt: skip
    errors = largest_differences(replace(bay(20.0, deeper=10.0), sides=sides), 4)
    assert max(errors.values()) < 1e-11, errors


def test_a_level_that_varies_at_south_and_north():
    sides = [Side("south", 0, 70, "level", LEVEL), Side("north", 5, 40, "level", WAVE)]
    errors = largest_differences(replace(bay(deeper=3.0), sides=sides), 4)
    assert max(errors.values()) < 1e-11, errors


def test_the_start_pushes():
    """What the starts compared above have in them: shores that stay closed, forces, the flux of a discharge."""
    case = replace(bay(), sides=[Side("east", 0, 21, "flux", RIVER), Side("north", 0, 70, "flux", RIVER)])
    _, p, before, after = case.start()
    assert abs(after - before).max() > 0.1 and (before[1:-1] == 0.0).any()
    assert (p[:, -1] == -50.0 / (21 * 70.0)).all()
    for flux in (before, after):  # 50 + 1.6 t: its mean over the first step of 10 s, 58, less a quarter of 16
        assert abs(flux[-1] + 54.0 / 6300.0).max() < 1e-15


def test_values_in_time():
    """The oracle's own: between the rows and held at the last, means over kinks."""
    assert value(RIVER, 12.5) == 70.0 and value(RIVER, 25.0) == 90.0 and value(RIVER, 500.0) == 60.0
    assert mean(RIVER, 20.0, 30.0) == pytest.approx((5 * 86.0 + 5 * (90.0 - 30.0 / 35 * 2.5)) / 10)


@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize(("law", "number"), [("manning", 1 / 32), ("chezy", 45.0)])
def test_the_seeds_scheme(law, number, uniform):
    """No drying, no dissipation: the rows as the MIKE 21 thesis has them; friction by a number or a map.

    Compiled with one law and in plain Python with the other: only the friction differs.
    """
    rng = np.random.default_rng(2)
    bed = rng.uniform(-12.0, -8.0, (24, 38))
    law = {law: number if uniform else number * rng.uniform(0.5, 1.5, (23, 37))}
    case = Case(
        100.0, 60.0, 15.0, bed, 0.3 * rng.standard_normal((23, 37)), (0.2 * rng.standard_normal((23, 37)), 0.0),
        dissipation=False, drying=False, **law,
    )  # fmt: skip
    errors = largest_differences(case, 3, device="cpu" if "manning" in law else PlainDevice())
    assert max(errors.values()) < 1e-12, errors


def test_walls_inside():
    case = bay()
    errors = largest_differences(replace(case, walls=scattered_walls(case.shape)), 4)
    assert max(errors.values()) < 1e-11, errors


@pytest.mark.parametrize(
    ("drying", "walls"), [(True, False), (False, False), (True, True)], ids=["on", "off", "on, walls inside"]
)
def test_fast_flow_is_upwinded(drying, walls):
    """Froude numbers from 0 to 2 in all directions, over steps in the depth."""
    rng = np.random.default_rng(4)
    bed = rng.uniform(-1.3, -0.6, (23, 32))
    x, y = np.meshgrid((np.arange(31) + 0.5) * 10.0, (np.arange(22) + 0.5) * 8.0)
    z = 0.05 * rng.standard_normal((22, 31))
    flow = (5.0 * np.sin(x / 30.0), 5.0 * np.cos(y / 20.0 + x / 50.0))
    for step in (0.5, 3.0) if drying else (0.5,):  # 3 s: more than a cell a step, where drying has limits
        inside = scattered_walls(z.shape) if walls else None
        case = Case(10.0, 8.0, step, bed, z, flow, manning=0.01, drying=drying, walls=inside)
        errors = largest_differences(case, 3)
        assert max(errors.values()) < 1e-11, (step, errors)


def test_single_precision_stays_near():
    errors = largest_differences(bay(), 2, "single")
    assert max(errors.values()) < 1e-5, errors
