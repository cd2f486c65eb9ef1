"""The explicit decay rates of the anelastic model are bounded by their sum: mixing, nudging, subsidence, sides."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import Forcing, Grid, Nudging, Smagorinsky
from eagre.errors import BlowUpError
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.base.vertical_profiles import TableProfile
from eagre.models.anelastic.model import AnelasticFlow
from eagre.models.anelastic.stability import SAFETY_FACTOR, max_explicit_number

DZ, COUNT, SHEAR, STEP = 10.0, 17, 0.1, 5.0
EDDY = 0.55 * DZ**2 / (12.0 * STEP)  # m2/s: a scalar decays by 4 K / (Pr dz^2), 0.55 in a step of 5 s
CLOSURE = Smagorinsky(1.0, 1.0 / 3.0, float(np.sqrt(EDDY / SHEAR)))
Z = DZ * np.arange(COUNT)
WIND = TableProfile(Z[[0, -1]], SHEAR * Z[[0, -1]])


def nudging(rate=0.1, scalars=("dye",)):
    return Forcing(nudging=Nudging(1.0 / rate, u=WIND, scalars=dict.fromkeys(scalars, 0.0)))


def column(precision="double", **options):
    """A uniform shear, so that K is uniform, and noise of the shortest wave in a scalar."""
    dye = 1e-3 * (-1.0) ** np.arange(COUNT)[:, None, None]
    velocity = (SHEAR * Z[:, None, None], 0.0, 0.0)
    chosen = {"velocity": velocity, "scalars": {"dye": dye}, "device": "cpu", "precision": precision, **options}
    return AnelasticFlow(Grid.from_points(1, 1, 100.0, 100.0, periodic=(True, True)), COUNT, top_height=Z[-1], **chosen)


def size(model):
    return np.abs(model.field("dye")).max()


@pytest.mark.parametrize("options", [{"closure": CLOSURE}, {"forcing": nudging()}], ids=["mixing", "nudging"])
def test_each_rate_alone_is_stable(options):
    model = column(time_step=STEP, **options)
    model.advance(100 * STEP)
    assert size(model) < 1e-3


@pytest.mark.parametrize("precision", ["single", "double"])
def test_equal_steps_are_too_long_for_the_sum_of_mixing_and_nudging(precision):
    """0.55 + 0.5 in air at rest, which is stable up to 1; short enough steps finish."""
    with pytest.raises(BlowUpError, match=r"a diffusion number of 1\.05\d*, above 1 in this wind"):
        column(precision, time_step=STEP, closure=CLOSURE, forcing=nudging()).advance(20 * STEP)
    model = column(precision, time_step=0.9 * STEP, closure=CLOSURE, forcing=nudging())
    model.advance(100 * STEP)
    assert size(model) < 1e-3


def test_the_sum_in_equal_steps_is_that_of_a_point():
    """Nudging in the upper half and shear in the lower half do not add up."""
    upper = TableProfile(Z[[0, 8, 9, -1]], np.array([1e9, 1e9, 10.0, 10.0]))
    forcing = Forcing(nudging=Nudging(upper, scalars={"dye": 0.0}))
    wind = np.minimum(SHEAR * Z, SHEAR * Z[5])[:, None, None]
    model = column(time_step=STEP, closure=CLOSURE, forcing=forcing, velocity=(wind, 0.0, 0.0))
    model.advance(STEP)
    assert model.engine.fastest == pytest.approx(0.55, abs=0.01)


@pytest.mark.parametrize("device", ["cpu", ["cpu", "cpu"]], ids=["one", "bands"])
def test_steps_that_follow_the_flow_are_short_enough_for_the_sum(device):
    """Of mixing, nudging, subsidence and layers at sides, 12 K / dz^2 + r + 2 w / dz + s: 0.5 is the Courant number."""
    grid = Grid.from_points(9, 8, 4.0e6, 4.0e6, periodic=(True, True))
    rates = {"nudging": 0.02, "subsidence": 2.0 * 0.05 / DZ, "sides": 0.03}
    forcing = Forcing(nudging=Nudging(1.0 / rates["nudging"], u=WIND), subsidence=0.05)
    model = AnelasticFlow(
        grid, COUNT, top_height=Z[-1], atmosphere=Atmosphere.boussinesq(buoyancy_frequency=0.0, wind=(WIND, 0.0)),
        closure=CLOSURE, forcing=forcing, side_sponges={"y": (1.5e6, rates["sides"])}, device=device,
        precision="double", courant_number=0.5,
    )  # fmt: skip
    model.advance(300.0)
    total = 12.0 * EDDY / DZ**2 + sum(rates.values())
    assert model.engine.fastest <= 0.5
    assert model.time_step == pytest.approx(SAFETY_FACTOR * 0.5 / total, rel=0.02)


def test_mixing_is_held_to_what_nudging_leaves():
    """K ten times as large in the longest step that nudging allows: the sum is 0.95 of what a plane bears."""
    closure = Smagorinsky(1.0, 1.0 / 3.0, float(np.sqrt(10.0 * EDDY / SHEAR)))
    model = column(closure=closure, forcing=nudging(), courant_number=0.5)
    model._stepper.time_step = STEP
    model.advance(STEP, max_steps=1)
    number = SAFETY_FACTOR * max_explicit_number(0.592)
    assert model.engine.fastest == pytest.approx(number, rel=1e-12)
    mixing = model.engine.steps.stages[0].tendencies.diffusion.mixing
    np.testing.assert_allclose(mixing, (number / STEP - 0.1) * DZ**2 / 12.0, rtol=1e-12)


def test_diffusivity_adds_to_the_mixing_of_scalars():
    """4 (K / Pr + kappa) / dz^2 = 0.55 + 0.5; without viscosity the closure alone would count."""
    kappa = 0.499 * DZ**2 / (4.0 * STEP) / 3.0  # the longest step allows for three times as much
    with pytest.raises(BlowUpError, match=r"a diffusion number of 1\.0\d*, above 1 in this wind"):
        strong = Smagorinsky(1.0, 1.0 / 3.0, float(np.sqrt(0.85 / 0.55 * EDDY / SHEAR)))
        column(time_step=STEP, closure=strong, viscosity=0.0, diffusivity=kappa).advance(20 * STEP)
    model = column(time_step=STEP, closure=CLOSURE, viscosity=0.0, diffusivity=kappa)
    model.advance(STEP)
    assert model.engine.fastest == pytest.approx(0.55 + 0.5 / 3.0, rel=0.02)
