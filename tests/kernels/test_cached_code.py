"""Code that was compiled in this process and code from the disk cache give the same bits."""

from __future__ import annotations

import os
import subprocess
import sys

RUN = """
import zlib
import eagre
model = eagre.BarotropicVorticity.double_gyre(33, reynolds=1.6, time_step=2e-6, device="cpu", precision="single")
model.advance(2e-4)
print(zlib.crc32(model.field("streamfunction").tobytes()))
"""


def test_a_second_start_gives_the_bits_of_the_first(tmp_path):
    """Else a run that is continued would not equal the unbroken one, which compiled its code."""
    environment = {**os.environ, "EAGRE_CACHE": str(tmp_path)}
    found = [
        subprocess.run([sys.executable, "-c", RUN], env=environment, check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    ]
    assert any(tmp_path.rglob("*.nbc")) and found[0] == found[1]
