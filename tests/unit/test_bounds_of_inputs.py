"""The bounds of `eagre.plausible` hold in every way in: through files and case texts, just inside and just outside."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import eagre
from eagre import Forcing, Nudging
from eagre.config.problems import ConfigError
from eagre.errors import InputError
from eagre.models.anelastic.config import AnelasticCase
from eagre.models.anelastic.model import AnelasticFlow
from eagre.models.barotropic.config import BarotropicCase
from eagre.models.barotropic.inputs import curl_of_stress
from eagre.models.potential_waves.config import PotentialWavesCase
from eagre.models.shallow_water.config import ShallowWaterCase
from eagre.models.shallow_water_adi.config import ShallowWaterADICase
from eagre.plausible import QUANTITIES
from vector_files import geojson

WATER = """\
model = "{model}"
run = {{ end_time = 60.0, device = "cpu", start_date = 2026-01-31 }}
grid = {{ nx = 4, ny = 3, dx = 10.0{grid} }}
{more}
"""
AIR = """\
model = "anelastic"
run = {{ end_time = 1.0, device = "cpu" }}
domain = {{ nx = 8, levels = 5, length_x = 800.0, top_height = {height}{domain} }}
numerics = {{ time_step = 1e-6{numerics} }}
{more}
"""
GYRE = """\
model = "barotropic"
run = { end_time = 1.0, device = "cpu", start_date = 2026-01-31 }
basin = { nx = 9, length_x = "800 m" }
numerics = { time_step = 1e-6 }
"""
FLUME = """\
model = "potential-waves"
run = { end_time = 0.01, device = "cpu" }
"""


def water(folder, more, value, model="shallow-water", bed="bed = { value = -5.0 }", grid=""):
    case = ShallowWaterCase if model == "shallow-water" else ShallowWaterADICase
    numerics = "numerics = { time_step = 1.0 }\n" * (model == "shallow-water-adi")
    more = f"{bed}\n{numerics}{more}".replace("VALUE", repr(value))
    return case.loads(WATER.format(model=model, grid=grid, more=more), folder).build()


def air(folder, more, value, height="1000.0", domain="", numerics=""):
    fill = {name: one.replace("VALUE", repr(value)) for name, one in (("domain", domain), ("numerics", numerics))}
    return AnelasticCase.loads(
        AIR.format(more=more.replace("VALUE", repr(value)), height=height, **fill), folder
    ).build()


def gyre(folder, more, value):
    return BarotropicCase.loads(GYRE + more.replace("VALUE", repr(value)), folder).build()


def flume(folder, more, value):
    return PotentialWavesCase.loads(FLUME + more.replace("VALUE", repr(value)), folder).build()


# --- files


def netcdf(folder, value, name="a.nc", step=10.0):
    axis = step * (np.arange(20) - 0.5)
    data = xr.Dataset({"z": (("y", "x"), np.full((20, 20), value))}, {"y": axis, "x": axis})
    data.to_netcdf(folder / name, engine="h5netcdf")


def geotiff(folder, value, x=6):
    import rasterio
    from affine import Affine

    shape = {"height": x, "width": x, "count": 1, "transform": Affine(10.0, 0.0, -10.0, 0.0, -10.0, 40.0)}
    with rasterio.open(folder / "a.tif", "w", driver="GTiff", dtype="float64", crs="EPSG:32633", **shape) as file:
        file.write(np.full((1, x, x), value))


def esri(folder, value):
    rows = f"{value!r} " * 6 + "\n"
    (folder / "a.asc").write_text("ncols 6\nnrows 5\nxllcorner -10\nyllcorner -10\ncellsize 10\n" + 5 * rows)


def zones(folder, value):
    geojson(folder / "a.geojson", ("Polygon", [[[-9, -9], [999, -9], [999, 999], [-9, 999], [-9, -9]]], {"n": value}))


def classes(folder, value):
    netcdf(folder, 7.0)
    (folder / "n.csv").write_text(f"class,n\n7,{value!r}\n")


def table(folder, value):
    (folder / "a.csv").write_text(f"t (s),q\n0,{value!r}\n30,{value!r}\n60,{value!r}\n")


def netcdf_series(folder, value):
    data = xr.Dataset({"q": ("time", np.full(3, value))}, {"time": ("time", [0.0, 30.0, 60.0], {"units": "s"})})
    data.to_netcdf(folder / "s.nc", engine="h5netcdf")


UNITS = {"rain": "m s-1", "u10": "m s-1", "v10": "m s-1", "msl": "Pa", "iews": "N m-2", "inss": "N m-2"}


def weather(*names, low=0.0):
    def write(folder, value):
        """The first name has the value."""
        axis = np.arange(-100.0, 1000.0, 100.0)
        axes = {"time": ("time", [0.0, 60.0], {"units": "s"}), "y": axis, "x": axis}
        shape = (2, axis.size, axis.size)
        found = {
            name: (("time", "y", "x"), np.full(shape, value if name == names[0] else low), {"units": UNITS[name]})
            for name in names
        }
        xr.Dataset(found, axes).to_netcdf(folder / "w.nc", engine="h5netcdf")

    return write


def track(pressure=None, wind=None):
    def write(folder, value):
        row = f"0.0,20.0,{value if pressure is None else pressure!r},{value if wind is None else wind!r},40000.0\n"
        (folder / "t.csv").write_text(f"time (s),x,y,pressure,wind,radius\n0,{row}60,{row}")

    return write


def sounding(wind=0.0, pressure=1000.0, theta=300.0):
    """None stands for the value; the pressure is in hPa in the file."""

    def write(folder, value):
        u, t, p = value if wind is None else wind, value if theta is None else theta, pressure or 0.01 * value
        (folder / "air").write_text(f"{p!r} {t!r} 0\n500 {t!r} 0 {u!r} 0\n2000 {t!r} 0 {u!r} 0\n")

    return write


def sounding_table(wind=0.0, theta=300.0):
    def write(folder, value):
        u, t = value if wind is None else wind, value if theta is None else theta
        (folder / "air").write_text(f"z,theta,u,v\n0,{t!r},{u!r},0\n2000,{t!r},{u!r},0\n")

    return write


def heights(folder, value):
    (folder / "p.csv").write_text(f"z,u\n0,{value!r}\n2000,{value!r}\n")


def nothing(folder, value):
    pass


# --- ways in: (quantity, what is written, what is built)

FIELDS = {  # forms of a field
    "number": (nothing, "VALUE"),
    "expression": (nothing, '"VALUE + 0 * x"'),
    "netcdf": (netcdf, '{ file = "a.nc" }'),
    "geotiff": (geotiff, '{ file = "a.tif" }'),
    "esri ascii": (esri, '{ file = "a.asc" }'),
    "zones": (zones, '{ zones = "a.geojson", value = "n" }'),
}
SERIES = {  # forms of a series
    "number": (nothing, "VALUE"),
    "table": (nothing, "{ times = [0, 60], values = [VALUE, VALUE] }"),
    "csv": (table, '{ file = "a.csv" }'),
    "netcdf": (netcdf_series, '{ file = "s.nc" }'),
    "expression": (nothing, '{ expression = "VALUE + 0 * t", every = "1 s" }'),
}
HEIGHTS = {  # forms of a profile
    "number": (nothing, "VALUE"),
    "expression": (nothing, '"VALUE + 0 * z"'),
    "table": (nothing, "{ heights = [0, 2000], values = [VALUE, VALUE] }"),
    "csv": (heights, '{ file = "p.csv" }'),
}
WAYS = {}  # by name: quantity, what writes the files, what builds the model, the only bound that is asked for


def way(name, quantity, build, text="", write=nothing, only="", **options):
    WAYS[name] = quantity, write, lambda folder, value: build(folder, text, value, **options), only


def forms(name, quantity, kinds, build, text="", **options):
    """FORM in texts is what a form of a field, series or profile is written as."""
    for kind, (write, value) in kinds.items():
        own = {key: one.replace("FORM", value) for key, one in options.items()}
        own |= {"grid": ', crs = "EPSG:32633"'} if kind == "geotiff" else {}
        way(f"{name}, {kind}", quantity, build, text.replace("FORM", value), write, **own)


def some(kinds, *names):
    return {name: kinds[name] for name in names}


STILL = "initial = { depth = 1.0 }\n"
DEEP = "bed = { value = -12000.0 }"
SIDE = '[boundaries.west]\nkind = "{}"\n'
IMPLICIT = {"model": "shallow-water-adi"}
BED = {
    "number": (nothing, "{ value = VALUE }"),
    "expression": (nothing, '{ expression = "VALUE + 0 * x" }'),
} | some(FIELDS, "netcdf", "geotiff", "esri ascii")
forms("bed", "elevation", BED, water, STILL, bed="bed = FORM")
LEVEE = "[bed]\nvalue = -5.0\n[[bed.levees]]\npoints = [[0.0, 5.0], [40.0, 5.0]]\ncrest = VALUE"
way("levee", "elevation", water, LEVEE, only="high", bed="")  # a low crest is below the ground
forms("initial level", "elevation", FIELDS, water, "initial = { surface_elevation = FORM }")
forms("initial depth", "depth", FIELDS, water, "initial = { depth = FORM }")
forms("stage", "elevation", SERIES, water, SIDE.format("stage") + "level = FORM", bed=DEEP)
forms("absorbing, wave", "elevation", SERIES, water, STILL + SIDE.format("absorbing") + "incoming = FORM")
way("absorbing, level", "elevation", water, SIDE.format("absorbing") + "level = VALUE", bed=DEEP)
way("depth of an inflow", "depth", water, STILL + SIDE.format("inflow") + "rate = 1e9\ndepth = VALUE", only="high")
way("slope", "channel_slope", water, STILL + SIDE.format("normal_depth") + "slope = VALUE\nmanning = 0.03")
way("channel", "channel_manning", water, STILL + SIDE.format("normal_depth") + "slope = 0.001\nmanning = VALUE")
forms("manning", "manning", FIELDS, water, STILL + "friction = { manning = FORM }")
way("manning of classes", "manning", water, STILL + 'friction = { manning = { classes = "a.nc", table = "n.csv" } }',
    classes, "high")  # fmt: skip
way("manning, implicit model", "manning", water, STILL + "friction = { manning = VALUE }", **IMPLICIT)
forms("chezy", "chezy", FIELDS, water, STILL + "friction = { chezy = FORM }", **IMPLICIT)
forms("rain", "rain", SERIES, water, "[sources.rain]\nrate = FORM")
forms("rain by zone", "rain", SERIES, water, '[sources.rain]\nrate = { zones = "z.nc", series = { 7 = FORM } }')
forms("stress", "wind_stress", SERIES, water, "[sources.wind_stress]\nx = FORM")
way("stress with a pattern", "wind_stress", water, '[sources.wind_stress]\ny = 1.0\npattern = "VALUE"')
forms("infiltration", "infiltration", FIELDS, water, "[sources.infiltration]\nrate = FORM")
way("infiltration, implicit model", "infiltration", water, "[sources.infiltration]\nrate = VALUE", **IMPLICIT)
SOIL = "[sources.green_ampt]\nhydraulic_conductivity = {}\nsuction_head = {}\nmoisture_deficit = {}"
forms("conductivity", "infiltration", FIELDS, water, SOIL.format("FORM", 0.1, 0.3))
forms("suction head", "suction_head", FIELDS, water, SOIL.format(1e-6, "FORM", 0.3))
forms("moisture deficit", "moisture_deficit", FIELDS, water, SOIL.format(1e-6, 0.1, "FORM"))
way("coriolis", "coriolis", water, "[sources.coriolis]\nf = VALUE")
way("coriolis, text", "coriolis", water, '[sources.coriolis]\nf = "VALUE 1/s"')
forms("pressure map", "air_pressure", FIELDS, water, "[sources.atmospheric_pressure]\npressure = FORM")

WEATHER = '[sources.weather]\nfile = "w.nc"\n'
STAGE = SIDE.format("stage") + "level = 0.0"
way("weather, rain", "rain", water, WEATHER, weather("rain"), "high")  # down to -0.1 mm/h is rounding of packed values
way("weather, wind along x", "wind", water, WEATHER, weather("u10", "v10"))
way("weather, wind along y", "wind", water, WEATHER, weather("v10", "u10"))
way("weather, pressure", "air_pressure", water, WEATHER, weather("msl"))
way("reference pressure", "air_pressure", water, f"{WEATHER}reference_pressure = VALUE\n{STAGE}",
    lambda folder, value: weather("msl")(folder, 1e5))  # fmt: skip
CYCLONE = '[sources.cyclone]\ntrack = "t.csv"\nlatitude = 20.0\nambient_pressure = '
way("track, pressure", "air_pressure", water, CYCLONE + "109000.0", track(wind=45.0))
way("track, wind", "wind", water, CYCLONE + "101300.0", track(pressure=95e3), "high")
way("ambient pressure", "air_pressure", water, CYCLONE + "VALUE", track(95e3, 45.0), "high")  # the eye has less

GYRE_WIND = '[wind]\ndepth = "300 m"\n'
ON_GYRE = some(FIELDS, "number", "expression", "zones")
ON_GYRE["netcdf"] = (lambda folder, value: netcdf(folder, value, step=50.0)), FIELDS["netcdf"][1]
way("double gyre", "wind_stress", gyre, GYRE_WIND + "stress = VALUE")
forms("gyre, stress along x", "wind_stress", ON_GYRE, gyre, GYRE_WIND + "stress_x = FORM")
forms("gyre, stress along y", "wind_stress", ON_GYRE, gyre, GYRE_WIND + "stress_y = FORM")
GYRE_WEATHER = GYRE_WIND + '[wind.weather]\nfile = "w.nc"'
way("gyre, weather stress", "wind_stress", gyre, GYRE_WEATHER, weather("iews", "inss"))
way("gyre, weather wind", "wind", gyre, GYRE_WEATHER, weather("u10", "v10"))
way("gyre, depth under the wind", "depth", gyre, "[wind]\nstress = 0.1\ndepth = VALUE", only="high")
TOPOGRAPHY = "[topography]\nheight = {}\ncoriolis = {}\ndepth = {}"
way("gyre, depth", "depth", gyre, TOPOGRAPHY.format(0.0, 1e-4, "VALUE"), only="high")
way("gyre, coriolis", "coriolis", gyre, TOPOGRAPHY.format(0.0, "VALUE", 4000.0))

POINTS = "[basin]\nnx = 9\nlength_x = 60000.0\n"
way("flume, depth", "depth", flume, POINTS + "depth = VALUE", only="high")
way("flume, depth by an expression", "depth", flume, POINTS + 'depth = "VALUE + 0 * x"', only="high")
way("flume, bed", "elevation", flume, POINTS + "bed = VALUE", only="low")
way("flume, level", "elevation", flume, POINTS + "depth = 12000.0\n[initial]\nsurface_elevation = VALUE")

ATMOSPHERE, BOUSSINESQ = "[atmosphere]\n", '[atmosphere]\nequations = "boussinesq"\n'
way("theta", "potential_temperature", air, BOUSSINESQ + "theta = VALUE")
way("buoyancy frequency", "buoyancy_frequency", air, ATMOSPHERE + "buoyancy_frequency = VALUE", height="1.0")
way("reference frequency", "buoyancy_frequency", air, ATMOSPHERE + "reference_frequency = VALUE", height="1.0")
way("surface pressure", "surface_pressure", air, ATMOSPHERE + "surface_pressure = VALUE")
way("surface pressure, text", "surface_pressure", air, ATMOSPHERE + 'surface_pressure = "VALUE Pa"')
way("ambient wind", "wind", air, ATMOSPHERE + "wind = [VALUE, 0.0]")
way("air, coriolis", "coriolis", air, numerics=", coriolis = VALUE")
SOUND = ATMOSPHERE + 'sounding = "air"'
way("sounding, wind", "wind", air, SOUND, sounding(wind=None))
way("sounding, theta", "potential_temperature", air, SOUND, sounding(theta=None), height="100.0")
way("sounding, pressure", "surface_pressure", air, SOUND, sounding(pressure=None))
way("sounding, table of wind", "wind", air, SOUND, sounding_table(wind=None))
way("sounding, table of theta", "potential_temperature", air, SOUND, sounding_table(theta=None), height="100.0")
TWO = some(HEIGHTS, "number", "expression")
for name in ("u", "v", "w"):
    forms(f"initial {name}", "wind", TWO, air, f"{BOUSSINESQ}[initial]\n{name} = FORM")
forms("initial theta", "potential_temperature", TWO, air, f"{BOUSSINESQ}theta = VALUE\n[initial]\ntheta = FORM")
TURNS = {"numerics": ", coriolis = 1e-4"}
forms("geostrophic u", "wind", HEIGHTS, air, "[forcing]\ngeostrophic_u = FORM\ngeostrophic_v = 0.0", **TURNS)
forms("geostrophic v", "wind", HEIGHTS, air, "[forcing]\ngeostrophic_v = FORM\ngeostrophic_u = 0.0", **TURNS)
forms("subsidence", "wind", HEIGHTS, air, "[forcing]\nsubsidence = FORM")
NUDGED = "[forcing.nudging]\ntime_scale = 3600.0\n"
forms("nudging of u", "wind", HEIGHTS, air, NUDGED + "u = FORM")
forms("nudging of v", "wind", HEIGHTS, air, NUDGED + "v = FORM")
forms("nudging of theta", "potential_temperature", HEIGHTS, air, BOUSSINESQ + NUDGED + "theta = FORM")
forms(
    "ground", "elevation", some(FIELDS, "number", "expression"), air, height="20000.0", domain=", terrain_height = FORM"
)

GRID = eagre.Grid(8, 1, 100.0, 100.0)


def flow(**options):
    return AnelasticFlow(GRID, 5, top_height=1000.0, time_step=1e-6, device="cpu", **options)


def python(name, quantity, make):
    WAYS[f"python: {name}"] = quantity, nothing, lambda folder, value: make(value), ""


python("stress of a gyre", "wind_stress", lambda v: curl_of_stress(v, 0.0, eagre.Grid(5, 5, 1.0, 1.0)))
python("wind at the start", "wind", lambda v: flow(velocity=(v, 0.0, 0.0)))
python("geostrophic wind", "wind", lambda v: flow(forcing=Forcing(geostrophic=(v, 0.0)), coriolis=1e-4))
python("nudging", "wind", lambda v: flow(forcing=Forcing(nudging=Nudging(3600.0, v=v))))
python("ground", "elevation", lambda v: AnelasticFlow(
    GRID, 5, top_height=20000.0, terrain_height=v, time_step=1e-6, device="cpu",
))  # fmt: skip


def numbers(quantity):
    """Values just inside and just outside of the bounds, and whether they pass."""
    known = QUANTITIES[quantity]
    step = 1e-6 * (known.maximum - known.minimum)
    low, high = known.minimum, known.maximum
    return {"low": ((low + step, True), (low - step, False)), "high": ((high - step, True), (high + step, False))}


@pytest.mark.parametrize("name", WAYS)
def test_bounds(tmp_path, name):
    quantity, write, build, only = WAYS[name]
    known = QUANTITIES[quantity]
    for end, pairs in numbers(quantity).items():
        for value, passes in pairs if only in ("", end) else ():
            folder = tmp_path / f"{end} {passes}"  # models keep files open
            folder.mkdir()
            netcdf(folder, 7.0, "z.nc")
            write(folder, value)
            if passes:
                build(folder, value)
                continue
            with pytest.raises((InputError, ConfigError)) as caught:
                build(folder, value)
            assert f"from {known.minimum:g} to {known.maximum:g}" in str(caught.value), value


def test_one_point_of_a_fine_raster_is_not_hidden_by_means(tmp_path):
    """Manning's n of 33 (Strickler) at 1 of 10,000 points: 0.035 to 0.1 as means over cells of 30 x 30 points."""
    n = np.full((100, 100), 0.03)
    n[50, 50] = 33.0
    axis = np.arange(100.0) + 0.5 - 20.0
    data = xr.Dataset({"n": (("y", "x"), n)}, {"y": axis, "x": axis})
    data.to_netcdf(tmp_path / "n.nc", engine="h5netcdf")
    with pytest.raises(ConfigError, match="Strickler") as caught:
        water(tmp_path, STILL + 'friction = { manning = { file = "n.nc" } }', 0.0)
    assert "n.nc" in str(caught.value) and "(50, 50)" in str(caught.value)


def test_every_quantity_has_a_way_in():
    """But anomalies of the pressure, which only a map of it has: see `test_plausible`."""
    assert {quantity for quantity, *_ in WAYS.values()} == set(QUANTITIES) - {"pressure_anomaly"}
