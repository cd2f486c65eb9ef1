"""Code that was compiled in this process and code from the disk cache give the same bits."""

from __future__ import annotations

import os
import subprocess
import sys

RUN = """
import zlib
import eagre
import numpy as np

gyre = eagre.BarotropicVorticity.double_gyre(33, reynolds=1.6, time_step=2e-6, device="cpu", precision="single")
gyre.advance(2e-4)
grid = eagre.Grid(70, 30, 10.0, 10.0)
bed = np.random.default_rng(1).uniform(-1.5, 0.2, grid.shape_of("corner"))
options = {"surface_elevation": np.where(grid.mesh()[0] < 200.0, 1.0, 0.0), "manning": 0.03, "device": "cpu"}
explicit = eagre.ShallowWater(grid, bed, precision="single", **options)
implicit = eagre.ShallowWaterADI(grid, bed, 1.0, precision="single", **options)
for water in (explicit, implicit):
    water.advance(60.0)
fields = [gyre.field("streamfunction"), *(water.field("surface_elevation") for water in (explicit, implicit))]
print([zlib.crc32(field.tobytes()) for field in fields])
"""


def test_a_second_start_gives_the_bits_of_the_first(tmp_path):
    """Else a run that is continued would not equal the unbroken one, which compiled its code."""
    environment = {**os.environ, "EAGRE_CACHE": str(tmp_path)}
    found = [
        subprocess.run([sys.executable, "-c", RUN], env=environment, check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    ]
    assert any(tmp_path.rglob("*.nbc")) and found[0] == found[1]
