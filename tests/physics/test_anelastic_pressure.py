"""The pressure of anelastic flow against its transcription: operator, direct solution, GCR over terrain."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from eagre.backend.device import CpuDevice, PlainDevice
from eagre.errors import ConvergenceError, InputError
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.preconditioners.column_sweeps import Sweeps
from eagre.models.anelastic.preconditioners.polynomial import Polynomial
from eagre.models.anelastic.pressure.operator_launches import PressureOperator
from eagre.models.anelastic.pressure.projection import Projection, balanced, parities
from eagre.models.anelastic.pressure.separable import eigenvalue_bound, stencil_of
from eagre.solvers.gcr.solver import chebyshev_weights
from oracle.anelastic_pressure import Pressure, gcr

WALL, PERIODIC, OPEN = "wall", "periodic", "open"
SPACING = (1.0, 2.0, 1.5)


class Both:
    """A grid for the package and for the transcription, with coefficients that vary as much as they may."""

    def __init__(self, shape, sides, terrain=False, g=0.0, varied=False, seed=1):
        rng = np.random.default_rng(seed)
        nz, periodic = shape[0], tuple(side == PERIODIC for side in sides)
        self.shape, self.sides, self.levels = shape, sides, None
        if not periodic[0]:
            levels = np.cumsum(np.r_[0.0, rng.uniform(0.5, 1.5, nz - 1)])
            self.levels = levels * (nz - 1) / levels[-1]
        self.hill = rng.uniform(0.0, 1.0, shape[1:]) if terrain else None
        self.metric = Metric(shape, SPACING, sides, levels=self.levels, hill=self.hill)
        density = (lambda z: 1.0 + 0.0 * z) if periodic[0] else (lambda z: np.exp(-z / 5.0))
        self.density = density(self.metric.height)
        profile = np.ones(nz) if periodic[0] else np.linspace(0.5, 1.0, nz)
        c33 = rng.uniform(0.5, 1.0, shape) if varied else profile[:, None, None]
        self.c = (1.1 / (1.21 + g * g), g / (1.21 + g * g), c33)
        self.oracle = Pressure(
            shape, SPACING, periodic, levels=self.levels, hill=self.hill, density=density, a=1.1, g=g, c33=c33
        )
        self.hat, self.phi = rng.standard_normal((3, *shape)), rng.standard_normal(shape)
        self.rng = rng

    def operator(self, device, **options):
        full = [np.broadcast_to(c, (self.shape[0], 1, 1) if np.size(c) == 1 else np.shape(c)).copy() for c in self.c]
        return PressureOperator(device, "double", self.metric, self.density, *full, **options)

    def projection(self, device, **options):
        found = Projection(device, "double", self.metric, self.density, **{"tolerance": 1e-12, **options})
        found.set_coefficients(*self.c)
        for array, values in zip((found.u, found.v, found.w), self.hat, strict=True):
            device.fill(array, values)
        return found


def velocity_of(projection):
    return np.stack([np.asarray(one) for one in (projection.u, projection.v, projection.w)])


BOXES = [
    ((5, 4, 6), (WALL, PERIODIC, PERIODIC), False, 0.0),
    ((6, 4, 7), (WALL, PERIODIC, PERIODIC), False, 0.3),
    ((6, 1, 7), (WALL, PERIODIC, WALL), False, 0.0),
    ((6, 5, 1), (WALL, WALL, PERIODIC), False, 0.0),
    ((5, 4, 6), (WALL, WALL, WALL), False, 0.0),
    ((4, 5, 6), (PERIODIC, PERIODIC, PERIODIC), False, 0.2),
    ((5, 4, 6), (WALL, WALL, WALL), False, 0.3),
    ((5, 4, 6), (WALL, PERIODIC, WALL), True, 0.0),
    ((5, 4, 6), (WALL, WALL, WALL), True, 0.3),
    ((2, 2, 3), (WALL, WALL, WALL), True, 0.0),
]


@pytest.mark.parametrize(("shape", "sides", "terrain", "g"), BOXES)
@pytest.mark.parametrize("varied", [False, True])
def test_parts_of_the_operator(shape, sides, terrain, g, varied):
    """prforc, divrhs, laplc and nablaCnablax are those of the transcription, and r(phi) - r(0) = L(phi)."""
    both, device = Both(shape, sides, terrain, g, varied), PlainDevice()
    operator, oracle = both.operator(device), both.oracle
    r, r0, image, v = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros((3, *shape))
    hat = tuple(both.hat)
    device.run([operator.velocity(both.phi, hat, tuple(v)), *operator.residual(both.phi, hat, r)])
    expected = oracle.velocity(both.hat, both.phi)
    assert np.abs(v - expected).max() < 1e-14 * np.abs(expected).max()
    scale = np.abs(oracle.divergence(expected)).max()
    assert np.abs(r + oracle.divergence(expected)).max() < 1e-14 * scale
    device.run([*operator.residual(0.0 * both.phi, hat, r0), *operator.apply(both.phi, image)])
    assert np.abs(image - (oracle.matrix @ both.phi.ravel()).reshape(shape)).max() < 1e-14 * scale
    assert np.abs(r - r0 - image).max() < 1e-14 * scale
    device.run([operator.divergence(tuple(v), r0)])
    assert np.abs(r0 - r).max() < 1e-14 * scale
    device.run([operator.horizontal(both.phi, image)])
    flux = [~oracle.sides[a] * oracle.rho * oracle.c[0, 0] for a in (0, 1)]
    wanted = sum(oracle.d[a] @ (flux[a].ravel() * (oracle.d[a] @ both.phi.ravel())) for a in (0, 1))
    assert np.abs(image - wanted.reshape(shape) / oracle.rho).max() < 1e-14 * scale


@pytest.mark.parametrize(("shape", "sides"), [((4, 3, 5), (WALL, PERIODIC, WALL)), ((3, 3, 4), (WALL, WALL, WALL))])
def test_the_operator_is_symmetric(shape, sides):
    """In the product with weights rho*, half on walls, over terrain."""
    both, device = Both(shape, sides, True, varied=True), PlainDevice()
    operator, out, found = both.operator(device), np.zeros(shape), []
    for unit in np.eye(int(np.prod(shape))):
        device.run(operator.apply(unit.reshape(shape), out))
        found.append((both.metric.weights * operator.rho * out).ravel())
    assert np.abs(np.array(found) - np.array(found).T).max() < 1e-15 * np.abs(found).max() * 2


@pytest.mark.parametrize(("shape", "sides", "terrain", "g"), BOXES)
def test_projected_velocities(shape, sides, terrain, g):
    """Those of elimination; in one go where coefficients depend on height alone; no flow through walls."""
    both, device = Both(shape, sides, terrain, g), PlainDevice()
    projection = both.projection(device)
    made = projection.solve(1.0)
    v, expected = velocity_of(projection), both.oracle.velocity(both.hat, both.oracle.solve(both.hat))
    assert projection.exact == (not terrain and not (g and WALL in sides[1:]))
    assert made.iterations == 1 if projection.exact else 1 < made.iterations < 25
    assert np.abs(v - expected).max() < 1e-11
    assert np.abs(both.oracle.divergence(v)).max() == pytest.approx(made.divergence, abs=1e-13)
    through = np.einsum("Ia...,a...->I...", both.oracle.geometry[2], v)[both.oracle.sides]
    assert np.abs(through).max(initial=0.0) < 1e-14
    if not terrain:
        assert np.abs(through).max(initial=0.0) == 0.0
    for array, values in zip((projection.u, projection.v, projection.w), both.hat, strict=True):
        device.fill(array, values)
    assert projection.solve(1.0).iterations == int(projection.exact), "the last pressure is a first guess of GCR"


@pytest.mark.parametrize("kept", [1, 2, 5])
def test_iterations_do_not_depend_on_directions_where_the_operator_is_symmetric(kept):
    both = Both((5, 3, 6), (WALL, PERIODIC, WALL), True)
    counts = [
        both.projection(PlainDevice(), num_directions=kept, preconditioner=name).solve(1.0).iterations
        for name in ("none", "fft")
    ]
    assert counts == [44, 11]


@pytest.mark.parametrize("kept", [1, 3, 5])
def test_launches_make_the_iterations_of_the_transcription(kept):
    """Coriolis between walls: an operator that is not symmetric."""
    both = Both((5, 3, 6), (WALL, WALL, WALL), True, 0.9)
    oracle, weight = both.oracle, both.metric.weights * both.oracle.rho
    right = oracle.divergence(oracle.start(both.hat))
    made = gcr(lambda q: (oracle.matrix @ q.ravel()).reshape(q.shape), right, kept=kept, small=1e-6, weight=weight)[1]
    projection = both.projection(PlainDevice(), num_directions=kept, preconditioner="none", tolerance=1e-6)
    assert projection.solve(1.0).iterations == made


@pytest.mark.parametrize("terrain", [False, True])
def test_open_sides(terrain):
    """Normal components are what was given, less what no flow without divergence could have."""
    both, device = Both((6, 5, 6), (WALL, PERIODIC if terrain else OPEN, OPEN), terrain), PlainDevice()
    projection = both.projection(device)
    nz, ny, _ = both.shape
    inflow = np.ones((2, nz, ny)) * np.linspace(0.0, 1.0, nz)[None, :, None] ** 2
    if not terrain:
        assert projection.set_normal(x=inflow).max_correction < 1e-14
    inflow[1] *= 0.9
    balance = projection.set_normal(x=inflow)
    assert 0.001 < balance.max_correction < 0.1 and balance.relative_correction == pytest.approx(balance.max_correction)
    projection.solve(1.0)
    v = velocity_of(projection)
    assert np.abs(both.oracle.divergence(v)).max() < 2e-12
    ends = np.stack([v[0, :, :, 0], v[0, :, :, -1]])
    assert np.abs(ends - inflow).max() == pytest.approx(balance.max_correction, rel=1e-9)
    assert np.abs(v[2, -1]).max() < 1e-14


def test_what_is_taken_off_open_sides_by_hand():
    """10 m/s come in and 11 leave: half a metre a second at either end, a 22nd of the faster wind."""
    metric = Metric((3, 1, 5), (1.0, 1.0, 1.0), (WALL, PERIODIC, OPEN))
    given = np.array([10.0, 11.0])[:, None, None] * np.ones((2, 3, 1))
    values, found = balanced(metric, lambda axis: np.ones((3, 1, 1)), (given, None, None))
    np.testing.assert_allclose(values[0], 10.5, rtol=1e-12)
    assert found == pytest.approx((0.5, 0.5 / 11.0))


@pytest.mark.parametrize(("ny", "classes"), [(4, 2), (5, 1)])
def test_a_ring_of_an_odd_number_of_points_is_one_class(ny, classes):
    """Differences over two spacings lead round it twice."""
    metric = Metric((3, ny, 5), (1.0, 1.0, 1.0), (WALL, PERIODIC, OPEN))
    assert [len(one) for one in parities(metric)] == [2, classes, 2]


def test_inflow_that_balances_as_a_whole_but_not_on_each_class_is_told():
    both = Both((9, 1, 8), (WALL, PERIODIC, OPEN))
    inflow = np.zeros((2, 9, 1))
    inflow[0, 2:7:2, 0], inflow[1, 3:7:2, 0] = 1.0, 1.5
    found = both.projection(PlainDevice())
    assert found.set_normal(x=inflow).max_correction > 0.1
    found.solve(1.0)
    assert np.abs(both.oracle.divergence(velocity_of(found))).max() < 1e-12


def over_a_hill(nx, nz, height, sides, precision="double", **options):
    """A wind of 10 m/s over h0 / (1 + (x / 1 km)^2) in a layer of 16 km, 32 km long."""
    x = 32e3 / (nx - 1) * (np.arange(nx) - nx // 2)
    spacing = (16e3 / (nz - 1), 1.0, 32e3 / (nx - 1))
    metric = Metric((nz, 1, nx), spacing, (WALL, PERIODIC, sides), hill=height / (1.0 + (x[None] / 1e3) ** 2))
    found = Projection(CpuDevice(), precision, metric, np.exp(-metric.height / 8e3), method="gcr", **options)
    found.u[...] = 10.0
    if sides == OPEN:
        found.set_normal(x=np.full((2, nz, 1), 10.0))
    return found


@pytest.mark.parametrize(
    ("nx", "height", "sides", "count"),
    [
        (129, 1e3, PERIODIC, 11),
        pytest.param(65, 80.0, OPEN, 3, marks=pytest.mark.slow),
        pytest.param(129, 1e3, OPEN, 12, marks=pytest.mark.slow),
    ],
)
def test_iterations_over_a_hill(nx, height, sides, count):
    """With the flat operator for a preconditioner; compiled."""
    projection = over_a_hill(nx, nx // 2 + 1, height, sides)
    assert projection.solve(10.0).iterations == count
    slope = projection.metric.slope_x[0]
    assert np.abs(projection.w[0, 0] - slope * projection.u[0, 0]).max() < 1e-12 * 10.0
    assert np.abs(projection.w[-1]).max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("nx", "height", "sides", "counts"),
    [
        (65, 80.0, PERIODIC, [50, 21, 15, 3]),
        (65, 80.0, OPEN, [65, 38, 27, 3]),
        (129, 200.0, PERIODIC, [104, 46, 33, 5]),
        (129, 1e3, PERIODIC, [166, 82, 60, 11]),
        (129, 1e3, WALL, [212, 112, 88, 13]),
    ],
)
def test_sweeps_need_fewer_iterations(nx, height, sides, counts):
    for kept in (1, 3):
        found = []
        for kind, sweeps in (("none", 1), ("line-jacobi", 2), ("line-jacobi", 4), ("fft", 1)):
            options = {"preconditioner": kind, "sweeps": sweeps, "num_directions": kept}
            found.append(over_a_hill(nx, nx // 2 + 1, height, sides, **options).solve(10.0).iterations)
        same = slice(None) if kept == 1 else slice(None, None, 3)  # L P of sweeps is not symmetric: k matters there
        assert np.abs(np.subtract(found, counts)[same]).max() <= 2 and found[-1] == counts[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "sweeps", "counts"),
    [
        ("none", 1, [57, 66, 87, 83]),
        ("line-jacobi", 1, [44, 29, 13, 3]),
        ("line-jacobi", 2, [26, 17, 7, 2]),
        ("line-jacobi", 4, [18, 12, 5, 2]),
        ("richardson", 2, [31, 20, 8, 3]),
        ("richardson", 4, [22, 14, 6, 2]),
    ],
)
def test_iterations_by_the_shape_of_cells(kind, sweeps, counts):
    """dx / dz = 1, 3, 10, 50 over flat ground, from L(random) to 1e-5 of it; EULAG's: 49, 28, 13, 3 for one sweep."""
    shape, found = (41, 31, 33), []
    for ratio in (1.0, 3.0, 10.0, 50.0):
        projection = Projection(
            CpuDevice(), "double", Metric(shape, (1.0, ratio, ratio)), np.exp(-1.5 * np.arange(41) / 40),
            method="gcr", preconditioner=kind, sweeps=sweeps, num_directions=3, tolerance=1e300,
        )  # fmt: skip
        projection.phi[...] = np.random.default_rng(0).standard_normal((3, *shape))[0]
        first = projection.solve(1.0).divergence
        projection.phi[...], projection.tolerance = 0.0, 1e-5 * first
        found.append(projection.solve(1.0).iterations)
    assert found == counts


@pytest.mark.slow
def test_compiled_rows_are_the_plain_cells():
    both, velocities = Both((5, 4, 9), (WALL, PERIODIC, WALL), True), []
    for device in (PlainDevice(), CpuDevice()):
        projection = both.projection(device)
        projection.solve(1.0)
        velocities.append(velocity_of(projection))
    assert np.abs(velocities[0] - velocities[1]).max() < 1e-12


def test_single_precision_repeats_until_the_tolerance():
    both = Both((9, 8, 10), (WALL, PERIODIC, PERIODIC))
    projection = Projection(PlainDevice(), "single", both.metric, both.density, tolerance=1e-7)
    projection.set_coefficients(*both.c)
    for array, values in zip((projection.u, projection.v, projection.w), both.hat, strict=True):
        array[...] = 0.1 * values
    made = projection.solve(0.5)
    assert made.divergence <= 1e-7 and 1 <= made.iterations <= 3


def test_mistakes_are_told():
    with pytest.raises(InputError, match="rise from 0"):
        Metric((4, 1, 4), SPACING, (WALL, PERIODIC, PERIODIC), levels=[0.0, 1.0, 1.0, 2.0])
    with pytest.raises(InputError, match="below the top"):
        Metric((4, 1, 4), SPACING, (WALL, PERIODIC, PERIODIC), hill=np.full((1, 4), 3.0))
    with pytest.raises(InputError, match="a hill where z is periodic"):
        Metric((4, 1, 4), SPACING, (PERIODIC, PERIODIC, PERIODIC), hill=np.eye(4)[:1])
    metric = Metric((4, 1, 4), SPACING, (WALL, PERIODIC, PERIODIC))
    with pytest.raises(InputError, match="density of shape"):
        Projection(PlainDevice(), "double", metric, np.ones(3))
    with pytest.raises(InputError, match=r'boundaries that are "open"'):
        Projection(PlainDevice(), "double", metric).set_normal(x=np.zeros((2, 4, 1)))
    few = {"max_iterations": 1, "tolerance": 1e-15}
    hopeless = Projection(PlainDevice(), "double", metric, method="gcr", preconditioner="none", **few)
    hopeless.u[...] = np.random.default_rng(0).standard_normal(metric.shape)
    with pytest.raises(ConvergenceError, match="after 1 iterations"):
        hopeless.solve(1.0)


@pytest.mark.parametrize("guess", ["previous", "second-last", "zero"])
def test_first_guesses(guess):
    """A pressure that changes its sign in every step, with time steps that change, is that of the second-last step."""
    both, residuals = Both((5, 1, 6), (WALL, PERIODIC, WALL), True), []
    projection = both.projection(PlainDevice(), guess=guess, method="gcr")
    for dt, pressure in ((1.0, 1.0), (0.5, -2.0), (0.8, 1.0), (0.7, -2.0)):
        for array, values in zip((projection.u, projection.v, projection.w), both.hat, strict=True):
            array[...] = dt * pressure * values
        residuals.append(projection.solve(dt).iterations)
    if guess == "second-last":
        assert residuals[2:] == [0, 0] and min(residuals[:2]) > 0
    else:
        assert min(residuals) > 0
    assert projection.steps == (0.7, 0.8)


@pytest.mark.parametrize(
    ("preconditioner", "terrain"),
    [(kind, terrain) for kind in ("fft", "line-jacobi", "richardson", "none") for terrain in (False, True)]
    + [("chebyshev", False)],
)
def test_preconditioners_solve_the_same_problem(preconditioner, terrain):
    """Also after another time step has changed C."""
    both = Both((5, 3, 6), (WALL, PERIODIC, WALL), terrain)
    expected = both.oracle.velocity(both.hat, both.oracle.solve(both.hat))
    projection = both.projection(PlainDevice(), method="gcr", preconditioner=preconditioner)
    projection.set_coefficients(0.5 * both.c[0], 0.0, 0.3 * both.c[2])
    projection.set_coefficients(*both.c)
    projection.solve(1.0)
    assert np.abs(velocity_of(projection) - expected).max() < 1e-11


@pytest.mark.parametrize("sweeps", [2, 5])
@pytest.mark.parametrize("sides", [(WALL, PERIODIC, WALL), (PERIODIC, WALL, PERIODIC)])
def test_sweeps_of_a_polynomial(sides, sweeps):
    """r - L q = prod(1 + w L) r of the transcription's matrix, whose eigenvalues lie between -b and 0."""
    both, device = Both((5, 4, 6), sides), PlainDevice()
    polynomial, oracle = Polynomial(both.operator(device), sweeps), both.oracle
    q, matrix = np.zeros(both.shape), oracle.matrix.toarray()
    device.run(polynomial.launches(both.phi, q))
    bound = eigenvalue_bound(stencil_of(both.operator(device)))
    values = np.linalg.eigvals(matrix)
    assert -bound <= values.real.min() < -0.3 * bound and values.real.max() < 1e-10
    left = both.phi.ravel()
    for weight in chebyshev_weights(bound, sweeps):
        left = left + weight * (matrix @ left)
    found = both.phi.ravel() - matrix @ q.ravel()
    assert np.abs(found - left).max() < 1e-12 * np.abs(both.phi).max()


def test_sweeps_of_a_polynomial_over_a_hill_are_refused():
    both = Both((5, 3, 6), (WALL, PERIODIC, WALL), True)
    with pytest.raises(InputError, match="'chebyshev' over terrain"):
        both.projection(PlainDevice(), method="gcr", preconditioner="chebyshev")


def column_parts(both):
    """The vertical and the horizontal part of rho* L, without cross terms, of the transcription in a plane (x, z)."""
    oracle = both.oracle
    up = oracle.geometry[2][2]
    through = ~oracle.sides[2] * oracle.rho * np.einsum("a...,ab...,b...->...", up, oracle.c, up)
    flux = ~oracle.sides[0] * oracle.rho * oracle.c[0, 0]
    return (oracle.d[a] @ sparse.diags(one.ravel()) @ oracle.d[a] for a, one in ((2, through), (0, flux)))


def test_column_systems_are_solved_exactly():
    """One sweep without horizontal derivatives but for d is (d - V)^-1 to rounding."""
    both, device = Both((9, 1, 6), (WALL, PERIODIC, WALL), True), PlainDevice()
    operator, oracle = both.operator(device), both.oracle
    sweeps, r, q = Sweeps(operator, "line-jacobi", 1), both.phi, np.zeros(both.shape)
    device.run(sweeps.launches(r, q))
    vertical, horizontal = column_parts(both)
    system = -sparse.diags(horizontal.diagonal()) - vertical
    new = q.ravel() / 0.7
    assert np.abs(system @ new + (oracle.rho * r).ravel()).max() < 1e-14 * np.abs(system @ new).max() * 10


@pytest.mark.parametrize("kind", ["line-jacobi", "richardson"])
def test_sweeps_lag_the_horizontal_part(kind):
    """Three sweeps: (d - V) q* = H q + d q - rho* r, q moves by 0.7 or all of the way to q*; by dense matrices."""
    both, device = Both((9, 1, 6), (WALL, PERIODIC, WALL), True), PlainDevice()
    operator, oracle = both.operator(device), both.oracle
    r, q, known = both.phi, np.zeros(both.shape), np.zeros(both.phi.size)
    device.run(Sweeps(operator, kind, 3).launches(r, q))
    vertical, horizontal = (one.toarray() for one in column_parts(both))
    d, weight = -np.diag(horizontal.diagonal()), 0.7
    if kind == "richardson":
        d, weight = np.diag(oracle.rho.ravel()) * 2.0 * oracle.c[0, 0].max() / (4.0 * SPACING[2] ** 2), 1.0
    for _ in range(3):
        new = np.linalg.solve(d - vertical, (horizontal + d) @ known - (oracle.rho * r).ravel())
        known += weight * (new - known)
    assert np.abs(q.ravel() - known).max() < 1e-13 * np.abs(known).max()
