"""Case files of the anelastic model: what they make, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.config.problems import ConfigError
from eagre.errors import InputError
from eagre.grid import Grid, Levels
from eagre.models.anelastic.config import AnelasticCase
from eagre.models.anelastic.model import AnelasticFlow

CASE = """\
model = "anelastic"
run = {{ end_time = 1.0 }}
[domain]
nx = 8
{levels}
length_x = 800.0
{more}
"""
SOUNDING = "1000.0 300.0 {q}\n400.0 302.0 {q} 5.0 -1.0\n1200.0 306.0 {q} 9.0 -1.0\n"
EQUAL = "levels = 5\ntop_height = 1000.0"


def case(tmp_path, levels=EQUAL, more=""):
    return AnelasticCase.loads(CASE.format(levels=levels, more=more), tmp_path)


def test_a_sounding_is_the_ambient_air(tmp_path):
    (tmp_path / "air").write_text(SOUNDING.format(q="0.0"))
    air = case(tmp_path, more='[atmosphere]\nsounding = "air"').atmosphere.make()
    z = np.array([0.0, 200.0, 400.0, 800.0])
    np.testing.assert_allclose(air.ambient(z), [300.0, 301.0, 302.0, 304.0])
    np.testing.assert_allclose(air.wind[0](z), [5.0, 5.0, 5.0, 7.0])
    np.testing.assert_allclose(air.reference(z), 300.0)
    assert air.equations == "anelastic"


def test_moist_air_is_refused_or_virtual(tmp_path):
    (tmp_path / "air").write_text(SOUNDING.format(q="10.0"))
    with pytest.raises(InputError, match="10 g/kg"):
        case(tmp_path, more='[atmosphere]\nsounding = "air"').atmosphere.make()
    air = case(tmp_path, more='[atmosphere]\nsounding = "air"\nmoisture = "virtual"').atmosphere.make()
    np.testing.assert_allclose(air.ambient(np.zeros(1)), 300.0 * 1.0061)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("density = 2.0", "density with anelastic equations"),
        ("equations = 'boussinesq'\nsurface_pressure = 9e4", "surface_pressure with boussinesq equations"),
        ("equations = 'boussinesq'\nsounding = 'air'\nreference = 'sounding'", "reference with boussinesq equations"),
        (
            "equations = 'incompressible'\ntheta = 310",
            r"(?s)theta with incompressible.*allowed: equations, density, wind$",
        ),
        ("equations = 'incompressible'\nsounding = 'air'", "sounding with incompressible equations"),
        ("moisture = 'virtual'", "moisture without a sounding"),
    ],
)
def test_keys_that_mean_nothing_to_the_equations_are_refused(tmp_path, lines, words):
    (tmp_path / "air").write_text(SOUNDING.format(q="0.0"))
    with pytest.raises(InputError, match=words):
        case(tmp_path, more=f"[atmosphere]\n{lines}")


def test_a_rate_of_layers_that_are_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="side_rate without side layers"):
        case(tmp_path, more="[sponge]\nthickness = 200.0\nrate = 0.1\nside_rate = 0.05")


def test_fields_in_space(tmp_path):
    found = case(tmp_path, more='[initial]\nu = "3 km/h"\ntheta_perturbation = "x + 1000 * z + 1e6 * terrain_height"')
    grid, ground = Grid(2, 1, 10.0, 10.0), np.array([[0.0, 2.0]])
    levels = Levels(np.array([0.0, 100.0]), np.array([1.0, 0.0]), ground)
    assert found.initial.u.at_points(grid, levels) == pytest.approx(3.0 / 3.6)
    expected = [[[5.0, 15.0 + 2e3 + 2e6]], [[5.0 + 1e5, 15.0 + 1e5 + 2e6]]]
    np.testing.assert_allclose(found.initial.theta_perturbation.at_points(grid, levels), expected)


def test_noise_is_that_of_its_seed(tmp_path):
    more = "[initial]\nnoise = {amplitude = 0.5, seed = 4, below = 300.0}"
    noise, grid, levels = case(tmp_path, more=more).initial.noise, Grid(6, 5, 1.0, 1.0), Levels(100.0 * np.arange(7))
    first, second = noise.make(levels, grid), noise.make(levels, grid)
    np.testing.assert_array_equal(first, second)
    assert np.abs(first).max() <= 0.5 and np.abs(first[:4]).min() > 0.0 and not first[4:].any()


def test_rotation_by_latitude(tmp_path):
    assert case(tmp_path, more="[numerics]\nlatitude = 30.0").numerics.f == pytest.approx(7.292115e-5)
    assert case(tmp_path, more="[numerics]\ncoriolis = 1e-4").numerics.f == 1e-4
    assert case(tmp_path).numerics.f == 0.0


def test_open_sides_with_layers(tmp_path):
    more = 'boundaries_x = "open"\nx0 = 100.0\n[sponge]\nthickness_x = "0.2 km"\nrate = 0.1\nside_rate = 0.05'
    model = case(tmp_path, more=more).build("cpu", "double")
    assert model.setup.boundaries == ("wall", "periodic", "open") and not model.setup.top_sponge.any()
    np.testing.assert_allclose(model.setup.side_sponges[0, [0, 3, 7]], [0.05, 0.0, 0.05])


@pytest.mark.parametrize("boundaries_z", ["periodic", "wall"])
def test_points_that_repeat_are_counted_but_not_run(tmp_path, boundaries_z):
    """nx, ny and levels of EULAG, whose last point of a periodic axis is the first: of nx = 8 seven are distinct."""
    more = f"ny = 6\nlength_y = 600.0\nboundaries_y = 'wall'\nboundaries_z = '{boundaries_z}'\n"
    more += "[atmosphere]\nequations = 'boussinesq'"
    model = case(tmp_path, more="periodic_points = 'duplicated'\n" + more).build("cpu", "double")
    usual = case(tmp_path, more=more).build("cpu", "double")
    levels = 4 if boundaries_z == "periodic" else 5
    assert model.grid.shape == (6, 7) and usual.grid.shape == (6, 8)
    assert model.levels.height.size == levels and usual.levels.height.size == 5
    np.testing.assert_allclose(model.grid.x, 800.0 / 7.0 * np.arange(7), atol=1e-9)
    np.testing.assert_allclose(model.levels.height, 250.0 * np.arange(levels))


@pytest.mark.parametrize(
    ("levels", "more", "words"),
    [
        (
            "levels = [0.0, 9.0]",
            "boundaries_z = 'periodic'\nperiodic_points = 'duplicated'",
            "a number of levels with top_height",
        ),
        (EQUAL, "periodic_points = 'twice'", "distinct, duplicated"),
        ("levels = 5", "", "no top_height"),
        ("levels = [0.0, 10.0]\ntop_height = 10.0", "", "both heights of levels and top_height"),
        ("levels = [0.0, 10.0, 5.0]", "", "increasing heights that start at 0"),
        ("levels = 0\ntop_height = 10.0", "", "an integer of at least 1"),
        (EQUAL, '[atmosphere]\nequations = "elastic"', "anelastic, boussinesq, incompressible"),
        (EQUAL, "[atmosphere]\nwind = [1.0]", "\\[u, v\\]"),
        (EQUAL, "[initial]\nu = true", "an expression in x, y, z and terrain_height"),
        (EQUAL, '[initial]\ntheta_perturbation = "bed"', '"bed" is not known'),
        (EQUAL, "[numerics]\nlatitude = 30.0\ncoriolis = 1e-4", "both coriolis and latitude"),
        (EQUAL, "[sponge]\nthickness = 10.0", "rate"),
        (EQUAL, "[sponge]\nrate = 0.1", "no thickness"),
        (EQUAL, 'boundaries_y = "closed"', "periodic, wall, open"),
        (EQUAL, 'boundaries_z = "open"', "periodic, wall"),
        (EQUAL, "[forcing]\ngeostrophic_u = 1.0\ngeostrophic_v = 0.0", "numerics.latitude = 45.0"),
    ],
)
def test_what_is_refused(tmp_path, levels, more, words):
    with pytest.raises(ConfigError, match=words):
        case(tmp_path, levels, more)


FORCING = """
[numerics]
latitude = 45.0
[forcing]
geostrophic_u = {file = "wind.csv", value = "ug", units = "km/h"}
geostrophic_v = "z / 1000"
subsidence = {heights = [0.0, "1 km"], values = [0.0, "-1 cm/s"]}
heating = "-2 / 86400"
[forcing.nudging]
time_scale = "1 h"
theta = {file = "wind.csv", value = "theta"}
"""


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("top_height = 1000.0\n[sponge]\nthickness = 2000.0\nrate = 0.1", r"(?s)sponge\.thickness.*line 9"),
        ("top_height = 1000.0\nboundaries_z = 'periodic'", r"(?s)domain\.top_height.*boussinesq"),
        ("top_height = 5000.0\n[atmosphere]\nsounding = 'low.csv'", r"(?s)domain\.top_height.*up to 1000 m"),
    ],
)
def test_what_does_not_go_together_is_told_with_its_line(tmp_path, more, words):
    (tmp_path / "low.csv").write_text("z,theta\n0,300\n1000,303\n")
    with pytest.raises(ConfigError, match=words):
        case(tmp_path, "levels = 5", more).build("cpu", "double")


def test_profiles_that_drive_the_air(tmp_path):
    (tmp_path / "wind.csv").write_text("z (km),ug,theta (K)\n0,36.0,300\n2,72.0,310\n")
    found = case(tmp_path, more=FORCING).forcing.make()
    z = np.array([0.0, 500.0])
    np.testing.assert_allclose(found.geostrophic[0](z), [10.0, 12.5])
    np.testing.assert_allclose(found.geostrophic[1](z), [0.0, 0.5])
    np.testing.assert_allclose(found.subsidence(z), [0.0, -0.005])
    np.testing.assert_allclose(found.heating(z), -2.0 / 86400.0)
    assert found.nudging.time_scale == 3600.0 and found.nudging.u is None
    np.testing.assert_allclose(found.nudging.theta(z), [300.0, 302.5])
    model = case(tmp_path, more=FORCING).build("cpu", "double")
    np.testing.assert_allclose(model.engine.base_state.balanced[0][:, 0, 0], [10.0, 11.25, 12.5, 13.75, 15.0])


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("geostrophic_u = 1.0", "no geostrophic_v"),
        ('subsidence = "t"', '"t" is not known'),
        ("heating = true", "an expression in z"),
        ("heating = {heights = [0.0, 1.0], values = [1.0]}", "2 heights and 1 values"),
        ('heating = {file = "no.csv"}', "no.csv"),
        ("nudging = {u = 1.0}", "time_scale"),
        ("nudging = {u = 1.0, time_scale = 0.0}", r"forcing\.nudging\.time_scale \(line \d+\)"),
        ("geostrophic_u = 1.0\ngeostrophic_v = 0.0", "without a Coriolis parameter"),
        ("subsidence = {heights = [0.0, 1.0], values = [1.0, 1.0]}", "up to 1 m"),
    ],
)
def test_forcing_that_is_refused(tmp_path, lines, words):
    with pytest.raises(InputError, match=words):
        case(tmp_path, more=f"[forcing]\n{lines}").build("cpu")


def test_watts_and_stretched_levels_are_noted(tmp_path):
    """A flux in W/m2 for one in K m/s: 1.2e5 W/m2 are meant by nobody."""
    model = case(tmp_path, more="[surface]\nheat_flux = 100.0").build("cpu", "double")
    [told] = [one for one in model.notes if "heat_flux" in one]
    number = float(told.partition(" is ")[2].split()[0])
    assert number == pytest.approx(100.0 * 1005.0 * float(model.setup.air.density(np.zeros(1))[0]), rel=0.05)
    assert not any("heat_flux" in one for one in case(tmp_path, more="[surface]\nheat_flux = 0.3").build("cpu").notes)
    one = AnelasticFlow(Grid.from_points(4, 1, 40.0, 10.0), np.array([0.0, 10.0, 30.0]), device="cpu")
    assert one.notes[0].startswith("spacings 13.33, 10 and 10 to 20 m")


@pytest.mark.parametrize("key", ["theta", "theta_perturbation"])
def test_the_initial_temperature_is_the_field_of_the_same_name(tmp_path, key):
    value = {"theta": "305 + 0.01 * z", "theta_perturbation": "5 + 0.001 * x"}[key]
    more = f'[atmosphere]\nequations = "boussinesq"\nbuoyancy_frequency = 0.01\n[initial]\n{key} = "{value}"'
    model = case(tmp_path, more=more).build("cpu", "double")
    z, x = model.setup.levels.z + np.zeros(model.setup.shape), model.grid.x
    known = 305 + 0.01 * z if key == "theta" else 5 + 0.001 * x + 0.0 * z
    np.testing.assert_allclose(model.field(key), known, rtol=1e-12)


@pytest.mark.parametrize(("key", "value"), [("", 0.0), ("theta = 305", 5.0), ("theta_perturbation = 2", 2.0)])
def test_noise_is_added_to_the_initial_temperature(tmp_path, key, value):
    more = f'[atmosphere]\nequations = "boussinesq"\n[initial]\n{key}\nnoise = {{amplitude = 0.5, seed = 4}}'
    read = case(tmp_path, more=more)
    model = read.build("cpu", "double")
    noise = read.initial.noise.make(model.levels, model.grid)
    assert np.abs(noise).max() > 0.1
    np.testing.assert_allclose(model.field("theta_perturbation"), value + noise, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[initial]\ntheta = 300\ntheta_perturbation = 0", "given twice"),
        ("[initial]\ntheta = 2.0", "as small as a perturbation"),
        ("[initial]\ntheta_perturbation = 300", "as large as a total potential temperature"),
        ("[initial]\ntheta_perturbation = -300", "as large as a total potential temperature"),
    ],
)
def test_a_total_for_a_perturbation_is_rejected_and_the_reverse(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        case(tmp_path, more=text).build("cpu", "double")


def test_the_ground_of_a_case(tmp_path):
    more = '[surface]\nheat_flux = {times = [0, "1 h"], values = [0.0, 0.2]}\npattern = "x / 100"\nroughness = "10 cm"'
    surface = case(tmp_path, more=more).build("cpu", "double").setup.surface
    assert surface.heat_flux(1800.0) == 0.1 and surface.roughness[0, 3] == 0.1 and surface.pattern[0, 3] == 3.0


@pytest.mark.parametrize("ground", ["", "terrain_height = '400 - x / 2'"])
def test_a_flux_of_sensible_heat(tmp_path, ground):
    """F / (rho_b c_p pi) of the reference where the ground is: theta' of a flux is T' / pi of it."""
    (tmp_path / "flux.csv").write_text("t (h),H (W/m2)\n0,0\n1,240\n")
    air = '[atmosphere]\nsurface_pressure = "900 hPa"\nreference_frequency = 0.01'
    more = f'{ground}\n{air}\n[surface]\nsensible_heat_flux = {{file = "flux.csv"}}\npattern = 0.5'
    setup = case(tmp_path, more=more).build("cpu", "double").setup
    z = setup.levels.z[0] * np.ones(setup.grid.shape)
    density = setup.air.density(z)
    pressure = 9e4 - 9.81 * np.array([[integral(setup.air.density, height) for height in row] for row in z])
    expected = 0.5 * 120.0 / (density * 1004.0 * (pressure / 1e5) ** (287.0 / 1004.0))
    np.testing.assert_allclose(setup.surface.heat_flux(1800.0) * setup.surface.pattern, expected, rtol=1e-4)
    assert setup.surface.heat_flux(1800.0) == pytest.approx(240.0 * expected.min() / 120.0, rel=1e-4)


def integral(density, height):
    """The mass between z = 0 and a height, kg/m2."""
    z = np.linspace(0.0, height, 101)
    return float(np.trapezoid(density(z), z))


def test_heat_with_units(tmp_path):
    (tmp_path / "kinematic.csv").write_text("t (h),Q (K m s-1)\n0,0\n1,0.2\n")
    for lines in ('heat_flux = "10 K cm/s"', "heat_flux = 0.1", 'heat_flux = {file = "kinematic.csv"}'):
        surface = case(tmp_path, more=f"[surface]\n{lines}").build("cpu", "double").setup.surface
        assert surface.heat_flux(1800.0) == pytest.approx(0.1)
    (tmp_path / "cooling.csv").write_text("z (km),rate (K/d)\n0,-2\n1,-4\n")
    for lines in ('heating = "-2 K/d"', 'heating = {file = "cooling.csv"}', 'heating = "-2 / 86400"'):
        forcing = case(tmp_path, more=f"[forcing]\n{lines}").build("cpu", "double").setup.forcing
        found = forcing.heating if isinstance(forcing.heating, float) else float(forcing.heating(np.zeros(1))[0])
        assert found == pytest.approx(-2.0 / 86400.0)
    assert case(tmp_path, more='[atmosphere]\ntheta = "290 K"').build("cpu").setup.air.ambient(np.zeros(1)) == 290.0


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('heat_flux = "0.1 W"', "heat_flux"),
        ('heat_flux = "120 W/m2"', 'write:   sensible_heat_flux = "120 W/m2"'),
        ('sensible_heat_flux = "0.1 K m/s"', 'write:   heat_flux = "0.1 K m/s"'),
        ("pattern = 0.5", "pattern without a heat flux"),
        ("heat_flux = 0.1\nsensible_heat_flux = 120.0", "both heat_flux and sensible_heat_flux"),
        ("heat_flux = {times = [0.0, 0.1], values = [0.0, 0.1]}", "a series that covers the whole run"),
        ("roughness = -1.0", "roughness"),
        ("roughness = 100.0", "m with the first level at 250 m"),
        ("flux = 0.1", "heat_flux"),
    ],
)
def test_ground_that_is_refused(tmp_path, lines, words):
    with pytest.raises(InputError, match=words):
        case(tmp_path, more=f"[surface]\n{lines}").build("cpu")


def test_the_closure_of_a_case(tmp_path):
    setup = case(tmp_path, more='[closure]\nconstant = 0.2\nlength = "30 m"').build("cpu", "double").setup
    assert setup.closure.constant == 0.2 and setup.closure.length == 30.0 and setup.closure.prandtl == 1.0 / 3.0
    for lines, words in (('kind = "tke"', "smagorinsky"), ("prandtl = 0.0", "prandtl"), ("cs = 0.1", "constant")):
        with pytest.raises(ConfigError, match=words):
            case(tmp_path, more=f"[closure]\n{lines}")


def test_settings_tell_what_drives_the_air(tmp_path):
    more = """[atmosphere]
equations = "boussinesq"
buoyancy_frequency = 0.01
wind = [5.0, 0.0]
[sponge]
thickness = 500.0
thickness_x = 200.0
rate = 0.02
[closure]
[numerics]
third_order = true
nonoscillatory = false
[surface]
heat_flux = 0.1
roughness = 0.5
[forcing]
heating = "-1e-5 * z"
"""
    found = case(tmp_path, more=more).build("cpu", "double").settings()
    expected = {
        "ambient_wind_x": 5.0, "buoyancy_frequency": 0.01, "top_sponge": "up to 0.02 s-1 from z = 750 m",
        "side_sponges": "up to 0.02 s-1", "closure": "smagorinsky", "surface_heat_flux": 0.1, "roughness": 0.5,
        "heating": "-0.01 to -0", "third_order": 1, "nonoscillatory": 0,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected


def test_maps_of_a_case(tmp_path):
    keys = '[maps]\nfile = "maps.nc"\nmaximum = ["wind_speed"]\nmean = ["u"]\n'
    model = case(tmp_path, more=keys + "levels = [1]").build()
    assert [one.name for one in model.maps.variables] == ["mean_u", "max_wind_speed"]
    assert model.maps.sample()["max_wind_speed"].shape == (1, 1, 8)
    for more, key, allowed in (
        ("levels = [5]", "levels", "0 to 4"),
        ('variance = ["pressure"]', "variance", "wind_speed"),
    ):
        with pytest.raises(ConfigError) as caught:
            case(tmp_path, more=keys + more).build()
        (problem,) = caught.value.problems
        assert problem.key == ("maps", key) and allowed in problem.allowed


def test_probes_by_name_and_in_double_brackets(tmp_path):
    head = '[probes]\nfile = "p.nc"\ninterval = 1\n'
    rows = case(tmp_path, more=head + 'points = [{name = "mast", x = 1, z = 10}, {name = "tower", x = "1 km"}]')
    tables = case(tmp_path, more=head + "points.mast = {x = 1, z = 10}\npoints.tower = {x = 1000}")
    assert rows.probes == tables.probes
    with pytest.raises(ConfigError, match=r"(?s)two called 'a'.*write:   name = \"a 2\""):
        case(tmp_path, more=head + 'points = [{name = "a", x = 1}, {name = "a", x = 2}]')
