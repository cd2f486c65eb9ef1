"""Several ADI simulations at once: each does what it does alone."""

from __future__ import annotations

import numpy as np
import pytest

import eagre

GRID = eagre.Grid(33, 12, 90.0, 70.0, y0=500.0)
RIVER = eagre.Series(np.array([0.0, 100.0, 1000.0]), np.array([0.0, 60.0, 20.0]))


def members():
    """Options of three members: beds with shores, maps, sides that differ."""
    rng = np.random.default_rng(8)
    bed = rng.uniform(-6.0, 1.0, (3, *GRID.shape_of("corner")))
    fields = {
        "surface_elevation": 0.3 * rng.standard_normal((3, *GRID.shape)),
        "manning": rng.uniform(0.02, 0.05, (3, *GRID.shape)),
        "land_mask": rng.random((3, *GRID.shape)) < 0.05,
        "velocity_x": 0.1 * rng.standard_normal((3, *GRID.shape)),
    }
    sides = [
        eagre.Boundaries(west=eagre.Stage(0.3), east=eagre.Absorbing()),
        eagre.Boundaries(west=[eagre.BoundarySegment(500.0, 920.0, eagre.Discharge(RIVER))]),
        eagre.Boundaries(),
    ]
    return bed, fields, sides


def common(precision):
    return {
        "velocity_y": 0.05, "viscosity": 2.0, "dry_depth": 1e-3, "device": "cpu", "precision": precision,
        "sources": (eagre.Rain(1e-5, 1.0 + np.ones(GRID.shape)), eagre.Coriolis(f=1e-3), eagre.WindStress(0.5, 0.3)),
    }  # fmt: skip


# The programs of both precisions have the same source; single precision is the default.
@pytest.mark.parametrize("precision", ["single", pytest.param("double", marks=pytest.mark.slow)])
def test_members_equal_runs_on_their_own(precision):
    bed, fields, sides = members()
    shared = common(precision)
    ensemble = eagre.ShallowWaterADIEnsemble(GRID, bed, 5.0, 3, boundaries=sides, **fields, **shared)
    ensemble.advance(152.0)
    found = {name: ensemble.field(name) for name in ("surface_elevation", "discharge_x", "discharge_y")}
    for m in range(3):
        own = {name: values[m] for name, values in fields.items()}
        alone = eagre.ShallowWaterADI(GRID, bed[m], 5.0, boundaries=sides[m], **own, **shared)
        alone.advance(152.0)
        for name, values in found.items():
            np.testing.assert_array_equal(values[m], alone.field(name), err_msg=f"member {m}, {name}")
        assert abs(alone.field("discharge_y")).max() > 0.1


def test_one_bed_for_all_and_refusals():
    ensemble = eagre.ShallowWaterADIEnsemble(GRID, -2.0, 5.0, 2, surface_elevation=0.0, device="cpu")
    assert ensemble.field("depth").shape == (2, *GRID.shape) and (ensemble.field("depth") == 2.0).all()
    make = eagre.ShallowWaterADIEnsemble
    with pytest.raises(eagre.InputError, match="south"):
        make(GRID, -2.0, 5.0, 2, boundaries=eagre.Boundaries(south=eagre.Stage(0.0)), device="cpu")
    with pytest.raises(eagre.InputError, match="beta"):
        make(GRID, -2.0, 5.0, 2, sources=[eagre.Coriolis(f=1e-4, beta=1e-11)], device="cpu")
    with pytest.raises(eagre.InputError, match="manning of shape"):
        make(GRID, -2.0, 5.0, 2, manning=np.zeros((3, *GRID.shape)), device="cpu")
    with pytest.raises(eagre.InputError, match="one per member"):
        make(GRID, -2.0, 5.0, 2, boundaries=[eagre.Boundaries()], device="cpu")


def test_members_on_several_devices():
    """A device has rows of two members."""
    bed, fields, sides = members()
    found = []
    for device in ("cpu", "cpu,cpu"):
        shared = common("single") | {"device": device}
        ensemble = eagre.ShallowWaterADIEnsemble(GRID, bed, 5.0, 3, boundaries=sides, **fields, **shared)
        ensemble.advance(152.0)
        found.append([ensemble.field(name) for name in ("surface_elevation", "discharge_x", "discharge_y")])
    np.testing.assert_allclose(*found, rtol=0.0, atol=3e-6)
