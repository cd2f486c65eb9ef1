"""Code that was compiled in this process and code from the disk cache give the same bits."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

START = """
import zlib
import numpy as np
import eagre

grid = eagre.Grid(70, 30, 10.0, 10.0)
bed = np.random.default_rng(1).uniform(-1.5, 0.2, grid.shape_of("corner"))
water = {"surface_elevation": np.where(grid.mesh()[0] < 200.0, 1.0, 0.0), "manning": 0.03}
where = {"device": "cpu", "precision": "single"}
"""
MODELS = {
    "barotropic": ("eagre.BarotropicVorticity.double_gyre(33, reynolds=1.6, time_step=2e-6, **where)", 2e-4),
    "shallow-water": ("eagre.ShallowWater(grid, bed, **water, **where)", 60.0),
    "shallow-water-adi": ("eagre.ShallowWaterADI(grid, bed, 1.0, **water, **where)", 60.0),
}
SLOW = [pytest.param(name, marks=() if name == "barotropic" else pytest.mark.slow) for name in MODELS]


@pytest.mark.parametrize("name", SLOW)
def test_a_second_start_gives_the_bits_of_the_first(name, tmp_path):
    """Else a run that is continued would not equal the unbroken one, which compiled its code."""
    made, end = MODELS[name]
    code = f"{START}\nmodel = {made}\nmodel.advance({end})"
    code += "\nprint([zlib.crc32(np.ascontiguousarray(value).tobytes()) for value in model.state().values()])"
    environment = {**os.environ, "EAGRE_CACHE": str(tmp_path)}
    found = [
        subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    ]
    assert any(tmp_path.rglob("*.nbc")) and found[0] == found[1]
