"""Relative and potential vorticity have one meaning each as initial state and as output of the barotropic model."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import BarotropicVorticity, Grid, InputError, Layers
from eagre.config.problems import ConfigError
from eagre.models.barotropic.config import BarotropicCase

NY, NX = 13, 17
GRID = Grid.from_points(NX, NY, 3.0, 2.0)
STRETCHING = {"rigid lid": {}, "radius": {"deformation_radius": 0.5}, "layers": {"layers": Layers(3.0, 1.0)}}
TOLERANCE = {"single": 1e-5, "double": 1e-12}
WRAPS = {"box": (False, False), "channel": (False, True), "periodic": (True, True)}  # along y, along x


def noise(seed, basin):
    """A streamfunction that is 0 on walls, and of mean 0 without walls."""
    psi = np.random.default_rng(seed).standard_normal((NY, NX))
    for axis, wraps in enumerate(WRAPS[basin]):
        if not wraps:
            np.moveaxis(psi, axis, 0)[[0, -1]] = 0.0
    return psi - psi.mean() if basin == "periodic" else psi


def laplacian(psi, basin):
    """Second differences at the points between walls; 0 on walls."""
    found = np.zeros(psi.shape)
    for axis, h in enumerate((GRID.dy, GRID.dx)):
        found += (np.roll(psi, 1, axis) - 2.0 * psi + np.roll(psi, -1, axis)) / h**2
    for axis, wraps in enumerate(WRAPS[basin]):
        if not wraps:
            np.moveaxis(found, axis, 0)[[0, -1]] = 0.0
    return found


def expected_fields(basin, stretching):
    """Streamfunction, relative and potential vorticity of each layer, by their definitions."""
    psi = [noise(seed, basin) for seed in ((1, 2) if "layers" in stretching else (1,))]
    zeta = [laplacian(one, basin) for one in psi]
    if "layers" in stretching:
        q = [zeta[k] + factor * (psi[1 - k] - psi[k]) for k, factor in enumerate((3.0, 1.0))]
    else:
        q = [zeta[0] - stretching.get("deformation_radius", np.inf) ** -2 * psi[0]]
    return {"streamfunction": psi, "relative_vorticity": zeta, "potential_vorticity": q}


def by_layer(name, fields):
    return dict(zip((name, f"{name}_lower"), fields, strict=False))


def gyre(basin="box", device="cpu", **options):
    terms = {"beta": 3.0, "viscosity": 0.01, "topography": 2.0 * noise(3, basin), "wind_forcing": noise(4, basin)}
    return BarotropicVorticity(
        GRID, time_step=1e-4, basin=basin, device=device, **{"precision": "double"} | terms | options
    )


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("stretching", STRETCHING.values(), ids=STRETCHING)
@pytest.mark.parametrize("basin", WRAPS)
@pytest.mark.parametrize("given", ["relative_vorticity", "potential_vorticity"])
def test_each_name_has_one_meaning(given, basin, stretching, precision):
    fields = expected_fields(basin, stretching)
    model = gyre(basin, precision=precision, **stretching, **by_layer(given, fields[given]))
    inner = tuple(slice(None) if wraps else slice(1, -1) for wraps in WRAPS[basin])  # walls have zeta of the slip
    for name, layers in fields.items():
        for each, expected in by_layer(name, layers).items():
            limit = TOLERANCE[precision] * np.abs(expected).max()
            np.testing.assert_allclose(model.field(each)[inner], expected[inner], rtol=0, atol=limit, err_msg=each)


@pytest.mark.parametrize("walls", ["free-slip", "no-slip"])
@pytest.mark.parametrize("stretching", STRETCHING.values(), ids=STRETCHING)
@pytest.mark.parametrize("given", ["relative_vorticity", "potential_vorticity"])
def test_an_output_is_the_initial_state_of_the_same_flow(given, stretching, walls):
    """After steps, with walls that make vorticity; and on several devices."""
    first = gyre(walls=walls, **stretching, **by_layer(given, expected_fields("box", stretching)[given]))
    first.advance(1e-2)
    names = [name for name in first.variables if name.removesuffix("_lower") == given]
    start = {name: first.field(name) for name in names}
    for device in ("cpu", ["cpu", "cpu"]):
        again = gyre(walls=walls, device=device, **stretching, **start)
        for name in first.variables:
            expected = first.field(name)
            limit = 1e-12 * np.abs(expected).max()
            np.testing.assert_allclose(again.field(name), expected, rtol=0, atol=limit, err_msg=name)


ZETA = laplacian(noise(1, "box"), "box")
TWO = {"layers": Layers(3.0, 1.0)}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"relative_vorticity": ZETA, "potential_vorticity": ZETA},
            "mixes(.|\n)*got relative_vorticity and potential_vorticity",
        ),
        (
            TWO | {"relative_vorticity": ZETA, "potential_vorticity_lower": ZETA},
            "got relative_vorticity and potential_vorticity_lower",
        ),
        (
            {"relative_vorticity_lower": ZETA},
            "one layer(.|\n)*got relative_vorticity_lower without layers\nallowed: relative_vorticity, or",
        ),
        ({"potential_vorticity_lower": 0.0}, "allowed: potential_vorticity, or two layers"),
        ({"potential_vorticity": ZETA.T}, r"potential_vorticity of shape \(17, 13\)"),
        ({"relative_vorticity": np.full(ZETA.shape, np.nan)}, "relative_vorticity of shape(.|\n)*not finite"),
        (TWO | {"relative_vorticity_lower": ZETA.T}, r"relative_vorticity_lower of shape \(17, 13\)"),
        (
            {"relative_vorticity": 1.0, "basin": "periodic", "deformation_radius": 0.5},
            "mean relative vorticity(.|\n)*write: ",
        ),
    ],
)
def test_what_is_no_initial_vorticity_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        gyre(**options)


CASE = """model = "barotropic"
run = {end_time = 1, precision = "double", device = "cpu"}
basin = {nx = 17, ny = 13, length_x = 3.0, length_y = 2.0}
numerics.time_step = 1e-4
"""


def test_keys_of_a_case_are_the_arguments():
    expression = "sin(pi * x / 3.0) * sin(pi * y / 2.0)"
    x, y = GRID.mesh()
    values = np.sin(np.pi * x / 3.0) * np.sin(np.pi * y / 2.0)
    for name in ("relative_vorticity", "potential_vorticity"):
        text = f"layers = {{upper = 3.0, lower = 1.0}}\ninitial = {{{name} = '{expression}', {name}_lower = 'x'}}\n"
        model = BarotropicCase.loads(CASE + text).build()
        theirs = BarotropicVorticity(
            GRID, time_step=1e-4, device="cpu", precision="double", **TWO, **by_layer(name, (values, x))
        )
        for one in model.variables:
            np.testing.assert_allclose(model.field(one), theirs.field(one), rtol=0, atol=1e-12)
    with pytest.raises(ConfigError, match=r"initial\.relative_vorticity(.|\n)*mixes relative and potential"):
        BarotropicCase.loads(CASE + "initial = {relative_vorticity = 1.0, potential_vorticity = 1.0}\n").build()
