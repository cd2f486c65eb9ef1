"""`model.run`: what the dataset of a run in memory holds."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.backend.device import PlainDevice
from eagre.errors import InputError

GRID = eagre.Grid(6, 4, 2.0, 3.0, x0=100.0)


def pond(kind):
    """A model of a kind with waves in 6 x 4 cells, and its options that the dataset tells."""
    bed = -1.0 + 0.02 * (GRID.mesh("corner")[0] - 100.0)
    options = {"surface_elevation": 0.1 * np.sin(GRID.mesh()[0]), "device": PlainDevice(), "precision": "double"}
    if kind == "shallow-water":
        return eagre.ShallowWater(GRID, bed, minmod_theta=1.5, **options), ("minmod_theta", 1.5)
    return eagre.ShallowWaterADI(GRID, bed, 0.5, viscosity=0.25, chezy=40.0, **options), ("viscosity", 0.25)


@pytest.mark.parametrize("kind", ["shallow-water", "shallow-water-adi"])
def test_records_gauges_and_what_they_are(kind):
    model, (name, value) = pond(kind)
    ds = model.run(2.0, output_interval=1.0, gauges={"pier": (107.0, 4.0), "head": (111.9, 11.0)}, gauge_interval=0.5)
    assert ds["time"].values.tolist() == [0.0, 1.0, 2.0] and ds["gauge_time"].values.tolist() == [
        0.0,
        0.5,
        1.0,
        1.5,
        2.0,
    ]
    assert ds["gauge"].values.tolist() == ["pier", "head"]
    np.testing.assert_array_equal(ds["x"], GRID.x)
    for field in model.variables:
        last = ds[field] if field == "bed" else ds[field].isel(time=-1)
        np.testing.assert_array_equal(last, model.field(field), err_msg=field)
    series = ds["gauge_surface_elevation"]
    for k, (j, i) in enumerate([(1, 3), (3, 5)]):
        np.testing.assert_allclose(series[::2, k], ds["surface_elevation"][:, j, i], rtol=0, atol=1e-14)
    assert float(abs(series[1, 0] - series[0, 0])) > 1e-3
    assert (ds["depth"].attrs["units"], ds["gauge_speed"].attrs["units"]) == ("m", "m s-1")
    assert ds.attrs["model"] == kind and ds.attrs[name] == value and ds.attrs["precision"] == "double"


def test_choices_and_refusals():
    model, _ = pond("shallow-water")
    ds = model.run(0.5, variables=["speed"])
    assert set(ds.data_vars) == {"speed", "bed"} and ds.sizes["time"] == 2 and "gauge" not in ds.coords
    with pytest.raises(InputError, match=r'"sped"(.|\n)*surface_elevation'):
        model.run(1.0, variables=["sped"])
    with pytest.raises(InputError, match=r"gauges\['far'\] = 3"):
        model.run(1.0, gauges={"far": 3})
    with pytest.raises(InputError, match="the point"):
        model.run(1.0, gauges={"far": (0.0, 0.0)})
    with pytest.raises(InputError, match=r"a time after 0\.5 s"):
        model.run(0.5)


def test_progress_is_printed(capsys):
    pond("shallow-water-adi")[0].run(1.0, progress=True)
    assert "t = 1 s of 1 s, step 2, dt = 0.5 s" in capsys.readouterr().out


@pytest.mark.parametrize("every", [0.5, 0.01])
def test_the_range_of_time_steps_leaves_out_steps_shortened_to_an_output_time(every):
    """Compared with the differences of the times of single steps; 0.01 s is below each step."""
    model, single = pond("shallow-water")[0], pond("shallow-water")[0]
    model.run(10 * every, output_interval=every)
    lengths, shortened = [], []
    for until in every * np.arange(1, 11):
        while single.time < until:
            before, expected = single.time, single.time_step
            single.advance(until, max_steps=1)
            (shortened if single.time - before < 0.999 * expected else lengths).append(single.time - before)
    assert shortened and bool(lengths) == (every > 0.1) and model.steps == len(lengths) + len(shortened)
    result = model.statistics()
    if lengths:
        assert min(shortened) < 0.9 * min(lengths)
        assert (result["dt_min"], result["dt_max"]) == pytest.approx((min(lengths), max(lengths)))
    else:
        assert np.isnan([result["dt_min"], result["dt_max"]]).all()


def test_statistics_of_the_implicit_model():
    """The Courant number is that of the shorter side of a cell, in the deepest water."""
    model, _ = pond("shallow-water-adi")
    model.advance(1.2)  # three steps of 0.4 s
    found = model.statistics()
    assert (found["steps"], found["dt_min"], found["dt_max"]) == (3, pytest.approx(0.4), pytest.approx(0.4))
    deepest = float(model.field("depth").max())
    assert found["courant_max"] == pytest.approx(np.sqrt(9.81 * deepest) * 0.4 / 2.0)
    told = model.settings()
    assert told["chezy"] == pytest.approx(40.0) and told["time_step"] == 0.5 and told["drying"] == "on"


def test_the_coordinate_system_of_the_grid_comes_along(tmp_path):
    import xarray as xr

    grid = eagre.Grid(6, 4, 2.0, 3.0, crs="EPSG:32633")
    model = eagre.ShallowWater(grid, -1.0, surface_elevation=0.0, device=PlainDevice())
    model.run(0.5, gauges={"pier": (1.0, 1.0)}).to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf", decode_coords="all") as ds:
        assert "UTM zone 33N" in ds["spatial_ref"].attrs["crs_wkt"]
        assert {ds[name].encoding["grid_mapping"] for name in ("depth", "bed")} == {"spatial_ref"}
    pond_in_metres, _ = pond("shallow-water")
    assert "spatial_ref" not in pond_in_metres.run(0.5).coords
