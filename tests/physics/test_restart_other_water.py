"""Restarts of water, gyres and waves with another set-up: what values stand on is refused, other parts taken up."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import BarotropicVorticity, Grid, InputError, PotentialWaves, ShallowWater, ShallowWaterADI
from eagre.models.barotropic.layers import Layers

ON = {"device": "cpu", "precision": "double"}
LAKE = Grid(20, 16, 10.0, 10.0)
SHORE = 0.02 * LAKE.mesh("corner")[0]
GYRE = Grid.from_points(9, 9, 1.0, 1.0)
SPIN = np.outer(np.sin(np.pi * GYRE.y), np.sin(np.pi * GYRE.x))


def explicit(bed=SHORE, **options):
    return ShallowWater(LAKE, bed, surface_elevation=1.0, **{**ON, **options})


def implicit(bed=SHORE, **options):
    return ShallowWaterADI(LAKE, bed, 1.0, surface_elevation=1.0, **{**ON, **options})


def gyre(**options):
    return BarotropicVorticity(
        GYRE, time_step=1e-3, viscosity=0.02, beta=3.0, relative_vorticity=4.0 * SPIN, **ON, **options
    )


def flume(depth=0.3, **options):
    grid = Grid.from_points(17, 1, 4.0, 1.0)
    hump = 0.02 * np.exp(-((grid.x - 2.0) ** 2)) * np.ones((1, 1))
    return PotentialWaves(
        grid, depth, surface_elevation=hump, order=4, vertical_points=6, time_step=0.02, **ON, **options
    )


def on_a_spit(change):
    bed = SHORE.copy()
    bed[5:7, 3:5] += change
    return bed


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("make", [explicit, implicit])
@pytest.mark.parametrize("change", [0.5, -0.5, 1e-3])
def test_another_bed_is_refused(make, precision, change):
    """Dry ground that sinks would be under water from nowhere, and ground that rises under less than none."""
    state = make(precision=precision).state()
    with pytest.raises(InputError, match=r"mean bed of .* at point [3-6]") as caught:
        make(on_a_spit(change), precision=precision).restore(state)
    assert "the bed of the run that wrote the state" in caught.value.fix
    make(SHORE * (1.0 + 1e-15), precision=precision).restore(state)
    make(on_a_spit(change)).restore({name: state[name] for name in state if not name.startswith("bed_")})


def test_land_that_comes_or_goes_is_another_bed():
    land = np.zeros(LAKE.shape, bool)
    land[4, 4] = True
    with pytest.raises(InputError, match="land fraction of rows of 0 at point 4"):
        implicit(land_mask=land).restore(implicit().state())
    implicit(land_mask=land).restore(implicit(land_mask=land).state())


def test_gyres_of_another_deformation_radius_are_refused():
    with pytest.raises(InputError, match=r"1 / deformation_radius\^2 of 0\n.*of 25"):
        gyre(deformation_radius=0.2).restore(gyre().state())


def test_a_layer_that_comes_or_goes_is_refused():
    one, two = gyre(), gyre(layers=Layers(4.0, 2.0))
    with pytest.raises(InputError, match="without q1"):
        two.restore(one.state())
    with pytest.raises(InputError, match="coupling of layers at 2 points, up to 4"):
        one.restore(two.state())


def test_layers_of_another_coupling_are_refused():
    with pytest.raises(InputError, match="coupling of layers of 4 at point 0"):
        gyre(layers=Layers(5.0, 2.0)).restore(gyre(layers=Layers(4.0, 2.0)).state())


def test_what_a_gyre_carries_no_more_is_told():
    model = gyre()
    model.restore(gyre(tracer=SPIN, particles=[(0.5, 0.5)]).state())
    assert model.notes[-2:] == [
        "tracer of the restart file dropped: the case defines no tracer",
        "particles of the restart file dropped: the case defines no particles",
    ]
    assert len(gyre().notes) == len(model.notes) - 2


def test_waves_over_another_depth_are_refused():
    with pytest.raises(InputError, match="depth of still water"):
        flume(0.35).restore(flume().state())


def test_breaking_may_begin_and_end_with_a_restart():
    """As after a blow-up of steep waves."""
    first = flume()
    first.advance(0.2)
    model = flume(breaking=True)
    model.restore(first.state())
    model.advance(0.4)
    assert "breakers" in model.state() and model.time == 0.4
    first.restore(model.state())
    first.advance(0.6)
