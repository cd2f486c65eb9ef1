"""Values that a model reports, against values computed from its fields or from the same problem posed differently."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import eagre
from eagre.boundaries import Boundaries, Discharge, InternalLine, Periodic
from eagre.errors import InputError
from eagre.models.barotropic.forcing.wind_section import double_gyre
from eagre.models.potential_waves.boundaries.relaxation_zones import RelaxationZone
from eagre.terms import Rain
from eagre.waves import AiryWave
from potential_waves_runs import basin

SPRING = [InternalLine([(80.0, 40.0)], Discharge(3.0), name="spring")]
LEVELS = np.concatenate([np.arange(0.0, 1000.0, 50.0), np.geomspace(1000.0, 10000.0, 21)])
SOUNDING = np.array([0.0, 475.0, 525.0, 11000.0]), np.array([300.0, 300.0, 305.0, 336.4])


@pytest.mark.parametrize("kind", [eagre.ShallowWater, eagre.ShallowWaterADI])
@pytest.mark.parametrize("change", ["spring to rain", "rain to spring", "pattern", "none"])
def test_the_water_balance_of_changed_sources_begins_at_the_restart(kind, change):
    grid = eagre.Grid(16, 12, 10.0, 7.0)
    x, _ = grid.mesh()
    first, second = {
        "spring to rain": (([], SPRING), ([Rain(1e-4)], [])),
        "rain to spring": (([Rain(1e-4)], []), ([], SPRING)),
        "pattern": (([Rain(1e-3, pattern=x < 80.0)], []), ([Rain(1e-3, pattern=x < 20.0)], [])),
        "none": (([Rain(1e-4)], SPRING), ([Rain(1e-4)], SPRING)),
    }[change]

    def made(sources, internal):
        more = () if kind is eagre.ShallowWater else (2.0,)
        given = {"sources": sources, "boundaries": Boundaries(internal=internal), "surface_elevation": 0.0}
        return kind(grid, -2.0, *more, device="cpu", precision="double", **given)

    model, following = made(*first), made(*second)
    model.advance(60.0)
    following.restore(model.state())
    following.advance(120.0)
    assert abs(following.diagnostics()["volume_error"]) < 1e-13
    assert following.inflow == ({"spring": pytest.approx(360.0 if change == "none" else 180.0)} if second[1] else {})


def test_an_ensemble_has_no_periodic_sides():
    grid, sides = eagre.Grid(16, 12, 10.0, 7.0), Boundaries(south=Periodic(), north=Periodic())
    with pytest.raises(InputError, match="Periodic on the south side"):
        eagre.ShallowWaterADIEnsemble(grid, -2.0, 2.0, 2, surface_elevation=0.0, boundaries=sides, device="cpu")


def test_the_wind_of_a_double_gyre_has_the_period_of_the_basin():
    grid = eagre.Grid(4, 16, 1e5, 1e5)
    spectrum = np.abs(np.fft.rfft(double_gyre(grid, (True, True))[:, 0])) / 8.0
    np.testing.assert_allclose(spectrum, np.arange(9) == 1, atol=1e-14)
    box = double_gyre(grid, (False, False))
    assert box[0, 0] == 0.0 == pytest.approx(box[-1, 0], abs=1e-14)


def test_eddy_kinetic_energy_of_waves_includes_the_vertical_velocity():
    statistics = eagre.TimeStatistics(variance=["velocity"])
    model = basin(time_statistics=statistics, breaking=False)
    model.advance(1.0)
    found = model.maps.sample()
    total = sum(found[f"variance_velocity_{axis}"] for axis in "xyz")
    assert total.max() > 0.0
    np.testing.assert_allclose(found["eddy_kinetic_energy"], 0.5 * total, rtol=1e-12)


def test_the_ramp_of_a_zone_is_0_before_its_start():
    zone = RelaxationZone("west", 4.0, 1.6, AiryWave(0.02, 0.6, period=1.6), ramp=2.0)
    x, y = np.linspace(0.0, 4.0, 9), np.zeros(1)
    before, during, after = (zone.target(x, y, t) for t in (-2.0, 1.0, 5.0))
    assert not before.any()
    np.testing.assert_allclose(during[0], 0.5 * zone.waves.elevation(x, y[:, None], 1.0), rtol=1e-12)
    np.testing.assert_allclose(after[0], zone.waves.elevation(x, y[:, None], 5.0), rtol=1e-12)


def air(levels, atmosphere, **boundaries):
    """A strip of air without a wind."""
    return eagre.AnelasticFlow(
        eagre.Grid(8, 1, 100.0, 100.0), levels, atmosphere=atmosphere, boundaries=boundaries,
        device="cpu", precision="double", time_step=2.0,
    )  # fmt: skip


def test_the_lapse_of_unequal_levels_is_that_of_the_layer_around_a_level():
    """Layers end halfway between levels; at walls they begin and end at the wall."""
    sounding = eagre.Atmosphere.from_sounding(*SOUNDING, equations="boussinesq")
    model = air(LEVELS, sounding)
    middle = 0.5 * (LEVELS[1:] + LEVELS[:-1])
    low, high = np.append(0.0, middle), np.append(middle, LEVELS[-1])
    lapse = (np.interp(high, *SOUNDING) - np.interp(low, *SOUNDING)) / (high - low)
    np.testing.assert_allclose(model._engine.base_state.lapse.ravel(), lapse, rtol=1e-9, atol=1e-12)
    assert lapse[8] == 0.0 and lapse[10] == pytest.approx(0.1)


@pytest.mark.parametrize(("first", "last"), [(0.0, 2000.0), (60.0, 1960.0), (-300.0, 2500.0)])
def test_the_lapse_at_both_ends_of_a_sounding_is_that_of_its_layers(first, last):
    """A table is constant below its first height; the part of a layer there is left out of the mean."""
    heights, theta = np.array([first, 900.0, last]), np.array([290.0, 293.0, 300.0])
    sounding = eagre.Atmosphere.from_sounding(heights, theta, equations="boussinesq")
    z = np.linspace(0.0, 1900.0, 20)
    model = air(z, sounding)
    lapse = np.where(z < 900.0, 3.0 / (900.0 - first), 7.0 / (last - 900.0))
    lapse[9] = lapse[[8, 10]].mean()
    np.testing.assert_allclose(model._engine.base_state.lapse.ravel()[1:], lapse[1:], rtol=1e-9, atol=1e-12)
    expected = 0.0 if first > 50.0 else lapse[0]  # the whole layer at the ground lies below the table
    assert float(model._engine.base_state.lapse.ravel()[0]) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_unequal_levels_along_a_periodic_axis_are_refused():
    with pytest.raises(InputError, match="unequal levels"):
        air(np.array([0.0, 50.0, 150.0, 300.0, 500.0]), eagre.Atmosphere.boussinesq(), z="periodic")


def test_theta_in_the_seam_of_a_periodic_height():
    grid = eagre.Grid(8, 1, 100.0, 100.0)
    model = eagre.AnelasticFlow(
        grid, 10, top_height=1000.0, atmosphere=eagre.Atmosphere.boussinesq(buoyancy_frequency=0.02),
        boundaries={"z": "periodic"}, device="cpu", precision="double", time_step=2.0,
    )  # fmt: skip
    for z in (850.0, 950.0, 1000.0):
        plane = float(np.ravel(model.slice(["theta"], z=z).sample()["theta"])[0])
        point = float(np.ravel(model.probes({"p": {"x": 50.0, "z": z}}, ["theta"]).sample()["theta"])[0])
        assert plane == pytest.approx(point, abs=1e-9)


STORM = """
model = "shallow-water"
run = { end_time = "1 h", start_date = 2026-01-01 }
grid = { nx = 16, ny = 12, dx = 2000.0, dy = 2000.0, crs = "EPSG:32617" }
bed = { value = -20.0 }
boundaries = { west = { kind = "stage", level = 0.0 } }
sources.cyclone = { track = "track.csv", latitude = 20.0, side_levels = "SIDES" }
"""
RAIN = 'sources.weather = { file = "rain.nc", wind = false, pressure = false, crs = "EPSG:32617" }\n'
TRACK = "time (s),x (m),y (m),pressure (hPa),wind (m/s),radius (km)\n"


@pytest.mark.parametrize("sides", ["given", "inverse-barometer"])
def test_the_levels_at_sides_are_those_of_the_section_of_the_pressure(tmp_path, sides):
    """Weather that brings only rain has no side levels."""
    rows = "0,20000,20000,950,40,30\n7200,25000,25000,950,40,30\n"
    (tmp_path / "track.csv").write_text(TRACK + rows)
    axis = np.array([-1e5, 0.0, 1e5, 2e5])
    coordinates = {"time": ("time", [0.0, 3600.0, 7200.0], {"units": "seconds since 2026-01-01"}), "y": axis, "x": axis}
    rain = (("time", "y", "x"), np.full((3, 4, 4), 1e-6), {"units": "m s-1"})
    xr.Dataset({"rain": rain}, coordinates).to_netcdf(tmp_path / "rain.nc")
    levels = []
    for text in (STORM, STORM + RAIN):
        (tmp_path / "case.toml").write_text(text.replace("SIDES", sides))
        level = eagre.load_case(tmp_path / "case.toml").build(device="cpu").boundaries.west.level
        levels.append(getattr(level, "values", level))
    np.testing.assert_array_equal(*levels)
    assert np.all(levels[0] == 0.0) == (sides == "given")
