"""The balance of water: inflow and rain explain every change of the volume."""

from __future__ import annotations

import numpy as np
import pytest

import eagre

ROUNDING = {"single": 1e-6, "double": 1e-14}


def coast(device, precision="double", **options):
    """Waves, a river and an outlet on uneven ground that is partly dry, under rain that comes and goes."""
    grid = eagre.Grid(14, 9, 5.0, 4.0)
    rng = np.random.default_rng(3)
    times = np.linspace(0.0, 60.0, 25)
    waves = eagre.Series(times, 0.3 * np.sin(times), "waves")
    river = eagre.Series(times, 4.0 + np.cos(times), "river")
    rain = eagre.Series(np.array([0.0, 7.3, 60.0]), np.array([0.0, 1e-3, 2e-4]), "rain")
    north = [
        eagre.BoundarySegment(10.0, 30.0, eagre.Discharge(river)),
        eagre.BoundarySegment(50.0, 70.0, eagre.Outflow()),
    ]
    boundaries = eagre.Boundaries(west=eagre.Absorbing(incoming=waves), east=eagre.Stage(waves), north=north)
    return eagre.ShallowWater(
        grid, rng.uniform(-2.0, 0.5, grid.shape_of("corner")), surface_elevation=0.0, boundaries=boundaries,
        manning=0.03, sources=[eagre.Rain(rain, rng.uniform(0.0, 1.0, grid.shape))], device=device, precision=precision,
        **options,
    )  # fmt: skip


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scheme": "euler"},
        {"time_step_control": "exact"},  # half of the attempts are refused and must not count
        {"wet_dry": "kurganov-petrova", "scheme": "euler", "time_step_control": "exact"},
    ],
    ids=lambda options: "-".join(options.values()) or "default",
)
def test_inflow_and_rain_explain_the_volume(options, precision, light_device):
    model = coast(light_device, precision, **options)
    model.advance(9.0)
    facts = model.diagnostics()
    assert abs(facts["volume_error"]) < ROUNDING[precision]
    assert facts["volume_change"] == pytest.approx(facts["volume_inflow"] + facts["volume_rain"], rel=1e-4)
    names = ["west", "east", "north 10 to 30 m", "north 50 to 70 m"]
    assert list(model.inflow) == names and sum(model.inflow.values()) == pytest.approx(facts["volume_inflow"])
    assert min(abs(amount) for amount in model.inflow.values()) > 0.0
    expected = (0.5 * 7.3e-3 + 0.5 * (1e-3 + model.setup.terms.sources[0].series(9.0)) * 1.7) * 20.0
    assert facts["volume_rain"] == pytest.approx(expected * model.setup.terms.sources[0].values.sum(), rel=1e-4)


def test_rain_of_each_zone_is_booked_by_its_own_rate(light_device):
    """Two rates that change with time and one that does not, beside a side that is open."""
    grid, zone = eagre.Grid(6, 4, 2.0, 2.0), np.arange(6) // 2 * np.ones((4, 1))
    ends = np.array([0.0, 10.0])
    rates = [eagre.Series(ends, np.array(one)) for one in ([0.0, 1e-3], [1e-3, 5e-4])]
    rain = eagre.ZoneRain([*rates, 2e-4], np.stack([zone == k for k in range(3)]).astype(float))
    model = eagre.ShallowWater(
        grid, 0.0, depth=1.0, sources=[rain], boundaries=eagre.Boundaries(east=eagre.Outflow()), device=light_device,
        precision="double",
    )  # fmt: skip
    model.advance(5.0)
    facts = model.diagnostics()
    assert abs(facts["volume_error"]) < ROUNDING["double"] and facts["volume_inflow"] < 0.0
    expected = 8 * 4.0 * (0.5 * 5.0 * 5e-4 + 0.5 * 5.0 * (1e-3 + 7.5e-4) + 5.0 * 2e-4)
    assert facts["volume_rain"] == pytest.approx(expected, rel=1e-3)


def test_a_river_brings_what_it_should(light_device):
    grid = eagre.Grid(6, 4, 2.0, 2.0)
    boundaries = eagre.Boundaries(south=[eagre.BoundarySegment(4.0, 8.0, eagre.Discharge(3.0))], east=eagre.Outflow())
    model = eagre.ShallowWater(grid, 0.0, depth=1.0, boundaries=boundaries, device=light_device, precision="double")
    model.advance(5.0)
    assert model.inflow["south 4 to 8 m"] == pytest.approx(15.0, rel=1e-12)
    assert model.inflow["east"] < 0.0
    assert abs(model.diagnostics()["volume_error"]) < 1e-14


@pytest.mark.parametrize(("nx", "ny", "closed"), [(1, 1, ""), (1, 5, "south"), (6, 1, "east"), (2, 2, "south east")])
def test_narrow_domains(nx, ny, closed, light_device):
    sides = {
        "west": eagre.Discharge(0.2),
        "east": eagre.Outflow(),
        "south": eagre.Stage(0.0),
        "north": eagre.Stage(0.1),
    }
    sides |= {side: eagre.Wall() for side in closed.split()}
    model = eagre.ShallowWater(
        eagre.Grid(nx, ny, 3.0, 2.0), -1.0, surface_elevation=0.0, boundaries=eagre.Boundaries(**sides),
        device=light_device, precision="double",
    )  # fmt: skip
    model.advance(4.0)
    assert abs(model.diagnostics()["volume_error"]) < 1e-14


@pytest.mark.parametrize("rate", [1e-3, eagre.Series(np.array([0.0, 1.7, 9.0]), np.array([0.0, 1e-3, 0.0]), "rain")])
def test_rain_on_a_closed_and_dry_basin(rate, light_device):
    grid = eagre.Grid(40, 33, 2.0, 2.0)
    model = eagre.ShallowWater(
        grid, 0.0, depth=0.0, sources=[eagre.Rain(rate)], device=light_device, precision="double"
    )
    assert np.isnan(model.diagnostics()["volume_error"])  # no water yet
    model.advance(4.0)
    facts = model.diagnostics()
    assert abs(facts["volume_error"]) < 1e-14 and facts["volume_inflow"] == 0.0
    amount = 4.0e-3 if rate == 1e-3 else 0.5 * 1.7e-3 + 2.3 * (1e-3 - 0.5 * 2.3e-3 / 7.3)
    assert facts["volume_rain"] == pytest.approx(amount * 40 * 33 * 4.0, rel=1e-5)


def test_the_book_goes_on_after_a_restart(light_device):
    whole, first, second = (coast(light_device) for _ in range(3))
    whole.advance(6.0)
    first.advance(6.0, max_steps=20)
    second.restore(first.state())
    second.advance(6.0)
    assert second.inflow == whole.inflow and second.diagnostics() == whole.diagnostics()


@pytest.mark.parametrize("scheme", ["rk2", "euler", "ds1", "ds2"])
def test_a_restart_keeps_steady_rain_beside_an_open_side(scheme, light_device):
    """Of any scheme, those that book a step in halves too: 40 m3 in 20 s, and the bits of a run that was not broken."""

    def bay(rate):
        return eagre.ShallowWater(
            eagre.Grid(10, 4, 10.0, 10.0), -2.0, depth=2.0, boundaries=eagre.Boundaries(west=eagre.Stage(0.0)),
            sources=[eagre.Rain(rate)], scheme=scheme, device=light_device, precision="double",
        )  # fmt: skip

    model, same, harder = bay(5e-4), bay(5e-4), bay(1e-3)
    model.advance(20.0)
    state = model.state()
    for other in (same, harder):
        other.restore(state)
    assert model.diagnostics()["volume_rain"] == pytest.approx(40.0, rel=1e-13)
    assert same.diagnostics() == model.diagnostics()
    for one in (model, same, harder):
        one.advance(30.0)
    assert same.diagnostics() == model.diagnostics()
    assert harder.diagnostics()["volume_rain"] == pytest.approx(80.0, rel=1e-13)


@pytest.mark.parametrize("rate", [1e-3, eagre.Series(np.array([0.0, 9.0]), np.array([1e-3, 0.0]), "rain")])
def test_a_restart_with_another_rain_or_other_sides(rate, light_device):
    """Another rain counts from the restart on; with other open sides the book begins anew."""

    def pond(rate, **sides):
        return eagre.ShallowWater(
            eagre.Grid(6, 4, 2.0, 2.0), 0.0, depth=1.0, boundaries=eagre.Boundaries(**sides),
            sources=[eagre.Rain(rate)], device=light_device, precision="double",
        )  # fmt: skip

    first, second, third = pond(5e-4), pond(rate), pond(rate, west=eagre.Discharge(0.5))
    first.advance(2.0)
    for model in (second, third):
        model.restore(first.state())
        model.advance(5.0)
        assert abs(model.diagnostics()["volume_error"]) < 1e-14
    later = 3e-3 if rate == 1e-3 else 3.0 * rate(3.5)
    assert second.diagnostics()["volume_rain"] == pytest.approx((1e-3 + later) * 96.0, rel=1e-12)
    assert third.inflow == {"west": pytest.approx(1.5)}


@pytest.mark.parametrize(
    ("model", "step", "came"), [(eagre.ShallowWater, (), 1.5), (eagre.ShallowWaterADI, (0.1,), 1.45)]
)
def test_a_restart_with_as_many_faces_on_another_side(model, step, came, light_device):
    """The book of one side is not that of another: it begins anew, and the water is what it is then.

    A flux of the implicit model grows from 0 over its first step of 0.1 s.
    """

    def square(**sides):
        return model(
            eagre.Grid(5, 5, 2.0, 3.0), -1.0, *step, surface_elevation=0.0, boundaries=eagre.Boundaries(**sides),
            device=light_device, precision="double",
        )  # fmt: skip

    first, second, third = (square(**{side: eagre.Discharge(0.5)}) for side in ("west", "south", "west"))
    first.advance(2.0)
    for other in (second, third):
        other.restore(first.state())
        other.advance(5.0)
        assert abs(other.diagnostics()["volume_error"]) < 1e-14
    assert second.inflow == {"south": pytest.approx(came)} and third.inflow == {"west": pytest.approx(2.5)}


def test_single_precision_keeps_rain_on_high_ground(light_device):
    """A step's rain is less than half a unit in the last place of a surface at 500 m."""
    model = eagre.ShallowWater(
        eagre.Grid(4, 3, 2.0, 2.0), 500.0, depth=0.0, sources=[eagre.Rain(1e-6)], max_time_step=1.0,
        device=light_device, precision="single",
    )  # fmt: skip
    model.advance(20.0)
    facts = model.diagnostics()
    assert facts["volume_rain"] == pytest.approx(20e-6 * 48.0)
    assert facts["volume"] == pytest.approx(20e-6 * 48.0, rel=1e-6)  # all of it was lost while the surface was stored
    assert abs(facts["volume_error"]) < 1e-6


def estuary(device, precision="double", rain=1e-5, **sides):
    """The implicit model: a tide on three sides and a river, on uneven ground that is partly dry, in the rain."""
    grid = eagre.Grid(9, 6, 50.0, 40.0)
    rng = np.random.default_rng(3)
    times = np.linspace(0.0, 600.0, 25)
    tide = eagre.Series(times, 0.3 * np.sin(times / 50.0), "tide")
    north = [
        eagre.BoundarySegment(100.0, 300.0, eagre.Discharge(eagre.Series(times, 4.0 + np.cos(times / 50.0), "river")))
    ]
    sides = {"west": eagre.Absorbing(incoming=tide), "south": eagre.Stage(tide), "north": north} | sides
    return eagre.ShallowWaterADI(
        grid, rng.uniform(-2.0, 0.5, grid.shape_of("corner")), 5.0, surface_elevation=0.0, manning=0.03,
        boundaries=eagre.Boundaries(**sides), sources=[eagre.Rain(rain, rng.uniform(0.0, 2.0, grid.shape))],
        device=device, precision=precision,
    )  # fmt: skip


@pytest.mark.parametrize("precision", ["single", "double"])
def test_inflow_and_rain_explain_the_volume_of_the_implicit_model(precision, light_device):
    model = estuary(light_device, precision, east=eagre.Stage(0.1))
    model.advance(60.0)
    facts = model.diagnostics()
    assert abs(facts["volume_error"]) < ROUNDING[precision]
    assert list(model.inflow) == ["west", "east", "south", "north 100 to 300 m"]
    assert sum(model.inflow.values()) == pytest.approx(facts["volume_inflow"])
    assert facts["volume_rain"] == pytest.approx(0.6e-3 * 2000.0 * model.setup.terms.sources[0].values.sum(), rel=1e-6)
    assert 60.0 * 3.0 < model.inflow["north 100 to 300 m"] < 60.0 * 5.1


def test_rain_of_the_implicit_model_is_integrated_exactly(light_device):
    """Also where it grows, and where a sweep passes a kink."""
    rain = eagre.Series(np.array([0.0, 17.0, 600.0]), np.array([0.0, 1e-4, 2e-5]), "rain")
    model = estuary(light_device, rain=rain)
    model.advance(60.0)
    expected = 60.0 * rain.mean(0.0, 60.0) * 2000.0 * model.setup.terms.sources[0].values.sum()
    assert model.diagnostics()["volume_rain"] == pytest.approx(expected, rel=1e-12)
    assert abs(model.diagnostics()["volume_error"]) < ROUNDING["double"]


def test_the_balance_of_the_implicit_model_goes_on_after_a_restart(light_device):
    """With the same bits; with other open sides it begins anew."""
    whole, first, second = (estuary(light_device) for _ in range(3))
    other = estuary(light_device, east=eagre.Stage(0.1))
    whole.advance(50.0)
    first.advance(25.0)
    for model in (second, other):
        model.restore(first.state())
        model.advance(50.0)
        assert abs(model.diagnostics()["volume_error"]) < ROUNDING["double"]
    assert second.inflow == whole.inflow
    assert 0.0 < other.diagnostics()["volume_rain"] < 0.6 * whole.diagnostics()["volume_rain"]
