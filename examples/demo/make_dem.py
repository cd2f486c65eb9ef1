"""Create the input files of the demo: the bed as a GeoTIFF and the incoming tsunami wave as a CSV file.

Usage: ``python make_dem.py [FOLDER]``. The bay is synthetic. The script needs NumPy and rasterio.
Lengths are in metres; x is positive to the east and y to the north, from the south-west corner of the raster.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np

NX, NY, CELL = 400, 320, 20.0
WEST, SOUTH, CRS = 510_000.0, 4_660_000.0, "EPSG:32629"

COAST = 1000 * np.array([  # from north to south; the left side is land
    (2.1, 7.2), (2.15, 6.4), (2.05, 5.85), (1.8, 5.3), (2.0, 4.85), (2.55, 4.75), (3.05, 5.05), (3.65, 5.2),
    (4.3, 4.95), (4.9, 4.95), (5.45, 4.75), (5.85, 4.3), (6.0, 3.75), (5.98, 3.2), (5.85, 2.6), (5.45, 2.15),
    (4.9, 1.95), (4.4, 2.05), (3.9, 2.2), (3.4, 2.1), (2.9, 1.8), (2.65, 1.35), (2.75, 0.8), (2.95, 0.2), (2.9, -0.8),
])  # fmt: skip
RIVER = 1000 * np.array([
    (5.7, 3.95), (6.1, 4.0), (6.5, 4.12), (6.8, 4.45), (6.9, 4.9), (7.2, 5.35), (7.3, 5.9), (7.3, 6.8),
])  # fmt: skip
HARBOUR_WALL = 1000 * np.array([(6.05, 2.62), (5.72, 2.72), (5.55, 2.92), (5.55, 3.1)])
HEADLANDS = 1000 * np.array([(2.1, 5.35), (2.9, 1.5)])
ISLAND = (3900.0, 3550.0)
TOWN = (6080.0, 6900.0, 2640.0, 3640.0)


def smooth_line(points: np.ndarray, iterations: int = 4) -> np.ndarray:
    """Return a polyline, (n, 2), smoothed by Chaikin corner cutting, with fixed end points."""
    for _ in range(iterations):
        inner = np.stack([0.75 * points[:-1] + 0.25 * points[1:], 0.25 * points[:-1] + 0.75 * points[1:]], axis=1)
        points = np.concatenate([points[:1], inner.reshape(-1, 2), points[-1:]])
    return points


def distance_along(line: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distance to a polyline, the arc length of the nearest point, and the side (+1 left, -1 right)."""
    best, walked, side = np.full(x.shape, np.inf), np.zeros(x.shape), np.ones(x.shape)
    start = 0.0
    for (ax, ay), (bx, by) in itertools.pairwise(line):
        ux, uy = bx - ax, by - ay
        length = np.hypot(ux, uy)
        s = np.clip(((x - ax) * ux + (y - ay) * uy) / length**2, 0.0, 1.0)
        d = np.hypot(x - ax - s * ux, y - ay - s * uy)
        nearer = d < best
        best[nearer], walked[nearer] = d[nearer], (start + s * length)[nearer]
        side[nearer] = np.where(ux * (y - ay) - uy * (x - ax) >= 0, 1.0, -1.0)[nearer]
        start += length
    return best, walked, side


def roughness(rng: np.random.Generator, longest: float, slope: float) -> np.ndarray:
    """Return random relief, (NY, NX), with unit standard deviation and amplitudes ~ wavenumber**-slope."""
    shape = (2 * NY, 2 * NX)
    kx, ky = np.fft.rfftfreq(shape[1], CELL), np.fft.fftfreq(shape[0], CELL)
    k = np.hypot(kx[None, :], ky[:, None])
    relief = np.fft.irfft2(np.fft.rfft2(rng.standard_normal(shape)) * (k**2 + longest**-2) ** (-slope / 2), s=shape)
    relief = relief[:NY, :NX]
    return (relief - relief.mean()) / relief.std()


def smooth_step(x: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return 0 below `low`, 1 above `high`, and a smooth transition in between."""
    s = np.clip((x - low) / (high - low), 0.0, 1.0)
    return s * s * (3.0 - 2.0 * s)


def sea_and_hills(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the bed elevation, m above still water, without river, town and island."""
    distance, _, side = distance_along(smooth_line(COAST), x, y)
    distance = distance * side + 40.0 * roughness(rng, 500.0, 2.0)
    inland, offshore = np.maximum(distance, 0.0), np.maximum(-distance, 0.0)
    ridges = 1.0 - 1.3 * np.abs(roughness(rng, 1300.0, 2.3))
    cliffs = sum(np.exp(-((x - hx) ** 2 + (y - hy) ** 2) / 650.0**2) for hx, hy in HEADLANDS)
    hills = 30.0 * np.logaddexp(0.0, (95.0 + 60.0 * ridges) / 30.0) * (1.0 - np.exp(-((inland / 950.0) ** 1.7)))
    land = 5.0 * (1.0 - np.exp(-inland / 180.0)) + hills + 32.0 * cliffs * (1.0 - np.exp(-inland / 110.0))
    open_sea = smooth_step(2600.0 - x + 0.25 * (3200.0 - y), 0.0, 2600.0)
    depth = 2.0 * (1.0 - np.exp(-offshore / 70.0)) + 13.0 * (1.0 - np.exp(-((offshore / 800.0) ** 1.5)))
    depth += 19.0 * open_sea * smooth_step(offshore, 0.0, 900.0)
    depth *= 1.0 + 0.04 * roughness(rng, 900.0, 2.5) * smooth_step(offshore, 0.0, 400.0)
    return np.where(distance >= 0, land, -depth)


def add_island(bed: np.ndarray, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Add a conical island 40 m high with a diameter of 600 m at still-water level."""
    radius = np.hypot(x - ISLAND[0], y - ISLAND[1]) * (1.0 + 0.05 * roughness(rng, 600.0, 2.2))
    return np.maximum(bed, 40.0 - 0.13 * radius)


def carve_river(bed: np.ndarray, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Carve a valley with a floor slope of 2.5 per 1000 and a channel 70 m wide and 3 m deep."""
    distance, walked, _ = distance_along(smooth_line(RIVER), x, y)
    floor = 1.2 + 0.0025 * np.maximum(walked - 400.0, 0.0)
    spurs = 1.0 + 0.3 * np.maximum(roughness(rng, 900.0, 2.2), -2.0) * smooth_step(distance, 80.0, 500.0)
    height = 0.1 * np.maximum(distance * spurs - 130.0, 0.0) ** 1.08
    valley = floor + 0.3 * smooth_step(distance, 50.0, 130.0) + height
    softness = 0.3 + 6.0 * smooth_step(bed, 4.0, 40.0)
    bed = np.where(distance < 1500.0, -softness * np.logaddexp(-bed / softness, -valley / softness), bed)
    channel = floor - 3.2 + 3.2 * smooth_step(distance, 28.0, 75.0)
    return np.minimum(bed, np.where(distance < 75.0, channel, np.inf))


def build_town(bed: np.ndarray, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Add a terrace 2 to 5 m high behind the beach, rows of buildings, and a harbour wall."""
    west, east, south, north = TOWN
    u, v = (2 * x - west - east) / (east - west), (2 * y - south - north) / (north - south)
    inside = 1.0 - (np.abs(u) ** 3 + np.abs(v) ** 3) ** (1 / 3) + 0.12 * roughness(rng, 300.0, 2.2)
    blend = smooth_step(inside, -0.1, 0.3)
    terrace = 2.2 + 1.4 * (u + 1.0)
    bed = np.where(bed > 0.3, blend * terrace + (1.0 - blend) * bed, bed)
    column, row = np.round((x - west) / CELL - 0.5).astype(int), np.round((y - south) / CELL - 0.5).astype(int)
    lots = rng.random((20, 20))[row // 5 % 20, column // 6 % 20]
    is_block = (column % 6 > 2 - (lots > 0.8)) & (row % 5 > 2) & (lots > 0.12) & (inside > 0.2)
    bed = np.where(is_block & (bed > 2.4) & (bed < 5.2), bed + 7.0, bed)
    distance, _, _ = distance_along(smooth_line(HARBOUR_WALL), x, y)
    return np.maximum(bed, np.where(distance < 90.0, 3.2 - 5.5 * smooth_step(distance, 12.0, 60.0), -np.inf))


def make_bed() -> np.ndarray:
    """Return the bed elevation at cell centres, m, (NY, NX), row 0 in the south."""
    x, y = np.meshgrid((np.arange(NX) + 0.5) * CELL, (np.arange(NY) + 0.5) * CELL)
    rng = np.random.default_rng(1755)
    bed = sea_and_hills(x, y, rng)
    for change in (add_island, carve_river, build_town):
        bed = change(bed, x, y, rng)
    return np.round(bed, 2).astype(np.float32)


def make_wave(end: float = 7200.0, interval: float = 10.0) -> tuple[np.ndarray, np.ndarray]:
    """Return time, s, and elevation, m, of the incoming wave: a trough, a crest of 3 m, then smaller waves."""
    time = np.arange(0.0, end + interval, interval)
    humps = ((300, -1.3, 130.0), (600, 3.0, 120.0), (930, -0.9, 140.0), (1230, 1.1, 130.0), (1830, 0.5, 150.0))
    height = sum(a * np.exp(-(((time - centre) / width) ** 2)) for centre, a, width in humps)
    height = height * np.clip(time / 120.0, 0.0, 1.0)
    return time, height * 3.0 / height.max() + 0.0


def write_bed(path: Path, bed: np.ndarray) -> None:
    """Write the bed as a compressed float32 GeoTIFF, with the northern row first."""
    import rasterio

    transform = rasterio.Affine(CELL, 0.0, WEST, 0.0, -CELL, SOUTH + NY * CELL)
    with rasterio.open(
        path, "w", driver="GTiff", width=NX, height=NY, count=1, dtype="float32", crs=CRS, transform=transform,
        compress="deflate", predictor=3, zlevel=9, nodata=-9999.0,
    ) as file:  # fmt: skip
        file.write(bed[::-1], 1)


def main(folder: Path) -> None:
    """Write bay.tif and wave.csv into `folder`."""
    write_bed(folder / "bay.tif", make_bed())
    rows = [f"{t:.0f},{h:.4f}" for t, h in zip(*make_wave(), strict=True)]
    (folder / "wave.csv").write_text("\n".join(["time,incoming", *rows]) + "\n")
    print(f"wrote bay.tif and wave.csv into {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
