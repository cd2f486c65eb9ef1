"""Polygons in files, and small cases that read them."""

from __future__ import annotations

import json

FIELD = [[20.3, 10.1], [150.2, 30.7], [120.4, 90.3], [40.1, 70.9], [20.3, 10.1]]  # no centre on an edge
HOLE = [[70.0, 40.0], [90.0, 40.0], [90.0, 60.0], [70.0, 60.0], [70.0, 40.0]]
POND = [[100.0, 20.0], [190.0, 20.0], [190.0, 80.0], [100.0, 80.0], [100.0, 20.0]]
BASE = """
model = "shallow-water"
run = { end_time = 10.0 }
grid = { nx = 40, ny = 20, dx = 5.0 }
bed = { value = -2.0 }
"""
UTM = BASE.replace("dx = 5.0", 'dx = 5.0, x0 = 500000.0, y0 = 5200000.0, crs = "EPSG:32633"')


def geojson(path, *features, crs=None):
    rows = [
        {"type": "Feature", "properties": properties, "geometry": {"type": kind, "coordinates": at}}
        for kind, at, properties in features
    ]
    system = {"crs": {"type": "name", "properties": {"name": crs}}} if crs else {}
    path.write_text(json.dumps({"type": "FeatureCollection", "features": rows, **system}))
