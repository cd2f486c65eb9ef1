"""Reference results of OceanWave3D-Fortran90 for Whalin's shoal and a submerged bar; not measurements."""

from __future__ import annotations

from importlib import resources

import numpy as np

CODE = "OceanWave3D-Fortran90"
WHALIN = "whalin_T2_axis_harmonics"
BAR = "submerged_bar_T2.02_gauges"


def read_table(name: str) -> np.ndarray | None:
    """Return a table (rows, columns), m and s: position or time first; None if the package lacks the file.

    The header of the file gives the source, the set-up and the columns.

    Parameters
    ----------
    name : str
        `WHALIN` (amplitudes of harmonics 1 to 3 over x) or `BAR` (surface elevation at nine gauges over time).
    """
    path = resources.files(__name__) / f"{name}.csv"
    if not path.is_file():
        return None
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return np.loadtxt(lines[1:], delimiter=",")
