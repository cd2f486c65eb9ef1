"""Nonlinear potential-flow waves in plain NumPy and SciPy: sparse matrices on the sigma grid, solved directly.

Source: A. P. Engsig-Karup, H. B. Bingham, O. Lindberg, J. Comput. Phys. 228, 2100 (2009),
doi:10.1016/j.jcp.2008.11.028. It takes nothing from the package. Arrays of the surface are (ny, nx), those of the
volume (nz, ny, nx), k = 0 the surface. d = h + eta.

    eta_t  = -grad eta . grad phi~ + w~ (1 + |grad eta|^2)                                    z = eta
    phi~_t = -g eta - (|grad phi~|^2 - w~^2 (1 + |grad eta|^2)) / 2                           z = eta
    Lap Phi + (Lap sigma) Phi_s + 2 grad sigma . grad Phi_s + (|grad sigma|^2 + 1 / d^2) Phi_ss = 0    0 <= sigma < 1
    (1 + |grad h|^2) / d Phi_s + grad h . grad Phi = 0                                        sigma = 0
    w~ = Phi_s / d                                                                            sigma = 1
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve


def weights(at: float, nodes: np.ndarray, derivative: int) -> np.ndarray:
    """Weights of a derivative at a place from values at nodes: those that are exact for all polynomials they can be."""
    n = len(nodes)
    scale = np.abs(nodes - at).max()
    powers = np.vander((nodes - at) / scale, n, increasing=True).T
    wanted = np.zeros(n)
    wanted[derivative] = factorial(derivative)
    return np.linalg.solve(powers, wanted) / scale**derivative


def along(n: int, spacing: float, order: int, derivative: int, periodic: bool) -> sparse.csr_matrix:
    """Centred derivative of points on a line, mirrored about its end points or periodic."""
    if n == 1:
        return sparse.csr_matrix((1, 1))
    half = order // 2
    w = weights(0.0, np.arange(-half, half + 1.0), derivative) / spacing**derivative
    found = sparse.lil_matrix((n, n))
    for i in range(n):
        for m, value in zip(range(-half, half + 1), w, strict=True):
            place = i + m
            place = place % n if periodic else (n - 1) - abs((n - 1) - abs(place))
            found[i, place] += value
    return found.tocsr()


@dataclass
class Tank:
    """A basin and how it is resolved.

    h : (ny, nx), depth of still water, m, > 0
    dx, dy : m
    nz : points of a column, surface and bottom included
    clustered : sigma_i = sin(pi i / (2 (nz - 1))), i from the bottom, in place of i / (nz - 1)
    """

    h: np.ndarray
    dx: float
    dy: float
    nz: int
    order: int = 6
    periodic_x: bool = False
    periodic_y: bool = False
    clustered: bool = True
    linear: bool = False
    gravity: float = 9.81

    def __post_init__(self) -> None:
        ny, nx = self.h.shape
        up = np.arange(self.nz) / (self.nz - 1.0)
        up = np.sin(0.5 * np.pi * up) if self.clustered else up
        self.sigma = np.concatenate([up[::-1], [-up[1]]])  # the last below the bottom
        one = [along(nx, self.dx, self.order, m, self.periodic_x) for m in (1, 2)]
        two = [along(ny, self.dy, self.order, m, self.periodic_y) for m in (1, 2)]
        self.x, self.xx = (sparse.kron(sparse.eye(ny), a).tocsr() for a in one)
        self.y, self.yy = (sparse.kron(a, sparse.eye(nx)).tocsr() for a in two)
        first, second = np.zeros((self.nz + 1, self.nz + 1)), np.zeros((self.nz + 1, self.nz + 1))
        for k in range(self.nz + 1):
            low = min(max(k - self.order // 2, 0), self.nz - self.order)
            window = slice(low, low + self.order + 1)
            first[k, window] = weights(self.sigma[k], self.sigma[window], 1)
            second[k, window] = weights(self.sigma[k], self.sigma[window], 2)
        self.first, self.second = first, second

    def surface(self, a: sparse.csr_matrix, values: np.ndarray) -> np.ndarray:
        """A derivative of an array of the surface."""
        return (a @ values.ravel()).reshape(values.shape)

    def system(
        self, eta: np.ndarray, datum: np.ndarray | float = 0.0
    ) -> tuple[sparse.csr_matrix, np.ndarray, sparse.csr_matrix, np.ndarray]:
        """A Phi = b, without phi~ in b's rows of the surface, and w~ = W Phi + c.

        datum : (ny, nx), what stands in place of 0 on the right of the bottom condition, m/s.
        """
        eta = 0.0 * eta if self.linear else eta
        n, nz, columns = eta.size, self.nz, sparse.eye(eta.size)
        h_x, h_y = (self.surface(a, self.h).ravel() for a in (self.x, self.y))
        lap_h = self.surface(self.xx + self.yy, self.h).ravel()
        d = (self.h + eta).ravel()
        d_x, d_y = h_x + self.surface(self.x, eta).ravel(), h_y + self.surface(self.y, eta).ravel()
        lap_d = lap_h + self.surface(self.xx + self.yy, eta).ravel()
        # The point below the bottom, of all others: the bottom condition.
        below = self.first[nz - 1]
        slope = sparse.diags(d / (1.0 + h_x**2 + h_y**2)) @ (sparse.diags(h_x) @ self.x + sparse.diags(h_y) @ self.y)
        row = [(-below[k] / below[nz]) * columns for k in range(nz)]
        row[nz - 1] = row[nz - 1] - slope / below[nz]
        extended = sparse.vstack([sparse.eye(nz * n), sparse.hstack(row)]).tocsr()
        given = np.zeros((nz + 1) * n)
        given[nz * n :] = np.broadcast_to(datum, eta.shape).ravel() * d / (1.0 + h_x**2 + h_y**2) / below[nz]

        s = self.sigma[:, None]
        s_x, s_y = (h_x - s * d_x) / d, (h_y - s * d_y) / d
        lap_s = (lap_h - s * lap_d - 2.0 * (s_x * d_x + s_y * d_y)) / d
        layers = sparse.eye(nz + 1)
        ds, dss = sparse.kron(self.first, columns).tocsr(), sparse.kron(self.second, columns).tocsr()
        every = [sparse.kron(layers, a).tocsr() for a in (self.x, self.y, self.xx + self.yy)]
        laplace = (
            every[2]
            + sparse.diags(lap_s.ravel()) @ ds
            + 2.0 * (sparse.diags(s_x.ravel()) @ every[0] + sparse.diags(s_y.ravel()) @ every[1]) @ ds
            + sparse.diags((s_x**2 + s_y**2 + 1.0 / d**2).ravel()) @ dss
        )
        inner = (laplace @ extended).tocsr()[n : nz * n]
        matrix = sparse.vstack([sparse.eye(n, nz * n), inner]).tocsr()
        right = -(laplace @ given)[: nz * n]
        right[:n] = 0.0
        upward = sparse.diags(1.0 / d) @ ds[:n]
        return matrix, right, (upward @ extended).tocsr(), upward @ given

    def solved(
        self, eta: np.ndarray, phi: np.ndarray, datum: np.ndarray | float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Phi of the volume, m2/s, and w~, m/s, for a surface and the potential on it."""
        matrix, right, upward, more = self.system(eta, datum)
        right[: eta.size] = phi.ravel()
        found = spsolve(matrix.tocsc(), right)
        return found.reshape(self.nz, *eta.shape), (upward @ found + more).reshape(eta.shape)

    def rates(self, eta: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """d eta / dt and d phi~ / dt."""
        _, w = self.solved(eta, phi)
        if self.linear:
            return w, -self.gravity * eta
        e_x, e_y, p_x, p_y = (self.surface(a, q) for q in (eta, phi) for a in (self.x, self.y))
        steep = 1.0 + e_x**2 + e_y**2
        return (
            -(e_x * p_x + e_y * p_y) + w * steep,
            -self.gravity * eta - 0.5 * (p_x**2 + p_y**2 - w**2 * steep),
        )

    def step(self, eta: np.ndarray, phi: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """One step of the classical Runge-Kutta method of order 4."""
        k = []
        for share in (0.0, 0.5, 0.5, 1.0):
            last = k[-1] if k else (0.0, 0.0)
            k.append(self.rates(eta + share * dt * last[0], phi + share * dt * last[1]))
        mean = [(a + 2.0 * b + 2.0 * c + e) / 6.0 for a, b, c, e in zip(*k, strict=True)]
        return eta + dt * mean[0], phi + dt * mean[1]
