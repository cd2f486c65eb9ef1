"""The barotropic model against its plain transcription, and against itself after a restart."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eagre import BarotropicVorticity, Grid
from oracle.barotropic import BarotropicOracle


def random_setup(nx=27, ny=19, seed=3):
    """A box with different spacings, noise in wind and vorticity."""
    rng = np.random.default_rng(seed)
    grid = Grid.from_points(nx, ny, 2.6, 3.0)
    zeta = np.zeros((ny, nx))
    zeta[1:-1, 1:-1] = 20.0 * rng.standard_normal((ny - 2, nx - 2))
    return grid, zeta, rng.standard_normal((ny, nx))


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("jacobian", ["arakawa", "advective"])
@pytest.mark.parametrize(
    ("scheme", "radius", "walls", "slip", "viscosity_scheme"),
    [
        ("ab2", None, "free-slip", 0.0, "explicit"), ("ab3", 0.5, "no-slip-thom", 0.3, "explicit"),
        ("ab3", None, "no-slip", 0.05, "explicit"), ("ab3", None, "free-slip", 0.0, "implicit"),
        pytest.param("ab2", 0.5, "no-slip", 0.0, "explicit", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_steps_as_the_transcription(precision, jacobian, scheme, radius, walls, slip, viscosity_scheme):
    grid, zeta, curl = random_setup()
    physics = {"beta": 3.0, "viscosity": 0.02}
    model = BarotropicVorticity(
        grid, time_step=1e-3, wind_forcing=curl, bottom_friction=0.3, deformation_radius=radius, walls=walls,
        jacobian=jacobian, scheme=scheme, potential_vorticity=zeta, device="cpu", precision=precision,
        viscosity_scheme=viscosity_scheme, slip_length=slip, **physics,
    )  # fmt: skip
    screening = 0.0 if radius is None else radius**-2
    oracle = BarotropicOracle(
        grid.nx - 1, grid.ny - 1, 2.6, 3.0, friction=0.3, curl=curl, jacobian=jacobian, order=int(scheme[2]),
        no_slip={"no-slip-thom": "thom", "no-slip": "woods"}.get(walls), screening=screening,
        implicit=viscosity_scheme == "implicit", slip=slip, **physics,
    )  # fmt: skip
    oracle.start(zeta)
    for _ in range(25):
        oracle.step(1e-3)
    model.advance(0.025)
    assert model.steps == 25 and model.time == 0.025
    tolerance = 1e-12 if precision == "double" else 2e-5
    if viscosity_scheme == "implicit":  # `column_table` loses digits of 1 - delta (test_barotropic_reference.py)
        tolerance = max(tolerance, 1e-11)
    psi = model.field("streamfunction")
    assert np.abs(psi - oracle.psi).max() < tolerance * np.abs(oracle.psi).max()
    inner = (slice(1, -1), slice(1, -1))
    q = model._engine.points("q")
    assert np.abs(q - oracle.zeta)[inner].max() < tolerance * np.abs(oracle.zeta).max()


@pytest.mark.parametrize("points", [33, 65])
def test_start_of_the_double_gyre(points):
    """Regression numbers of the specification: psi_max, energy and enstrophy after 10,000 steps."""
    psi_max, energy, enstrophy = {33: (6.2027, 999.98, 3.18031e5), 65: (5.9268, 982.45, 8.91960e5)}[points]
    model = BarotropicVorticity.double_gyre(
        points, jacobian="advective", scheme="ab2", device="cpu", precision="double"
    )
    model.advance(1e-3)
    found = model.diagnostics()
    assert model.steps == 10_000
    assert found["max_streamfunction"] == pytest.approx(psi_max, rel=1e-5)
    assert found["energy"] == pytest.approx(energy, rel=1e-5)
    assert found["enstrophy"] == pytest.approx(enstrophy, rel=2e-6)


def test_first_step_is_the_wind():
    model = BarotropicVorticity.double_gyre(33, device="cpu", precision="double")
    model.advance(1e-7)
    y = model.grid.y[1:-1, None]
    assert np.abs(model.field("relative_vorticity")[1:-1, 1:-1] + 1e-7 * 1.36e5 * np.sin(2 * y)).max() < 1e-17


OPTIONS = {
    "box": {},
    "no slip": {"walls": "no-slip"},
    "channel": {"basin": "channel", "walls": "no-slip"},
    "periodic": {"basin": "periodic", "scheme": "ab2"},
    "implicit": {"viscosity_scheme": "implicit"},
    "compensated": {"compensated_summation": True},
    "terms": {"topography": "noise", "biharmonic_viscosity": 1e-4, "bottom_friction": 0.1},
    "tracer and particles": {"tracer": "noise", "tracer_diffusivity": 0.01, "particles": [[0.5, 0.5], [1.0, 2.0]]},
}


KEPT = {"compensated_summation": True, "topography": "noise"}


def model_of(name, **more):
    from eagre.models.barotropic.layers import Layers

    grid, zeta, curl = random_setup()
    options = {**OPTIONS.get(name, {}), **more}
    options = {k: (curl if isinstance(v, str) and v == "noise" else v) for k, v in options.items()}
    if name == "layers":
        options |= {"layers": Layers(3.0, 1.0), "potential_vorticity_lower": 0.3 * zeta[::-1], "bottom_friction": 0.2}
    base = {
        "time_step": 1e-3,
        "beta": 3.0,
        "viscosity": 0.02,
        "wind_forcing": curl,
        "potential_vorticity": zeta,
        "device": "cpu",
    }
    return BarotropicVorticity(grid, **{**base, **options})


@pytest.mark.parametrize(("name", "more"), [*((name, {}) for name in (*OPTIONS, "layers")), ("layers", KEPT)])
def test_restart_is_bitwise(name, more):
    whole, first = model_of(name, **more), model_of(name, **more)
    whole.advance(0.021)
    first.advance(0.008)
    second = model_of(name, **more)
    second.restore(first.state())
    second.advance(0.021)
    for key, value in whole.state().items():
        assert np.array_equal(value, second.state()[key], equal_nan=True), key
    assert all(np.isfinite(value).all() for key, value in whole.state().items() if key != "landed")


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_states_with_a_sum_are_taken_up(steps):
    """Restarts of "ab2" on a GPU once held S = q + c1 F_old in place of F_old (decision 0029)."""
    grid, zeta, curl = random_setup()
    options = {"time_step": 1e-3, "viscosity": 1e-3, "scheme": "ab2", "precision": "double", "device": "cpu"}
    whole, on = (BarotropicVorticity(grid, wind_forcing=curl, relative_vorticity=zeta, **options) for _ in range(2))
    whole.advance(steps * 1e-3)
    state = whole.state()
    c1 = -0.5e-3 if steps > 0 else 0.0
    state["sum0_0"] = state["q0"] + c1 * state.pop("tendency0_0")
    on.restore(state)
    for model in (whole, on):
        model.advance((steps + 2) * 1e-3)
    psi, expected = (model.field("streamfunction") for model in (on, whole))
    assert np.abs(psi - expected).max() < 1e-13 * np.abs(expected).max()


def test_blow_up_names_the_time_and_goes_back():
    from eagre import BlowUpError

    grid, zeta, curl = random_setup()
    model = BarotropicVorticity(
        grid, time_step=1.0, viscosity=1e-4, wind_forcing=curl, relative_vorticity=zeta, device="cpu"
    )
    with pytest.raises(BlowUpError, match=r"not finite.*\n.*time_step below 0\.\d+ "):
        model.advance(400.0)
    assert math.isfinite(model.diagnostics()["energy"])


def test_blow_up_names_the_first_bad_step_and_its_place():
    """Steps one by one find the same, though a look comes after every hundred only."""
    from eagre import BlowUpError

    grid, _, _ = random_setup()
    x, y = grid.mesh()
    vortex = 50.0 * np.exp(-((x - 1.8) ** 2 + (y - 0.7) ** 2) / 0.02)
    quick, slow = (
        BarotropicVorticity(grid, time_step=0.2, viscosity=1e-4, relative_vorticity=vortex, device="cpu")
        for _ in range(2)
    )
    with pytest.raises(BlowUpError) as caught:
        quick.advance(400.0)
    assert quick.time == 0.0  # the last look was the start
    with np.errstate(all="ignore"):
        while math.isfinite(slow.diagnostics()["energy"]):
            q = np.abs(slow.field("relative_vorticity"))
            slow._engine.advance(1)
    assert caught.value.time == pytest.approx(slow.time) and 3 < slow.steps < 90
    assert caught.value.cell == np.unravel_index(q.argmax(), q.shape) != (1, 1)


def test_other_states_points_and_times_are_refused():
    from eagre import InputError

    model, other = (BarotropicVorticity.double_gyre(points, device="cpu") for points in (17, 33))
    with pytest.raises(InputError, match=r"q0 of shape \(33, 33\)"):
        model.restore(other.state())
    with pytest.raises(InputError, match="j from 0 to 16"):
        model.sample(["relative_vorticity"], [(17, 0)])
    with pytest.raises(InputError, match="until = nan"):
        model.advance(float("nan"))
