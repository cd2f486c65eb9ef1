"""Create the input files of `case.toml`: a simplified tank and a simplified incident wave.

Usage: ``python make_tank.py [FOLDER]``. The script needs NumPy and rasterio.

The shape is not that of the experiment. The tank has its size, its offshore depth of 13.5 cm, an island in front of a
steep coast, and a valley in the coast. The points are 1.4 cm apart, as those of the measured bathymetry.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

SPACING, NX, NY = 0.014, 393, 244  # of the points, m, and their numbers along x and y
DEPTH = 0.135  # still-water depth offshore, m
SLOPE = ([0.0, 1.0, 3.0, 4.8, 5.0, 5.2, 5.5], [-DEPTH, -DEPTH, -0.055, -0.015, 0.02, 0.08, 0.09])  # x and bed, m
VALLEY = 1.88  # y of the axis of the valley, m
ISLAND = 3.35, 1.95  # centre of the island, m
END_TIME = 22.5  # of the wave, s


def bed(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the elevation above still water, m: a slope with a valley in the coast, and an island."""
    valley = 0.3 * np.exp(-(((y - VALLEY) / 0.14) ** 2))  # the contours of the land are moved inland by this distance
    headlands = 0.15 * np.cos(2.0 * np.pi * (y - VALLEY) / 1.7)
    land = np.interp(x - np.clip(x - 4.5, 0.0, 0.3) / 0.3 * (valley + headlands), *SLOPE)
    distance = np.hypot((x - ISLAND[0]) / 0.32, (y - ISLAND[1]) / 0.5)
    return np.maximum(land, np.minimum(0.03, 0.09 * (1.0 - distance)))


def incident(time: np.ndarray) -> np.ndarray:
    """Return the surface elevation of the incident wave, m: a trough of 1.2 cm and a crest of 1.6 cm."""
    trough, crest = (np.exp(-(((time - centre) / width) ** 2)) for centre, width in ((11.5, 1.6), (15.2, 1.3)))
    return 0.016 * crest - 0.012 * trough


def main(folder: Path) -> None:
    """Write both files to `folder`."""
    import rasterio

    x, y = np.meshgrid(SPACING * np.arange(NX), SPACING * np.arange(NY)[::-1])
    # The centre of the first cell is at (0.007, 0.007), as the format of the measured bathymetry defines it.
    transform = rasterio.Affine(SPACING, 0.0, 0.0, 0.0, -SPACING, SPACING * NY)
    with rasterio.open(
        folder / "tank.tif", "w", driver="GTiff", width=NX, height=NY, count=1, dtype="float32", transform=transform,
        compress="deflate", predictor=3,
    ) as file:  # fmt: skip
        file.write(np.round(bed(x, y), 4).astype(np.float32), 1)
    times = np.arange(0.0, END_TIME + 0.05, 0.1)
    rows = [f"{time:.1f},{value:.5f}" for time, value in zip(times, incident(times), strict=True)]
    (folder / "wave.csv").write_text("\n".join(["time,incoming", *rows, ""]))
    print(f"wrote tank.tif and wave.csv into {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
