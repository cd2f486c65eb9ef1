"""The ground: ends that meet, slopes that are not too steep, and what a run says of it."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.base.orography import blended, max_slope, smoothed
from eagre.models.anelastic.config import AnelasticCase
from eagre.models.anelastic.model import AnelasticFlow

GRID = Grid.from_points(24, 17, 2400.0, 1600.0, periodic=(True, False))
BOTH = (True, True)
CASE = """\
model = "anelastic"
run.end_time = 1.0
[domain]
nx = 24
levels = 5
length_x = 2400.0
top_height = 2000.0
{more}
"""


@pytest.fixture
def rough():
    return 0.3 * GRID.x + 0.1 * GRID.y[:, None] + 50.0 * np.random.default_rng(3).random(GRID.shape)


def test_ends_meet_and_the_middle_stays(rough):
    found = blended(rough, GRID, (False, True), 500.0)
    np.testing.assert_allclose(found[:, 0], 0.5 * (rough[:, 0] + rough[:, -1]))
    np.testing.assert_allclose(found[:, -1], found[:, 0])
    np.testing.assert_array_equal(found[:, 5:-5], rough[:, 5:-5])
    assert max_slope(found, GRID, (False, True)).slope < 2.0 < 6.0 < max_slope(rough, GRID, (False, True)).slope
    fifth = rough[:, 2] + np.cos(0.2 * np.pi) ** 2 * (found[:, 0] - rough[:, 0])  # 200 m of 500 m from the end
    np.testing.assert_allclose(found[:, 2], fifth)


def test_ends_of_both_axes_meet(rough):
    found = blended(rough, GRID, BOTH, 300.0)
    np.testing.assert_allclose(found[0], found[-1])
    np.testing.assert_allclose(found[:, 0], found[:, -1])


def test_slopes_are_no_steeper_and_the_mean_stays(rough):
    found = smoothed(rough, GRID, BOTH, 0.4)
    slopes = [abs(np.roll(found, -1, n) - found) / 100.0 for n in (0, 1)]
    assert 0.2 < np.max(slopes) <= 0.4
    assert found.mean() == pytest.approx(rough.mean())
    np.testing.assert_array_equal(smoothed(found, GRID, BOTH, 0.4), found)


def test_one_sweep_between_walls():
    spike = np.zeros((5, 6))
    spike[0, 2] = 16.0
    grid = Grid.from_points(6, 5, 5.0, 4.0)
    expected = np.zeros((5, 6))
    expected[0, 1:4], expected[1, 1:4] = [3.0, 6.0, 3.0], [1.0, 2.0, 1.0]
    np.testing.assert_allclose(smoothed(spike, grid, (False, False), 5.0), expected)


def test_the_steepest_place(rough):
    ground = np.zeros(GRID.shape)
    ground[4:, :] = 70.0
    found = max_slope(ground, GRID, (False, True))
    assert found == (0.7, "y", (3, 0), False, 0.7) and not found.cliff
    tilted = 0.3 * GRID.x + np.zeros(GRID.shape)
    found = max_slope(tilted, GRID, (False, True))
    assert found.slope == pytest.approx(6.9) and found[1:4] == ("x", (0, 23), True) and found.cliff
    assert max_slope(tilted, GRID, (False, False)).slope == pytest.approx(0.3)
    assert max_slope(np.zeros((1, 1)), Grid.from_points(1, 1, 1.0, 1.0), BOTH).slope == 0.0


def test_what_cannot_be(rough):
    with pytest.raises(InputError, match=r"(?s)blend = 1300.*0 to 1150"):
        blended(rough, GRID, (False, True), 1300.0)
    with pytest.raises(InputError, match="blend without a periodic or open axis"):
        blended(rough, GRID, (False, False), 300.0)
    with pytest.raises(InputError, match=r"still 0\.\d+ after 1000 sweeps"):
        smoothed(rough, Grid.from_points(24, 17, 2400.0, 1600.0), (False, False), 1e-6)


def test_a_case(tmp_path):
    def model(more):
        return AnelasticCase.loads(CASE.format(more=more), tmp_path).build("cpu", "double")

    [told] = [one for one in model('terrain_height = "0.3 * x"').notes if "terrain height" in one]
    assert "maximum slope 6.9 along x at x = 2300 m" in told and "use blend in [domain]" in told
    found = model('terrain_height = "0.3 * x"\nblend = "0.4 km"\nsteepest = 0.5')
    [told] = [one for one in found.notes if "terrain height" in one]
    assert "blend" not in told
    assert max_slope(found.levels.terrain_height, found.grid, BOTH).slope <= 0.5
    levels = model('terrain_height = "0.3 * x"\nboundaries_x = "open"\nblend = "0.4 km"').levels
    assert np.ptp(levels.terrain_height[0, [0, -1]]) < 1e-9
    for lines, words in (
        ("blend = 400.0", "blend without terrain_height"),
        ("steepest = 0.5", "steepest without terrain_height"),
        ('terrain_height = "0.3 * x"\nboundaries_x = "wall"\nblend = 400.0', "blend without a periodic or open axis"),
        ('terrain_height = "0.3 * x"\nsteepest = 0.0', "steepest"),
    ):
        with pytest.raises(InputError, match=words):
            model(lines)


@pytest.mark.parametrize(("hill", "thickness", "told"), [(400.0, 7e3, True), (400.0, 19e3, False), (50.0, 7e3, False)])
def test_a_layer_too_thin_behind_a_high_hill_is_told(hill, thickness, told):
    """N h / U = 0.4, waves 6.28 km long: three of them are 18.8 km."""
    grid = Grid.from_points(12, 1, 24e3, 1.0, periodic=(True, True))
    ground = hill * np.exp(-(((grid.x - 12e3) / 4e3) ** 2))[None]
    air = Atmosphere.boussinesq(buoyancy_frequency=0.01, wind=(10.0, 0.0))
    found = AnelasticFlow(
        grid, 61, top_height=30e3, atmosphere=air, terrain_height=ground - ground.min(), time_step=10.0,
        top_sponge=(thickness, 3e-3), device="cpu",
    ).notes  # fmt: skip
    words = [one for one in found if "N h / U" in one]
    assert len(words) == told
    if told:
        assert "N h / U = 0.4" in words[0] and "1.1 wavelengths of 6.28 km (2 pi U / N) thick" in words[0]
        assert words[0].endswith('thickness = "18.8 km" in [sponge]')


@pytest.mark.parametrize(("frequency", "wind", "absorber", "noted"), [
    (0.01, 10.0, None, True), (0.01, 10.0, (8e3, 3e-3), False), (0.0, 10.0, None, False), (0.01, 0.0, None, False),
])  # fmt: skip
def test_hill_without_absorber_is_noted(frequency, wind, absorber, noted):
    """Waves reflect from the top only if the air is stable and moves; their vertical wavelength is 6.28 km."""
    grid = Grid.from_points(12, 1, 24e3, 1.0, periodic=(True, True))
    ground = 50.0 * np.exp(-(((grid.x - 12e3) / 4e3) ** 2))[None]
    air = Atmosphere.boussinesq(buoyancy_frequency=frequency, wind=(wind, 0.0))
    found = AnelasticFlow(
        grid, 31, top_height=30e3, atmosphere=air, terrain_height=ground - ground.min(), time_step=10.0,
        top_sponge=absorber, device="cpu",
    ).notes  # fmt: skip
    notes = [one for one in found if "reflect from the top" in one]
    assert len(notes) == noted
    if noted:
        assert notes[0].endswith('thickness = "6.28 km" in [sponge]')


def notes_of_walls(sides, wind=(0.0, 0.0), velocity=None):
    """Notes on winds that walls block."""
    grid = Grid.from_points(8, 6, 800.0, 600.0)
    found = AnelasticFlow(
        grid, 5, top_height=400.0, atmosphere=Atmosphere.boussinesq(wind=wind), velocity=velocity, boundaries=sides,
        time_step=1.0,
        device="cpu",
    )  # fmt: skip
    return [one for one in found.notes if "between walls" in one]


@pytest.mark.parametrize(("sides", "wind", "axes"), [
    ({"x": "wall", "y": "wall"}, (8.0, 5.0), "xy"), ({"x": "wall", "y": "periodic"}, (8.0, 5.0), "x"),
    ({"x": "open", "y": "wall"}, (8.0, 5.0), "y"), ({"x": "wall"}, (0.0, 5.0), ""), ({}, (8.0, 5.0), ""),
])  # fmt: skip
def test_ambient_wind_between_walls_is_noted(sides, wind, axes):
    notes = notes_of_walls(sides, wind)
    assert [one.split(" along ")[1][0] for one in notes] == list(axes)
    assert all(one.startswith("ambient wind") for one in notes)


def test_velocity_between_walls_is_noted():
    """Only the mean through a section is removed: a wind that changes sign with height is not noted."""
    [note] = notes_of_walls({"x": "wall"}, velocity=(-3.0, 2.0, 0.0))
    assert note.startswith("velocity at the start: the mean of -3 m/s along x has no effect")
    [note] = notes_of_walls({}, velocity=(2.0, 2.0, 1.0))
    assert "1 m/s along z" in note
    shear = np.linspace(-3.0, 3.0, 5)[:, None, None]
    assert notes_of_walls({"x": "wall"}, velocity=(shear, 0.0, 0.0)) == []
