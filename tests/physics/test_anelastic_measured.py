"""Slices, probes, spectra and maxima of anelastic flow against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.errors import InputError
from eagre.laboratory.cases.atmosphere import decaying_turbulence
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.sampling.spectra import one_sided

SHAPE = (9, 12, 16)
X, Y = 100.0 * np.arange(16), 100.0 * np.arange(12)


def ground_of(hill):
    return 120.0 * np.exp(-(((X - 700.0) / 200.0) ** 2)) * np.ones((12, 1)) if hill else None


def flow(hill=False, boundaries=None, steps=2, precision="double", **options):
    """Noise in stratified air."""
    boundaries = boundaries or {}
    wraps = (boundaries.get("x", "periodic") == "periodic", boundaries.get("y", "periodic") == "periodic")
    lengths = [100.0 * (n if ring else n - 1) for n, ring in zip((16, 12), wraps, strict=True)]
    rng = np.random.default_rng(5)
    wind = tuple(rng.standard_normal(SHAPE) + mean for mean in (10.0, -3.0, 0.0))
    model = eagre.AnelasticFlow(
        eagre.Grid.from_points(16, 12, *lengths, periodic=wraps), 9, top_height=800.0,
        atmosphere=Atmosphere.boussinesq(buoyancy_frequency=0.01), velocity=wind,
        theta_perturbation=rng.standard_normal(SHAPE),
        scalars={"dye": rng.random(SHAPE)}, boundaries=boundaries, terrain_height=ground_of(hill), device="cpu",
        precision=precision, **options,
    )  # fmt: skip
    if steps:
        model.advance(1e9, max_steps=steps)
    return model


def at(field, z, x, y, height, ring=(True, True)):
    """A field (nz, ny, nx) at a point: linear along z in four columns, then along x and y."""
    places = []
    for points, value, wraps in ((X, x, ring[0]), (Y, y, ring[1])):
        low = min(int(value // 100.0), points.size - (1 if wraps else 2))
        places.append([(low, 1.0 - (value / 100.0 - low)), ((low + 1) % points.size, value / 100.0 - low)])
    total = 0.0
    for j, along_y in places[1]:
        for i, along_x in places[0]:
            total += along_x * along_y * np.interp(height, z[:, j, i], field[:, j, i])
    return total


@pytest.mark.parametrize("hill", [False, True])
@pytest.mark.parametrize(
    ("place", "axis", "n"),
    [({"i": 3}, 2, 3), ({"x": 300.0}, 2, 3), ({"j": 11}, 1, 11), ({"y": 0.0}, 1, 0), ({"k": 2}, 0, 2)],
)
def test_planes_of_points(hill, place, axis, n):
    model = flow(hill)
    plane = model.slice(["u", "theta", "theta_perturbation", "pressure", "dye"], **place)
    for name, values in plane.sample().items():
        expected = model.field(name).astype(float).take(n, axis=axis)
        np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)


def test_pressure_is_missing_before_the_first_step():
    """In fields, snapshots, slices and probes; a step makes it finite."""
    model = flow(steps=0)
    plane = model.slice(["u", "pressure"], z=125.0)
    probe = model.probes({"mast": {"x": 150.0, "y": 200.0, "z": [50.0]}}, ["u", "pressure"])

    def known():
        values = [model.field("pressure"), model.snapshot(["pressure"])()["pressure"]]
        values += [one.sample()["pressure"] for one in (plane, probe)]
        return [bool(np.isfinite(one).all()) for one in values], [bool(np.isnan(one).any()) for one in values]

    assert known() == ([False] * 4, [True] * 4)
    assert np.isfinite(plane.sample()["u"]).all() and np.isfinite(probe.sample()["u"]).all()
    model.advance(1e9, max_steps=1)
    assert known() == ([True] * 4, [False] * 4)


def test_planes_between_points():
    model = flow()
    w = model.field("w")
    np.testing.assert_allclose(
        model.slice(["w"], x=1575.0).sample()["w"], 0.25 * w[:, :, 15] + 0.75 * w[:, :, 0], atol=1e-13
    )
    np.testing.assert_allclose(model.slice(["w"], z=125.0).sample()["w"], 0.75 * w[1] + 0.25 * w[2], atol=1e-13)


@pytest.mark.parametrize("hill", [False, True])
def test_the_top_is_the_last_level(hill):
    """Of planes and probes."""
    model = flow(hill)
    w = model.field("w")
    np.testing.assert_allclose(model.slice(["w"], z=800.0).sample()["w"], w[-1], atol=1e-12)
    mast = model.probes({"mast": {"x": 300.0, "y": 200.0, "z": 800.0}}, ["w"])
    assert float(mast.sample()["w"][0]) == pytest.approx(w[-1, 2, 3], abs=1e-12)


def test_above_the_last_level_of_a_periodic_box_comes_the_first():
    model = decaying_turbulence(8, "solenoidal", time_step=0.02, device="cpu", precision="double")
    w, z = model.field("w"), model.levels.height
    between = float(z[-1]) + 0.25 * float(z[1])
    found = float(model.probes({"a": {"x": 0.0, "y": 0.0, "z": between}}, ["w"]).sample()["w"][0])
    assert found == pytest.approx(0.75 * w[-1, 0, 0] + 0.25 * w[0, 0, 0], abs=1e-14)
    np.testing.assert_allclose(model.slice(["w"], z=between).sample()["w"], 0.75 * w[-1] + 0.25 * w[0], atol=1e-14)
    with pytest.raises(InputError, match="above the top"):
        model.slice(["w"], z=float(z[-1]) + 1.1 * float(z[1]))


def test_a_level_plane_over_a_hill_is_empty_under_the_ground():
    model = flow(True)
    z, height, under = np.broadcast_to(model.levels.z, SHAPE), 60.0, np.asarray(ground_of(True)) > 60.0
    for name in ("w", "theta"):
        found, field = model.slice([name], z=height).sample()[name], model.field(name)
        assert np.array_equal(np.isnan(found), under) and 0 < under.sum() < under.size
        expected = np.array([[np.interp(height, z[:, j, i], field[:, j, i]) for i in range(16)] for j in range(12)])
        np.testing.assert_allclose(found[~under], expected[~under], rtol=1e-12, atol=1e-3 if name == "theta" else 1e-12)


@pytest.mark.parametrize("hill", [False, True])
def test_probes_between_points(hill):
    model = flow(hill)
    z = np.broadcast_to(model.levels.z, SHAPE)
    points = {"a": {"x": 333.0, "y": 140.0, "z": [130.0, 700.0]}, "b": {"x": 1580.0, "y": 1150.0, "z": 410.0}}
    probes = model.probes(points, ["u", "w", "dye"])
    assert probes.names == ["a z=130", "a z=700", "b"]
    for name, values in probes.sample().items():
        field = model.field(name)
        expected = [
            at(field, z, *place) for place in ((333.0, 140.0, 130.0), (333.0, 140.0, 700.0), (1580.0, 1150.0, 410.0))
        ]
        np.testing.assert_allclose(values, expected, rtol=1e-11, atol=1e-12)


def test_a_column_has_every_level():
    model = flow(True)
    column = model.probes({"tower": {"x": 700.0, "y": 200.0}}, ["w"])
    assert len(column.names) == 9
    np.testing.assert_allclose(column.sample()["w"], model.field("w")[:, 2, 7], atol=1e-12)
    np.testing.assert_allclose(column.coordinates["z"][0], model.levels.z[:, 2, 7])


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ({"x": 700.0, "y": 0.0, "z": 100.0}, ["z = 100 m at x = 700 m", "below the terrain", "120"]),
        ({"x": 700.0, "y": 0.0, "z": 801.0}, ["above the top", "800"]),
        ({"x": -10.0, "y": 0.0, "z": 300.0}, ["x = -10 m, outside the domain", "1600"]),
        ({"x": 0.0, "y": 1300.0, "z": 300.0}, ["y = 1300 m, outside the domain", "1200"]),
    ],
)
def test_points_that_are_not_in_the_air_are_refused(point, words):
    with pytest.raises(InputError) as error:
        flow(True, steps=0).probes({"a": point})
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ({}, "one of x, y, z, i, j, k"), ({"x": 1.0, "k": 2}, "one of x, y"), ({"k": 9}, "k = 9"),
        ({"z": 900.0}, "above the top"), ({"x": 1601.0}, "outside the domain"), ({"z": -5.0}, "below the terrain"),
    ],
)  # fmt: skip
def test_planes_that_are_not_there_are_refused(place, words):
    with pytest.raises(InputError, match=words):
        flow(steps=0).slice(["w"], **place)


def test_fields_that_cannot_be_fetched_are_refused():
    with pytest.raises(InputError, match="vorticity"):
        flow(steps=0).slice(["vorticity"], k=1)


@pytest.mark.parametrize("n", [15, 16])
def test_spectra_sum_to_the_variance(n):
    lines = np.random.default_rng(2).standard_normal((5, n)) + 7.0
    found = one_sided(lines, 25.0, np.ones(5))
    wave = 2.0 * np.pi / (n * 25.0)
    assert found.size == n // 2
    np.testing.assert_allclose(found.sum() * wave, lines.var(axis=1).mean(), rtol=1e-13)


def test_a_wave_stands_at_its_wave_number():
    x = 25.0 * np.arange(16)
    found = one_sided(3.0 * np.sin(2.0 * np.pi * 3 * x / 400.0)[None], 25.0, np.ones(1))
    expected = np.zeros(8)
    expected[2] = 4.5 / (2.0 * np.pi / 400.0)
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_spectra_of_a_run_have_its_variance():
    model = flow(boundaries={"y": "wall"})
    spectra = model.spectra([200.0, 450.0])
    assert [axis.name for axis in spectra.axes] == ["z", "wavenumber_x"]
    found = spectra.sample()["w_spectrum_x"]
    w = model.field("w")
    np.testing.assert_allclose(spectra.axes[1].values, 2.0 * np.pi / 1600.0 * np.arange(1, 9), rtol=1e-14)
    weights = np.ones(12)
    weights[[0, -1]] = 0.5
    for row, plane in zip(found, (w[2], 0.5 * (w[4] + w[5])), strict=True):
        expected = np.average(plane.var(axis=1), weights=weights)
        np.testing.assert_allclose(row.sum() * 2.0 * np.pi / 1600.0, expected, rtol=1e-12)
    both = flow().spectra([200.0], ["u"])
    np.testing.assert_allclose(both.axes[2].values, 2.0 * np.pi / 1200.0 * np.arange(1, 7), rtol=1e-14)
    found = both.sample()
    assert found["u_spectrum_x"].shape == (1, 8) and found["u_spectrum_y"].shape == (1, 6)


@pytest.mark.parametrize(
    ("options", "arguments", "words"),
    [
        ({"boundaries": {"x": "wall"}}, {"axes": ["x"]}, "along x, which has boundaries 'wall'"),
        ({"boundaries": {"x": "wall", "y": "wall"}}, {}, "neither x nor y"),
        ({"hill": True}, {"heights": [100.0]}, "below the highest terrain"),
        ({}, {"heights": [900.0]}, "above the top"),
        ({}, {"heights": []}, "increasing heights"),
        ({}, {"axes": ["z"]}, "along 'z'"),
    ],
)
def test_spectra_that_are_none_are_refused(options, arguments, words):
    with pytest.raises(InputError, match=words):
        flow(steps=0, **options).spectra(**{"heights": [300.0], **arguments})


def test_spacings_that_air_crosses_are_those_of_each_axis():
    """Of oblong cells: 2 m/s along x and 3 m/s along y cross 0.1 and 0.3 spacings in 5 s."""
    grid = eagre.Grid.from_points(8, 6, 800.0, 300.0, periodic=(True, True))
    model = eagre.AnelasticFlow(grid, 5, top_height=400.0, velocity=(2.0, 3.0, 0.0), time_step=5.0, device="cpu")
    model.advance(5.0)
    assert float(model.maxima().sample()["advective_courant_number"]) == pytest.approx(0.4, rel=1e-6)


@pytest.mark.parametrize("hill", [False, True])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_maxima_are_those_of_the_fields(hill, precision):
    model = flow(hill, precision=precision)
    found = {name: float(value) for name, value in model.maxima().sample().items()}
    u, v, w, theta, dye = (model.field(name).astype(float) for name in ("u", "v", "w", "theta_perturbation", "dye"))
    expected = {
        "max_abs_u": np.abs(u).max(), "max_abs_v": np.abs(v).max(), "max_w": w.max(), "min_w": w.min(),
        "max_theta_perturbation": theta.max(), "min_theta_perturbation": theta.min(), "max_dye": dye.max(),
        "min_dye": dye.min(),
        "steps": 2.0, **{name: model.diagnostics()[name] for name in ("stability_number", "scaled_divergence")},
        "iterations": 2.0 * model.statistics()["iterations_a_step"],
    }  # fmt: skip
    ground = ground_of(hill)
    if ground is None:
        rise = w
    else:
        slope = (np.roll(ground, -1, 1) - np.roll(ground, 1, 1)) / 200.0
        levels = np.linspace(0.0, 800.0, 9)[:, None, None]
        rise = (w - u * slope * (1.0 - levels / 800.0)) / (1.0 - ground / 800.0)
    expected["advective_courant_number"] = found["time_step"] * (np.abs(u) + np.abs(v) + np.abs(rise)).max() / 100.0
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-5 if precision == "single" else 1e-12), name
