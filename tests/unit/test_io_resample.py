"""Resampling: planes exactly, means conserved, and no value out of nothing."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io import Dem, dem_to_corners, grid_from_dem, raster_to_centres


def plane(x, y):
    return 3.0 + 0.25 * x - 0.5 * y


def dem_of(function, nx=40, ny=30, dx=2.0, dy=3.0, x0=100.0, y0=-50.0, **options) -> Dem:
    empty = Dem(np.zeros((ny, nx)), x0, y0, dx, dy)
    return Dem(function(*np.meshgrid(empty.x, empty.y)), x0, y0, dx, dy, **options)


def test_dem_on_its_own_grid_gives_means_of_four():
    dem = Dem(np.random.default_rng(0).normal(size=(5, 6)), 0.0, 0.0, 2.0, 3.0)
    corners = dem_to_corners(dem, grid_from_dem(dem), crests="mean")
    assert corners.shape == (6, 7) and corners.dtype == np.float64 and corners.flags.c_contiguous
    z = dem.elevation
    np.testing.assert_allclose(corners[1:-1, 1:-1], 0.25 * (z[1:, 1:] + z[1:, :-1] + z[:-1, 1:] + z[:-1, :-1]))
    assert corners[0, 0] == z[0, 0] and corners[-1, -1] == z[-1, -1]
    np.testing.assert_allclose(corners[0, 1:-1], 0.5 * (z[0, 1:] + z[0, :-1]))


def test_crests_are_kept_or_not():
    dem = dem_of(plane)
    with pytest.raises(InputError, match='crests = "keep"'):
        dem_to_corners(dem, grid_from_dem(dem), crests="sharp")


def test_centres_on_its_own_grid_are_the_values():
    dem = Dem(np.random.default_rng(0).normal(size=(5, 6)), 10.0, 20.0, 2.0, 3.0)
    np.testing.assert_allclose(raster_to_centres(dem, grid_from_dem(dem)), dem.elevation, rtol=0, atol=1e-14)


@pytest.mark.parametrize("size", [0.37, 1.0, 2.0, 2.9, 7.3, 11.0])
def test_a_plane_stays_a_plane(size):
    dem = dem_of(plane)
    grid = Grid(4, 3, size, 1.3 * size, x0=112.3, y0=-31.7)
    np.testing.assert_allclose(dem_to_corners(dem, grid), plane(*grid.mesh("corner")), atol=1e-11)
    np.testing.assert_allclose(raster_to_centres(dem, grid), plane(*grid.mesh("centre")), atol=1e-11)


@pytest.mark.parametrize("size", [0.625, 5.0])
def test_a_constant_stays_exact_up_to_the_edges(size):
    dem = dem_of(lambda x, y: 0.1 + 0 * x)
    corners = dem_to_corners(dem, grid_from_dem(dem, dx=size))
    assert (corners == 0.1).all()


def test_a_plane_stays_a_plane_up_to_the_edges_of_a_coarse_grid():
    dem = dem_of(plane, nx=40, ny=30, dx=2.0, dy=3.0)
    grid = Grid(8, 6, 10.0, 15.0, x0=100.0, y0=-50.0)
    x, y = grid.mesh("corner")
    inside = plane(np.clip(x, dem.x[0], dem.x[-1]), np.clip(y, dem.y[0], dem.y[-1]))
    np.testing.assert_allclose(dem_to_corners(dem, grid), inside, atol=1e-11)


def test_rows_are_south_to_north():
    dem = dem_of(lambda x, y: y)
    corners = dem_to_corners(dem, grid_from_dem(dem, dx=1.0))
    assert (np.diff(corners, axis=0) >= 0).all() and corners[-1, 0] > corners[0, 0] + 80
    assert np.ptp(corners, axis=1).max() < 1e-10


def test_a_finer_grid_is_bilinear():
    dem = Dem(np.array([[0.0, 1.0], [2.0, 5.0]]), 0.0, 0.0, 2.0, 2.0)
    grid = Grid(4, 4, 0.5, 0.5, x0=1.0, y0=1.0)
    x, y = grid.mesh("corner")
    s, t = (x - 1.0) / 2.0, (y - 1.0) / 2.0
    s, t = np.clip(s, 0, 1), np.clip(t, 0, 1)
    np.testing.assert_allclose(dem_to_corners(dem, grid, crests="mean"), s + 2 * t + 2 * s * t)


def test_outer_half_cell_holds_the_edge_value():
    dem = dem_of(lambda x, y: x, nx=4, ny=4, dx=2.0, dy=2.0, x0=0.0, y0=0.0)
    corners = dem_to_corners(dem, grid_from_dem(dem, dx=0.5))
    np.testing.assert_allclose(corners[0, :4], [1.0, 1.0, 1.0, 1.5])
    np.testing.assert_allclose(corners[0, -3:], [7.0, 7.0, 7.0])


def test_a_coarser_grid_takes_the_mean():
    dem = dem_of(lambda x, y: 0 * x, nx=90, ny=90, dx=1.0, dy=1.0, x0=0.0, y0=0.0)
    dem.elevation[45, 45] = 81.0  # one wall of a house between two grid points
    grid = Grid(10, 10, 9.0, 9.0)
    corners = dem_to_corners(dem, grid)
    assert corners.sum() == pytest.approx(1.0)
    assert corners.max() == pytest.approx(1.0 / 1.0, rel=0.8) and (corners >= -1e-12).all()
    centres = raster_to_centres(dem, grid)
    assert centres.sum() == pytest.approx(1.0)


def test_mean_of_noise_equals_the_sum_over_the_box():
    rng = np.random.default_rng(3)
    dem = Dem(rng.normal(size=(60, 60)), 0.0, 0.0, 1.0, 1.0)
    centres = raster_to_centres(dem, Grid(4, 4, 10.0, 10.0, x0=10.5, y0=10.5))
    # Boxes end at cell centres: the integral of the piecewise linear function is the trapezoidal rule.
    weights = np.ones(11)
    weights[[0, -1]] = 0.5
    for j in range(4):
        for i in range(4):
            box = dem.elevation[10 + 10 * j : 21 + 10 * j, 10 + 10 * i : 21 + 10 * i]
            assert centres[j, i] == pytest.approx(weights @ box @ weights / 100.0)


def test_one_axis_finer_the_other_coarser():
    dem = dem_of(plane)
    grid = Grid(10, 3, 0.5, 17.0, x0=120.0, y0=-40.0)
    np.testing.assert_allclose(raster_to_centres(dem, grid), plane(*grid.mesh()), atol=1e-11)


def test_single_row():
    dem = Dem(np.array([[1.0, 2.0, 3.0]]), 0.0, 0.0, 1.0, 10.0)
    np.testing.assert_allclose(dem_to_corners(dem, grid_from_dem(dem)), [[1.0, 1.5, 2.5, 3.0]] * 2)


@pytest.mark.parametrize("shift", [(-0.1, 0.0), (0.1, 0.0), (0.0, -0.1), (0.0, 0.1)])
def test_a_grid_that_sticks_out_is_refused_with_both_extents(shift):
    dem = dem_of(plane, name="bed.tif")
    grid = Grid(40, 30, 2.0, 3.0, x0=100.0 + shift[0], y0=-50.0 + shift[1])
    with pytest.raises(InputError, match=r"not inside the raster bed.tif") as error:
        dem_to_corners(dem, grid)
    assert f"{grid.x0:.10g} to" in error.value.what
    assert error.value.allowed == "inside x 100 to 180 m, y -50 to 40 m"
    assert error.value.fix == "extent = [100, 180, -50, 40]"


def test_a_raster_smaller_than_the_grid_is_filled_up_at_centres():
    """With a value for cells without data; a raster beside the grid, and beds, are refused all the same."""
    dem, grid = dem_of(plane, name="n.tif"), Grid(50, 40, 2.0, 3.0, x0=91.0, y0=-61.0)
    found = raster_to_centres(dem, grid, nodata=-9.0)
    x, y = grid.mesh()
    inner = (abs(x - 140.0) < 39.0) & (abs(y + 5.0) < 43.5)
    outer = (abs(x - 140.0) > 41.0) | (abs(y + 5.0) > 46.5)
    np.testing.assert_allclose(found[inner], plane(x, y)[inner], atol=1e-9)
    assert inner.sum() > 1000 and outer.sum() > 500 and (found[outer] == -9.0).all()
    for wrong in (lambda: raster_to_centres(dem, grid), lambda: dem_to_corners(dem, grid, nodata=-9.0),
                  lambda: raster_to_centres(dem, Grid(5, 4, 2.0, 3.0, x0=500.0), nodata=-9.0)):  # fmt: skip
        with pytest.raises(InputError, match=r"not inside the raster n\.tif"):
            wrong()


def test_a_raster_that_does_not_cover_the_points_of_a_basin_is_told_with_the_keys_of_a_basin():
    """Half a cell lies around the points: a basin as told fits."""
    dem = dem_of(plane, name="n.tif")
    with pytest.raises(InputError, match="not inside the raster") as error:
        raster_to_centres(dem, Grid.from_points(41, 31, 80.0, 90.0, 100.0, -50.0))
    assert "in [grid]; x0 = 101, length_x = 78, y0 = -48.5, length_y = 87 in [domain] or [basin]" in error.value.fix
    assert raster_to_centres(dem, Grid.from_points(40, 30, 78.0, 87.0, 101.0, -48.5)).shape == (30, 40)


@pytest.mark.parametrize("scale", [0.1, 10.0])
def test_cells_of_any_size_are_filled_up(scale):
    """How far a grid reaches beyond a raster counts in the raster's cells."""
    dem = dem_of(plane, dx=2.0 * scale, dy=3.0 * scale, x0=0.0, y0=0.0)
    grid = Grid(60, 50, 2.0 * scale, 3.0 * scale, x0=-20.0 * scale, y0=-30.0 * scale)
    found = raster_to_centres(dem, grid, nodata=-9.0)
    x, y = grid.mesh()
    held = (x > 0.0) & (x < 80.0 * scale) & (y > 0.0) & (y < 90.0 * scale)
    np.testing.assert_allclose(found, np.where(held, plane(x, y), -9.0), atol=1e-9)
    assert held.sum() == 1200


def test_rounding_of_the_extent_is_forgiven():
    dem = dem_of(plane)
    assert dem_to_corners(dem, Grid(40, 30, 2.0, 3.0, x0=100.0 - 1e-4, y0=-50.0)).shape == (31, 41)


def test_empty_cells_are_counted_and_placed():
    dem = dem_of(plane, name="bed.tif")
    dem.elevation[10, 20:23] = np.nan
    with pytest.raises(InputError) as error:
        dem_to_corners(dem, grid_from_dem(dem))
    assert "3 of the 1200 cells in the domain have no data" in error.value.what
    assert "(j, i) = (10, 20) at x = 141 m, y = -18.5 m" in error.value.what
    assert error.value.fix.startswith("nodata = ")


def test_empty_cells_outside_the_domain_do_not_matter():
    dem = dem_of(plane)
    dem.elevation[0, :] = np.nan
    dem.elevation[:, 0] = np.nan
    grid = grid_from_dem(dem, extent=(104.0, 170.0, -44.0, 40.0))
    np.testing.assert_allclose(dem_to_corners(dem, grid)[:-1, :-1], plane(*grid.mesh("corner"))[:-1, :-1])
    dem.elevation[25, 30] = np.nan
    with pytest.raises(InputError, match=r"1 of the \d+ cells(.|\n)*\(25, 30\) at x = 161 m, y = 26.5 m"):
        dem_to_corners(dem, grid)


def test_empty_cells_filled():
    dem = dem_of(lambda x, y: 0 * x + 1.0)
    dem.elevation[10, 20] = np.nan
    corners = dem_to_corners(dem, grid_from_dem(dem), nodata=5.0, crests="mean")
    np.testing.assert_allclose(corners[10:12, 20:22], 2.0)
    assert corners[0, 0] == 1.0 and np.isnan(dem.elevation).sum() == 1


@pytest.mark.parametrize("crests", ["keep", "mean"])
@pytest.mark.parametrize(("dx", "dy"), [(2.0, 3.0), (1.0, 1.5), (4.0, 6.0)])
def test_empty_cells_beside_the_domain_are_the_end_of_the_raster(dx, dy, crests):
    """Which a domain that is cut out of a raster with an empty rim touches."""
    whole = dem_of(lambda x, y: plane(x, y) + np.sin(x) * np.cos(0.7 * y))
    empty = np.full((30, 40), np.nan)
    empty[2:-4, 3:-1] = whole.elevation[2:-4, 3:-1]
    cut = Dem(empty[2:-4, 3:-1], 106.0, -44.0, 2.0, 3.0)
    grid = Grid(round(72.0 / dx), round(72.0 / dy), dx, dy, x0=106.0, y0=-44.0)
    dem = Dem(empty, 100.0, -50.0, 2.0, 3.0)
    np.testing.assert_allclose(
        dem_to_corners(dem, grid, crests=crests), dem_to_corners(cut, grid, crests=crests), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(raster_to_centres(dem, grid), raster_to_centres(cut, grid), rtol=0, atol=1e-12)
    for x0, y0 in ((105.9, -44.0), (106.0, -44.2)):  # a part of an empty cell is in the domain
        with pytest.raises(InputError, match="cells in the domain have no data"):
            dem_to_corners(dem, Grid(round(72.0 / dx), round(72.0 / dy), dx, dy, x0=x0, y0=y0), crests=crests)


@pytest.mark.parametrize("nodata", ["ignore", float("nan"), float("inf")])
def test_nodata_option(nodata):
    with pytest.raises(InputError, match="nodata = "):
        dem_to_corners(dem_of(plane), Grid(2, 2, 1.0, 1.0, x0=120.0, y0=0.0), nodata=nodata)


def test_two_coordinate_systems_are_refused():
    dem = dem_of(plane, crs="EPSG:32633", name="n.tif")
    grid = Grid(2, 2, 1.0, 1.0, x0=120.0, y0=0.0, crs="EPSG:32632")
    with pytest.raises(InputError, match=r"n.tif in EPSG:32633 for a grid in EPSG:32632"):
        raster_to_centres(dem, grid)
    assert raster_to_centres(dem, Grid(2, 2, 1.0, 1.0, x0=120.0, y0=0.0)).shape == (2, 2)


def test_grid_from_dem():
    dem = dem_of(plane, crs="EPSG:32633")
    grid = grid_from_dem(dem)
    assert (grid.nx, grid.ny, grid.extent, grid.crs) == (40, 30, dem.extent, "EPSG:32633")
    grid = grid_from_dem(dem, dx=5.0)
    assert (grid.nx, grid.ny, grid.dx, grid.dy) == (16, 18, 5.0, 5.0)
    grid = grid_from_dem(dem, dx=4.0, dy=9.0, extent=(110.0, 150.0, -20.0, 7.0))
    assert grid.extent == (110.0, 150.0, -20.0, 7.0)
    assert grid_from_dem(dem, dy=9.0).dx == 2.0


@pytest.mark.parametrize(
    ("nx", "ny", "size", "options", "got", "line"),
    [
        (61, 37, 10.0, {"dx": 20.0}, "30.5 x 18.5 cells", "extent = [0, 600, 0, 360]"),
        (60, 37, 10.0, {"dx": 20.0}, "30 x 18.5 cells", "extent = [0, 600, 0, 360]"),
        (61, 36, 10.0, {"dx": 30.0}, "20.3333 x 12 cells", "extent = [0, 600, 0, 360]"),
        (61, 37, 10.0, {"extent": (5.0, 500.0, 0.0, 300.0)}, "49.5 x 30 cells", "extent = [5, 495, 0, 300]"),
        (100, 100, 0.014, {"dx": 0.1}, "14 x 14 cells", ""),
    ],
)
def test_no_part_of_a_raster_is_dropped_without_a_word(nx, ny, size, options, got, line):
    dem = Dem(np.zeros((ny, nx)), 0.0, 0.0, size, size)
    if not line:
        assert grid_from_dem(dem, **options).shape == (14, 14)
        return
    with pytest.raises(InputError) as error:
        grid_from_dem(dem, **options)
    assert got in error.value.what and error.value.fix == line


def test_grid_from_dem_counts_whole_cells_in_spite_of_rounding():
    dem = Dem(np.zeros((244, 393)), 0.0, 0.0, 0.014, 0.014)
    grid = grid_from_dem(dem)
    assert (grid.nx, grid.ny) == (393, 244)
    assert dem_to_corners(dem, grid).shape == (245, 394)
    one = grid_from_dem(Dem(np.zeros((1, 1)), 0.0, 0.0, 2.0, 2.0))
    assert (one.nx, one.ny) == (1, 1)
    grid = grid_from_dem(dem, dx=0.1, extent=(0.0, 0.7, 0.0, 0.6))  # 0.7 / 0.1 is a little less than 7
    assert (grid.nx, grid.ny) == (7, 6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dx": 0.0}, "dx = 0"),
        ({"dy": "10"}, "dy = '10'"),
        ({"dx": 1000.0}, "smaller than one cell"),
        ({"extent": (100.0, -50.0, 180.0, 40.0)}, r"west, east, south, north"),
        ({"extent": (100.0, 180.0, -50.0)}, "four numbers"),
        ({"extent": (90.0, 180.0, -50.0, 40.0)}, "is not inside the raster"),
    ],
)
def test_grid_from_dem_faults(options, message):
    with pytest.raises(InputError, match=message):
        grid_from_dem(dem_of(plane), **options)
