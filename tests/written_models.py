"""A model that does nothing but have fields, and what writes them."""

from __future__ import annotations

import numpy as np

from eagre.fields import Variable
from eagre.grid import Grid
from eagre.io import FieldWriter

VARIABLES = [
    Variable("surface_elevation", "m", "surface elevation", "sea_surface_height_above_geopotential_datum"),
    Variable("speed", "m s-1", "speed of the water"),
    Variable("flux_x", "m2 s-1", "flux to the east", location="face_x"),
    Variable("froude", "", "Froude number"),
    Variable("bed_elevation", "m", "bed elevation at corners", location="corner", static=True),
    Variable("bed", "m", "bed elevation at centres", static=True),
]


class FakeModel:
    """The part of a model that the writers use."""

    kind = "shallow-water"
    device = "cpu (2 threads)"
    levels = None
    wall_points = None

    def __init__(self, precision="single", crs=None, nx=5, ny=3):
        self.precision = precision
        self.grid = Grid(nx, ny, 10.0, 20.0, x0=1000.0, y0=2000.0, crs=crs)
        self.variables = {variable.name: variable for variable in VARIABLES}
        self.time = 0.0

    def settings(self):
        return {
            "courant_number": 0.25,
            "scheme": "rk2",
            "steps": 7,
            "limit": True,
            "seed": 2**40,
            "max_time_step": None,
        }

    def field(self, name):
        ny, nx = self.grid.shape_of(self.variables[name].location)
        values = np.arange(ny * nx).reshape(ny, nx) + 100.0 * self.time
        return values.astype(np.float32 if self.precision == "single" else np.float64)

    def snapshot(self, names):
        fields = {name: self.field(name) for name in names}
        return lambda: fields


def write(path, model, times, variables=("surface_elevation",), **options):
    with FieldWriter(path, model, list(variables), **options) as writer:
        for time in times:
            model.time = float(time)
            writer.write(model)
