"""Anelastic test cases: decaying vortices, falling cold air, rising thermals, waves in stratified air, boundary layers.

Each function returns a model in its initial state; options are those of `AnelasticFlow`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.model import AnelasticFlow
from eagre.models.anelastic.subgrid.closure import Smagorinsky
from eagre.models.anelastic.subgrid.surface import Surface

Array = np.ndarray


CHANNEL_LENGTH, CHANNEL_HEIGHT = 300e3, 10e3  # m
CHANNEL_FREQUENCY, CHANNEL_WIND = 0.01, 20.0  # N, s-1, and wind, m/s


def channel_wave(x: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    """theta', K, of linear Boussinesq waves of the first mode in the channel of `inertia_gravity_waves`, (nz, 1, nx).

    They begin as ``0.01 sin(pi z / height) / (1 + ((x - length / 3) / 5000)^2)`` and turn with
    ``omega^2 = N^2 k^2 / (k^2 + (pi / height)^2)`` and are advected by the wind.

    Parameters
    ----------
    x : (nx,), m
        Equally spaced over the length of the channel.
    z : (nz,), m
    t : float, s

    References
    ----------
    W. C. Skamarock and J. B. Klemp, Mon. Weather Rev. 122, 2623-2630 (1994),
    doi:10.1175/1520-0493(1994)122<2623:EAAOTK>2.0.CO;2.
    """
    length, height = CHANNEL_LENGTH, CHANNEL_HEIGHT
    k = 2.0 * np.pi * np.fft.rfftfreq(x.size, length / x.size)
    start = 0.01 / (1.0 + ((x - length / 3.0) / 5000.0) ** 2)
    omega = CHANNEL_FREQUENCY * k / np.hypot(k, np.pi / height)
    shifted = np.fft.irfft(np.fft.rfft(start) * np.cos(omega * t) * np.exp(-1j * k * CHANNEL_WIND * t), x.size)
    return np.sin(np.pi * z / height)[:, None, None] * shifted


class LongWave:
    """Steady Boussinesq waves of constant wind and stability over a periodic row of hills of finite height.

    The displacement delta of air from the height where it came from obeys, exactly,

        delta_xx + delta_zz + (N/U)^2 delta = 0,    delta = h on z = h(x),

    with waves that carry energy upward (R. R. Long, Tellus 5, 42-58 (1953), doi:10.1111/j.2153-3490.1953.tb01035.x),
    here by harmonics of the period that meet the lower condition at every point (for hydrostatic waves D. K. Lilly and
    J. B. Klemp, J. Fluid Mech. 95, 241-261 (1979), doi:10.1017/S0022112079001452, do so by iteration). Then u = U (1 -
    delta_z) and w = U delta_x. It is the flow's steady state while no air overturns, delta_z < 1.

    Parameters
    ----------
    ground : (n,) array, m
        h at equal distances of a period; its lowest modes, a third of n, are used.
    period : float, m
    wind : float, m/s
        U.
    frequency : float, s-1
        N.
    """

    def __init__(self, ground: Array, period: float, wind: float, frequency: float) -> None:
        count, modes, scorer = len(ground), len(ground) // 3, frequency / wind
        self._wave = 2.0 * np.pi / period * np.arange(modes)
        free = np.abs(scorer**2 - self._wave**2) ** 0.5
        self._up = np.where(self._wave < scorer, 1j * free, -free)  # their energy goes up, or they fade
        self._lowest = ground.min()
        waves: Array = np.exp(1j * np.outer(period * np.arange(count) / count, self._wave) + self._rise(ground))
        solution = np.linalg.lstsq(np.hstack([np.real(waves), -np.imag(waves[:, 1:])]), ground, rcond=None)[0]
        self._size = solution[:modes] + 1j * np.append(0.0, solution[modes:])

    def _rise(self, z: Array) -> Array:
        return np.multiply.outer(np.asarray(z, float) - self._lowest, self._up)

    def displacement(self, x: Array, z: Array) -> tuple[Array, Array, Array]:
        """Delta, m, and its derivatives along x and z at points; x from the ground's first, arrays of one shape."""
        terms = self._size * np.exp(1j * np.multiply.outer(x, self._wave) + self._rise(z))
        return terms.sum(-1).real, (terms * 1j * self._wave).sum(-1).real, (terms * self._up).sum(-1).real


PERIOD = 2.0 * math.pi


def taylor_green_velocity(
    x: np.ndarray, y: np.ndarray, t: float = 0.0, viscosity: float = 0.0, wind: tuple[float, float] = (0.0, 0.0)
) -> tuple[np.ndarray, np.ndarray]:
    """Return u and v of viscous vortices of period 2 pi advected by a uniform wind: an exact solution."""
    x, y, left = x - wind[0] * t, y - wind[1] * t, math.exp(-2.0 * viscosity * t)
    return wind[0] + left * np.cos(x) * np.sin(y), wind[1] - left * np.sin(x) * np.cos(y)


def taylor_green(
    points: int, viscosity: float = 0.0, wind: tuple[float, float] = (0.7, 0.3), **options: Any
) -> AnelasticFlow:
    """Taylor-Green vortices in a horizontal plane, points x points."""
    grid = Grid.from_points(points, points, PERIOD, PERIOD, periodic=(True, True))
    u, v = (one[None] for one in taylor_green_velocity(*grid.mesh(), viscosity=viscosity, wind=wind))
    return AnelasticFlow(grid, 1, velocity=(u, v, 0.0), viscosity=viscosity, **options)


def taylor_green_cube(points: int, reynolds: float = 1600.0, **options: Any) -> AnelasticFlow:
    """Taylor-Green vortex (1937) in a cube of period 2 pi, which becomes turbulent.

    Parameters
    ----------
    points : int
        Number of points along each axis.
    reynolds : float
        Reynolds number, 1 / viscosity.

    References
    ----------
    M. E. Brachet et al., J. Fluid Mech. 130, 411-452 (1983), doi:10.1017/S0022112083001159.
    """
    grid = Grid.from_points(points, points, PERIOD, PERIOD, periodic=(True, True))
    x, y = grid.x, grid.y[:, None]
    z = (np.arange(points) * PERIOD / points)[:, None, None]
    wind = np.sin(x) * np.cos(y) * np.cos(z), -np.cos(x) * np.sin(y) * np.cos(z), 0.0
    known = {"top_height": PERIOD, "boundaries": {"z": "periodic"}, "viscosity": 1.0 / reynolds}
    return AnelasticFlow(grid, points, velocity=wind, **{**known, **options})


def decaying_turbulence(points: int, start: str = "printed", **options: Any) -> AnelasticFlow:
    """Vortices in a triply periodic cube of Rojek et al. (2015), whose decay is compared between two runs.

    Parameters
    ----------
    points : int
        Number of distinct points along each axis.
    start : {"printed", "solenoidal"}
        ``u = sin x cos y cos z, v = cos x sin y cos z, w = sin x cos y`` as printed in the paper, with a divergence
        that the first projection removes; or with -v, which is solenoidal.

    References
    ----------
    K. A. Rojek et al., Concurrency Computat. Pract. Exper. 27, 937-957 (2015), doi:10.1002/cpe.3417.
    """
    if start not in ("printed", "solenoidal"):
        raise InputError(f"start = {start!r}", allowed='"printed" or "solenoidal"')
    grid = Grid.from_points(points, points, PERIOD, PERIOD, periodic=(True, True))
    x, y = grid.x, grid.y[:, None]
    z = (np.arange(points) * PERIOD / points)[:, None, None] - math.pi
    sign = 1.0 if start == "printed" else -1.0
    u, v = np.sin(x) * np.cos(y) * np.cos(z), sign * np.cos(x) * np.sin(y) * np.cos(z)
    w = np.sin(x) * np.cos(y) + 0.0 * z
    return AnelasticFlow(grid, points, top_height=PERIOD, velocity=(u, v, w), boundaries={"z": "periodic"}, **options)


def density_current(spacing: float = 100.0, **options: Any) -> AnelasticFlow:
    """Density current along the ground, from theta 15 K lower: half of the domain of J. M. Straka et al. (1993).

    Parameters
    ----------
    spacing : float, m
        Spacing along x and z; the domain is 25.6 km x 6.4 km.

    References
    ----------
    J. M. Straka, R. B. Wilhelmson, L. J. Wicker, J. R. Anderson, K. K. Droegemeier, Int. J. Numer. Methods Fluids 17,
    1-22 (1993), doi:10.1002/fld.1650170103.
    """
    length, height, theta_0 = 25600.0, 6400.0, 300.0
    grid = Grid.from_points(round(length / spacing) + 1, 1, length, spacing)
    z = np.linspace(0.0, height, round(height / spacing) + 1)[:, None, None]
    away = np.minimum(1.0, np.hypot(grid.x / 4000.0, (z - 3000.0) / 2000.0))
    colder = -7.5 * (1.0 + np.cos(math.pi * away))
    chosen = {"time_step": spacing / 100.0, "viscosity": 75.0, "boundaries": {"x": "wall"}, **options}
    return AnelasticFlow(
        grid,
        z.size,
        top_height=height,
        atmosphere=Atmosphere.anelastic(theta=theta_0),
        theta_perturbation=colder,
        **chosen,
    )


def inertia_gravity_waves(points: int = 301, **options: Any) -> AnelasticFlow:
    """Inertia-gravity waves from a small warm anomaly in a channel 300 km x 10 km, N = 0.01 s-1, in a wind of 20 m/s.

    W. C. Skamarock and J. B. Klemp, Mon. Weather Rev. 122, 2623-2630 (1994),
    doi:10.1175/1520-0493(1994)122<2623:EAAOTK>2.0.CO;2.
    """
    length, height = CHANNEL_LENGTH, CHANNEL_HEIGHT
    grid = Grid.from_points(points, 1, length, 1.0, periodic=(True, True))
    levels = max(11, round((points - 1) / 30) + 1)
    z = np.linspace(0.0, height, levels)[:, None, None]
    warmer = 0.01 * np.sin(math.pi * z / height) / (1.0 + ((grid.x - length / 3.0) / 5000.0) ** 2)
    atmosphere = Atmosphere.boussinesq(buoyancy_frequency=CHANNEL_FREQUENCY, wind=(CHANNEL_WIND, 0.0))
    return AnelasticFlow(grid, levels, top_height=height, atmosphere=atmosphere, theta_perturbation=warmer, **options)


def mountain_wave(
    half_width: float = 10e3, hill: float = 1.0, points: int = 200, levels: int = 101, length: float = 20.0,
    **options: Any,
) -> AnelasticFlow:  # fmt: skip
    """Stratified flow, U = 10 m/s and N = 0.01 s-1, over a bell-shaped hill ``hill / (1 + (x / half_width)^2)``, m.

    The domain is `length` half-widths long, periodic, and 20 km high with a sponge layer in the upper 8 km.
    """
    length, height = length * half_width, 20e3
    grid = Grid.from_points(points, 1, length, 1.0, -0.5 * length, periodic=(True, True))
    ground = hill / (1.0 + (grid.x / half_width) ** 2)
    atmosphere = Atmosphere.boussinesq(buoyancy_frequency=0.01, wind=(10.0, 0.0))
    chosen = {"top_sponge": (8e3, 0.02), "time_step": 0.2 * grid.dx / 10.0, "tolerance": 1e-9, **options}
    return AnelasticFlow(grid, levels, top_height=height, atmosphere=atmosphere, terrain_height=ground[None], **chosen)


def neutral_boundary_layer(points: int = 24, **options: Any) -> AnelasticFlow:
    """Neutral Ekman layer over a rough surface, geostrophic wind 10 m/s along x; f = 1e-4 s-1, z0 = 0.1 m.

    2.56 km x 2.56 km x 1.2 km, with one more level than points along x. The initial state is the Ekman spiral for 8
    m2/s with noise in the lowest few hundred metres; the Smagorinsky closure represents unresolved turbulence.
    """
    length, height, wind, f = 2560.0, 1200.0, 10.0, 1e-4
    grid = Grid.from_points(points, points, length, length, periodic=(True, True))
    z = np.linspace(0.0, height, points + 1)[:, None, None]
    noise = np.random.default_rng(1).uniform(-0.5, 0.5, (3, points + 1, points, points)) * np.exp(-z / 300.0)
    spiral = wind * np.exp(-(1.0 + 1.0j) * z * math.sqrt(f / 16.0))
    chosen = {
        "surface": Surface(roughness=0.1),
        "closure": Smagorinsky(),
        "coriolis": f,
        "courant_number": 0.5,
        **options,
    }
    return AnelasticFlow(
        grid, points + 1, top_height=height, atmosphere=Atmosphere.incompressible(wind=(wind, 0.0)),
        velocity=(wind - spiral.real + noise[0], -spiral.imag + noise[1], noise[2]), **chosen,
    )  # fmt: skip


def convective_boundary_layer(points: int = 32, heat_flux: float = 0.1, **options: Any) -> AnelasticFlow:
    """Dry convective boundary layer over a rough surface, initially stratified with N = 0.01 s-1, without wind.

    3.2 km x 3.2 km x 1.6 km, with a sponge layer in the upper quarter and small initial noise in the lowest 200 m. The
    mixed layer grows as ``sqrt(2 Q t / (d theta/dz))``, and slightly faster due to entrainment.

    Parameters
    ----------
    points : int
        Number of points along x and y; 5/4 of it along z.
    heat_flux : float, K m/s
        Surface heat flux Q.
    """
    length, height = 3200.0, 1600.0
    grid = Grid.from_points(points, points, length, length, periodic=(True, True))
    levels = points * 5 // 4 + 1
    z = np.linspace(0.0, height, levels)[:, None, None]
    noise = np.random.default_rng(1).uniform(-0.1, 0.1, (levels, points, points)) * (z < 200.0)
    chosen = {
        "top_sponge": (0.25 * height, 0.01), "surface": Surface(heat_flux, roughness=0.1), "closure": Smagorinsky(),
        **options,
    }  # fmt: skip
    atmosphere = Atmosphere.boussinesq(buoyancy_frequency=0.01)
    return AnelasticFlow(grid, levels, top_height=height, atmosphere=atmosphere, theta_perturbation=noise, **chosen)
