"""What GDAL, and QGIS by it, makes of result files: the place on a map, times, and pairs of components."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import rasterio

from eagre.fields import WATER_VARIABLES, Variable
from eagre.grid import Grid
from eagre.io import FieldWriter, MeasuredWriter
from eagre.io.cf import axis_attributes
from eagre.io.writers.measured import Axis
from eagre.models.anelastic.sampling import outputs as anelastic
from eagre.models.barotropic.sampling import outputs as barotropic
from eagre.models.potential_waves.sampling import kinematics, outputs
from eagre.stepping.averages import _mean_of

COMPONENT = re.compile(r"\b([xy])-component\b")
EVERY = {
    "water": WATER_VARIABLES,
    "barotropic": [one for one in vars(barotropic).values() if isinstance(one, tuple)],
    "waves": [one for one in vars(outputs).values() if isinstance(one, tuple)],
    "probes": [one for one in vars(kinematics).values() if isinstance(one, tuple)],
    "air": [one for one in vars(anelastic).values() if isinstance(one, tuple)],
}


def variables(kind: str) -> list[Variable]:
    """All variables that are declared for a kind."""
    found = [item for one in EVERY[kind] for item in (one if isinstance(one, tuple) else (one,))]
    return [item for item in found if isinstance(item, Variable)]


@pytest.mark.parametrize("kind", EVERY)
def test_components_of_vectors_are_pairs(kind):
    """MDAL, which reads them for QGIS, pairs fields whose names differ by "x-component" and "y-component" alone."""
    declared = {one.name: one.long_name for one in variables(kind)}
    vectors = [name for name in declared if re.search(r"(velocity|discharge|acceleration)_[xy]$|^[uv]$", name)]
    assert vectors
    for name in vectors:
        (axis,) = COMPONENT.findall(declared[name])
        twin = name[:-1] + {"x": "y", "y": "x", "u": "v", "v": "u"}[name[-1]]
        assert axis == {"u": "x", "v": "y"}.get(name[-1], name[-1])
        assert COMPONENT.sub("", declared[name]) == COMPONENT.sub("", declared[twin])
        group = group_of(declared[name])
        assert group and group_of(declared[twin]) == group and not re.search(r"^\W|\W$|  ", group)
    assert not [name for name, text in declared.items() if "direction" in text]  # QGIS drops such a layer


def group_of(long_name):
    """Name under which MDAL (mdal_gdal.cpp, parseBandIsVector) groups a vector component."""
    for axis in "xy":
        for ending in ("-component of", "-component"):
            long_name = long_name.replace(axis + ending, "")
    return re.sub("[uvxy]-", "", long_name).strip()


def test_means_of_components_are_grouped_too():
    declared = {one.name: one for one in WATER_VARIABLES}
    means = [_mean_of(declared[name], "time: mean").long_name for name in ("velocity_x", "velocity_y")]
    assert [group_of(name) for name in means] == ["mean depth-averaged velocity"] * 2


class Still:
    """The part of a model that the writer uses: water at rest."""

    kind, device, levels, precision, time = "shallow-water", "cpu", None, "single", 0.0
    grid = Grid(7, 5, 10.0, 20.0, x0=500_000.0, y0=5_200_000.0, crs="EPSG:32633")

    def __init__(self):
        self.variables = {one.name: one for one in WATER_VARIABLES}

    def settings(self):
        return {}

    def field(self, name):
        return np.arange(35, dtype=np.float32).reshape(5, 7)


def test_gdal_sees_place_and_time(tmp_path: Path):
    model = Still()
    with FieldWriter(tmp_path / "out.nc", model, ["depth", "velocity_x"], start_date="2026-01-31") as writer:
        writer.write(model)
        model.time = 60.0
        writer.write(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with rasterio.open(f"netcdf:{tmp_path / 'out.nc'}:depth") as file:
            assert file.crs.to_epsg() == 32633 and file.count == 2 and file.units == ("m", "m")
            assert tuple(file.bounds) == (500_000.0, 5_200_000.0, 500_070.0, 5_200_100.0)
            assert file.tags()["time#units"] == "seconds since 2026-01-31 00:00:00"
            assert [file.tags(band)["NETCDF_DIM_time"] for band in (1, 2)] == ["0", "60"]
            np.testing.assert_array_equal(file.read(1)[::-1], model.field("depth"))


class MapAccumulator:
    """Maps as a model gathers them, with its bed beside them."""

    variables = (Variable("max_depth", "m", "largest water depth", cell_methods="time: maximum"),)

    def __init__(self, ny: int, nx: int):
        self.dimensions, self.values = {"max_depth": ("y", "x")}, np.arange(ny * nx, dtype=np.float32).reshape(ny, nx)
        x, y = 500_005.0 + 10.0 * np.arange(nx), 5_200_010.0 + 20.0 * np.arange(ny)
        self.axes = [
            Axis("x", ("x",), x, axis_attributes("x", "x of the cell centres")),
            Axis("y", ("y",), y, axis_attributes("y", "y of the cell centres")),
            Axis("bed", ("y", "x"), np.ones((ny, nx)), {"units": "m", "long_name": "bed elevation"}),
        ]

    def sample(self):
        return {"max_depth": self.values, "time_bounds": np.array([0.0, 60.0])}


@pytest.mark.parametrize(("ny", "nx"), [(5, 7), (60, 60), (80, 80)])
def test_maps_and_the_bed_beside_them_have_their_place_and_take_no_room_for_other_times(tmp_path: Path, ny, nx):
    path = tmp_path / "maps.nc"
    with MeasuredWriter(path, Still(), MapAccumulator(ny, nx)) as writer:
        writer.write(Still())
    for name in ("max_depth", "bed"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with rasterio.open(f"netcdf:{path}:{name}") as file:
                assert file.crs.to_epsg() == 32633 and file.bounds.left == 500_000.0 and file.bounds.bottom == 5_200_000
    assert path.stat().st_size < 80_000 + 12 * ny * nx
