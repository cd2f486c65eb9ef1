"""The model's public face in plain Python on a few cells: fields, sums, samples, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.backend.device import PlainDevice
from eagre.checks import checked_field
from eagre.errors import BlowUpError, InputError
from eagre.models.shallow_water import kernels


@pytest.fixture
def pond(rng):
    """7 x 5 cells, partly dry, in motion, in double precision."""
    grid = eagre.Grid(7, 5, 2.0, 3.0)
    bed = rng.uniform(-1.0, 0.3, grid.shape_of("corner"))
    bed[:3, :3] = 1.0
    return eagre.ShallowWater(
        grid, bed, surface_elevation=0.0, velocity_x=rng.uniform(-1.0, 1.0, grid.shape),
        velocity_y=rng.uniform(-1.0, 1.0, grid.shape), device=PlainDevice(), precision="double",
    )  # fmt: skip


def test_surface_is_depth_over_the_mean_of_four_corners(pond):
    bed = pond.bed_elevation
    mean = (bed[:-1, :-1] + bed[1:, :-1] + bed[:-1, 1:] + bed[1:, 1:]) / 4
    depth = np.maximum(-mean, 0.0)
    assert pond.field("bed") == pytest.approx(mean, abs=1e-15)
    assert pond.field("depth") == pytest.approx(depth, abs=1e-15)
    assert pond.field("surface_elevation") == pytest.approx(np.maximum(mean, 0.0), abs=1e-15)
    assert (pond.field("depth") == 0.0).any() and pond.field("depth").flags.c_contiguous


def test_bed_of_a_cell_is_the_mean_of_opposite_faces(rng):
    """B at faces is the mean of two corners; the mean of west and east is that of south and north."""
    bed = rng.standard_normal((6, 8))
    for j in range(5):
        for i in range(7):
            middle = kernels.bed_centre(bed, j, i)
            assert middle == pytest.approx(bed[j : j + 2, i : i + 2].mean(), abs=1e-15)
            across = 0.5 * (kernels.bed_west(bed, j, i) + kernels.bed_west(bed, j, i + 1))
            along = 0.5 * (kernels.bed_south(bed, j, i) + kernels.bed_south(bed, j + 1, i))
            assert across == pytest.approx(middle, abs=1e-15) and along == pytest.approx(middle, abs=1e-15)


def test_sums_and_extremes(pond):
    h, u, v = (pond.field(name) for name in ("depth", "velocity_x", "velocity_y"))
    bed = pond.field("bed")
    facts = pond.diagnostics()
    assert facts["volume"] == pytest.approx(6.0 * h.sum())
    assert facts["kinetic_energy"] == pytest.approx(6.0 * (0.5 * h * (u**2 + v**2)).sum())
    assert facts["potential_energy"] == pytest.approx(6.0 * (0.5 * 9.81 * ((h + bed) ** 2 - bed**2)).sum())
    assert facts["wet_fraction"] == pytest.approx((h > 0).mean())
    assert facts["max_depth"] == pytest.approx(h.max()) and facts["min_depth"] == pytest.approx(0.0, abs=1e-15)
    assert facts["max_speed"] == pytest.approx(np.hypot(u, v).max())
    assert facts["volume_error"] == 0.0


def test_samples_are_the_cells_of_the_fields(pond):
    pond.advance(0.5)
    cells = [(0, 0), (4, 6), (1, 5), (3, 2)]
    for name, values in pond.sample(list(pond.variables), cells).items():
        assert values == pytest.approx([pond.field(name)[cell] for cell in cells], abs=1e-14), name


def test_step_in_the_surface_stays_monotone():
    """No new extremes, whatever theta: a dam of 1 m over 0.5 m."""
    for theta in (1.0, 1.3, 2.0):
        grid = eagre.Grid(40, 1, 1.0, 1.0)
        depth = np.where(grid.x < 20.0, 1.0, 0.5)[None]
        model = eagre.ShallowWater(
            grid, 0.0, depth=depth, minmod_theta=theta, device=PlainDevice(), precision="double", courant_number=0.25
        )
        model.advance(2.0)
        h = model.field("depth")[0]
        assert h.max() <= 1.0 + 1e-12 and h.min() >= 0.5 - 1e-12
        assert np.diff(h).max() <= 0.01  # falls all the way, but for a ripple at the middle state


GRID = eagre.Grid(4, 3, 1.0, 1.0)
NAN_BED = np.zeros((4, 5))
NAN_BED[2, 1] = np.nan
REFUSED = {
    "nan in the bed": ({"bed_elevation": NAN_BED}, r"1 bad values, the first nan at \(j, i\) = \(2, 1\)"),
    "bed at centres": ({"bed_elevation": np.zeros((3, 4))}, r"a number, or shape \(4, 5\): values at cell corners"),
    "negative depth": ({"depth": -1.0}, "water depth from 0 to 12000 m"),
    "two waters": ({"depth": 1.0, "surface_elevation": 0.0}, "one of the two"),
    "nan in the surface": ({"surface_elevation": np.full((3, 4), np.nan)}, "surface_elevation with 12 bad values"),
    "negative friction": ({"manning": -0.1}, "(?s)manning = -0.1 .*from 0 to 2"),
    "courant number": ({"courant_number": 0.9}, "courant_number = 0.9"),
    "minmod_theta": ({"minmod_theta": 2.5}, "a number from 1 to 2"),
    "scheme": ({"scheme": "rk4"}, 'scheme = "rk2"'),
    "treatment": ({"wet_dry": "hydro"}, 'wet_dry = "hydrostatic"'),
    "precision": ({"precision": "half"}, "single"),
    "device": ({"device": "gpu"}, "cuda"),
    "gravity": ({"gravity": 0.0}, "gravity = 0"),
    "time step": ({"max_time_step": 0.0}, "max_time_step = 0"),
    "Strickler for Manning": ({"manning": 30.0}, "(?s)Strickler coefficient.*manning = 0.0333"),
    "mm/h for m/s": ({"sources": [eagre.Rain(20.0)]}, '(?s)in mm/h, but.*rate = "20 mm/h"'),
    "rain": ({"sources": [eagre.Rain(-1e-6)]}, "rain rate from 0 to 0.001 m/s"),
    "a source without a list": ({"sources": eagre.Rain(1e-6)}, r"sources=\[...\]"),
    "two rains": ({"sources": [eagre.Rain(1e-6), eagre.Rain(1e-6)]}, "at most one source term per class"),
    "periodic on one side": ({"boundaries": eagre.Boundaries(west=eagre.Periodic())}, r"east = Periodic\(\)"),
    "part outside": (
        {"boundaries": eagre.Boundaries(west=[eagre.BoundarySegment(1.0, 9.0, eagre.Outflow())])},
        r"within 0 .. 3 m \(y of the domain\), one cell \(1 m\) or more",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_is_refused_in_words(name):
    options, words = REFUSED[name]
    with pytest.raises(InputError, match=words):
        eagre.ShallowWater(GRID, **{"bed_elevation": 0.0, "device": PlainDevice(), **options})


def ensemble(**options):
    given = {"bed_elevation": 0.0, "time_step": 1.0, "members": 2, "depth": 1.0, "device": "cpu"}
    return eagre.ShallowWaterADIEnsemble(GRID, **{**given, **options})


def with_line(condition):
    line = eagre.boundaries.InternalLine([(1.0, 0.0), (1.0, 2.0)], condition)
    return eagre.ShallowWater(GRID, 0.0, depth=1.0, boundaries=eagre.Boundaries(internal=[line]), device="cpu")


WRONG_TYPES = {
    "segment without condition": (
        lambda: eagre.Boundaries(east=[eagre.BoundarySegment(0.0, 2.0, None)]),
        "condition of a segment of the east side = None",
    ),
    "line with a word": (lambda: with_line("wall"), "condition of internal 1 = 'wall'"),
    "number of lines": (
        lambda: eagre.ShallowWater(GRID, 0.0, depth=1.0, boundaries=eagre.Boundaries(internal=3), device="cpu"),
        "internal = 3",
    ),
    "no sources": (lambda: eagre.ShallowWater(GRID, 0.0, depth=1.0, sources=None, device="cpu"), "sources = None"),
    "a word as sources": (lambda: eagre.ShallowWater(GRID, 0.0, sources="rain", device="cpu"), "sources = 'rain'"),
    "a word in sources": (lambda: eagre.ShallowWater(GRID, 0.0, sources=["rain"], device="cpu"), "'rain' in sources"),
    "beta of a word": (lambda: eagre.Coriolis(f=1e-4, beta="2e-11"), "beta = '2e-11'"),
    "beta of nan": (lambda: eagre.Coriolis(f=1e-4, beta=float("nan")), "beta = nan"),
    "half a member": (lambda: ensemble(members=1.5), "members = 1.5"),
    "no member": (lambda: ensemble(members=0), "members = 0"),
    "ensemble without sources": (lambda: ensemble(sources=None), "sources = None"),
    "ensemble with a word": (lambda: ensemble(sources=["rain"]), "'rain' in sources"),
    "ensemble with a land mask of numbers": (lambda: ensemble(land_mask=np.ones((3, 4))), "a boolean array"),
    "ensemble with a number as boundaries": (lambda: ensemble(boundaries=3), "boundaries = 3"),
    "ensemble on no grid": (lambda: eagre.ShallowWaterADIEnsemble((4, 3), 0.0, 1.0, 2, depth=1.0), r"grid = \(4, 3\)"),
}


@pytest.mark.parametrize("name", WRONG_TYPES)
def test_arguments_of_wrong_types(name):
    build, words = WRONG_TYPES[name]
    with pytest.raises(InputError, match=words):
        build()


@pytest.mark.parametrize("steps", [1.5, -1, "3", True])
def test_a_number_of_steps_is_an_integer(pond, steps):
    with pytest.raises(InputError, match="max_steps = "):
        pond.advance(1.0, max_steps=steps)


def test_series_that_ends_early_is_refused_before_the_first_step():
    short = eagre.Series(np.array([0.0, 5.0]), np.array([0.0, 1.0]), "tide")
    model = eagre.ShallowWater(
        GRID, 0.0, depth=1.0, boundaries=eagre.Boundaries(west=eagre.Stage(short)), device=PlainDevice()
    )
    with pytest.raises(InputError, match="tide from 0 s to 5 s"):
        model.advance(6.0)
    assert model.steps == 0


@pytest.mark.parametrize("step", [0.0, -1.0, float("nan")])
def test_a_fixed_time_step_is_above_zero(step):
    with pytest.raises(InputError, match="got time_step ="):
        eagre.ShallowWater(eagre.Grid(3, 3, 1.0, 1.0), 0.0, depth=1.0, time_step=step, device=PlainDevice())


def test_going_back_in_time_is_refused(pond):
    pond.advance(0.2)
    with pytest.raises(InputError, match=r"0\.2 s .the current model time. or later"):
        pond.advance(0.1)


@pytest.mark.parametrize("until", [float("nan"), float("inf")])
def test_a_time_that_is_no_number_is_refused(pond, until):
    with pytest.raises(InputError, match=r"until = (nan|inf)"):
        pond.advance(until, max_steps=1)


@pytest.mark.parametrize("cell", [(5, 0), (0, 7), (-1, 0), (0, -1)])
def test_samples_outside_are_refused(pond, cell):
    """Not those of ghost cells."""
    with pytest.raises(InputError, match="j from 0 to 4, i from 0 to 6"):
        pond.sample(["depth"], [(0, 0), cell])


def test_states_of_other_models_are_refused(pond):
    other = eagre.ShallowWater(GRID, 0.0, depth=1.0, device=PlainDevice(), precision="double")
    with pytest.raises(InputError, match=r"q of shape \(3, 7, 8\)(.|\n)*\(3, 9, 11\)"):
        pond.restore(other.state())
    with pytest.raises(InputError, match="without q"):
        pond.restore({"z": np.zeros((5, 7))})


def test_latitudes_are_between_the_poles():
    with pytest.raises(InputError, match="-90 to 90"):
        eagre.Coriolis(latitude=100.0)


def test_unknown_fields_are_refused_with_the_known_ones(pond):
    for ask in (lambda: pond.field("height"), lambda: pond.sample(["height"], [(0, 0)])):
        with pytest.raises(InputError, match=r"'height'(.|\n)*surface_elevation, depth"):
            ask()


def test_blow_up_names_time_and_cell_and_leaves_the_last_good_state():
    """Velocities near the largest numbers of single precision."""
    speed = np.where(np.arange(4) == 2, 1e20, 0.0) * np.ones((3, 1))
    with np.errstate(all="ignore"):
        model = eagre.ShallowWater(GRID, 0.0, depth=1.0, velocity_x=speed, device=PlainDevice(), time_step=0.1)
        with pytest.raises(BlowUpError) as error:
            model.advance(10.0)
    assert error.value.time < 1.0 and len(error.value.cell) == 2
    assert "try:     a shorter time_step" in str(error.value)
    assert model.time == error.value.time


def test_scalars_fill_fields_and_nothing_is_shared():
    ours = np.zeros((3, 4))
    kept = checked_field("depth", ours, GRID, "centre")
    model = eagre.ShallowWater(GRID, 0.0, depth=ours, device=PlainDevice())
    ours[:] = 9.0
    assert kept.shape == (3, 4) and not model.field("depth").any()


def test_steps_that_are_never_accepted_are_an_error(monkeypatch):
    """Not a loop without end: the engine stands still here, as if every step were refused."""
    model = eagre.ShallowWater(GRID, np.zeros(GRID.shape_of("corner")), depth=1.0, device="cpu")
    monkeypatch.setattr(model._engine.schedule, "launches", [])
    with pytest.raises(eagre.EagreError, match="no time step is accepted"):
        model.advance(1.0)
