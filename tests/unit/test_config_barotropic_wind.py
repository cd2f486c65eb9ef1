"""Section [wind] of the gyres over time: factors, stresses and winds of NetCDF files, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import xarray
from rasterio.warp import transform

from eagre.config.problems import ConfigError
from eagre.models.barotropic.config import BarotropicCase

HEAD = (
    'model = "barotropic"\nnumerics.time_step = "1 h"\nphysics.viscosity = "100 m2/s"\n'
    'run = {end_time = "6 h", start_date = 2026-01-31, device = "cpu", precision = "double"}\n'
)
PLANE = 'basin = {nx = 9, ny = 7, length_x = "400 km", length_y = "300 km"}\nwind = {depth = "100 m", %s}\n'
LAEA = (
    'basin = {nx = 9, ny = 7, length_x = "400 km", length_y = "300 km", x0 = 4.1e6, y0 = 3.0e6, crs = "EPSG:3035"}\n'
    'wind = {depth = "100 m", density = 1025.0, weather = {file = "wind.nc"%s}}\n'
)
"""A basin in metres, and one in the plane of Europe, around 12 degrees east and 49 to 52 north."""
HOURS = np.datetime64("2026-01-31", "ns") + np.arange(4) * np.timedelta64(2, "h")


def write(folder, units, **fields):
    """Every variable is a function of x, y, and the number of the record, on a grid in metres, from north to south."""
    x, y = np.linspace(-1e5, 5e5, 13), np.linspace(4e5, -1e5, 11)
    data = {
        name: (
            ("time", "y", "x"),
            np.stack([value(x[None, :], y[:, None], k) + 0.0 * (x + y[:, None]) for k in range(4)]),
            {"units": units},
        )
        for name, value in fields.items()
    }
    xarray.Dataset(data, {"time": HOURS, "y": ("y", y, {"units": "m"}), "x": ("x", x, {"units": "m"})}).to_netcdf(
        folder / "wind.nc", engine="h5netcdf"
    )


@pytest.fixture
def built(tmp_path):
    return lambda text, head=HEAD: BarotropicCase.loads(head + text, tmp_path).build()


def test_stress_of_a_file_over_time(built, tmp_path):
    """Linear in x, y and time: its curl is one number at all points, that at the ends too."""
    write(tmp_path, "N m-2", tauuo=lambda x, y, k: 2e-7 * y + 0.1, tauvo=lambda x, y, k: 1e-7 * k * x)
    model = built(PLANE % 'weather.file = "wind.nc"')
    for end, number in ((0.0, 0.0), (3600.0, 0.5), (21600.0, 3.0)):
        model.advance(end)
        np.testing.assert_allclose(model.field("wind_forcing"), (1e-7 * number - 2e-7) / 1e5, rtol=1e-9, atol=1e-22)
    assert any("wind.nc" in note for note in model.notes)


def test_stress_of_a_file_is_taken_where_the_points_are(built, tmp_path):
    """Quadratic in x and y: its curl is linear in both, so that a basin beside its place would show."""
    write(tmp_path, "N m-2", tauuo=lambda x, y, k: 1e-12 * y**2, tauvo=lambda x, y, k: 2e-12 * x**2)
    model = built(PLANE % 'weather.file = "wind.nc"')
    x, y = model.grid.mesh()
    inner = (slice(1, -1), slice(1, -1))
    np.testing.assert_allclose(
        model.field("wind_forcing")[inner], (4e-12 * x - 2e-12 * y)[inner] / 1e5, rtol=1e-9, atol=1e-20
    )


def test_sums_of_era5_count_at_the_middle_of_their_hours(built, tmp_path):
    """N m-2 s since the record before, two hours each."""
    write(tmp_path, "N m**-2 s", ewss=lambda x, y, k: 0.0 * x, nsss=lambda x, y, k: 7200.0 * 1e-7 * k * x)
    model = built(PLANE % 'weather.file = "wind.nc"')
    model.advance(2 * 3600.0)  # between the middles at 1 h, of record 1, and 3 h, of record 2
    np.testing.assert_allclose(model.field("wind_forcing"), 1.5e-7 / 1e5, rtol=1e-9)


def test_stress_of_several_files_is_joined_in_time(built, tmp_path):
    write(tmp_path, "N m-2", tauuo=lambda x, y, k: 0.0 * x, tauvo=lambda x, y, k: 1e-7 * k * x)
    with xarray.open_dataset(tmp_path / "wind.nc") as dataset:
        held = dataset.load()
    for name, part in (("late.nc", slice(2, 4)), ("early.nc", slice(0, 2))):
        held.isel(time=part).to_netcdf(tmp_path / name, engine="h5netcdf")
    model = built(PLANE % 'weather.file = ["late.nc", "early.nc"]')
    model.advance(3.0 * 3600.0)  # between the files
    np.testing.assert_allclose(model.field("wind_forcing"), 1.5e-7 / 1e5, rtol=1e-9)


def test_winds_of_a_file_drive_by_their_drag(built, tmp_path):
    write(tmp_path, "m s-1", u10=lambda x, y, k: 0.0 * x, v10=lambda x, y, k: 10.0 + 2.0 * k)
    with xarray.open_dataset(tmp_path / "wind.nc") as dataset:
        slope = dataset.load() * (1.0 + dataset.x * 0.0)
    slope["v10"] = slope["v10"] * xarray.where(slope.x > 2e5, 1.0, 0.5)
    slope["u10"].attrs["units"] = slope["v10"].attrs["units"] = "m s-1"
    slope.transpose("time", "y", "x").to_netcdf(tmp_path / "wind.nc", engine="h5netcdf")
    model = built(PLANE % 'weather = {file = "wind.nc", drag = 2e-3, air_density = 1.25}')
    west, east = (1.25 * 2e-3 * speed**2 for speed in (5.0, 10.0))
    assert model.field("wind_forcing").sum(axis=1) * model.grid.dx * 1e5 == pytest.approx(
        np.full(7, east - west), rel=1e-9
    )
    model.advance(3600.0)  # linear in the stress between 10 and 12 m/s
    west, east = (0.5 * (a + 1.25 * 2e-3 * (1.2 * speed) ** 2) for a, speed in ((west, 5.0), (east, 10.0)))
    assert model.field("wind_forcing").sum(axis=1) * model.grid.dx * 1e5 == pytest.approx(
        np.full(7, east - west), rel=1e-9
    )


def degrees_file(folder, **more):
    lon, lat = np.arange(0.0, 30.1, 0.5), np.arange(60.0, 39.9, -0.5)
    shape = (4, lat.size, lon.size)
    east = np.broadcast_to(0.01 * (lat[None, :, None] - 50.0), shape)
    dataset = xarray.Dataset(
        {
            name: (("time", "lat", "lon"), values, {"units": "N m-2"})
            for name, values in {"tauu": east, "tauv": 0.0 * east}.items()
        },
        {"time": HOURS, "lat": lat, "lon": lon},
    )
    for name, values in more.items():
        dataset[name] = (("time", "lat", "lon"), values + 0.0 * east, {"units": "m s-1"})
    dataset.to_netcdf(folder / "wind.nc", engine="h5netcdf")
    return dataset


def test_degrees_are_met_by_the_system_of_the_basin(built, tmp_path):
    """On a sphere of radius R: -d tau_x / R dphi + tau_x tan phi / R, with tau_x linear in the latitude phi."""
    degrees_file(tmp_path)
    model = built(LAEA % "")
    grid = model.grid
    lat = np.reshape(transform(grid.crs, "OGC:CRS84", *(one.ravel().tolist() for one in grid.mesh()))[1], grid.shape)
    exact = -0.01 / 111.2e3 + 0.01 * (lat - 50.0) * np.tan(np.radians(lat)) / 6.371e6
    found = model.field("wind_forcing") * 1025.0 * 100.0
    assert np.corrcoef(found.ravel(), exact.ravel())[0, 1] > 0.99
    np.testing.assert_allclose(found, exact, rtol=6e-3)
    assert model.grid.crs == "EPSG:3035"


def test_land_is_filled_by_what_is_asked(built, tmp_path):
    dataset = degrees_file(tmp_path)
    dataset["tauu"] = dataset["tauu"].where(dataset.lon < 12.0)
    dataset.to_netcdf(tmp_path / "wind.nc", engine="h5netcdf")
    with pytest.raises(ConfigError, match="missing at"):
        built(LAEA % "")
    model = built(LAEA % ", nodata = 0.0")
    assert np.isfinite(model.field("wind_forcing")).all()


def test_a_factor_in_time(built):
    text = PLANE % 'stress_y = "1e-7 * x", factor = {times = [0, "2 h", "6 h"], values = [1, 3, -1]}'
    model = built(text)
    for end, factor in ((0.0, 1.0), (3600.0, 2.0), (4 * 3600.0, 1.0), (6 * 3600.0, -1.0)):
        model.advance(end)
        np.testing.assert_allclose(model.field("wind_forcing"), factor * 1e-12, rtol=1e-9)
    for constant in ("2.5", "{times = [0], values = [2.5]}"):
        model = built(PLANE % f'stress = "0.1 N/m2", factor = {constant}')
        theirs = built(PLANE % 'stress = "0.25 N/m2"')
        assert model.setup.time_varying_wind is None
        np.testing.assert_allclose(model.field("wind_forcing"), theirs.field("wind_forcing"), rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PLANE % "factor = {times = [0, 60], values = [1, 2]}, curl = 1e-15", ["wind.factor", "covers the whole run"]),
        (PLANE % 'weather.file = "wind.nc", factor = 2.0', ["factor with weather"]),
        (PLANE % 'weather.file = "wind.nc", curl = 1e-15', ["both curl and weather"]),
        ('basin = {nx = 9, length_x = 4e5}\nwind.weather.file = "wind.nc"', ["stress without depth"]),
        (
            PLANE % 'weather.file = "wind.nc"',
            ["wind.weather.file", "coordinate system of the grid is unknown", "[basin]"],
        ),
        (LAEA % ', stress = ["tauu", "tauw"]', ["tauw", 'stress_y = "tauv"']),
        (LAEA % ', stress = "tauu"', ["weather.stress", 'stress = ["ewss", "nsss"]']),
        (LAEA % ", stress = false", ["no wind along x"]),
        (LAEA.replace("x0 = 4.1e6", "x0 = 8.1e6") % "", ["covers the domain"]),
    ],
)
def test_what_cannot_be_is_refused(built, tmp_path, text, words):
    degrees_file(tmp_path)
    with pytest.raises(ConfigError) as raised:
        built(text)
    for word in words:
        assert word in str(raised.value)


def test_a_file_that_ends_early_and_one_with_both_are_refused(built, tmp_path):
    degrees_file(tmp_path, u10=5.0, v10=5.0)
    with pytest.raises(ConfigError, match="wind = false"):
        built(LAEA % "")
    built(LAEA % ", wind = false")
    built(LAEA % ", stress = false")
    with pytest.raises(ConfigError, match="covers the whole run"):
        built(LAEA % ", wind = false", HEAD.replace("6 h", "7 h"))
    with pytest.raises(ConfigError, match="start_date = 2026-01-31T00:00:00"):
        built(LAEA % ", wind = false", HEAD.replace("start_date = 2026-01-31, ", ""))
