"""Case files of the barotropic model, and its benchmark's records."""

from __future__ import annotations

import math

import numpy as np
import pytest
import xarray as xr

from eagre import BarotropicVorticity, Layers
from eagre.config.problems import ConfigError
from eagre.laboratory.bench.benchmark import KEYS, bench
from eagre.models.barotropic.config import BarotropicCase

HEAD = 'model = "barotropic"\nrun = {end_time = 1.0, device = "cpu", precision = "double"}\n'


def built(text):
    return BarotropicCase.loads(HEAD + text).build()


def test_nondimensional_case_is_the_double_gyre():
    model = built("basin.nx = 17\nnumerics.time_step = 1e-7\nnondimensional = {reynolds = 10.0, mu = 3.0}\n")
    theirs = BarotropicVorticity.double_gyre(17, reynolds=10.0, mu=3.0, device="cpu", precision="double")
    for one in (model, theirs):
        one.advance(1e-6)
    assert np.abs(model.field("streamfunction") - theirs.field("streamfunction")).max() < 1e-15
    assert model.settings() == theirs.settings()


def test_dimensional_case():
    model = built(
        'basin = {nx = 33, ny = 17, length_x = "3200 km", length_y = "1600 km", walls = "no-slip"}\n'
        'physics = {beta = 2e-11, viscosity = "500 m2/s", deformation_radius = "45 km"}\n'
        'wind = {stress = "0.1 N/m2", depth = "500 m"}\nnumerics = {time_step = "1 h", scheme = "ab2"}\n'
    )
    assert (model.grid.dx, model.grid.dy) == pytest.approx((1e5, 1e5))
    assert model.grid.x[[0, -1]] == pytest.approx([0.0, 3.2e6])
    amplitude = math.pi * 0.1 / (1000 * 500 * 1.6e6)
    assert model.field("wind_forcing")[4, 3] == pytest.approx(-amplitude, rel=1e-12, abs=0.0)
    assert model.setup.screening == pytest.approx(45e3**-2, rel=1e-12, abs=0.0) and model.setup.order == 2
    assert "Munk width" in model.notes[0] and "Re = " in model.notes[1]


@pytest.fixture
def arguments(monkeypatch, tmp_path):
    """A function that builds a case and returns the grid and the model's arguments; no model is made."""
    taken = {}
    monkeypatch.setattr("eagre.models.barotropic.model.BarotropicVorticity", lambda grid, **options: taken.update(
        options, grid=grid))  # fmt: skip

    def build(text, **options):
        taken.clear()
        BarotropicCase.loads(HEAD + text, tmp_path).build(**options)
        return dict(taken)

    return build


def test_every_key_arrives(arguments):
    """Nothing of a case file is left behind, or put in another place."""
    taken = arguments(
        'basin = {kind = "channel", nx = 8, ny = 6, length_x = 8.0, length_y = 5.0, x0 = 10.0, y0 = 20.5, '
        'walls = "no-slip", slip_length = 0.7}\n'
        'physics = {beta = 2.0, viscosity = "3 m2/s", biharmonic_viscosity = 4.0, bottom_friction = 5.0}\n'
        'wind = {stress = 0.1, density = 500.0, depth = 20.0}\nlayers = {upper = 6.0, lower = 7.0}\n'
        'topography = {height = "x", coriolis = 8.0, depth = 40.0}\n'
        'initial = {relative_vorticity = "y", relative_vorticity_lower = "2 * y"}\n'
        'tracer = {initial = "x + y", diffusivity = 9.0}\n'
        "particles = {positions = [[11.0, 21.0]], file = 'a.nc', interval = 1}\n"
        'numerics = {time_step = 0.5, jacobian = "advective", scheme = "ab2", compensated_summation = true}\n',
        device="cuda", precision="single",
    )  # fmt: skip
    grid = taken.pop("grid")
    assert (grid.nx, grid.ny, grid.dx, grid.dy) == (8, 6, 1.0, 1.0)
    assert (grid.x[0], grid.y[0], grid.y[-1]) == (10.0, 20.5, 25.5)
    assert taken.pop("layers") == Layers(6.0, 7.0)
    x, y = grid.mesh()
    curl = -math.pi * 0.1 / (500.0 * 20.0 * 5.0) * np.sin(2.0 * math.pi * (y - 20.5) / 5.0)
    fields = {
        "wind_forcing": curl,
        "topography": 0.2 * x,
        "relative_vorticity": y,
        "relative_vorticity_lower": 2.0 * y,
        "tracer": x + y,
    }
    for name, expected in (fields | {"particles": [[11.0, 21.0]]}).items():
        np.testing.assert_allclose(taken.pop(name), expected, rtol=1e-12, atol=1e-18, err_msg=name)
    assert taken == {
        **{"basin": "channel", "walls": "no-slip", "slip_length": 0.7, "device": "cuda", "precision": "single"},
        **{"beta": 2.0},
        **{"viscosity": 3.0, "biharmonic_viscosity": 4.0, "bottom_friction": 5.0, "deformation_radius": None},
        **{"tracer_diffusivity": 9.0, "time_step": 0.5, "jacobian": "advective", "scheme": "ab2"},
        **{"viscosity_scheme": "explicit", "compensated_summation": True},
    }


def test_periods_have_as_many_intervals_as_points(arguments):
    text = 'basin = {kind = "%s", nx = 8, ny = 6, length_x = 8.0, length_y = 6.0}\nnumerics.time_step = 1.0\n'
    text += 'wind.curl = "x"\n'
    for kind, dx, dy in (("box", 8 / 7, 6 / 5), ("channel", 1.0, 6 / 5), ("periodic", 1.0, 1.0)):
        taken = arguments(text % kind)
        grid = taken["grid"]
        assert taken["basin"] == kind and (grid.dx, grid.dy) == pytest.approx((dx, dy))
        np.testing.assert_allclose(taken["wind_forcing"], grid.mesh()[0])


def test_channel_with_everything():
    model = built(
        'basin = {kind = "channel", nx = 32, ny = 17, length_x = 3.2e6, length_y = 1.6e6}\n'
        "layers = {upper = 4e-10, lower = 1e-10}\ninitial.relative_vorticity = 'sin(2 * pi * x / 3.2e6) * 1e-6'\n"
        'topography = {height = "500 * x / 3.2e6", coriolis = 1e-4, depth = 4000}\n'
        "tracer = {initial = 'where(x < 1e6, 1, 0)', diffusivity = 10}\nwind.curl = 1e-15\n"
        "numerics = {time_step = 3600}\nphysics = {viscosity = 100.0}\n"
    )
    assert model.grid.dx == pytest.approx(1e5) and model.grid.dy == pytest.approx(1e5)
    assert model.setup.topography is not None
    assert model.setup.topography[0, 16] == pytest.approx(1e-4 * 500 * 0.5 / 4000)
    model.advance(7200.0)
    assert {"streamfunction_lower", "tracer"} <= set(model.variables)
    assert all(np.isfinite(model.field(name)).all() for name in model.variables)


@pytest.mark.parametrize("kind", ["box", "channel", "periodic"])
def test_a_stress_in_space_drives_by_its_curl(kind, tmp_path, arguments):
    """d tau_y / dx - d tau_x / dy over density and depth, point by point; of a file of other points and other order."""
    nx, ny, length = 24, 16, 2e6
    name = tmp_path / "stress.nc"
    x, y = np.linspace(-1e5, 2.1e6, 45), np.linspace(2.1e6, -1e5, 23)  # from north to south
    values = 0.1 + 2e-8 * x - 3e-8 * y[:, None]
    field = xr.DataArray(np.stack([0.0 * values, values]), {"time": [0.0, 1.0], "y": y, "x": x}, ("time", "y", "x"))
    xr.Dataset({"tauuo": field.astype(np.float64)}).to_netcdf(name)
    found = {}
    for source in (f'{{file = "{name}", variable = "tauuo", record = 2}}', '"0.1 * cos(2 * pi * y / 2e6)"'):
        taken = arguments(
            f'basin = {{kind = "{kind}", nx = {nx}, ny = {ny}, length_x = {length}, length_y = {length}}}\n'
            f'wind = {{stress_x = {source}, stress_y = "0.2 * sin(pi * x / 1e6)", density = 1025.0, depth = 20.0}}\n'
            "numerics.time_step = 1.0\n", device="cpu", precision="double",
        )  # fmt: skip
        found[source] = taken["wind_forcing"] * 1025.0 * 20.0
        grid = taken["grid"]
    of_file, of_text = found.values()
    inside = (slice(1, -1), slice(1, -1))
    k = 2.0 * np.pi / length
    slope_y = 0.2 * np.cos(k * grid.x) * np.sin(k * grid.dx) / grid.dx  # of the differences of a sine
    slope_x = -0.1 * np.sin(k * grid.y)[:, None] * np.sin(k * grid.dy) / grid.dy
    np.testing.assert_allclose(of_text[inside], (slope_y - slope_x)[inside], rtol=1e-9, atol=1e-18)
    np.testing.assert_allclose(of_file[inside], (slope_y + 3e-8 + 0.0 * slope_x)[inside], rtol=1e-6)
    edges = {"box": (), "channel": (1,), "periodic": (0, 1)}[kind]
    if 0 in edges:
        np.testing.assert_allclose(of_text, slope_y - slope_x, rtol=1e-9, atol=1e-18)
    elif 1 in edges:
        np.testing.assert_allclose(of_text[1:-1], (slope_y - slope_x)[1:-1], rtol=1e-9, atol=1e-18)
    else:
        np.testing.assert_allclose(of_text, slope_y - slope_x, atol=0.05 * k * 0.2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("basin = {nx = 17, length_x = 1.0}\nnumerics.time_step = 1.0\nwind.stress_y = 0.1\n", "depth"),
        (
            "basin = {nx = 17, length_x = 1.0}\nnumerics.time_step = 1.0\nwind = {curl = 1.0, stress_x = 0.1}\n",
            "both curl and stress_x",
        ),
        ("basin.nx = 17\nnumerics.time_step = 1.0\n", "length_x"),
        ("basin = {nx = 17, length_x = 1.0}\nnumerics.time_step = 1.0\nwind.stress = 0.1\n", "depth"),
        ("basin.nx = 17\nnumerics.time_step = 1.0\nnondimensional = {}\nphysics = {}\n", "nondimensional"),
        ('basin = {nx = 17, length_x = 1.0, walls = "slip"}\nnumerics.time_step = 1.0\n', "free-slip"),
        ("basin = {nx = 17, length_x = 1.0}\nnumerics = {}\n", "time_step"),
        ("basin = {nx = 17, length_x = 1.0}\nnumerics.time_step = 1.0\nwind = {}\n", "neither curl nor stress"),
        (
            "basin = {nx = 17, length_x = 1.0}\nnumerics.time_step = 1.0\nwind = {curl = 1.0, stress = 0.1}\n",
            "both curl and",
        ),
        (
            "basin = {nx = 17, length_x = 1.0}\nnumerics.time_step = 1.0\n"
            "particles = {positions = [[0.5, 0.5]], every = 0.1, file = 'a.nc', interval = 1}\n",
            "both positions and every",
        ),
        (
            "basin = {nx = 17, length_x = 1.0}\nnumerics.time_step = 1.0\n"
            "particles = {positions = [], file = 'a.nc', interval = 1}\n",
            "one or more",
        ),
    ],
)
def test_what_is_refused(text, words):
    with pytest.raises(ConfigError, match=words):
        BarotropicCase.loads(HEAD + text)


@pytest.mark.parametrize("wind", ["nondimensional = {}", "wind = {stress = 0.05, depth = 300}", ""])
def test_a_basin_that_does_not_fit_is_told_before_its_fields_are_made(wind):
    from eagre import MemoryNeededError

    text = "basin = {nx = 3000001, length_x = 3e9}\nnumerics.time_step = 1e-9\n"
    with pytest.raises(MemoryNeededError, match=r"needs \d+.\d+ GiB of memory, but .* has \d+.\d+ GiB free"):
        built(text + wind)


def test_records_of_the_benchmark():
    records = bench(
        "barotropic", "cpu", "double", [33], variants=("bleichrodt2011",), repeats=2, seconds=0.002, commit="abc"
    )
    assert [tuple(record) for record in records] == [KEYS] * len(records)
    for record in records:
        assert record["model"] == "barotropic" and record["variant"] == "bleichrodt2011" and record["shape"] == [33, 33]
        assert "bleichrodt2011 0.2056 ms (core)" in record["error"] and record["cell_steps_per_s"] > 0
