"""Levees of a raster hold water: one cell wide, along the axes and aslant, on the raster's cells and smaller ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import LinearNDInterpolator

import eagre
from eagre.config.water.terrain import LeveeSection
from eagre.io import Dem, dem_to_corners, grid_from_dem

N, SIZE, CREST, WATER = 16, 10.0, 2.0, 1.9
X, Y = np.meshgrid(np.arange(N), np.arange(N))
LEVEES = {  # what the crest's cells are over, in cells: water lies where it is below 0
    "along x": Y - 8,
    "along y": X - 8,
    "diagonal": Y - X,
    "other diagonal": X + Y - (N - 1),
    "in steps": Y - 5 - X // 3,
}
MODELS = {
    "explicit": eagre.ShallowWater,
    "implicit": lambda *given, **options: eagre.ShallowWaterADI(*given, 0.5, **options),
}


def raster(name, ground=0.0):
    return Dem(np.where(LEVEES[name] == 0, CREST, ground), 0.0, 0.0, SIZE, SIZE)


def finer(values, parts):
    return np.kron(values, np.ones((parts, parts), int))


def gone_over(name, model, parts=1, **options):
    """Water behind the levee after 20 s, m3."""
    grid = eagre.Grid(N * parts, N * parts, SIZE / parts, SIZE / parts)
    beside = finer(LEVEES[name], parts)
    bed = dem_to_corners(raster(name), grid, **options)
    run = MODELS[model](
        grid, bed, surface_elevation=np.where(beside < 0, WATER, -1.0), device="cpu", precision="double"
    )
    run.advance(20.0)
    assert abs(run.diagnostics()["volume_error"]) < 1e-12
    return float((run.field("depth") * (beside > 0)).sum()) * grid.cell_area


@pytest.mark.parametrize("model", list(MODELS))
@pytest.mark.parametrize("name", list(LEVEES))
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_a_levee_one_cell_wide_holds_water_below_its_crest(name, model, parts):
    assert gone_over(name, model, parts) == 0.0


@pytest.mark.parametrize("model", list(MODELS))
@pytest.mark.parametrize("name", list(LEVEES))
@pytest.mark.parametrize("width", [2, 3, 4])
def test_wider_levees_hold_water_below_their_crest(name, model, width):
    levee = (LEVEES[name] >= 0) & (LEVEES[name] < width)
    assert levee_leaks(np.where(levee, CREST, 0.0), LEVEES[name], LEVEES[name] >= width, model) == 0.0


@pytest.mark.parametrize("model", list(MODELS))
@pytest.mark.parametrize("width", [1, 2])
def test_a_levee_on_an_uneven_flood_plain_holds_water(model, width):
    """Noise of 0.1 m on the plain and 0.05 m on the crest."""
    noise = np.random.default_rng(7).uniform(-0.1, 0.1, X.shape)
    beside = LEVEES["along y"]
    levee = (beside >= 0) & (beside < width)
    ground = np.where(levee, CREST + 0.1 + 0.5 * noise, noise)
    assert levee_leaks(ground, beside, beside >= width, model) == 0.0


def levee_leaks(ground, beside, dry, model):
    """Water on the dry side after 20 s, m3, with a surface just below the crest where `beside` is 0 or less."""
    grid = eagre.Grid(N, N, SIZE, SIZE)
    bed = dem_to_corners(Dem(ground, 0.0, 0.0, SIZE, SIZE), grid)
    run = MODELS[model](
        grid, bed, surface_elevation=np.where(beside <= 0, WATER, -1.0), device="cpu", precision="double"
    )
    run.advance(20.0)
    return float((run.field("depth") * dry).sum()) * grid.cell_area


@pytest.mark.parametrize("model", list(MODELS))
@pytest.mark.parametrize("points", [[(-1.0, 42.0), (200.0, 133.0)], [(61.0, -5.0), (62.0, 84.0), (170.0, 99.0)]])
def test_a_levee_along_a_line_holds_water_below_its_crest(model, points):
    grid = eagre.Grid(N, N, SIZE, SIZE)
    bed = LeveeSection(points=points, crest=CREST).raised(grid, np.zeros((N + 1, N + 1)))
    x, y = grid.mesh()
    a, b = (np.array(points[k]) for k in (0, -1))
    left = (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]) > 0.0
    if len(points) == 3:
        left = ~((x > np.interp(y, [-5.0, 84.0], [61.0, 62.0])) & (y < np.interp(x, [62.0, 170.0], [84.0, 99.0])))
    crest = 0.25 * (bed[:-1, :-1] + bed[1:, :-1] + bed[:-1, 1:] + bed[1:, 1:]) == CREST
    run = MODELS[model](
        grid, bed, surface_elevation=np.where(left & ~crest, WATER, -1.0), device="cpu", precision="double"
    )
    run.advance(20.0)
    assert float((run.field("depth") * (~left & ~crest)).sum()) == 0.0 and run.diagnostics()["volume"] > 1000.0


@pytest.mark.parametrize(
    ("model", "head", "told"),
    [("explicit", 0.1, 1.45), ("explicit", 0.3, 1.33), ("explicit", 1.0, 0.8), ("implicit", 0.3, 1.09)],
)
def test_what_goes_over_a_levee(model, head, told):
    """Against critical flow on its crest, q = (2 H / 3)^1.5 sqrt(g), H the head over it: what the how-to tells."""
    n = 40
    grid = eagre.Grid(n, 2, 5.0, 5.0)
    bed = LeveeSection(points=[(102.5, 0.0), (102.5, 10.0)], crest=CREST).raised(grid, np.zeros((3, n + 1)))
    surface = np.where(np.arange(n) < 20, CREST + head, 0.05) * np.ones((2, 1))
    east = eagre.Outflow() if model == "explicit" else eagre.Stage(0.05)
    options = {} if model == "explicit" else {"time_step": 0.2}
    run = (eagre.ShallowWater if model == "explicit" else eagre.ShallowWaterADI)(
        grid, bed, surface_elevation=surface, device="cpu", precision="double",
        boundaries=eagre.Boundaries(west=eagre.Stage(CREST + head), east=east), **options,
    )  # fmt: skip
    run.advance(300.0)
    q, h, eta = (run.field(name)[0, 10] for name in ("discharge_x", "depth", "surface_elevation"))
    energy = eta - CREST + (q / h) ** 2 / (2.0 * 9.81)
    assert q / ((2.0 / 3.0 * energy) ** 1.5 * 9.81**0.5) == pytest.approx(told, abs=0.05)


@pytest.mark.parametrize("along", ["x", "y"])
@pytest.mark.parametrize("width", [1, 2, 6])
@pytest.mark.parametrize(("head", "tail"), [(0.2, -1.95), (1.0, -1.95), (0.5, 0.335)])
def test_a_broad_crested_weir_of_the_implicit_model(head, tail, width, along):
    """Critical flow on a crest of so many cells, free and with a tailwater at 2/3 of the head: 5.2 to 1.1 times before.

    head, tail : levels up- and downstream, m over the crest. Without friction and with cells of 5 m.
    """
    cells = 40 + width
    upstream = np.arange(cells) < 16 + width
    bed = np.zeros((cells + 1, 3))
    bed[16 : 17 + width] = CREST
    surface = np.where(upstream, CREST + head, CREST + tail)[:, None] * np.ones((1, 2))
    low, high = ("west", "east") if along == "x" else ("south", "north")
    sides = {low: eagre.Stage(CREST + head), high: eagre.Stage(CREST + tail)}
    shape, turned = ((cells, 2), np.transpose) if along == "x" else ((2, cells), np.asarray)
    run = eagre.ShallowWaterADI(
        eagre.Grid(*shape, 5.0, 5.0), turned(bed), 0.25, surface_elevation=turned(surface), device="cpu",
        precision="double", boundaries=eagre.Boundaries(**sides),
    )  # fmt: skip
    run.advance(900.0)
    q, h, eta = (turned(run.field(name))[8, 0] for name in (f"discharge_{along}", "depth", "surface_elevation"))
    energy = eta - CREST + (q / h) ** 2 / (2.0 * 9.81)
    assert q / ((2.0 / 3.0 * energy) ** 1.5 * 9.81**0.5) == pytest.approx(1.0, abs=0.16)


@pytest.mark.parametrize("model", list(MODELS))
def test_means_let_it_over(model):
    assert gone_over("along y", model, crests="mean") > 1000.0


@pytest.mark.parametrize("name", list(LEVEES))
def test_a_levee_grows_by_no_more_than_a_cell(name):
    bed = dem_to_corners(raster(name), grid_from_dem(raster(name)))
    cells = 0.25 * ((bed[:-1, :-1] + bed[1:, :-1]) + (bed[:-1, 1:] + bed[1:, 1:]))
    levee = LEVEES[name] == 0
    padded = np.pad(levee, 1)
    near = np.logical_or.reduce([padded[1 + j : N + 1 + j, 1 + i : N + 1 + i] for j in (-1, 0, 1) for i in (-1, 0, 1)])
    assert (cells[~near] == 0.0).all() and bed.max() == CREST
    assert (cells[levee] == CREST).all()


@pytest.mark.parametrize("drop", [0.5, 1.5])
def test_a_dam_between_high_and_low_ground(drop):
    """The crest stands on one line of corners at least: no path of faces from side to side lies lower."""
    ground = np.where(X < 8, drop, 0.0)
    bed = dem_to_corners(Dem(np.where(X == 8, CREST, ground), 0.0, 0.0, SIZE, SIZE), eagre.Grid(N, N, SIZE, SIZE))
    assert (bed[:, 8:10].max(axis=1) == CREST).all()


def test_a_channel_between_levees_is_not_filled():
    """Its bed stays what means make it, and the outer foot of the levees holds the water."""
    ground = np.where(X == 8, -1.0, np.where(abs(X - 8) == 1, CREST, 0.0))
    bed = dem_to_corners(Dem(ground, 0.0, 0.0, SIZE, SIZE), eagre.Grid(N, N, SIZE, SIZE))
    assert bed[3, 6:12].tolist() == [0.0, CREST, 0.5, 0.5, CREST, 0.0]
    inside = np.where(abs(X - 8) <= 1, WATER, -1.0)
    run = eagre.ShallowWater(eagre.Grid(N, N, SIZE, SIZE), bed, surface_elevation=inside, device="cpu")
    run.advance(10.0)
    assert (run.field("depth")[:, abs(X[0] - 8) > 1] == 0.0).all()


def rough_valley(seed):
    """A valley of a triangulated survey: points 36 m apart, walls of slope 0.5, linear between; cells of 20 m."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-50.0, 1650.0, 1400), rng.uniform(-50.0, 1050.0, 1400)
    distance = np.abs(y - 500.0 - 200.0 * np.sin(x / 143.0))
    z = 40.0 - 0.01 * x + 0.5 * np.maximum(0.0, distance - 25.0) + rng.standard_normal(x.size)
    centres_x, centres_y = 10.0 + 20.0 * np.arange(80), 10.0 + 20.0 * np.arange(50)
    values = LinearNDInterpolator(np.c_[x, y], z)(*np.meshgrid(centres_x, centres_y))
    return Dem(values, 0.0, 0.0, 20.0, 20.0)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_spurs_of_a_rough_valley_are_no_crests(seed):
    dem = rough_valley(seed)
    kept, means = (dem_to_corners(dem, grid_from_dem(dem), crests=how) for how in ("keep", "mean"))
    np.testing.assert_allclose(kept, means, rtol=0.0, atol=1e-12)


def test_cells_without_data_are_no_crests():
    """Land beside a ragged edge of the data has the same bed whatever value fills the rest."""
    rng = np.random.default_rng(3)
    land = np.where(X + rng.integers(-1, 2, (N, 1)) < 11, 20.0 + 0.5 * Y, np.nan)
    grid, dem = eagre.Grid(N, N, SIZE, SIZE), Dem(land, 0.0, 0.0, SIZE, SIZE)
    for nodata in (-9.0, 60.0, 500.0):
        kept, means = (dem_to_corners(dem, grid, nodata=nodata, crests=how) for how in ("keep", "mean"))
        np.testing.assert_array_equal(kept, means)


@pytest.mark.parametrize("n", [40, 80, 160])
def test_smooth_ground_has_no_crests(n):
    at = (np.arange(n) + 0.5) / n
    hills = 10.0 * np.sin(7.0 * at[None, :] + 3.0 * at[:, None]) * np.cos(5.0 * at[:, None])
    dem = Dem(hills, 0.0, 0.0, 1.0 / n, 1.0 / n)
    kept, means = (dem_to_corners(dem, grid_from_dem(dem), crests=how) for how in ("keep", "mean"))
    np.testing.assert_allclose(kept, means, rtol=0.0, atol=1e-12)
