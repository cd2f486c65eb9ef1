"""Cells of diffusion against the gradient of a dissipation: walls and periodic, flat and over a hill."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.device import CpuDevice, PlainDevice
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.pressure.operator import Vector
from eagre.models.anelastic.subgrid import closure, diffusion
from eagre.models.anelastic.subgrid.closure import Layers, Medium, Mixing
from oracle import anelastic_stress as oracle

RNG = np.random.default_rng(17)
SHAPES = [
    ((4, 3, 5), ("wall", "periodic", "wall")),
    ((3, 5, 3), ("wall", "wall", "periodic")),
    ((4, 1, 5), ("wall", "periodic", "periodic")),
    ((5, 1, 1), ("wall", "periodic", "periodic")),
    ((3, 4, 5), ("periodic", "periodic", "periodic")),
]
LIMIT = {"single": 3e-5, "double": 1e-12}


class Case:
    """Fields on a map, for the cells on a device and for the oracle."""

    def __init__(self, device, precision, shape, sides, hill, power=1.3):
        nz, ny, nx = shape
        ground = 0.4 * RNG.random((ny, nx)) if hill else None
        levels = None if sides[0] == "periodic" else np.linspace(0.0, 1.0, nz) ** power
        spacing = (1.0 / max(nz - 1, 1), 0.9, 0.7)
        self.metric = metric = Metric(shape, spacing, sides, levels=levels, hill=ground)
        self.device, self.precision, self.shape = device, precision, shape
        self.real = np.float32 if precision == "single" else np.float64
        profile = (1.0 + RNG.random(metric.jacobian.shape)) * metric.jacobian
        self.k, self.fields = 0.5 + RNG.random(shape), [RNG.standard_normal(shape) for _ in range(4)]
        self.slopes = metric.arrays(device, precision)
        self.medium, self.grid = Medium(h=self.on(profile), **self.slopes), metric.grid(precision)
        g = {"g33": 1.0 / metric.jacobian * np.ones(shape)}
        if hill:
            fade = metric.fade[:, None, None]
            g |= {"g13": -fade * metric.slope_x / metric.jacobian, "g23": -fade * metric.slope_y / metric.jacobian}
        walls = tuple(side == "wall" for side in sides)
        self.space = oracle.Space(spacing, walls, profile * np.ones(shape), **g)
        self.hill = hill

    def on(self, values):
        return self.device.array(np.ascontiguousarray(values, self.real))

    def run(self, cell, *arguments, **switches):
        loop = self.device.loop(cell, self.precision, {"TERRAIN": self.hill, **switches})
        self.device.run([self.device.over(loop, self.shape, arguments)])
        self.device.synchronize()

    def run_columns(self, cell, levels, arguments, out, **switches):
        """Run a kernel function of `columns` on fields of one dimension; return the result."""
        flat = Vector(*(one.reshape(-1) for one in out)) if isinstance(out, Vector) else out.reshape(-1)
        loop = self.device.loop(cell, self.precision, switches)
        region = (-(-self.shape[0] // levels), *self.shape[1:])
        self.device.run([self.device.over(loop, region, (*arguments, levels, flat))])
        return out

    def zeros(self):
        return self.device.zeros(self.shape, self.real)

    def stress(self):
        out = Vector(*(self.zeros() for _ in range(3)))
        mixing = Mixing(self.real(0.2), self.real(1.0), self.on(self.k - 0.2))
        self.run(
            closure.stress, Vector(*map(self.on, self.fields[:3])), self.medium, self.grid, mixing, out, CLOSED=True
        )
        return [self.device.host(one).astype(float) for one in out]


def mixing_of(case, factor=1.0):
    return Mixing(case.real(0.2), case.real(factor), case.on((case.k - 0.2).ravel() / factor))


CASES = pytest.mark.parametrize(("shape", "sides"), SHAPES)
HILLS = pytest.mark.parametrize("hill", [False, True])


def is_possible(sides, hill):
    return not (hill and sides[0] == "periodic")


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("device", "precision"),
    [(PlainDevice(), "double"), (CpuDevice(), "double"), (CpuDevice(), "single")],
    ids=["plain", "compiled", "single"],
)
@HILLS
@CASES
def test_momentum_and_scalars(device, precision, shape, sides, hill):
    if not is_possible(sides, hill):
        return
    case = Case(device, precision, shape, sides, hill)
    expected = oracle.tendency(case.fields[:3], case.k, case.space, True)
    for found, wanted in zip(case.stress(), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=LIMIT[precision] * np.abs(wanted).max() + 1e-30)
    out = case.zeros()
    mixing = Mixing(case.real(0.2), case.real(0.5), case.on(2.0 * (case.k - 0.2)))
    case.run(closure.diffuse, case.on(case.fields[3]), case.medium, case.grid, mixing, out, CLOSED=True)
    [wanted] = oracle.tendency(case.fields[3:], case.k, case.space, False)
    np.testing.assert_allclose(
        case.device.host(out), wanted, rtol=0, atol=LIMIT[precision] * np.abs(wanted).max() + 1e-30
    )


SIMULATED = [PlainDevice(), pytest.param(None, marks=pytest.mark.simulator)]


@pytest.mark.nojit
@pytest.mark.parametrize("levels", [2, 9])
@pytest.mark.parametrize("device", SIMULATED, ids=["plain", "simulator"])
@CASES
def test_columns_of_a_gpu(device, levels, shape, sides):
    """Momentum, and a scalar with an ambient profile: against the gradient of the dissipation."""
    if device is None:
        from eagre.backend.simulated import SimulatedDevice

        device = SimulatedDevice()
    case = Case(device, "double", shape, sides, False)
    *v, scalar = (case.on(field.ravel()) for field in case.fields)
    v, space = Vector(*v), (case.medium, case.grid)
    out = Vector(*(case.zeros() for _ in range(3)))
    found = case.run_columns(diffusion.stress_column, levels, (v, space, mixing_of(case)), out, CLOSED=True)
    ambient, out = RNG.random((shape[0], 1, 1)), case.zeros()
    arguments = ((scalar, case.on(ambient)), space, mixing_of(case, 0.5))
    found = [*found, case.run_columns(diffusion.diffuse_column, levels, arguments, out, CLOSED=True)]
    wanted = oracle.tendency(case.fields[:3], case.k, case.space, True)
    wanted = [*wanted, *oracle.tendency([case.fields[3] + ambient], case.k, case.space, False)]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(device.host(one), other, rtol=0, atol=1e-12 * np.abs(other).max() + 1e-30)


@HILLS
@CASES
def test_momentum_is_kept_and_energy_falls(shape, sides, hill):
    if not is_possible(sides, hill):
        return
    case = Case(CpuDevice(), "double", shape, sides, hill)
    found, mass = case.stress(), oracle.weights(shape, case.space) * case.space.h
    lost = sum(float((mass * v * d).sum()) for v, d in zip(case.fields, found, strict=False))
    assert lost < 0.0
    assert lost == pytest.approx(-2.0 * oracle.dissipation(case.fields[:3], case.k, case.space, True), rel=1e-12)
    for d in found:
        assert abs((mass * d).sum()) < 1e-12 * (mass * np.abs(d)).sum()


def test_only_what_has_no_strain_stays():
    """A solid rotation about any axis has no stress inside; zigzags of all kinds are damped."""
    case = Case(CpuDevice(), "double", (5, 5, 5), ("wall", "wall", "wall"), False, 1.0)
    z, y, x = np.meshgrid(case.metric.levels, 0.9 * np.arange(5), 0.7 * np.arange(5), indexing="ij")
    for turning in ([-y, x, 0.0 * z], [z, 0.0 * y, -x], [0.0 * x, z, -y]):
        case.fields[:3] = turning
        inside = (slice(2, -2),) * 3
        assert max(np.abs(one[inside]).max() for one in case.stress()) < 1e-12
    k, j, i = np.indices(case.shape)
    for zigzag in ((-1.0) ** i, (-1.0) ** (i + j), (-1.0) ** (i + j + k), (-1.0) ** (j + k)):
        case.fields[:3] = [zigzag, 0.0 * zigzag, 0.0 * zigzag]
        assert (case.stress()[0] * zigzag < 0.0).all()


@HILLS
def test_the_closure(hill):
    case = Case(CpuDevice(), "double", (4, 3, 5), ("wall", "periodic", "wall"), hill)
    nz = case.shape[0]
    plane = (3, 5) if hill else (1, 1)
    length2, stability = RNG.random((nz, *plane)), 2.0 * RNG.standard_normal((nz, *plane))
    buoyancy = RNG.random((nz, *plane))
    out = case.zeros()
    v, theta = case.fields[:3], case.fields[3]
    rate, cap = RNG.random((nz, *plane)) + 0.5, 3.0
    forcing = RNG.random((nz, 3))
    given = (length2, stability, buoyancy, rate, np.array([cap]), np.array(0.1), forcing.ravel())
    layers = Layers(*map(case.on, given))._replace(base=case.real(0.1))
    arguments = (Vector(*map(case.on, v)), case.on(theta), case.medium, case.grid, layers, out)
    case.run(closure.eddy_viscosity, *arguments)
    theta_z = np.gradient(theta, case.metric.spacing[0], axis=0) * case.space.g33
    wanted = oracle.eddy_viscosity(v, case.space, length2, stability + buoyancy * theta_z)
    np.testing.assert_allclose(case.device.host(out), wanted, rtol=1e-10, atol=1e-12)
    case.run(closure.eddy_viscosity, *arguments, CAPPED=True)
    most = np.maximum((cap - forcing[..., None]) / rate - 0.1, 0.0) * np.ones(case.shape)
    assert (wanted > most).any() and (wanted < most).any()
    np.testing.assert_allclose(case.device.host(out), np.minimum(wanted, most), rtol=1e-10, atol=1e-12)
    if not hill:
        case.device, flat = PlainDevice(), (Vector(*(one.ravel() for one in v)), theta.ravel())
        arguments = (flat, (case.medium, case.grid), layers)
        for levels in (3, 9):
            out = case.run_columns(diffusion.eddy_column, levels, arguments, case.zeros())
            np.testing.assert_allclose(out, wanted, rtol=1e-10, atol=1e-12)
            case.run_columns(diffusion.eddy_column, levels, arguments, out, CAPPED=True)
            np.testing.assert_allclose(out, np.minimum(wanted, most), rtol=1e-10, atol=1e-12)
