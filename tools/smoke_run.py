"""Run one small case with every kind of output through the installed command line, and read each file.

Usage: ``python tools/smoke_run.py FOLDER``; exit code 1 with the command's output if anything fails. It needs the
package and the extras zarr, vector, spectra and video only.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

CASE = """
model = "shallow-water"
run = { end_time = "20 s", device = "cpu" }
grid = { nx = 24, ny = 16, dx = 5.0 }
bed = { expression = "-2.0 + 0.05 * x" }
initial = { surface_elevation = "0.5 * exp(-((x - 40) / 15) ** 2)" }
restart = { file = "restart.nc" }
friction = { manning = { zones = "zones.geojson", value = "n", outside = 0.03 } }
boundaries.west = { kind = "absorbing" }
output = { file = "fields.nc", interval = "5 s" }
maps = { file = "maps.zarr", maximum = ["depth"], mean = ["surface_elevation"] }
gauges = { file = "gauges.csv", interval = "1 s", points = { pier = [40.0, 40.0] } }
cross_sections = { file = "cross_sections.csv", interval = "1 s", paths = { across = [[60.0, 0.0], [60.0, 80.0]] } }
"""
RING = [[0.0, 0.0], [50.0, 0.0], [50.0, 80.0], [0.0, 80.0], [0.0, 0.0]]
ZONES = {
    "type": "FeatureCollection",
    "features": [
        {"type": "Feature", "properties": {"n": 0.02}, "geometry": {"type": "Polygon", "coordinates": [RING]}}
    ],
}
COMMANDS = [
    "check-import",
    "run case.toml",
    "info fields.nc",
    "plot fields.nc --variable surface_elevation",
    "plot gauges.csv",
    "plot maps.zarr --variable max_depth",
    "export fields.nc --variable depth",
    "animate fields.nc --variable surface_elevation --output film.mp4",
    "waves gauges.csv",
    "reproduce madsen2010 table-5.5 --output tables",
]


def main(folder: Path) -> int:
    """Run all commands in a folder; return the exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "case.toml").write_text(CASE, encoding="utf-8")
    (folder / "zones.geojson").write_text(json.dumps(ZONES), encoding="utf-8")
    for command in COMMANDS:
        words = ["-c", "import eagre"] if command == "check-import" else ["-m", "eagre", *command.split()]
        done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False)
        print(f"{'failed' if done.returncode else 'passed'}: eagre {command}")
        if done.returncode:
            print(done.stdout, done.stderr, sep="\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
