"""Defect correction with lines along sigma, in plain NumPy: a V(1,1) cycle of zebra sweeps on grids that are halved.

Source: A. P. Engsig-Karup, H. B. Bingham, O. Lindberg, J. Comput. Phys. 228, 2100-2118 (2009),
doi:10.1016/j.jcp.2008.11.028, section 4; the operator is of order 2 and without slopes, the depth that of the moment.
Psi below the bottom is an unknown: what its condition lacks stands in the equation of the lowest layer. Walls or
periodic axes; arrays are (layers, ny, nx), layer 0 below the surface, where corrections are 0. It takes nothing from
the package.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oracle.potential_waves import Tank, weights


def beside(a: np.ndarray, axis: int, step: int, periodic: bool) -> np.ndarray:
    """The neighbour of every point, beyond a wall its mirror image."""
    n = a.shape[axis]
    if n == 1:
        return a
    at = np.arange(n) + step
    at = at % n if periodic else (n - 1) - np.abs((n - 1) - np.abs(at))
    return np.take(a, at, axis)


class Lines:
    """Corrections d of M d = r for a tank whose water is d deep, (ny, nx).

    levels : grids; last : sweeps on the coarsest.
    """

    def __init__(self, tank: Tank, depth: np.ndarray, levels: int, last: int) -> None:
        nz, sigma = tank.nz, tank.sigma
        self.last, self.periodic = last, (tank.periodic_y, tank.periodic_x)
        self.vertical = np.zeros((nz - 1, nz + 1))  # equations of layers 1 to nz - 1
        for k in range(1, nz):
            self.vertical[k - 1, k - 1 : k + 2] = weights(sigma[k], sigma[k - 1 : k + 2], 2)
        self.vertical[:, nz - 2] += self.vertical[:, nz]
        self.vertical = self.vertical[:, 1:nz]
        self.grids = [(tank.dy, tank.dx, 1.0 / depth**2)]
        for _ in range(levels - 1):
            dy, dx, q = self.grids[-1]
            self.grids.append((dy * (1 + (q.shape[0] > 1)), dx * (1 + (q.shape[1] > 1)), self.restricted(q)))

    def around(self, a: np.ndarray, level: int) -> tuple[np.ndarray, float]:
        """Neighbours in the plane over the squares of distances, and what the point itself is multiplied by."""
        total, own = np.zeros_like(a), 0.0
        for axis, spacing in ((-2, self.grids[level][0]), (-1, self.grids[level][1])):
            if a.shape[axis] > 1:
                total += sum(beside(a, axis, m, self.periodic[axis]) for m in (-1, 1)) / spacing**2
                own += 2.0 / spacing**2
        return total, own

    def sweep(self, u: np.ndarray, f: np.ndarray, level: int) -> None:
        """Solve columns of one colour, then of the other."""
        q = self.grids[level][2]
        j, i = np.indices(q.shape)
        for colour in (0, 1):
            total, own = self.around(u, level)
            for y, x in np.argwhere((j + i) % 2 == colour):
                matrix = q[y, x] * self.vertical - own * np.eye(len(self.vertical))
                u[:, y, x] = np.linalg.solve(matrix, f[:, y, x] - total[:, y, x])

    def residual(self, u: np.ndarray, f: np.ndarray, level: int) -> np.ndarray:
        total, own = self.around(u, level)
        return f - total + own * u - self.grids[level][2] * np.einsum("km,mji->kji", self.vertical, u)

    def restricted(self, a: np.ndarray) -> np.ndarray:
        """Full weighting along each axis of more than one point."""
        for axis in (-2, -1):
            if a.shape[axis] > 1:
                mean = 0.5 * a + 0.25 * sum(beside(a, axis, m, self.periodic[axis]) for m in (-1, 1))
                a = np.take(mean, np.arange(0, a.shape[axis], 2), axis)
        return a

    def prolonged(self, a: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
        """Linear interpolation along each axis."""
        for axis in (-2, -1):
            n = shape[axis]
            if n > 1:
                here = np.take(a, np.arange(n) // 2, axis)
                there = np.take(beside(a, axis, 1, self.periodic[axis]), np.arange(n) // 2, axis)
                odd = np.arange(n) % 2 == 1
                odd = odd[:, None] if axis == -2 else odd
                a = np.where(odd, 0.5 * (here + there), here)
        return a

    def cycle(self, f: np.ndarray, level: int = 0) -> np.ndarray:
        """V(1,1) from nothing."""
        u = np.zeros_like(f)
        if level + 1 == len(self.grids):
            for _ in range(self.last):
                self.sweep(u, f, level)
            return u
        self.sweep(u, f, level)
        coarse = self.cycle(self.restricted(self.residual(u, f, level)), level + 1)
        u += self.prolonged(coarse, f.shape[1:])
        self.sweep(u, f, level)
        return u


def iterations(
    tank: Tank, eta: np.ndarray, phi: np.ndarray, levels: int, last: int, count: int
) -> tuple[np.ndarray, list[float]]:
    """Psi = Phi - phi~, (nz + 1, ny, nx), after so many from nothing, and the root mean squares of corrections."""
    nz, shape, lowest = tank.nz, tank.h.shape, tank.sigma[tank.nz - 2]
    plane: Any = tank.surface
    h_x, h_y = (plane(a, tank.h) for a in (tank.x, tank.y))
    d = tank.h + (0.0 if tank.linear else eta)
    d_x, d_y = (plane(a, d) for a in (tank.x, tank.y))
    lap_h, lap_d, lap_phi = (plane(tank.xx + tank.yy, a) for a in (tank.h, d, phi))
    bottom = h_x * plane(tank.x, phi) + h_y * plane(tank.y, phi)
    s = tank.sigma[: nz + 1, None, None]
    s_x, s_y = (h_x - s * d_x) / d, (h_y - s * d_y) / d
    lap_s = (lap_h - s * lap_d - 2.0 * (s_x * d_x + s_y * d_y)) / d
    lines, psi, norms = Lines(tank, d, levels, last), np.zeros((nz + 1, *shape)), []
    for _ in range(count):
        first, second = (np.einsum("km,mji->kji", w, psi) for w in (tank.first, tank.second))
        each = [plane(tank.xx + tank.yy, psi[k]) for k in range(nz)]
        mixed = [s_x[k] * plane(tank.x, first[k]) + s_y[k] * plane(tank.y, first[k]) for k in range(nz)]
        slope = h_x * plane(tank.x, psi[nz - 1]) + h_y * plane(tank.y, psi[nz - 1]) + bottom
        lack = -d / (1.0 + h_x**2 + h_y**2) * slope - first[nz - 1]
        r = -np.array([
            lap_phi + each[k] + lap_s[k] * first[k] + 2.0 * mixed[k]
            + (s_x[k] ** 2 + s_y[k] ** 2 + 1.0 / d**2) * second[k] for k in range(1, nz)
        ])  # fmt: skip
        r[-1] += 2.0 / (lowest * d**2) * lack
        change = lines.cycle(r)
        psi[1:nz] += change
        psi[nz] += (change[nz - 3] if nz > 2 else 0.0) - 2.0 * lowest * lack
        norms.append(float(np.sqrt((change**2).mean())))
    return psi, norms
