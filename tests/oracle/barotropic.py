"""A slow, plain NumPy transcription of the barotropic vorticity model, to judge the package by.

Arrays are [j, i], i = x fastest, on the points of a box with its walls: (ny + 1, nx + 1).

    zeta_t = psi_y zeta_x - psi_x (zeta_y + beta) + A Lap zeta - mu zeta + curl,   Lap psi = zeta
"""

from __future__ import annotations

import numpy as np
import scipy.fft


def centre(a, dj, di):
    """a[j + dj, i + di] at the interior points."""
    ny, nx = a.shape
    return a[1 + dj : ny - 1 + dj, 1 + di : nx - 1 + di]


def laplacian(a, dx, dy):
    """Five-point Laplacian at the interior points."""
    c = 2.0 * centre(a, 0, 0)
    return (centre(a, 0, 1) - c + centre(a, 0, -1)) / dx**2 + (centre(a, 1, 0) - c + centre(a, -1, 0)) / dy**2


def advective_jacobian(p, z, dx, dy):
    """J++ = p_x z_y - p_y z_x by central differences."""
    p_x, z_x = ((centre(a, 0, 1) - centre(a, 0, -1)) / (2 * dx) for a in (p, z))
    p_y, z_y = ((centre(a, 1, 0) - centre(a, -1, 0)) / (2 * dy) for a in (p, z))
    return p_x * z_y - p_y * z_x


def arakawa_jacobian(p, z, dx, dy):
    """Arakawa's (1966) Jacobian: the mean of three that differ in where the differences are taken."""
    q = 4 * dx * dy

    def at(a, dj, di):
        return centre(a, dj, di)

    second = (
        at(p, 0, 1) * (at(z, 1, 1) - at(z, -1, 1))
        - at(p, 0, -1) * (at(z, 1, -1) - at(z, -1, -1))
        - at(p, 1, 0) * (at(z, 1, 1) - at(z, 1, -1))
        + at(p, -1, 0) * (at(z, -1, 1) - at(z, -1, -1))
    ) / q
    third = (
        at(p, 1, 1) * (at(z, 1, 0) - at(z, 0, 1))
        - at(p, -1, -1) * (at(z, 0, -1) - at(z, -1, 0))
        - at(p, 1, -1) * (at(z, 1, 0) - at(z, 0, -1))
        + at(p, -1, 1) * (at(z, 0, 1) - at(z, -1, 0))
    ) / q
    return (advective_jacobian(p, z, dx, dy) + second + third) / 3.0


JACOBIANS = {"advective": advective_jacobian, "arakawa": arakawa_jacobian}
COEFFICIENTS = {
    1: (1.0,),
    2: (1.5, -0.5),
    3: (23.0 / 12.0, -16.0 / 12.0, 5.0 / 12.0),
}


def invert(zeta, dx, dy, screening=0.0):
    """psi with (Lap - screening) psi = zeta inside and psi = 0 on the walls."""
    ny, nx = zeta.shape[0] - 1, zeta.shape[1] - 1
    k, m = np.arange(1, nx), np.arange(1, ny)
    symbol = -(4 / dx**2) * np.sin(np.pi * k / (2 * nx)) ** 2 - (4 / dy**2) * np.sin(np.pi * m / (2 * ny))[:, None] ** 2
    psi = np.zeros_like(zeta)
    spectrum = scipy.fft.dstn(zeta[1:-1, 1:-1], type=1) / (symbol - screening)
    psi[1:-1, 1:-1] = scipy.fft.idstn(spectrum, type=1)
    return psi


class BarotropicOracle:
    """One layer in a box with free-slip walls, or no-slip ones: "thom" or "woods"."""

    def __init__(
        self,
        nx,
        ny,
        lx,
        ly,
        *,
        beta,
        viscosity,
        friction=0.0,
        curl=0.0,
        jacobian="advective",
        order=2,
        no_slip=None,
        screening=0.0,
        implicit=False,
        slip=0.0,
    ):
        self.dx, self.dy = lx / nx, ly / ny
        self.beta, self.viscosity, self.friction = beta, viscosity, friction
        self.jacobian, self.order, self.no_slip, self.screening = JACOBIANS[jacobian], order, no_slip, screening
        self.slip = slip  # length L of no-slip walls: u = L du/dn, so psi_n = L zeta
        self.implicit = implicit  # viscosity by Crank-Nicolson, free slip without screening
        self.x = np.linspace(0, lx, nx + 1)
        self.y = np.linspace(0, ly, ny + 1)
        self.curl = np.broadcast_to(curl, (ny + 1, nx + 1))
        self.zeta = np.zeros((ny + 1, nx + 1))
        self.psi = np.zeros((ny + 1, nx + 1))
        self.history = []

    def start(self, zeta):
        """Begin with this potential vorticity q at all points."""
        self.zeta[1:-1, 1:-1] = zeta[1:-1, 1:-1]
        self.psi = invert(self.zeta, self.dx, self.dy, self.screening)

    def walls(self):
        """Set the vorticity of the walls: 0, or from psi of the first points inside by its Taylor series at the wall.

        psi = psi_n h + zeta h^2 / 2 (+ zeta_n h^3 / 6)
        """
        z, p = self.zeta, self.psi
        inner = slice(1, -1)
        for wall, first, h in (
            ((0, inner), (1, inner), self.dy), ((-1, inner), (-2, inner), self.dy),
            ((inner, 0), (inner, 1), self.dx), ((inner, -1), (inner, -2), self.dx),
        ):  # fmt: skip
            if self.no_slip == "thom":
                z[wall] = p[first] / (self.slip * h + h**2 / 2)
            if self.no_slip == "woods":
                z[wall] = (p[first] - z[first] * h**2 / 6) / (
                    self.slip * h + h**2 / 3
                )  # q for zeta: psi / (2 R^2), of order h^2, apart

    def tendency(self):
        """F at the interior points."""
        p, z, dx, dy = self.psi, self.zeta, self.dx, self.dy
        p_x = (centre(p, 0, 1) - centre(p, 0, -1)) / (2 * dx)
        relative = z + self.screening * p  # z is q
        viscosity = 0.0 if self.implicit else self.viscosity
        f = -self.jacobian(p, z, dx, dy) - self.beta * p_x + viscosity * laplacian(relative, dx, dy)
        return f - self.friction * centre(relative, 0, 0) + centre(self.curl, 0, 0)

    def step(self, dt):
        """One Adams-Bashforth step; the first ones have as many terms as there is history."""
        self.walls()
        self.history = [self.tendency(), *self.history][: self.order]
        old = self.zeta.copy()
        for weight, f in zip(COEFFICIENTS[len(self.history)], self.history, strict=True):
            self.zeta[1:-1, 1:-1] += dt * weight * f
        if self.implicit:  # (1 - a Lap)(new + old) = 2 old + dt F
            a = 0.5 * dt * self.viscosity
            self.zeta = invert(-(self.zeta + old) / a, self.dx, self.dy, 1.0 / a) - old
        self.psi = invert(self.zeta, self.dx, self.dy, self.screening)

    def energy(self):
        """-1/2 sum psi zeta h^2."""
        return -0.5 * float((self.psi * self.zeta).sum()) * self.dx * self.dy

    def enstrophy(self):
        """1/2 sum zeta^2 h^2 (over the interior)."""
        return 0.5 * float((self.zeta[1:-1, 1:-1] ** 2).sum()) * self.dx * self.dy


def double_gyre(points, reynolds=20.83, alpha=1.36e5, beta=1.36e5, **options):
    """The double gyre on [0, pi]^2 in the units of Bleichrodt (2011)."""
    y = np.linspace(0, np.pi, points)[:, None]
    n = points - 1
    return BarotropicOracle(
        n, n, np.pi, np.pi, beta=beta, viscosity=1 / reynolds, curl=-alpha * np.sin(2 * y), **options
    )
