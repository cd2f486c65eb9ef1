"""What an anelastic run measures on a real card: the same as on the CPU."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import eagre
from anelastic_runs import RUNS
from eagre.advection import Mpdata, mpdata
from eagre.backend.select import cuda_problem
from eagre.models.anelastic.base.atmosphere import Atmosphere

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(cuda_problem() is not None, reason=f"no CUDA: {cuda_problem()}"),
]
SHAPE = (9, 12, 16)
TIGHT = {"single": 2e-4, "double": 1e-9}


def flow(device, precision, hill, boundaries=None):
    """Noise in stratified air."""
    boundaries = boundaries or {}
    wraps = (boundaries.get("x", "periodic") == "periodic", boundaries.get("y", "periodic") == "periodic")
    grid = eagre.Grid.from_points(SHAPE[2], SHAPE[1], 1600.0, 1200.0, periodic=wraps)
    rng = np.random.default_rng(5)
    wind = tuple(rng.standard_normal(SHAPE) + mean for mean in (10.0, -3.0, 0.0))
    ground = 100.0 * np.exp(-(((grid.x - 800.0) / 300.0) ** 2)) * np.ones(grid.shape) if hill else None
    return eagre.AnelasticFlow(
        grid, SHAPE[0], top_height=800.0, atmosphere=Atmosphere.boussinesq(buoyancy_frequency=0.01), velocity=wind,
        theta_perturbation=rng.standard_normal(SHAPE), scalars={"dye": rng.random(SHAPE)}, boundaries=boundaries,
        terrain_height=ground, tolerance=1e-10 if precision == "double" else 1e-6, device=device, precision=precision,
    )  # fmt: skip


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("hill", [False, True])
def test_averages_are_those_of_the_cpu(precision, hill):
    found = []
    for device in ("cpu", "cuda", "cuda"):
        model = flow(device, precision, hill, {"x": "wall"})
        averages = model.profiles(2)
        model.advance(1e9, max_steps=5)
        found.append(averages.take(model.time))
    for name, values in found[0].items():
        scale = np.nanmax(np.abs(values)) + (1.0 if name == "w" else 1e-6)
        tight = TIGHT[precision] * (1.0 if not name.startswith("tke_") and name != "pressure" else 50.0)
        np.testing.assert_allclose(found[1][name], values, rtol=0, atol=tight * scale, err_msg=name)
        np.testing.assert_array_equal(found[1][name], found[2][name])


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("every", [1, 3])
def test_averages_at_points_are_those_of_the_cpu_and_go_on_bit_for_bit(precision, every):
    extremes = {"maximum": ["wind_speed"], "minimum": ["w"]} if every == 1 else {}
    asked = eagre.TimeStatistics(["u", "theta", "dye"], ["w"], [("u", "w")], every=every, **extremes)
    there, whole, cut, on = (
        RUNS["forced"](device=device, precision=precision, time_statistics=asked) for device in ("cpu", *("cuda",) * 3)
    )
    for one in (there, whole):
        one.advance(1e9, max_steps=8)
    cut.advance(1e9, max_steps=4)
    on.restore(cut.state())
    on.advance(1e9, max_steps=4)
    expected, again = there.maps.sample(), on.maps.sample()
    for name, values in whole.maps.sample().items():
        scale = np.abs(expected[name]).max() + 1e-6
        np.testing.assert_allclose(values, expected[name], rtol=0, atol=10.0 * TIGHT[precision] * scale, err_msg=name)
        np.testing.assert_array_equal(again[name], values, err_msg=name)


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("name", ["closed-flat", "closed-hill"])
def test_what_a_closure_carries_is_that_of_the_cpu(precision, name):
    found = []
    for device in ("cpu", "cuda"):
        model = RUNS[name](device=device, precision=precision)
        averages = model.profiles(2)
        model.advance(1e9, max_steps=5)
        found.append(averages.take(model.time))
    for key in [key for key in found[0] if "subgrid" in key or key == "eddy_viscosity"]:
        scale = np.nanmax(np.abs(found[0][key])) + 1e-6
        np.testing.assert_allclose(found[1][key], found[0][key], rtol=0, atol=TIGHT[precision] * scale, err_msg=key)


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("hill", [False, True])
def test_what_is_fetched_is_that_of_the_cpu(precision, hill):
    found = []
    for device in ("cpu", "cuda"):
        model = flow(device, precision, hill)
        model.advance(1e9, max_steps=3)
        parts = [model.slice(["u", "theta", "pressure"], **place) for place in ({"i": 3}, {"y": 130.0}, {"z": 70.0})]
        parts += [model.probes({"a": {"x": 333.0, "y": 140.0}, "b": {"x": 1580.0, "y": 1150.0, "z": 410.0}})]
        parts += [model.spectra([150.0, 600.0]), model.maxima()]
        found.append([part.sample() for part in parts])
    for ours, theirs in zip(*found, strict=True):
        for name, values in ours.items():
            scale = np.nanmax(np.abs(values)) + 1e-6
            tight = TIGHT[precision] * (50.0 if name == "pressure" else 1.0)
            if name in ("iterations", "scaled_divergence"):
                continue  # of the order of the tolerance, in another order of sums
            np.testing.assert_allclose(theirs[name], values, rtol=0, atol=tight * scale, err_msg=name)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_a_snapshot_holds_the_moment_while_steps_go_on(precision):
    names = ("u", "w", "theta", "pressure", "dye", "w_max")
    model = flow("cuda", precision, False)
    for _ in range(3):
        model.advance(1e9, max_steps=2)
        expected = {name: model.field(name) for name in names}
        taken = model.snapshot(names)
        model.advance(1e9, max_steps=2)
        found: list[dict[str, np.ndarray]] = []
        thread = threading.Thread(target=lambda: found.append(taken()))  # noqa: B023
        thread.start()
        thread.join()
        for name, values in expected.items():
            np.testing.assert_array_equal(found[0][name], values, err_msg=name)
        assert not np.array_equal(expected["u"], model.field("u"))


def test_fortran_arrays_of_a_card_are_not_copied(monkeypatch):
    import cupy

    x, v = np.random.default_rng(3).random(SHAPE), []
    for axis in range(3):
        v.append(0.1 * np.ones([n + (axis == other) for other, n in enumerate(SHAPE)]))
    seen, advance = [], mpdata._advance

    def watched(plan, field, *more):
        seen.append(field)
        advance(plan, field, *more)

    monkeypatch.setattr(mpdata, "_advance", watched)
    given = cupy.asfortranarray(cupy.asarray(x))
    out = cupy.zeros_like(given)
    faces = [cupy.asfortranarray(cupy.asarray(one)) for one in v]
    found = Mpdata(SHAPE, order="F").step(given, faces, steps=2, out=out)
    assert found is out and found.flags.f_contiguous and cupy.may_share_memory(seen[0], given)
    np.testing.assert_allclose(cupy.asnumpy(found), Mpdata(SHAPE).step(x, v, steps=2), atol=1e-13)
