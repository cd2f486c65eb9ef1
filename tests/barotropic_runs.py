"""Small barotropic runs with noise in every field, to compare devices by."""

from __future__ import annotations

from functools import partial

import numpy as np

import restarts
from eagre import BarotropicVorticity, Grid, Layers
from eagre.backend.group import BARRIER
from eagre.models.barotropic.forcing.wind import varying_curl
from eagre.time_varying.series import Series

CASES = {
    "default": {},
    "ab2": {"scheme": "ab2", "jacobian": "advective"},
    "no-slip": {"walls": "no-slip"},
    "thom": {"walls": "no-slip-thom"},
    "implicit": {"viscosity_scheme": "implicit"},
    "reduced gravity": {"deformation_radius": 0.4},
    "all terms": {"all_terms": True},
    "channel": {"basin": "channel", "all_terms": True},
    "periodic": {"basin": "periodic"},
    "compensated": {"compensated_summation": True, "precision": "single"},
    "changing wind": {"factor": Series(np.array([0.0, 1.5e-3, 0.1, 1e3]), np.array([1.0, -2.0, 3.0, 0.0]), "a gust")},
}
"""Options of `model_on` by name: every path through a step."""


def model_on(
    device, nx, ny, *, precision="double", time_step=1e-4, biharmonic=1e-7, all_terms=False, dye=False, factor=None,
    **options,
):  # fmt: skip
    """Noise in a box of 2.6 x 3.0; `all_terms`: topography, biharmonic viscosity, layers, tracer and particles too.

    dye : whether there is a tracer of noise.

    factor : Series that the wind is multiplied by.
    """
    rng = np.random.default_rng(3)
    grid = Grid.from_points(nx, ny, 2.6, 3.0)
    zeta = np.zeros((ny, nx))
    zeta[1:-1, 1:-1] = 20.0 * rng.standard_normal((ny - 2, nx - 2))
    curl = rng.standard_normal((ny, nx))
    if all_terms:
        options |= {
            "topography": 5.0 * curl[::-1],
            "biharmonic_viscosity": biharmonic,
            "layers": Layers(3.0, 1.0),
            "potential_vorticity_lower": zeta[::-1],
            "tracer": np.abs(curl),
            "particles": [[0.5, 0.5], [1.0, 2.0]],
        }
    if dye:
        options |= {"tracer": np.abs(curl), "tracer_diffusivity": 0.1}
    wind = curl if factor is None else varying_curl(curl, factor)
    options = {"potential_vorticity": zeta} | options
    return BarotropicVorticity(
        grid, time_step=time_step, beta=3.0, viscosity=0.02, wind_forcing=wind, bottom_friction=0.1, device=device,
        precision=precision, **options,
    )  # fmt: skip


def run_out_of_step(group, schedule):
    """`Group.run` in the order least kind to hidden needs: each device goes on up to the next meeting."""
    chain = []
    for stage in (*schedule, BARRIER):
        if stage is not BARRIER:
            chain.append(stage)
            continue
        for n in reversed(range(len(group.devices))):
            for launches in chain:
                group.devices[n].run(launches[n])
        chain = []


def assert_same_states(ours, theirs, tolerance):
    """Every array of a restart agrees, relative to its largest value."""
    assert ours.steps == theirs.steps
    expected = theirs.state()
    for name, value in ours.state().items():
        if name not in ("landed", "steps", "start"):
            limit = 1e-6 if name.startswith("lost") else tolerance  # itself a rounding error
            scale = np.abs(expected["q0"] if name.startswith("lost") else expected[name]).max(initial=0.0)
            assert np.abs(value - expected[name]).max(initial=0.0) <= limit * scale, name


def assert_repeats_and_restarts(make, cut_at, end):
    """See `restarts`; the run is cut at the time `cut_at`, s."""
    different = partial(restarts.different_arrays, equal_nan=True)  # a time that was not landed on is no number
    restarts.assert_repeats_and_restarts(make, lambda model: model.advance(cut_at), end, different)
