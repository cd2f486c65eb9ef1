"""Physics of the barotropic model: linear solutions, conservation, layers, walls, tracer, particles."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eagre import BarotropicVorticity, DoubleGyre, Grid, InputError, Layers
from eagre.laboratory.validation import validate
from eagre.models.barotropic.sampling.diagnostics import energy_spectrum
from eagre.models.barotropic.sampling.scales import layer_note, munk_width, numbers_note

SLOW = ("precisions", "benchmark-start", "eddies", "coarse-ten-years", "figure-3.3")
QUICK = (
    "first-step",
    "symmetry",
    "munk",
    "stommel",
    "no-slip",
    "basin-mode",
    "conservation",
    "coarse-grid",
    "order",
    "poisson",
    "restart",
)


@pytest.mark.parametrize("case", [*QUICK, *(pytest.param(case, marks=pytest.mark.slow) for case in SLOW)])
def test_validation(case, tmp_path):
    results = validate("barotropic", [case], tmp_path, "cpu", "double")
    assert results and all(result.passed for result in results), [result.row() for result in results]


def test_numbers_of_the_thesis():
    gyre = DoubleGyre()
    numbers = gyre.numbers
    assert numbers["alpha"] == pytest.approx(1.36e5, rel=2e-3)
    assert numbers["beta"] == pytest.approx(1.36e5, rel=2e-3)
    assert numbers["reynolds"] == pytest.approx(20.83, rel=1e-3) and numbers["mu"] == 0.0
    assert gyre.time_scale / 86400 == pytest.approx(20_481, rel=1e-3)
    assert gyre.nondimensional_time(10 * 365.25 * 86400) == pytest.approx(0.1783, rel=1e-3)
    drag = DoubleGyre(friction=1e-9, velocity=0.5)  # 3.84e6 m / 0.5 m/s = 7.68e6 s
    assert drag.numbers["mu"] == pytest.approx(1e-9 * 7.68e6) and drag.time_scale == pytest.approx(7.68e6)
    told = numbers_note(gyre.curl, gyre.beta, gyre.viscosity, 1e-9, gyre.length)
    mu = 1e-9 * gyre.time_scale
    assert told == [f"nondimensional: alpha = 1.359e+05, beta = 1.359e+05, mu = {mu:.4g}, Re = 20.83"]


def test_points_a_munk_width():
    """The specification's table: 27.1 km, 2.30 points at 1025 of the dimensional basin, 4.61 at 2049; 0.58 at 257."""
    gyre = DoubleGyre()
    assert munk_width(gyre.viscosity, gyre.beta) == pytest.approx(27.1e3, rel=2e-3)
    for points, told in ((257, "0.58"), (1025, "2.30"), (2049, "4.61")):
        note = layer_note(gyre.viscosity, gyre.beta, math.pi * gyre.length / (points - 1))
        assert note.startswith(f"western boundary layer: {told} points per Munk width")
        assert ("below 2" in note) == (points == 257)
    assert "no Munk layer" in layer_note(0.0, gyre.beta, 1.0)


def test_velocities_of_a_streamfunction():
    """u = -psi_y, v = psi_x, at the walls too, and their modulus; psi = sin x sin 2y."""
    grid = Grid.from_points(129, 97, math.pi, math.pi)
    x, y = grid.mesh()
    model = BarotropicVorticity(
        grid, time_step=1e-3, relative_vorticity=-5.0 * wave(grid, 1, 2), device="cpu", precision="double"
    )
    u, v = -2.0 * np.sin(x) * np.cos(2.0 * y), np.cos(x) * np.sin(2.0 * y)
    for name, exact in (("velocity_x", u), ("velocity_y", v), ("speed", np.hypot(u, v))):
        assert np.abs(model.field(name) - exact).max() < 5e-3, name


def wave(grid, k=1, m=1):
    """sin sin on a box or a period."""
    x, y = grid.mesh()
    return np.sin(k * x) * np.sin(m * y)


def test_friction_alone_decays():
    grid = Grid.from_points(33, 33, math.pi, math.pi)
    model = BarotropicVorticity(
        grid,
        time_step=1e-3,
        bottom_friction=0.5,
        relative_vorticity=1e-6 * wave(grid),
        device="cpu",
        precision="double",
    )
    before = model.field("relative_vorticity")
    model.advance(1.0)
    assert np.abs(model.field("relative_vorticity") - math.exp(-0.5) * before).max() < 1e-6 * np.abs(before).max()


@pytest.mark.parametrize(("options", "power"), [({"viscosity": 0.3}, 1), ({"biharmonic_viscosity": 1e-3}, 2)])
@pytest.mark.parametrize("viscosity_scheme", ["explicit", "implicit"])
def test_viscosity_alone_decays(options, power, viscosity_scheme):
    if viscosity_scheme == "implicit" and power == 2:
        return
    grid = Grid.from_points(33, 25, math.pi, math.pi)
    model = BarotropicVorticity(
        grid, time_step=2e-4 if viscosity_scheme == "explicit" else 2e-3, relative_vorticity=1e-6 * wave(grid, 2, 1),
        device="cpu", precision="double", viscosity_scheme=viscosity_scheme, **options,
    )  # fmt: skip
    rate = (2 / grid.dx * math.sin(grid.dx)) ** 2 + (2 / grid.dy * math.sin(0.5 * grid.dy)) ** 2
    before = model.field("relative_vorticity")
    model.advance(0.2)
    factor = math.exp(-next(iter(options.values())) * rate**power * 0.2)
    assert np.abs(model.field("relative_vorticity") - factor * before).max() < 2e-6 * np.abs(before).max()


def test_implicit_viscosity_bears_long_steps():
    options = {"reynolds": 0.1, "alpha": 1e3, "beta": 1e3, "time_step": 2e-3, "device": "cpu", "precision": "double"}
    model = BarotropicVorticity.double_gyre(33, viscosity_scheme="implicit", **options)
    assert options["time_step"] > 5 * 0.1 * model.grid.dx**2 / 8
    model.advance(2.0)
    steady = BarotropicVorticity.double_gyre(33, **{**options, "time_step": 5e-5})
    steady.advance(2.0)
    psi = steady.field("streamfunction")
    assert np.abs(model.field("streamfunction") - psi).max() < 1e-4 * np.abs(psi).max()


@pytest.mark.parametrize("walls", ["no-slip", "no-slip-thom"])
def test_no_slip_stops_the_flow_at_the_wall(walls):
    slips = {}
    for kind in ("free-slip", walls):
        speeds = []
        for points in (33, 65):
            grid = Grid.from_points(points, points, math.pi, math.pi)
            model = BarotropicVorticity(
                grid, time_step=5e-4, viscosity=0.1, wind_forcing=0.1 * wave(grid), walls=kind, device="cpu",
                precision="double",
            )  # fmt: skip
            model.advance(4.0)
            v = model.field("velocity_y")
            speeds.append(np.abs(v[:, 0]).max() / np.abs(v).max())
        slips[kind] = speeds
    assert slips["free-slip"][1] > 0.9
    assert slips[walls][1] < 0.02 and slips[walls][1] < 0.6 * slips[walls][0]


@pytest.mark.parametrize("walls", ["no-slip", "no-slip-thom"])
def test_partial_slip_in_a_channel(walls):
    """Steady psi = 1 - cos 2y - c y (pi - y) / 2 with psi_n = L psi_nn on the walls: second order."""
    slip, errors = 0.4, []
    c = -4.0 * slip / (slip + 0.5 * math.pi)
    for n in (12, 24):
        grid = Grid(6, n + 1, math.pi / n, math.pi / n)
        y = grid.y - grid.y[0]
        wind = np.repeat(16.0 * np.cos(2.0 * y)[:, None], 6, axis=1)
        model = BarotropicVorticity(
            grid, time_step=0.06 * grid.dy**2, viscosity=1.0, basin="channel", walls=walls, slip_length=slip,
            wind_forcing=wind, device="cpu", precision="double",
        )  # fmt: skip
        model.advance(8.0)
        exact = 1.0 - np.cos(2.0 * y) - 0.5 * c * y * (math.pi - y)
        psi_error = np.abs(model.field("streamfunction")[:, 0] - exact).max()
        errors.append((psi_error, np.abs(model.field("relative_vorticity")[[0, -1], 0] - 4.0 - c).max()))
    orders = np.log2(np.array(errors[0]) / errors[1])
    assert (orders > 1.8).all() and errors[1][1] < 0.02 * (4.0 + c), (orders, errors)


def test_partial_slip_lies_between_no_slip_and_free_slip():
    """In the limits, and without slip with the same bits."""
    options = {"time_step": 1e-3, "viscosity": 0.1, "device": "cpu", "precision": "double"}
    grid = Grid.from_points(17, 13, math.pi, 2.0)
    runs = {
        name: BarotropicVorticity(grid, wind_forcing=wave(grid), **options, **more)
        for name, more in {
            "free": {"walls": "free-slip"},
            "no slip": {"walls": "no-slip"},
            **{slip: {"walls": "no-slip", "slip_length": slip} for slip in (0.0, 0.1, 1e9)},
        }.items()
    }
    for model in runs.values():
        model.advance(0.05)
    psi = {name: model.field("streamfunction") for name, model in runs.items()}
    assert np.array_equal(psi["no slip"], psi[0.0])
    assert np.abs(psi["free"] - psi[1e9]).max() < 1e-9 * np.abs(psi["free"]).max()
    energies = [runs[name].diagnostics()["energy"] for name in ("no slip", 0.1, "free")]
    assert energies == sorted(energies) and energies[0] < 0.99 * energies[2]


def test_reduced_gravity_slows_the_rossby_wave():
    """A wave in a periodic basin travels west at beta / (k^2 + 1 / R^2)."""
    n, beta = 64, 2.0
    grid = Grid(n, n, 2 * math.pi / n, 2 * math.pi / n)
    x, _ = grid.mesh()
    for radius in (None, 0.5):
        screening = 0.0 if radius is None else radius**-2
        speed = beta / (1.0 + screening)
        model = BarotropicVorticity(
            grid, time_step=5e-3, beta=beta, basin="periodic", deformation_radius=radius,
            potential_vorticity=-(1 + screening) * 1e-6 * np.sin(x), device="cpu", precision="double",
        )  # fmt: skip
        model.advance(1.0)
        psi = 1e-6 * np.sin(x + speed)
        assert np.abs(model.field("streamfunction") - psi).max() < 5e-3 * 1e-6


def test_layers_are_their_modes():
    """q1 = q2 moves as one layer; the baroclinic mode feels F1 + F2."""
    n, beta = 48, 2.0
    grid = Grid(n, n, 2 * math.pi / n, 2 * math.pi / n)
    x, _ = grid.mesh()
    layers = Layers(3.0, 1.0)
    common = {"time_step": 5e-3, "beta": beta, "basin": "periodic", "layers": layers, "device": "cpu"}
    deep = BarotropicVorticity(
        grid,
        potential_vorticity=-1e-6 * np.sin(x),
        potential_vorticity_lower=-1e-6 * np.sin(x),
        precision="double",
        **common,
    )
    deep.advance(1.0)
    for name in ("streamfunction", "streamfunction_lower"):
        assert np.abs(deep.field(name) - 1e-6 * np.sin(x + beta)).max() < 5e-3 * 1e-6
    # psi1 : psi2 = H2 : -H1 = 3 : -1, q1 - q2 = (Lap - 4)(psi1 - psi2)
    shear = BarotropicVorticity(
        grid,
        potential_vorticity=-5e-6 * 0.75 * np.sin(x),
        potential_vorticity_lower=5e-6 * 0.25 * np.sin(x),
        precision="double",
        **common,
    )
    shear.advance(1.0)
    travelled = np.sin(x + beta / 5.0)
    assert np.abs(shear.field("streamfunction") - 0.75e-6 * travelled).max() < 5e-3 * 1e-6
    assert np.abs(shear.field("relative_vorticity_lower") - 0.25e-6 * travelled).max() < 5e-3 * 1e-6


def test_friction_of_layers_acts_on_their_vorticity():
    """Shear psi1 - psi2 decays at A / (1 + F1 + F2); bottom friction takes mu zeta2 from q2 alone."""
    n = 48
    grid = Grid(n, n, 2 * math.pi / n, 2 * math.pi / n)
    x, _ = grid.mesh()
    common = {"time_step": 2e-3, "basin": "periodic", "layers": Layers(3.0, 1.0), "device": "cpu"}
    q = (-5e-6 * 0.75 * np.sin(x), 5e-6 * 0.25 * np.sin(x))
    start = {"potential_vorticity": q[0], "potential_vorticity_lower": q[1], "precision": "double"}
    shear = BarotropicVorticity(grid, viscosity=0.5, **start, **common)
    shear.advance(1.0)
    expected = 0.75e-6 * math.exp(-0.5 / 5.0) * np.sin(x)
    assert np.abs(shear.field("streamfunction") - expected).max() < 5e-3 * 1e-6
    rough = BarotropicVorticity(grid, bottom_friction=0.5, **start, **common)
    psi = rough.field("streamfunction_lower")
    rough.advance(2e-3)
    now = [rough._engine.points("q", k) for k in (0, 1)]
    assert np.abs(now[0] - q[0]).max() < 1e-18
    assert np.abs(now[1] - q[1] - 2e-3 * 0.5 * psi).max() < 1e-2 * 2e-3 * 0.5 * np.abs(psi).max()


def test_flow_follows_the_depth():
    """Topography that slopes north acts as beta does."""
    n = 32
    grid = Grid(n, n + 1, math.pi / n, math.pi / n)
    _, y = grid.mesh()
    zeta = 1e-6 * np.sin(2 * grid.mesh()[0]) * np.sin(y - y[0])
    fields = []
    for options in ({"beta": 3.0}, {"topography": 3.0 * y}):
        model = BarotropicVorticity(
            grid, time_step=5e-3, basin="channel", relative_vorticity=zeta, device="cpu", precision="double",
            jacobian="advective", **options,
        )  # fmt: skip
        model.advance(0.5)
        fields.append(model.field("streamfunction"))
    assert np.abs(fields[0] - fields[1]).max() < 1e-12 * np.abs(fields[0]).max() + 1e-18


def test_tracer_and_particles_go_round():
    """A steady vortex carries a particle along its streamline; the tracer is kept."""
    grid = Grid.from_points(65, 65, math.pi, math.pi)
    model = BarotropicVorticity(
        grid, time_step=2e-3, relative_vorticity=-2.0 * wave(grid), tracer=1.0 + wave(grid, 2, 1),
        tracer_diffusivity=1e-3, particles=[[1.0, 1.3], [2.5, 2.0]], device="cpu", precision="double",
    )  # fmt: skip
    start = model.particle_positions
    tracer = model.field("tracer")
    model.advance(3.0)
    end = model.particle_positions
    assert np.abs(end - start).max() > 0.5
    psi = [np.sin(p[:, 0]) * np.sin(p[:, 1]) for p in (start, end)]
    assert np.abs(psi[1] - psi[0]).max() < 2e-3
    inner = (slice(1, -1), slice(1, -1))
    assert model.field("tracer")[inner].mean() == pytest.approx(tracer[inner].mean(), rel=5e-3)
    assert 0.0 < model.field("tracer").min() and model.field("tracer").max() < 2.0


def test_diagnostics_and_spectrum():
    grid = Grid.from_points(65, 49, math.pi, math.pi)
    model = BarotropicVorticity(
        grid, time_step=1e-3, relative_vorticity=-5.0 * wave(grid, 2, 1), wind_forcing=wave(grid), beta=1.0,
        viscosity=0.1, device="cpu", precision="double",
    )  # fmt: skip
    found = model.diagnostics()
    assert found["energy"] == pytest.approx(5.0 * math.pi**2 / 8, rel=5e-3)
    assert found["enstrophy"] == pytest.approx(25.0 * math.pi**2 / 8, rel=5e-3)
    assert found["max_velocity_y"] == pytest.approx(2.0, rel=5e-3)
    assert found["max_velocity_x"] == pytest.approx(1.0, rel=5e-3)
    assert found["transport_per_depth"] == pytest.approx(2.0, rel=5e-3)  # from the low at -1 to the high at 1
    gyre = BarotropicVorticity(
        grid, time_step=1e-3, relative_vorticity=2.0 * wave(grid), device="cpu", precision="double"
    )
    assert gyre.diagnostics()["transport_per_depth"] == pytest.approx(1.0, rel=5e-3)  # from the wall to the low
    told = dict(model.summary_rows)
    assert told["energy"] == f"{found['energy']:.6g}, enstrophy {found['enstrophy']:.6g}"
    assert told["budget"].startswith("wind ") and "viscosity -" in told["budget"] and "friction" not in told["budget"]
    wavenumber, energy = model.energy_spectrum()
    assert energy.sum() * math.pi**2 == pytest.approx(found["energy"], rel=1e-10)
    assert wavenumber[energy.argmax()] == pytest.approx(2.0)
    _, rings = energy_spectrum(wave(grid, 2, 2), grid.dx, grid.dy)
    assert rings.argmax() == 3  # sqrt(8) is nearer to 3 than to 2
    budget = model.energy_budget()
    assert abs(budget["residual"]) < 1e-12 and budget["viscosity"] < 0
    spent = budget["wind"] + budget["viscosity"] + budget["friction"]
    before = found["energy"]
    model.advance(1e-3)
    assert (model.diagnostics()["energy"] - before) / 1e-3 == pytest.approx(spent, rel=0.02)


@pytest.mark.parametrize(("basin", "size"), [("box", (20, 15)), ("channel", (21, 15)), ("periodic", (21, 16))])
def test_spectra_hold_the_energy(basin, size):
    """Of noise, to rounding; a single wave is in its ring."""
    grid = Grid.from_points(*size, 3.0, 2.0)
    zeta = np.random.default_rng(3).standard_normal(grid.shape)
    zeta -= zeta.mean()
    model = BarotropicVorticity(
        grid, time_step=1.0, basin=basin, relative_vorticity=zeta, device="cpu", precision="double"
    )
    wavenumber, energy = model.energy_spectrum()
    sides = [(n - (not wrap)) * h for n, wrap, h in zip(size, model.setup.periodic, (grid.dx, grid.dy), strict=True)]
    assert energy.sum() * sides[0] * sides[1] == pytest.approx(model.diagnostics()["energy"], rel=1e-12)
    least = min((2 if wrap else 1) * math.pi / side for wrap, side in zip(model.setup.periodic, sides, strict=True))
    assert wavenumber[1] == pytest.approx(least)


@pytest.mark.parametrize("basin", ["box", "channel"])
@pytest.mark.parametrize("extra", [{"layers": Layers(3.0, 1.0)}, {"deformation_radius": 0.5}], ids=["layers", "radius"])
@pytest.mark.parametrize("jacobian", ["arakawa", "advective"])
def test_energy_budget_holds_every_term(basin, extra, jacobian):
    """The first step is Euler's, so that -sum(w psi dq) / dt is the sum of the terms to rounding.

    Arakawa's Jacobian keeps energy; the advective one does not, over a bed neither.
    """
    grid = Grid.from_points(21, 17, 2.0, 3.0)
    noise = np.random.default_rng(0).standard_normal((3, 17, 21))
    if "layers" in extra:
        extra = {**extra, "potential_vorticity_lower": noise[1]}
    model = BarotropicVorticity(
        grid, time_step=1e-6, beta=2.0, viscosity=0.1, bottom_friction=0.3, biharmonic_viscosity=1e-3, basin=basin,
        wind_forcing=noise[2], topography=noise[2][::-1], potential_vorticity=noise[0],
        device="cpu", precision="double", jacobian=jacobian, **extra,
    )  # fmt: skip
    engine, budget = model._engine, model.energy_budget()
    weights = extra["layers"].thickness_fractions if "layers" in extra else (1.0,)
    before = [[engine.points(name, k) for name in ("psi", "q")] for k in range(engine.count)]
    model.advance(1e-6)
    rate = 0.0
    inner = (slice(1, -1), slice(1, -1) if basin == "box" else slice(None))
    for k, (psi, q) in enumerate(before):
        change = (engine.points("q", k) - q) / 1e-6
        rate -= weights[k] * float((psi * change)[inner].sum()) * grid.cell_area
    assert rate == pytest.approx(budget["total"], rel=1e-8)
    names = ("wind", "viscosity", "friction", "biharmonic")
    assert all(abs(budget[name]) > 1e-3 * abs(budget["total"]) for name in names)
    carried = [abs(budget[name]) for name in ("advection", "topography")]
    largest = max(abs(budget[name]) for name in names)
    assert budget["residual"] == pytest.approx(budget["advection"] / largest) and abs(budget["beta"]) < 1e-12
    assert max(carried) < 1e-12 if jacobian == "arakawa" else min(carried) > 1e-6 * abs(budget["total"])


def test_energy_of_layers_is_kinetic_and_potential():
    """A sheared wave: w |grad psi|^2 / 2 of both layers, and (psi1 - psi2)^2 F1 F2 / (F1 + F2) / 2."""
    n = 48
    grid = Grid(n, n, 2 * math.pi / n, 2 * math.pi / n)
    x, _ = grid.mesh()
    model = BarotropicVorticity(
        grid, time_step=1e-3, basin="periodic", layers=Layers(3.0, 1.0), potential_vorticity=-5.0 * 0.75 * np.sin(x),
        potential_vorticity_lower=5.0 * 0.25 * np.sin(x), device="cpu", precision="double",
    )  # fmt: skip
    found = model.diagnostics()
    kinetic = 0.5 * (0.25 * 0.75**2 + 0.75 * 0.25**2) * 2 * math.pi**2
    potential = 0.5 * 0.75 * 2 * math.pi**2
    assert found["energy"] == pytest.approx(kinetic + potential, rel=5e-3)
    assert found["enstrophy"] == pytest.approx(kinetic, rel=5e-3)


def test_compensated_steps_lose_nothing():
    """Very small steps in single precision: a tenth of the error, and restarts keep what was lost."""

    def run(precision, compensated):
        model = BarotropicVorticity.double_gyre(
            33, reynolds=1.0, time_step=2e-9, device="cpu", precision=precision, compensated_summation=compensated
        )
        model.advance(1e-7)
        if compensated:
            state, model = (
                model.state(),
                BarotropicVorticity.double_gyre(
                    33, reynolds=1.0, time_step=2e-9, device="cpu", precision=precision, compensated_summation=True
                ),
            )
            model.restore(state)
        model.advance(8e-6)
        return model.field("relative_vorticity").astype(np.float64)

    exact = run("double", False)
    errors = [np.linalg.norm(run("single", kind) - exact) / np.linalg.norm(exact) for kind in (False, True)]
    assert errors[1] < 1e-7 and errors[1] < 0.1 * errors[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"compensated_summation": True, "precision": "double"}, "single"),
        ({"basin": "bx"}, "box"),
        ({"walls": "noslip"}, "no-slip"),
        ({"slip_length": 1.0}, 'walls = "no-slip"'),
        ({"time_step": 0.0}, "> 0"),
        ({"viscosity": -1.0}, ">= 0"),
        ({"wind_forcing": np.zeros((3, 3))}, "values at the points"),
        ({"viscosity_scheme": "implicit"}, "explicit"),
        ({"layers": Layers(1.0, 1.0), "deformation_radius": 1.0}, "one of them"),
        ({"particles": [1.0, 2.0]}, "shape"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(InputError, match=words):
        BarotropicVorticity(Grid.from_points(9, 9, 1.0, 1.0), **{"time_step": 0.1, "device": "cpu", **options})
