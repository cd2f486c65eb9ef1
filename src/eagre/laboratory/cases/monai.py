"""Tsunami run-up at Monai Valley, Okushiri, in the 1:400 laboratory flume of 5.488 m x 3.402 m.

Benchmark problem 2 of the Third International Workshop on Long-Wave Runup Models (2004): the bed on
points 1.4 cm apart, an incident wave at x = 0 for 22.5 s, walls elsewhere, and the surface measured
at three gauges near the shore. Matsuyama and Tanaka, ITS 2001 Proceedings, session 7, 7-21 (2001);
P. L.-F. Liu, H. Yeh and C. Synolakis (eds.), Advanced Numerical Models for Simulating Tsunami Waves
and Runup, World Scientific (2008), doi:10.1142/6226. The data are of CRIEPI, Abiko, Japan.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eagre.boundaries import Absorbing, Boundaries, Stage
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.laboratory.cases.water import WaterCase, still_water
from eagre.time_varying.series import Series

BED_FILE = "Benchmark_2_Bathymetry.asc"
WAVE_FILE = "Benchmark_2_input.txt"
GAUGE_FILE = "output_ch5-7-9.txt"
GAUGES = {"gauge 5": (4.521, 1.196), "gauge 7": (4.521, 1.696), "gauge 9": (4.521, 2.196)}
SPACING = 0.014
END_TIME = 22.5
MANNING = 0.01
REFERENCE = "Third International Workshop on Long-Wave Runup Models, benchmark 2; doi:10.1142/6226"


class Measurement(NamedTuple):
    """Measured surface elevation at the gauges: times (n,), s, and for each gauge (n,), m above still water."""

    times: np.ndarray
    elevation: dict[str, np.ndarray]


def find_data(data: str | Path | None = None) -> Path:
    """Return the folder with the three data files.

    The folder is `data` if given, otherwise the folder named by EAGRE_DATA, otherwise `shared/data` next to the
    project; each may be the folder itself or its parent with ``monai_valley``.

    Raises
    ------
    InputError
        If the files are not found.
    """
    root = Path(__file__).resolve().parents[4]
    folder_name = data or os.environ.get("EAGRE_DATA")
    defaults = [folder / "shared" / "data" for folder in (root.parent, root, Path.cwd().parent)]
    candidates = [Path(folder_name)] if folder_name else defaults
    for candidate in candidates:
        for folder in (candidate, candidate / "monai_valley"):
            if all((folder / name).is_file() for name in (BED_FILE, WAVE_FILE, GAUGE_FILE)):
                return folder
    raise InputError(
        f"no Monai Valley data in {', '.join(map(str, candidates))}",
        allowed=f"a folder with {BED_FILE}, {WAVE_FILE} and {GAUGE_FILE}",
        fix="EAGRE_DATA=/path/to/data eagre validate shallow-water --case monai",
        problem="The Monai Valley data were not found.",
    )


def read_bed(folder: Path) -> np.ndarray:
    """Return the bed at the 393 x 244 points, (244, 393), m, row 0 at y = 0.

    The first row of the file is the northern one: only then is the narrow valley at y = 1.9 m, where the maximum run-up
    was measured.
    """
    return np.loadtxt(folder / BED_FILE, skiprows=6)[::-1].copy()


def read_measurement(folder: Path) -> Measurement:
    """Return the measured surface at the gauges up to `END_TIME`, s, converted from cm to m."""
    table = np.loadtxt(folder / GAUGE_FILE, skiprows=1)
    table = table[table[:, 0] <= END_TIME + 1e-9]
    return Measurement(table[:, 0], {name: 0.01 * table[:, k + 1] for k, name in enumerate(GAUGES)})


def monai_valley(data: str | Path | None = None, coarsen: int = 1, incident: str = "absorbing") -> WaterCase:
    """The flume on 392 x 243 cells of 1.4 cm whose corners are the data points.

    Parameters
    ----------
    data : path, optional
        See `find_data`.
    coarsen : int
        Use every `coarsen`-th data point as a corner: 3 gives 130 x 81 cells for quick tests.
    incident : str
        ``"absorbing"`` lets reflected waves leave at x = 0, ``"stage"`` prescribes the surface there.
    """
    folder = find_data(data)
    bed = read_bed(folder)[::coarsen, ::coarsen]
    size = SPACING * coarsen
    grid = Grid(bed.shape[1] - 1, bed.shape[0] - 1, size, size)
    wave = np.loadtxt(folder / WAVE_FILE, skiprows=1)
    series = Series(wave[:, 0], wave[:, 1], f"Monai incident wave ({WAVE_FILE})")
    kinds = {"absorbing": Absorbing(incoming=series), "stage": Stage(series)}
    if incident not in kinds:
        raise InputError(f"incident = {incident!r}", allowed=", ".join(map(repr, kinds)), fix='incident = "absorbing"')
    return WaterCase(
        "monai",
        grid,
        bed,
        still_water(bed, 0.0),
        END_TIME,
        Boundaries(west=kinds[incident]),
        MANNING,
        options={"desingularisation_depth": 1e-4},
        reference=REFERENCE,
        gauges=dict(GAUGES),
        level=0.0,
    )
