"""Checks of deformation radius, topography, gauges and particles of the barotropic model."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import BarotropicVorticity, Grid, InputError, Layers, ShallowWater
from eagre.config.problems import ConfigError
from eagre.io.writers.stations import gauge_cells, gauge_notes
from eagre.models.barotropic.config import BarotropicCase
from small_models import small

GRID = Grid.from_points(9, 9, 800e3, 400e3)  # spacings of 100 km and 50 km
CASE = """model = "barotropic"
run = {end_time = "1 h", device = "cpu"}
basin = {nx = 9, length_x = "800 km", length_y = "400 km"}
numerics.time_step = "1 h"
"""


def gyre(**options):
    return BarotropicVorticity(GRID, time_step=3600.0, device="cpu", **options)


def notes(radius):
    return [one for one in gyre(deformation_radius=radius).notes if "deformation radius" in one]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"deformation_radius": 45.0}, r"in kilometres(.|\n)*0\.00045 of a grid(.|\n)*deformation_radius = 45000$"),
        ({"deformation_radius": 9.9e3}, r"in kilometres(.|\n)*0\.099 of a grid spacing of 100000 m"),
        ({"deformation_radius": 0.5}, r"far below the grid spacing\.(.|\n)*deformation_radius = 200000$"),
        ({"layers": Layers(4e-4, 1e-4)}, r"in kilometres(.|\n)*radius 44\.72 m(.|\n)*upper = 4e-10, lower = 1e-10$"),
    ],
)
def test_a_deformation_radius_far_below_the_spacing_is_refused(options, words):
    """(4e-4 + 1e-4)^-0.5 is 44.7: coupling of layers per square kilometre."""
    with pytest.raises(InputError, match=words):
        gyre(**options)


def test_a_deformation_radius_that_is_not_resolved_is_noted():
    assert notes(10e3) == [
        "the deformation radius of 1e+04 m is 0.10 grid spacings: it is not resolved; "
        "use a grid spacing of 5e+03 m or less, or a rigid lid"
    ]
    assert "is 0.99 grid spacings" in notes(99e3)[0]
    assert notes(100e3) == [] and notes(None) == []
    with pytest.raises(ConfigError, match=r"physics\.deformation_radius \(line 5\)(.|\n)*in kilometres"):
        BarotropicCase.loads(CASE + "physics.deformation_radius = 45.0\n").build()
    with pytest.raises(ConfigError, match=r"layers\.upper \(line 5\)(.|\n)*in kilometres"):
        BarotropicCase.loads(CASE + "layers = {upper = 4e-4, lower = 1e-4}\n").build()


@pytest.mark.parametrize(
    ("height", "words"),
    [
        ("5000 * x / 8e5", "not support islands(.|\n)*from 0 to 5000 m with depth = 4000 m(.|\n)*minimum"),
        ("4000 m", "not support islands"),
        ("-4000 + x / 1e3", r"bed elevation relative to the sea surface(.|\n)*-4000 to -3200 m(.|\n)*\.\.\. \+ 4000"),
    ],
)
def test_topography_as_high_as_the_depth_is_refused(height, words):
    text = f'topography = {{height = "{height}", coriolis = 1e-4, depth = "4000 m"}}\n'
    with pytest.raises(ConfigError, match=rf"topography\.height(.|\n)*{words}"):
        BarotropicCase.loads(CASE + text).build()


def test_topography_is_a_vorticity():
    text = 'topography = {height = "3999 * x / 8e5", coriolis = 1e-4, depth = "4000 m"}\n'
    model = BarotropicCase.loads(CASE + text).build()
    np.testing.assert_allclose(model.setup.topography, 1e-4 / 4000.0 * 3999.0 * GRID.mesh()[0] / 8e5, rtol=1e-14)


@pytest.mark.parametrize(
    ("particles", "words"),
    [
        ([[100.0, 200.0]], r"in kilometres(.|\n)*\(100, 200\) m, on a wall(.|\n)*\[100000, 200000\]"),
        ([[100.0, 200.0], [700.0, 300.0]], r"in kilometres(.|\n)*\(100, 200\) m"),
        ([[9e5, 2e5]], r"outside the basin\.(.|\n)*x from 900000 to 900000 m(.|\n)*\[\[400000, 200000\]\]"),
    ],
)
def test_particles_in_kilometres_or_outside_are_refused(particles, words):
    with pytest.raises(InputError, match=words):
        gyre(particles=particles)
    with pytest.raises(ConfigError, match=rf"^(.|\n)*particles(.|\n)*{words}"):
        text = f"particles = {{positions = {particles}, file = 'a.nc', interval = 1}}\n"
        BarotropicCase.loads(CASE + text).build()


def test_particles_at_a_wall_are_taken():
    """In metres; also where the coordinates times 1000 would be at a wall."""
    gyre(particles=[[0.0, 1e5], [4e5, 10.0]])
    gyre(particles=[[790.0, 390.0], [100.0, 200.0]])
    gyre(basin="periodic", particles=[[100.0, 200.0]])
    gyre(basin="channel", particles=[[100.0, 2e5]])


@pytest.mark.parametrize("point", [(100.0, 200.0), (700.0, 300.0), [100.0, 30e1]])
def test_gauges_in_kilometres_are_refused(point):
    model = gyre()
    x, y = point
    with pytest.raises(InputError, match=rf"in kilometres(.|\n)*gauge 'a'(.|\n)*a = \[{1e3 * x:g}, {1e3 * y:g}\]"):
        gauge_cells(model, {"b": (3e5, 2e5), "a": point})
    with pytest.raises(InputError, match="in kilometres"):
        model.run(3600.0, gauges={"a": point})


def test_gauges_on_a_wall_are_noted():
    model, points = gyre(), {"inside": (3e5, 2e5), "west": (0.0, 2e5), "north": (3e5, 390e3)}
    assert gauge_cells(model, points) == [(4, 3), (4, 0), (8, 3)]
    assert gauge_notes(model, points) == [
        "the gauges west, north are on a wall, where the streamfunction and the velocity across the wall are 0; "
        "for the flow near the wall write points at least 100000 m from it"
    ]
    assert gauge_notes(model, {"inside": (3e5, 2e5)}) == [] == gauge_notes(model, {})
    channel = gyre(basin="channel")
    assert "the gauge north is on a wall" in gauge_notes(channel, points)[0]
    assert channel.wall_points.sum() == 18 and model.wall_points.sum() == 32
    assert not gyre(basin="periodic").wall_points.any()
    many = {f"g{n}": (0.0, 1e5 + n) for n in range(7)}
    assert "the gauges g0, g1, g2, g3, g4 and 2 more are" in gauge_notes(model, many)[0]


@pytest.mark.parametrize("kind", ["shallow-water", "shallow-water-adi", "potential-waves", "anelastic"])
def test_gauges_of_other_models(kind):
    """No walls; in kilometres they are outside, if the domain does not begin at 0."""
    model = small(kind)
    assert model.wall_points is None and gauge_notes(model, {"a": (0.5, 0.5)}) == []


def test_gauges_in_dry_cells_are_noted():
    """With wet cells elsewhere; a domain that is dry everywhere has a row of its own in the summary of a case."""
    shore = np.tile(np.linspace(-2.0, 2.0, 11), (9, 1))
    for surface, count in ((0.0, 1), (-5.0, 0)):
        model = ShallowWater(
            Grid(10, 8, 10.0, 10.0), shore, surface_elevation=surface, device="cpu", precision="double"
        )
        notes = gauge_notes(model, {"sea": (15.0, 35.0), "shore": (85.0, 35.0)})
        assert len(notes) == count
        assert not count or notes[0].startswith("the gauge shore is in a dry cell at t = 0 s, where the depth is 0")


def test_points_outside_that_are_kilometres():
    grid = Grid(10, 10, 1e3, 1e3, 500e3, 5200e3)
    with pytest.raises(InputError, match=r"write:   505000, 5205000  # metres, not kilometres"):
        grid.cell_of(505.0, 5205.0)
    with pytest.raises(InputError) as error:
        grid.cell_of(600.0, 5205.0)
    assert error.value.fix == ""
