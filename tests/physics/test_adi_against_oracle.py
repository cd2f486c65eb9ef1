"""The ADI model against the plain NumPy oracle: every term, shores, islands, all open sides, series."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import (
    Absorbing,
    AtmosphericPressure,
    Boundaries,
    Coriolis,
    Discharge,
    Grid,
    Part,
    Rain,
    Series,
    ShallowWaterADI,
    Stage,
    WindStress,
)
from oracle import adi

TIMES = np.array([0.0, 25.0, 60.0, 500.0])
LEVEL = Series(TIMES, np.array([0.2, 0.5, 0.3, 0.3]))
RIVER = Series(TIMES, np.array([50.0, 90.0, 60.0, 60.0]))
WIND = Series(TIMES, np.array([0.4, -0.2, 0.5, 0.1]))
WAVE = Series(TIMES, np.array([0.0, 0.1, -0.1, 0.0]))


def everything(precision="double", device="cpu", time_step=10.0, deeper=0.0, **more):
    """A partly dry bay (or one that is so much deeper, m) with an island, all terms and all conditions."""
    nx, ny = 70, 21
    rng = np.random.default_rng(5)
    grid = Grid(nx, ny, 90.0, 70.0)
    x, y = grid.mesh()
    xc, yc = grid.mesh("corner")
    bed = -2.4 + 2.2 * np.sin(xc / 700.0) * np.cos(yc / 400.0) + 2.0 * np.exp(-(((xc - 3000.0) / 500.0) ** 2))
    land = np.hypot(x - 1500.0, y - 700.0) < 150.0
    boundaries = Boundaries(
        west=Stage(LEVEL),
        east=Absorbing(WAVE, level=0.1),
        south=[Part(0.0, 900.0, Discharge(RIVER))],
        north=[Part(900.0, 1800.0, Stage(0.25)), Part(4000.0, 5400.0, Absorbing())],
    )
    sources = (
        Rain(1e-5, pattern=1.0 + x / 6300.0),
        Coriolis(latitude=50.0, beta=1e-9),
        WindStress(WIND, -0.3),
        AtmosphericPressure(101325.0 + 80.0 * np.sin(x / 900.0) * np.cos(y / 800.0)),
    )
    options = {
        "surface_elevation": 0.2 * rng.standard_normal((ny, nx)),
        "velocity_x": 0.1 * np.sin(x / 400.0),
        "velocity_y": 0.1 * np.cos(y / 300.0),
        "manning": 0.02 + 0.01 * rng.random((ny, nx)),
        "viscosity": 4.0,
        "land": land,
        "boundaries": boundaries,
        "sources": sources,
        "device": device,
        "precision": precision,
    } | more
    return ShallowWaterADI(grid, bed - deeper, time_step, **options)


def oracle_options(model, time, sweep):
    """What the oracle needs for one sweep of the step from `time`."""
    setup, grid = model.setup, model.grid
    lengths = {"west": grid.ny, "east": grid.ny, "south": grid.nx, "north": grid.nx}
    sides = {name: [None] * length for name, length in lengths.items()}
    names = {Stage: "level", Discharge: "flux", Absorbing: "waves"}
    for side in model._engine.sides:
        if side.kind:
            value = (names[type(side.segment.condition)], side.value_at(time, sweep, model.time_step))
            for m in range(side.segment.first, side.segment.last):
                sides[side.segment.side][m] = value
    late = time + (0.5 + 0.5 * sweep) * model.time_step
    law = {"manning": np.sqrt(setup.friction / setup.gravity)} if setup.law == "manning" else {}
    if setup.law == "chezy":
        law = {"chezy": np.sqrt(setup.gravity / setup.friction)}
    forced = {}
    if setup.terms.x:
        read = {
            (part.name, along): one.map(grid) * one.series(late)
            for along in "xy" for part in getattr(setup.terms, along) for one in part.quantities
        }  # fmt: skip
        [rain] = setup.terms.sources
        forced = {
            "coriolis": read["Coriolis", "x"],
            "rain": rain.map(grid) * rain.series(late),
            "stress": (read["WindStress", "x"], read["WindStress", "y"]),
            "accel": (read["AtmosphericPressure", "x"], read["AtmosphericPressure", "y"]),
        }
    return adi.Options(
        grid.dx, grid.dy, model.time_step, setup.gravity, viscosity=setup.viscosity, dissipation=setup.dissipation,
        convection=setup.convection, drying=setup.dry_depth if setup.drying else None, sides=sides,
        land=setup.bed > 1e29, **law, **forced,
    )  # fmt: skip


def largest_differences(model, steps):
    """Largest differences of z, p, q from the oracle after steps from the model's present state."""
    state = model.state()
    z, p, before, after = (state[k].astype(float) for k in ("z", "p", "q_before", "q_after"))
    bed = model.bed.astype(state["z"].dtype).astype(float)  # as the model holds it: a dry cell's surface is its bed
    for k in range(steps):
        first, second = (oracle_options(model, model.time + k * model.time_step, sweep) for sweep in (0, 1))
        z, p, before, after = adi.step(z, p, before, after, bed, first, second)
    model.advance(model.time + steps * model.time_step)
    found = model.state()
    wanted = {"z": z, "p": p, "q_before": before, "q_after": after}
    return {name: abs(found[name] - value).max() / max(1.0, abs(value).max()) for name, value in wanted.items()}


def test_everything_at_once():
    model = everything()
    errors = largest_differences(model, 6)
    assert max(errors.values()) < 1e-11, errors
    assert model.diagnostics()["wet_fraction"] < 0.95  # it is partly dry


def test_every_condition_on_other_sides():
    """Deep water, long steps: what an absorbing side weighs, discharge from east and north, a level below the bed."""
    north = [Part(0.0, 2000.0, Discharge(RIVER)), Part(3000.0, 4500.0, Stage(-30.0)), Part(4500.0, 6000.0, Absorbing())]
    sides = Boundaries(west=Absorbing(WAVE, level=0.1), east=Discharge(RIVER), south=Absorbing(0.2), north=north)
    errors = largest_differences(everything(time_step=20.0, deeper=10.0, boundaries=sides), 4)
    assert max(errors.values()) < 1e-11, errors


def test_the_start():
    """q half a step before and after as the oracle has it, closed faces and shores included; flux of a discharge."""
    sides = Boundaries(east=Discharge(RIVER), north=Discharge(RIVER))
    model = everything(sources=(), boundaries=sides)
    state = model.state()
    q = 0.5 * (state["q_before"] + state["q_after"])
    before, after = adi.half_step_start(state["z"], q, model.bed, oracle_options(model, 0.0, 0))
    assert abs(state["q_before"] - before).max() < 1e-12
    assert abs(state["q_after"] - after).max() < 1e-12
    assert abs(after - before).max() > 0.1 and (q[1:-1] == 0.0).any()
    wet = model.setup.bed < 1e29
    assert (state["p"][wet[:, -1], -1] == -RIVER(0.0) / (21 * 70.0)).all()
    assert q[-1][wet[-1]] == pytest.approx(-RIVER(0.0) / (70 * 90.0), rel=1e-12)


@pytest.mark.parametrize("law", ["manning", "chezy"])
def test_the_seeds_scheme(law):
    """No drying, no dissipation: the rows as the MIKE 21 thesis has them; uniform friction."""
    rng = np.random.default_rng(2)
    grid = Grid(37, 23, 100.0, 60.0)
    bed = rng.uniform(-12.0, -8.0, grid.shape_of("corner"))
    law = {"manning": 1 / 32} if law == "manning" else {"chezy": 45.0}
    model = ShallowWaterADI(
        grid, bed, 15.0, surface_elevation=0.3 * rng.standard_normal(grid.shape), dissipation="none", drying="off",
        velocity_x=0.2 * rng.standard_normal(grid.shape), device="cpu", precision="double", **law,
    )  # fmt: skip
    errors = largest_differences(model, 3)
    assert max(errors.values()) < 1e-12, errors


@pytest.mark.parametrize("drying", ["on", "off"])
def test_fast_flow_is_upwinded(drying):
    """Froude numbers from 0 to 2 in all directions, over steps in the depth."""
    rng = np.random.default_rng(4)
    grid = Grid(31, 22, 10.0, 8.0)
    bed = rng.uniform(-1.3, -0.6, grid.shape_of("corner"))
    x, y = grid.mesh()
    z = 0.05 * rng.standard_normal(grid.shape)
    for step in (0.5, 3.0) if drying == "on" else (0.5,):  # 3 s: more than a cell a step, where drying has limits
        model = ShallowWaterADI(
            grid, bed, step, surface_elevation=z, manning=0.01, drying=drying, velocity_x=5.0 * np.sin(x / 30.0),
            velocity_y=5.0 * np.cos(y / 20.0 + x / 50.0), device="cpu", precision="double",
        )  # fmt: skip
        errors = largest_differences(model, 3)
        assert max(errors.values()) < 1e-11, (step, errors)


def test_single_precision_stays_near():
    errors = largest_differences(everything("single"), 2)
    assert max(errors.values()) < 1e-5, errors
