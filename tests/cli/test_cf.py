"""Every kind of file of every model keeps the CF conventions: `oracle.cf` says what they ask for."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
import xarray as xr

from eagre.io import FieldWriter, GaugeWriter, ParticleWriter
from eagre.models.registry import KINDS, load_case
from oracle.cf import violations

WATER = """
run = { end_time = "10 min", device = "cpu" }
grid = { nx = 23, ny = 17, dx = 20.0, dy = 13.0, x0 = 500000.0, y0 = 5200000.0, crs = "EPSG:32633" }
bed.expression = "-2 + 0.008 * (x - 500000) + 0.3 * sin((y - 5200000) / 30)"
initial.surface_elevation = "-1 + 0.2 * exp(-((x - 500200) / 60)**2)"
[maps]
file = "maps.nc"
variables = [
    "max_surface_elevation", "max_depth", "time_of_max_depth", "max_speed", "max_unit_discharge", "max_hazard_rating",
    "hazard_class",
]
arrival_depths = ["30 cm"]
arrival_rises = ["10 cm"]
duration_depths = ["30 cm"]
mean = ["velocity"]
variance = ["velocity"]
covariance = [["velocity_x", "velocity_y"]]
[cross_sections]
file = "cross_sections.nc"
interval = 1.0
paths = { weir = [[500100.0, 5200010.0], [500100.0, 5200200.0]] }
"""
CASES = {
    "shallow-water": WATER,
    "shallow-water-adi": WATER.replace("[maps]", "numerics.time_step = 7.0\n[maps]"),
    "barotropic": """
run = { end_time = "6 h", device = "cpu", precision = "single" }
basin = { kind = "box", nx = 15, ny = 11, length_x = "3000 km", length_y = "2000 km" }
physics = { beta = 2e-11, viscosity = "1e5 m2/s", bottom_friction = 1e-7 }
wind.curl = "1e-12 * sin(2 * pi * y / 2e6)"
layers = { upper = 4e-10, lower = 1e-10 }
topography = { height = "200 * sin(2 * pi * x / 3e6)", coriolis = 1e-4, depth = "4000 m" }
tracer = { initial = "where(x < 1e6, 1, 0)" }
numerics.time_step = "1 h"
particles = { every = "900 km", file = "particles.nc", interval = "1 h" }
maps = { file = "maps.nc", mean = ["streamfunction", "velocity"], variance = ["velocity"], maximum = ["speed"] }
""",
    "potential-waves": """
run = { end_time = 0.4, device = "cpu", precision = "double" }
basin = { nx = 32, length_x = 2.0, depth = 0.5, periodic = "x" }
initial.wave = { kind = "airy", height = 0.02, length = 2.0 }
numerics = { linear = true, time_step = 0.02 }
statistics = {}
[maps]
file = "maps.nc"
mean = ["velocity"]
variance = ["surface_elevation", "velocity"]
covariance = [["surface_elevation", "velocity_x"]]
maximum = ["surface_elevation", "velocity"]
minimum = ["surface_elevation"]
time_of_maximum = ["surface_elevation"]
[probes]
file = "probes.nc"
interval = 0.1
points = [{ name = "pile", x = 0.33, z = [-0.5, 0.0] }, { name = "crest", x = 1.21, below = 0.05 }]
""",
    "anelastic": """
run = { end_time = 40.0, device = "cpu", precision = "double" }
[domain]
nx = 16
ny = 12
levels = 9
length_x = 1600.0
length_y = 1200.0
top_height = 800.0
terrain_height = "100 * exp(-((x - 800) / 200)**2)"
[atmosphere]
equations = "boussinesq"
buoyancy_frequency = 0.01
wind = [5.0, 1.0]
[initial]
noise = { amplitude = 0.5, seed = 3, below = "500 m" }
[scalars]
dye = "where(z < 300, 1, 0)"
[profiles]
file = "profiles.nc"
interval = 1.0
every = 1
[[slices]]
file = "slice_y.nc"
interval = 20.0
y = 250.0
[[slices]]
file = "slice_z.nc"
interval = 20.0
z = 250.0
[[slices]]
file = "slice_k.nc"
interval = 20.0
k = 1
[probes]
file = "probes.nc"
interval = 5.0
points = [{ name = "mast", x = 800.0, y = 600.0, z = [150.0, 300.0] }, { name = "tower", x = 10.0, y = 600.0 }]
[spectra]
file = "spectra.nc"
interval = 60.0
heights = [250.0]
[maxima]
file = "maxima.nc"
interval = 10.0
[maps]
file = "maps.nc"
mean = ["u", "theta", "dye"]
variance = ["u", "v", "w"]
covariance = [["w", "theta"]]
maximum = ["wind_speed", "theta"]
time_of_maximum = ["wind_speed"]
""",
}
MEASURED = {
    "shallow-water": {"maps", "cross_sections"},
    "shallow-water-adi": {"maps", "cross_sections"},
    "barotropic": {"particles", "maps"},
    "potential-waves": {"probes", "maps"},
    "anelastic": {"profiles", "slice_y", "slice_z", "slice_k", "probes", "spectra", "maxima", "maps"},
}


def test_every_model_is_here():
    assert set(CASES) == set(KINDS) == set(MEASURED)


@pytest.mark.parametrize("kind", KINDS)
def test_every_file(kind, tmp_path, monkeypatch):
    """Fields with all variables, gauges with all that change, and all that the model measures, two records each.

    With a date: without one `time` is plain seconds, and CF knows no such time (the next test).
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.toml").write_text(f'model = "{kind}"\n{CASES[kind]}')
    case = load_case(tmp_path / "case.toml")
    model = case.build()
    options = {"start_date": "2026-01-31", "attributes": {"title": "A case"}}
    moving = [name for name, variable in model.variables.items() if not variable.static]
    west, east, south, north = model.grid.extent
    points = {"one": (0.4 * west + 0.6 * east, 0.5 * (south + north)), "two": (west, south)}
    flat = [name for name in moving if not model.variables[name].levels]
    with ExitStack() as stack:
        made = [FieldWriter("fields.nc", model, list(model.variables), **options)]
        made += [GaugeWriter("gauges.nc", model, points, flat, **options)] if flat else []
        made += [section.open(section.file, model, **options) for _, section in case.measured]
        made += [ParticleWriter("particles.nc", model, **options)] if len(model.particle_positions) else []
        writers = [stack.enter_context(writer) for writer in made]
        for _ in range(2):
            model.advance(case.run.end_time, max_steps=2)
            for writer in writers:
                writer.write(model)
    found = {path.stem: path for path in sorted(tmp_path.glob("*.nc"))}
    assert set(found) == MEASURED[kind] | {"fields"} | ({"gauges"} if flat else set())
    told = {name: problems for name, path in found.items() if (problems := violations(path))}
    assert told == {}
    for name, path in found.items():
        with xr.open_dataset(path, decode_times=False) as data:
            (first, last), cover = data["time"].values, data["time"].attrs.get("bounds")
            starts = {"cross_sections": [first, first], "profiles": [0.0, first]}.get(name, [0.0, 0.0])
            if cover is not None or name in ("cross_sections", "maps", "profiles"):
                assert data[cover].values.tolist() == [[starts[0], first], [starts[1], last]]


def test_without_a_date_that_alone_is_missing(tmp_path):
    """Times in plain s, which xarray opens as they are: floats, without a word; a date makes dates of them."""
    (tmp_path / "case.toml").write_text(f'model = "shallow-water"\n{WATER}')
    model = load_case(tmp_path / "case.toml").build()
    for name, date in (("plain", None), ("dated", "2026-01-31T06:00:00+02:00")):
        fields, gauges = tmp_path / f"{name}.nc", tmp_path / f"{name}_gauges.nc"
        options = {"start_date": date, "attributes": {"title": "A case"}}
        with (
            FieldWriter(fields, model, ["depth"], **options) as writer,
            GaugeWriter(gauges, model, {"one": (500100.0, 5200010.0)}, ["depth"], **options) as other,
        ):
            writer.write(model)
            other.write(model)
        for path in (fields, gauges):
            told = violations(path)
            with xr.open_dataset(path) as data, xr.open_dataset(path, decode_timedelta=True) as timed:
                if date is None:
                    assert told == ["time: a time is what counts from a date, and nothing else"]
                    assert data.time.dtype == timed.time.dtype == float and data.time.values.tolist() == [0.0]
                else:
                    assert told == [] and str(data.time.values[0]).startswith("2026-01-31T04:00:00.000")


@pytest.fixture
def good(tmp_path):
    """A function that writes a small file after a change; it keeps the rules without one."""

    def write(change):
        axis = {"units": "m", "standard_name": "projection_x_coordinate", "axis": "X", "long_name": "x"}
        time = {
            "units": "seconds since 2026-01-31 00:00:00",
            "calendar": "standard",
            "standard_name": "time",
            "axis": "T",
        }
        depth = {"units": "m", "long_name": "depth", "cell_methods": "time: point"}
        data = xr.Dataset(
            {"depth": (("time", "x"), [[1.0, 2.0]], depth)},
            {"time": ("time", [0.0], time), "x": ("x", [0.0, 1.0], axis)},
            {"Conventions": "CF-1.11", "title": "a", "history": "b", "source": "c"},
        )
        change(data)
        data.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
        return violations(tmp_path / "a.nc")

    return write


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda data: None, ""),
        (lambda data: data.attrs.update(Conventions="CF-9"), "Conventions"),
        (lambda data: data.attrs.pop("title"), "title"),
        (lambda data: data.depth.attrs.pop("units"), "units"),
        (lambda data: data.depth.attrs.update(units="metres deep"), "metres deep"),
        (lambda data: data.depth.attrs.update(standard_name="depth_of_water"), "depth_of_water"),
        (lambda data: data.depth.attrs.update(standard_name="time"), "canonical"),
        (lambda data: data.depth.attrs.pop("long_name"), "long_name"),
        (lambda data: data.depth.attrs.update(cell_methods="time: biggest"), "biggest"),
        (lambda data: data.depth.attrs.update(cell_methods="place: mean"), "place"),
        (lambda data: data.depth.attrs.update(cell_methods="time: mean"), "without time bounds"),
        (lambda data: data.depth.attrs.update(coordinates="lon"), "lon"),
        (lambda data: data.depth.attrs.update(grid_mapping="crs"), "crs"),
        (lambda data: data.depth.attrs.update(flag_values=[1.0, 2.0], flag_meanings="a"), "flag_meanings"),
        (lambda data: data.depth.attrs.update(flag_values=[1, 2], flag_meanings="a b"), "type of the variable"),
        (lambda data: data.x.attrs.update(axis="Y"), "axis"),
        (lambda data: data.x.attrs.update(formula_terms="a: b"), "formula_terms"),
        (lambda data: data.update({"x": ("x", [1.0, 1.0], data.x.attrs)}), "monotonic"),
        (lambda data: data.time.attrs.update(units="s"), "counts from a date"),
        (lambda data: data.depth.attrs.update(standard_name="height"), "positive"),
        (lambda data: data.depth.attrs.update(units="K", standard_name="air_potential_temperature"), "units_metadata"),
        (lambda data: data.time.attrs.update(bounds="time_bounds"), "time_bounds"),
        (lambda data: data.attrs.update(featureType="timeSeries"), "cf_role"),
        (lambda data: data.attrs.update(featureType="series"), "featureType"),
        (lambda data: data.update(data.rename(depth="my depth")[["my depth"]]), "my depth"),
    ],
)
def test_what_breaks_a_rule_is_found(good, change, word):
    told = good(change)
    assert any(word in line for line in told) if word else told == []
