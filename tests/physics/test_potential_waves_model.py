"""The model of potential-flow waves: time, restarts, looks, what it refuses, how it ends, and long runs."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import BlowUpError, Grid, InputError, PotentialWaves, RelaxationZone, Series, SpongeLayer, Wavemaker
from eagre.backend.select import select
from eagre.laboratory.bench.machine import threads_limited
from eagre.models.potential_waves.boundaries.wavemaker import stroke_of_height
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.potential_waves.stability import LIMIT, courant_step, highest_frequency
from eagre.waves import AiryWave, Jonswap, Sea, StreamFunctionWave, wave_number
from oracle.averages import extremes_of, moments_of
from oracle.potential_waves import Tank
from restarts import assert_repeats_and_restarts

GRAVITY = 9.81


def basin(nx=13, ny=9, length_x=1.2, length_y=0.8, periodic="none", height=0.02, **options):
    """A small basin with a sloping bed and a hump of water."""
    wraps = periodic in ("x", "both"), periodic in ("y", "both")
    grid = Grid.from_points(nx, ny, length_x, length_y, periodic=wraps)
    x, y = (2.0 * np.pi * a / length for a, length in zip(grid.mesh(), (length_x, length_y), strict=True))
    depth = 0.3 + 0.05 * np.cos(x) * np.cos(y)
    options = {"order": 4, "vertical_points": 6, "device": "cpu", "precision": "double", **options}
    eta = height * (np.cos(x) + 0.5 * np.cos(y))
    return PotentialWaves(grid, depth, surface_elevation=eta, periodic=periodic, **options)


def flume(length=20.0, nx=161, **options):
    """Still water 0.45 m deep, one row of points."""
    grid = Grid.from_points(nx, 1, length, 1.0)
    return PotentialWaves(grid, 0.45, **{"device": "cpu", "precision": "double", "vertical_points": 7, **options})


# -- time, looks and restarts ---------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["single", "double"])
def test_restart_bit_for_bit(precision):
    """Cut after some steps, between outputs, with zones; psi, the guess of the next solution, is part of the state."""

    def make():
        wave = AiryWave(height=0.01, depth=0.3, period=1.0)
        return basin(
            length_x=3.0,
            precision=precision,
            relaxation_zones=[RelaxationZone("west", 1.0, 1.0, wave, ramp=1.0), RelaxationZone("east", 1.0, 1.0)],
        )

    assert_repeats_and_restarts(make, lambda model: model.advance(10.0, max_steps=5), 0.4)


@pytest.mark.parametrize("few", [None, 0])
def test_runs_repeat_on_any_number_of_threads(few, monkeypatch):
    """Where launches are small enough for one, and where each takes all."""
    found = []
    if few is not None:
        monkeypatch.setattr("eagre.backend.cpu.compiler.MAX_SERIAL_ELEMENTS", few)
    for count in (1, 2):
        with threads_limited(select("cpu"), count):
            model = basin(precision="single")
            model.advance(10.0, max_steps=3)
            found.append(model.state())
    for name, values in found[0].items():
        np.testing.assert_array_equal(values, found[1][name], err_msg=name)


def test_a_look_changes_no_bit():
    """Velocities and energies need a Laplace problem of their own: it is the one that the next step begins with."""
    plain, looked = basin(), basin()
    for model in (plain, looked):
        for _ in range(4):
            model.advance(10.0, max_steps=1)
            if model is looked:
                model.diagnostics(), model.field("velocity_x"), model.field("velocity_z")
    np.testing.assert_array_equal(plain.state()["surface"], looked.state()["surface"])
    taken = looked.state()
    assert taken["ahead"][0] > 0 > plain.state()["ahead"][0]
    other = basin()
    other.restore(taken)
    for model in (plain, other):
        model.advance(10.0, max_steps=2)
    np.testing.assert_array_equal(plain.state()["surface"], other.state()["surface"])


def test_lands_on_times():
    model = basin(time_step=0.03)
    model.advance(0.1)
    assert model.time == 0.1 and model.steps == 4
    assert model.statistics()["dt_min"] == model.statistics()["dt_max"] == 0.03  # without the last step, 0.01 s
    model.advance(0.19)
    assert model.time == 0.19 and model.steps == 7
    with pytest.raises(InputError):
        model.advance(0.1)


def test_the_vertical_velocity_is_that_of_the_surface_it_stands_beside():
    model = basin()
    model.advance(0.2)
    setup, surface = model.setup, model.state()["surface"]
    tank = Tank(setup.depth, model.grid.dx, model.grid.dy, 6, 4)
    _, w = tank.solved(*surface)
    assert np.abs(model.field("velocity_z") - w).max() < 1e-4 * np.abs(w).max()


# -- long runs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kh", [0.5, 2.0])
def test_a_long_run_of_a_linear_standing_wave(kh):
    """Twenty-five periods in single precision: the period against sqrt(g k tanh kh), the height, the water."""
    grid, k, periods = Grid.from_points(13, 1, 0.5, 1.0), 2.0 * np.pi, 25
    shape = np.cos(k * grid.x)[None]
    omega = np.sqrt(GRAVITY * k * np.tanh(kh))
    model = PotentialWaves(
        grid, kh / k, surface_elevation=1e-3 * shape, linear=True, device="cpu", vertical_points=7,
        time_step=2.0 * np.pi / omega / 28.0,
    )  # fmt: skip
    model.advance(periods * 2.0 * np.pi / omega)
    eta, phi = (model.field(name).astype(float) for name in ("surface_elevation", "surface_potential"))
    amplitude = [1e3 * (field * shape).sum() / (shape**2).sum() for field in (eta, -phi * omega / GRAVITY)]
    assert abs(np.arctan2(amplitude[1], amplitude[0])) / (2.0 * np.pi * periods) < 5e-5
    assert np.hypot(*amplitude) == pytest.approx(1.0, abs=2e-3)
    assert abs(model.diagnostics()["volume_error"]) < 1e-6


def test_a_stream_function_wave_keeps_its_energy_and_its_shape():
    wave = StreamFunctionWave(height=0.08, depth=0.5, length=1.0, eulerian_current=0.0)
    grid = Grid.from_points(32, 1, 1.0, 1.0, periodic=(True, False))
    x = grid.x[None]
    model = PotentialWaves(
        grid, 0.5, surface_elevation=wave.elevation(x, 0.0, 0.0), periodic="x", device="cpu",
        surface_potential=wave.surface_potential(x, 0.0, 0.0), time_step=wave.period / 40.0,
    )  # fmt: skip
    before = model.diagnostics()
    assert before["kinetic_energy"] == pytest.approx(wave.kinetic_energy(1000.0), rel=1e-3)
    assert before["potential_energy"] == pytest.approx(wave.potential_energy(1000.0), rel=1e-3)
    model.advance(3.0 * wave.period)
    assert model.diagnostics()["energy"] == pytest.approx(before["energy"], rel=3e-4)
    assert np.abs(model.field("surface_elevation") - wave.elevation(x, 0.0, 0.0)).max() < 1e-3 * wave.height


def test_zones_make_the_height_of_a_nonlinear_wave():
    """Over still water: no drift of the level, the height between the zones within 2 %, little comes back."""
    wave = StreamFunctionWave.over_still_water(height=0.03, depth=0.45, period=2.0, stokes_current=0.0)
    zones = [RelaxationZone("west", 4.0, 2.0, wave, ramp=4.0), RelaxationZone("east", 7.0, 2.0)]
    model, found = flume(28.0, 225, relaxation_zones=zones, precision="single", time_step=0.05), []
    model.advance(30.0)
    while model.time < 34.0 - 1e-9:
        model.advance(model.time + 0.05)
        found.append(model.field("surface_elevation")[0, 48:160])
    heights = np.ptp(np.array(found), axis=0)
    assert heights == pytest.approx(0.03, rel=0.03)
    assert np.median(heights) == pytest.approx(0.03, rel=0.01)
    assert abs(np.mean(found)) < 0.02 * 0.03


# -- shapes of basins -----------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize(
    ("nx", "ny", "periodic"),
    [(17, 1, "none"), (1, 17, "none"), (16, 1, "x"), (12, 10, "both"), (21, 5, "none"), (9, 8, "y")],
)
def test_shapes(nx, ny, periodic, precision):
    model = basin(nx, ny, periodic=periodic, precision=precision)
    model.advance(0.3)
    found = model.diagnostics()
    assert abs(found["volume_error"]) < 1e-4 and found["max_surface_elevation"] < 0.04
    for name in model.variables:
        assert model.field(name).shape == (ny, nx) and np.isfinite(model.field(name)).all()
    sampled = model.sample(["surface_elevation", "velocity_x"], [(0, 0), (ny - 1, nx - 1)])
    assert sampled["surface_elevation"].tolist() == model.field("surface_elevation")[[0, -1], [0, -1]].tolist()
    assert model.sample(["surface_elevation"], [])["surface_elevation"].shape == (0,)


def test_a_wave_along_y_is_one_along_x():
    ends = {}
    for shape in ((17, 1), (1, 17)):
        grid = Grid.from_points(*shape, 1.0, 1.0)
        along = grid.x[None] if shape[0] > 1 else grid.y[:, None]
        eta = 0.02 * np.cos(np.pi * along)
        depth = 0.3 + 0.02 * np.cos(np.pi * along)
        model = PotentialWaves(grid, depth, surface_elevation=eta, device="cpu", precision="double")
        model.advance(0.5)
        ends[shape] = model.field("surface_elevation").ravel(), model.diagnostics()
    assert np.abs(ends[17, 1][0] - ends[1, 17][0]).max() < 1e-9
    for name in ("kinetic_energy", "potential_energy"):
        assert ends[17, 1][1][name] == pytest.approx(ends[1, 17][1][name], rel=1e-9), name


@pytest.mark.parametrize(("nx", "ny", "periodic"), [(16, 1, "x"), (1, 16, "y"), (12, 10, "both")])
def test_a_periodic_axis_has_no_beginning(nx, ny, periodic):
    """Waves and a bed moved by some points along it: what becomes of them is moved as far."""
    wraps = periodic in ("x", "both"), periodic in ("y", "both")
    grid, ends = Grid.from_points(nx, ny, 1.2, 0.8, periodic=wraps), []
    x, y = (2.0 * np.pi * a / length for a, length in zip(grid.mesh(), (1.2, 0.8), strict=True))
    fields = 0.3 + 0.05 * np.cos(x + y), 0.02 * np.cos(x - 0.7) * np.cos(y + 0.4), 0.02 * np.sin(x + 0.3) * np.cos(y)
    for moved in ((0, 0), (3 % ny, 5 % nx)):
        depth, eta, phi = (np.roll(field, moved, (0, 1)) for field in fields)
        model = PotentialWaves(
            grid, depth, surface_elevation=eta, surface_potential=phi, periodic=periodic, order=4, vertical_points=6,
            tolerance=1e-11, device="cpu", precision="double",
        )  # fmt: skip
        model.advance(0.2)
        ends.append(np.roll(model.field("surface_elevation"), [-n for n in moved], (0, 1)))
    assert np.abs(ends[1] - ends[0]).max() < 1e-9


# -- how it ends ----------------------------------------------------------------------------------


def test_breaking_waves_end_with_a_name_a_place_and_a_steepness():
    """A wave far too steep: the model keeps its last valid state and reports where it broke."""
    grid = Grid.from_points(64, 1, 1.0, 1.0, periodic=(True, False))
    wave = AiryWave(height=0.12, depth=0.5, length=1.0)
    x = grid.x[None]
    model = PotentialWaves(
        grid, 0.5, surface_elevation=wave.elevation(x, 0.0, 0.0), surface_potential=wave.surface_potential(x, 0.0, 0.0),
        periodic="x", device="cpu",
    )  # fmt: skip
    with pytest.raises(BlowUpError) as broken:
        model.advance(5.0)
    said = str(broken.value)
    for words in (
        "largest slope of the surface",
        "at x = ",
        "0.5 m deep",
        "last valid state",
        "break",
        "try:     [breaking] in the case",
    ):
        assert words in said
    assert np.isfinite(model.state()["surface"]).all() and 0.0 < model.time < broken.value.time
    assert 0 <= broken.value.cell[1] < 64


# -- what it refuses ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"time_step": 1.0}, "time_step = 1 s"),
        ({"tolerance": 1e-8, "precision": "single"}, "tolerance"),
        ({"order": 3}, "order = 3"),
        ({"vertical_points": 4}, "vertical_points = 4"),
        ({"periodic": "x", "nx": 13}, "nx = 13 along a periodic axis"),
        ({"periodic": "z"}, "periodic = 'z'"),
        ({"ny": 2}, "ny = 2"),
        ({"relaxation_zones": [RelaxationZone("west", 5.0, 1.0)]}, "width = 5 m"),
        (
            {"relaxation_zones": [RelaxationZone("west", 0.5, 1.0)], "periodic": "x", "nx": 12},
            "west side of an axis that is periodic",
        ),
        ({"relaxation_zones": [RelaxationZone("north", 0.5, 1.0)], "ny": 1}, "of one point"),
        ({"surface_potential": np.nan}, "surface_potential"),
        ({"height": 0.5}, "surface_elevation = "),
        ({"device": ["cpu"] * 9}, "9 devices for "),
        (
            {"relaxation_zones": [RelaxationZone("west", 0.3, 1.0), RelaxationZone("west", 0.3, 1.0)]},
            "two relaxation zones along the west side",
        ),
        (
            {"relaxation_zones": [RelaxationZone("west", 0.3, 1.0)], "wavemakers": [Wavemaker("west", 0.1)]},
            "a relaxation zone and a wavemaker along the west",
        ),
        ({"wavemakers": [Wavemaker("east", 0.1), Wavemaker("east", 0.1)]}, "two wavemakers along the east side"),
        ({"courant_number": 0.0}, "courant_number"),
        ({"gravity": -9.81}, "gravity"),
    ],
)
def test_what_is_refused(options, said):
    with pytest.raises(InputError) as refused:
        basin(**options)
    assert said in str(refused.value)


def test_a_dry_bed_is_refused_with_its_place():
    grid = Grid.from_points(11, 1, 10.0, 1.0)
    with pytest.raises(InputError) as refused:
        PotentialWaves(grid, 0.5 - 0.1 * grid.x[None], device="cpu")
    assert "depth = 0 m at x = 5 m, y = 0 m, one of 6" in str(refused.value)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("psi", lambda a: a[:-1], "psi of shape"),
        ("surface", lambda a: np.full_like(a, np.nan), "surface that is not finite"),
        ("w", None, "without w"),
        ("grid", lambda a: a + 1.0, "a state of a grid"),
    ],
)
def test_states_that_are_refused(name, change, said):
    model = basin()
    state = model.state()
    if change is None:
        del state[name]
    else:
        state[name] = change(state[name])
    with pytest.raises(InputError) as refused:
        model.restore(state)
    assert said in str(refused.value)


@pytest.mark.parametrize("depth", [0.5, 0.002])
def test_the_longest_step_is_the_longest_that_is_stable(depth, monkeypatch):
    """A checkerboard at the limit of the grid stays at 0.9 of it and grows at 1.1: of deep water, and of shallow."""
    grid = Grid.from_points(32, 1, 1.0, 1.0, periodic=(True, False))
    zigzag = 1e-3 * (-1.0) ** np.arange(32)[None]
    longest = LIMIT / highest_frequency(np.full((1, 32), depth), grid, Vertical(9, 6), GRAVITY)
    heights = {}
    monkeypatch.setattr("eagre.models.potential_waves.model.check_time_step", lambda *_: None)
    for share in (0.9, 1.1):
        model = PotentialWaves(
            grid, depth, surface_elevation=zigzag, linear=True, periodic="x", device="cpu", precision="double",
            time_step=share * longest,
        )  # fmt: skip
        model.advance(1e3, max_steps=40)
        heights[share] = np.abs(model.field("surface_elevation")).max()
    assert heights[0.9] < 1e-3 and heights[1.1] > 1e-2


@pytest.mark.parametrize(
    ("dx", "depth", "over_g"),
    [(0.01, [0.5, 0.9, 0.7], 6.0 / 0.5), (10.0, [5.5, 20.0, 29.0], 0.2), (100.0, [0.5, 3.0, 40.0], 0.02**2 * 40.0)],
    ids=["layers", "points", "long waves"],
)
def test_the_highest_frequency_is_that_of_the_depth_that_makes_it_so(dx, depth, over_g):
    """w_0 / d of the shallowest water, k, or k^2 d of the deepest; of order 2, w_0 = 1.5 / 0.25 and k = 2 / dx."""
    found = highest_frequency(np.array([depth]), Grid(3, 1, dx, 1.0), Vertical(5, 2, clustered=False), GRAVITY)
    assert found == pytest.approx(np.sqrt(GRAVITY * over_g))


def test_the_step_by_courant_is_that_of_waves_in_the_deepest_water():
    """20 points of the wave: 2 m long at 0.1 m apart."""
    k = np.pi
    found = courant_step(0.6, np.array([[0.1, 0.3, 0.2]]), Grid(3, 1, 0.1, 1.0), GRAVITY)
    assert found == pytest.approx(0.6 * 0.1 / np.sqrt(GRAVITY / k * np.tanh(0.3 * k)))


def test_a_sponge_on_a_fine_grid_shortens_the_step(monkeypatch):
    """Short waves fade at mu q, which Runge-Kutta's method bears up to 2.785 over it; `courant_number` gives more."""
    grid, layer = Grid.from_points(129, 1, 2.0, 1.0), SpongeLayer("east", 0.5, 1.0)
    zigzag = 1e-4 * (-1.0) ** np.arange(129)[None]
    options = {"surface_elevation": zigzag, "linear": True, "order": 4, "vertical_points": 6, "device": "cpu"}

    def made(**more):
        return PotentialWaves(grid, 0.4, precision="double", **options, **more)

    free = made()
    damped = made(sponges=[layer])
    limit = damped.time_step / 0.9
    fastest = (
        layer.damping(free.setup.depth, GRAVITY)
        * highest_frequency(free.setup.depth, grid, Vertical(6, 4), GRAVITY) ** 2
        / GRAVITY
    )
    assert limit < free.time_step and limit == pytest.approx(2.785 / fastest, rel=0.05)
    with pytest.raises(InputError, match="on this grid and these sponges"):
        made(sponges=[layer], time_step=1.1 * limit)
    monkeypatch.setattr("eagre.models.potential_waves.model.check_time_step", lambda *_: None)
    heights = []
    for model in (damped, made(sponges=[layer], time_step=1.3 * limit)):
        model.advance(1e3, max_steps=30)
        heights.append(np.abs(model.field("surface_elevation")).max())
    assert heights[0] <= 1e-4 and heights[1] > 1e-2


def test_notes_name_what_costs_accuracy():
    wave = AiryWave(height=0.01, depth=0.45, period=1.0)
    model = flume(20.0, 81, relaxation_zones=[RelaxationZone("west", 1.0, 1.0, wave)], time_step=0.07)
    told = "\n".join(model.notes)
    for words in ("of the stability limit", "points per wave length", "wave lengths wide", "steps per period"):
        assert words in told
    for height, steep in ((0.05, False), (0.13, True)):
        sea = Sea(Jonswap(height, 1.0), 0.45, count=20)
        notes = flume(20.0, 161, relaxation_zones=[RelaxationZone("west", 4.0, 1.0, sea)]).notes
        assert any("use [breaking] or a lower Hs" in note for note in notes) is steep
    grid = Grid.from_points(41, 1, 4.0, 1.0)
    sloping = PotentialWaves(grid, 0.5 - 0.05 * grid.x[None], device="cpu")
    assert sum("slopes into the wall" in note for note in sloping.notes) == 2
    level = PotentialWaves(grid, 0.5 - 0.05 * np.cos(np.pi * grid.x / 4.0)[None], device="cpu")
    assert not any("slopes into the wall" in note for note in level.notes)
    assert float(wave_number(2.0 * np.pi, 0.45)) > 0.0


@pytest.mark.parametrize("device", ["cpu", ["cpu", "cpu"]])
def test_a_bed_that_is_too_steep_is_named_by_its_place_on_the_map(device):
    grid = Grid.from_points(17, 17, 1.6, 1.6, 1000.0, 500.0)
    depth = np.broadcast_to(np.where(grid.x < 1000.75, 0.8, 0.3), grid.shape)
    with pytest.raises(InputError) as refused:
        PotentialWaves(grid, depth, device=device)
    assert "at x = 1000.7 m, y = 500 m" in str(refused.value) and "1.5 at most" in str(refused.value)


# -- statistics and breaking ----------------------------------------------------------------------


def test_statistics_are_those_of_all_steps():
    model, found, times = basin(statistics_from=0.1, time_step=0.015), [], []
    assert {"max_surface_elevation", "significant_height"} <= set(model.variables)
    assert not model.field("significant_height").any()
    while model.time < 0.6:
        found.append(model.state()["surface"][0])
        times.append(model.time)
        model.advance(10.0, max_steps=1)
    found.append(model.state()["surface"][0])
    times.append(model.time)
    mean, variance = moments_of(times, found, start=0.1)
    highest, lowest, _ = extremes_of(times, found, 0.1)
    assert model.field("max_surface_elevation") == pytest.approx(highest)
    assert model.field("min_surface_elevation") == pytest.approx(lowest)
    assert model.field("mean_surface_elevation") == pytest.approx(mean, abs=1e-12)
    assert model.field("significant_height") == pytest.approx(4.0 * np.sqrt(variance), abs=1e-12)
    assert any("maximum Hs" in text and "over 0.5 s" in text for _, text in model.summary_rows)


def test_breaking_is_dissipated_told_and_restarted():
    """The wave that ended a run goes on; its crests are in the log, with what a restart needs."""
    grid = Grid.from_points(64, 1, 1.0, 1.0, periodic=(True, False))
    wave = AiryWave(height=0.12, depth=0.5, length=1.0)
    surface = wave.elevation(grid.x[None], 0.0, 0.0), wave.surface_potential(grid.x[None], 0.0, 0.0)

    def make():
        return PotentialWaves(
            grid, 0.5, surface_elevation=surface[0], surface_potential=surface[1], periodic="x", device="cpu",
            breaking=True, statistics_from=0.0,
        )  # fmt: skip

    assert_repeats_and_restarts(make, lambda model: model.advance(10.0, max_steps=25), 1.2)
    model = make()
    before = model.diagnostics()
    model.advance(1.2)
    assert model.breakers and 0.0 < model.breakers[0].time < 1.2
    assert model.diagnostics()["energy"] < 0.9 * before["energy"]
    assert abs(model.diagnostics()["volume_error"]) < 3e-4
    told = [text for _, text in model.summary_rows]
    assert any("crest height" in text and "k a = " in text for text in told)
    assert not basin().breakers


@pytest.mark.parametrize(
    "multigrid",
    [{"cycle": "W"}, {"cycle": "F", "smoother": "jacobi", "weight": 0.9}, {"levels": 2}, {"stretched": 1.0, "pre": 2}],
)
def test_the_preconditioner_changes_iterations_and_not_the_answer(multigrid):
    surfaces = []
    for choices in (None, multigrid):
        model = basin(tolerance=1e-9, precision="double", multigrid=choices)
        model.advance(4.0 * model.time_step)
        surfaces.append(model.field("surface_elevation"))
        assert 2.0 < model.statistics()["iterations_a_solve"] < 20.0
    assert 0.0 < np.abs(surfaces[0] - surfaces[1]).max() < 1e-10
    assert all(model.settings()[f"multigrid_{name}"] == value for name, value in multigrid.items())


def test_numbers_of_breaking_are_taken():
    """A wave that breaks by a lower limit of speed or slope only, and loses more where more is asked for."""
    grid, found = Grid.from_points(64, 1, 1.0, 1.0, periodic=(True, False)), []
    wave = AiryWave(height=0.05, depth=0.5, length=1.0)  # crests of u / c and fronts of k a = 0.16
    surface = wave.elevation(grid.x[None], 0.0, 0.0), wave.surface_potential(grid.x[None], 0.0, 0.0)
    for given in (
        {},
        {"max_crest_speed_ratio": 0.1},
        {"max_front_slope": 0.1},
        {"max_crest_speed_ratio": 0.1, "strength": 0.2},
    ):
        model = PotentialWaves(
            grid, 0.5, surface_elevation=surface[0], surface_potential=surface[1], periodic="x", device="cpu",
            breaking=given,
        )  # fmt: skip
        model.advance(10.0, max_steps=20)
        found.append((len(model.breakers), model.diagnostics()["energy"]))
    counts, energies = zip(*found, strict=True)
    assert counts[0] == 0 and min(counts[1:]) > 0
    assert energies[0] > energies[1] > energies[3]


def test_corrections_in_single_precision():
    """By default in a run of either precision; the answer is that of double ones."""
    single, double = basin(tolerance=1e-9), basin(tolerance=1e-9, correction_precision="double")
    for model in (single, double):
        model.advance(4.0 * model.time_step)
    assert (single.settings()["correction_precision"], double.settings()["correction_precision"]) == (
        "single",
        "double",
    )
    surfaces = [model.field("surface_elevation") for model in (single, double)]
    assert 0.0 < np.abs(surfaces[0] - surfaces[1]).max() < 1e-11
    assert single.statistics()["iterations_a_solve"] == double.statistics()["iterations_a_solve"]
    assert single.bytes_per_step < double.bytes_per_step
    assert basin(precision="single", correction_precision="double").settings()["correction_precision"] == "single"
    with pytest.raises(InputError, match="correction_precision = 'half'"):
        basin(correction_precision="half")


def test_a_choice_of_the_preconditioner_that_is_not_known():
    with pytest.raises(InputError, match="multigrid = 'cycles'"):
        basin(multigrid={"cycles": "W"})


@pytest.mark.parametrize("breaking", [{"limits": 1.0}, {"max_crest_speed_ratio": -1.0}])
def test_breaking_that_is_refused(breaking):
    with pytest.raises(InputError) as refused:
        basin(breaking=breaking)
    assert "max_crest_speed_ratio" in str(refused.value)


# -- under the surface ----------------------------------------------------------------------------


@pytest.mark.parametrize("looked", [False, True])
def test_kinematics_under_the_surface_change_no_bit(looked):
    wave = AiryWave(height=1e-3, depth=0.5, length=1.0)
    grid = Grid.from_points(32, 1, 1.0, 1.0, periodic=(True, False))
    x, made = grid.x[None], []
    for _ in range(2):
        made.append(
            PotentialWaves(
                grid, 0.5, surface_elevation=wave.elevation(x, 0.0, 0.0), linear=True, periodic="x", device="cpu",
                surface_potential=wave.surface_potential(x, 0.0, 0.0), precision="double",
            )
        )  # fmt: skip
    plain, probed = made
    for model in made:
        model.advance(10.0, max_steps=3)
    if looked:
        probed.diagnostics()
    found = probed.kinematics([0.1, 0.3], z=[-0.1, -0.5])
    known = np.stack(wave.velocity(np.array([0.1, 0.3]), 0.0, np.array([-0.1, -0.5]), probed.time))
    assert np.abs(found.velocity - known).max() < 1e-3 * np.abs(known).max()
    still = 1000.0 * GRAVITY * wave.elevation(0.25, 0.0, probed.time)  # of small waves, at z = 0
    assert probed.kinematics(0.25, sigma=1.0).pressure == pytest.approx(still, rel=2e-3)
    for model in made:
        model.advance(10.0, max_steps=3)
    np.testing.assert_array_equal(plain.state()["surface"], probed.state()["surface"])


# -- paddles and sponges --------------------------------------------------------------------------


def test_a_piston_and_a_sponge():
    """The height of a piston's waves by linear theory; what a sponge leaves; the same bits after a restart."""
    period, depth, height = 2.0, 0.45, 0.005
    k = float(wave_number(np.pi, depth))
    stroke, times = stroke_of_height(height, k, depth), np.arange(0.0, 24.5, 0.05)
    position = Series(times, 0.5 * stroke * np.sin(np.pi * times) * np.minimum(1.0, times / 4.0))

    def make():
        paddle, layer = Wavemaker("west", position=position), SpongeLayer("east", 7.0, period)
        return flume(wavemakers=[paddle], sponges=[layer], linear=True, time_step=0.05, precision="single")

    assert_repeats_and_restarts(make, lambda model: model.advance(24.0, max_steps=7), 1.0)
    model, found = make(), []
    model.advance(20.0)
    while model.time < 24.0 - 1e-9:
        model.advance(model.time + 0.05)
        found.append(model.field("surface_elevation")[0, 40:100])
    heights = np.ptp(np.array(found), axis=0)
    assert heights == pytest.approx(height, rel=0.05) and np.mean(heights) == pytest.approx(height, rel=0.02)
    with pytest.raises(InputError):
        model.advance(30.0)  # the signal of the paddle ends
    still = PotentialWaves(model.grid, 0.45, sponges=[SpongeLayer("east", 7.0, period)], device="cpu")
    assert "volume_error" in still.diagnostics()
