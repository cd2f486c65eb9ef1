"""The pressure problem of anelastic flow in plain NumPy and SciPy: sparse matrices on a terrain-following grid.

It takes nothing from the package. Arrays are (nz, ny, nx), k upward; 3-vectors and 3 x 3 tensors of points stand in
front of that. All derivatives are centred over two spacings, for the gradient and for the divergence:

    z = h(x, y) + (1 - h / H) Z(zeta),      J = dz / dzeta = (1 - h / H) Z'
    G_1 = (1, 0, 0),  G_2 = (0, 1, 0),  G_3 = (-z_x / J, -z_y / J, 1 / J)
    grad phi = sum_I G_I dphi / dx_I,       v*_I = G_I . v,      rho* = rho J
    v = v^ - C grad phi,   n.v given at sides;     div v = (1 / rho*) sum_I d(rho* v*_I) / dx_I

At a side along axis I the derivative dphi / dx_I is what makes G_I . v the given value (0 at a wall); where sides meet
all of these hold. C is the inverse of [[a, -g, 0], [g, a, 0], [0, 0, 1 / c33]].

Source: J. M. Prusa, P. K. Smolarkiewicz, A. A. Wyszogrodzki, Comput. Fluids 37, 1193 (2008),
doi:10.1016/j.compfluid.2007.12.001 (equations);
S. C. Eisenstat, H. C. Elman, M. H. Schultz, SIAM J. Numer. Anal. 20, 345 (1983), doi:10.1137/0720023 (GCR).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, reduce

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu


def derivative(n: int, spacing: float, periodic: bool) -> sparse.csr_matrix:
    """Centred over two spacings; one-sided at the end points of an axis with sides; nothing along one point."""
    if n == 1:
        return sparse.csr_matrix((1, 1))
    found = sparse.lil_matrix((n, n))
    for i in range(n):
        if periodic:
            found[i, (i + 1) % n] += 0.5 / spacing
            found[i, (i - 1) % n] -= 0.5 / spacing
        else:
            high, low = min(i + 1, n - 1), max(i - 1, 0)
            found[i, high] += 1.0 / (spacing * (high - low))
            found[i, low] -= 1.0 / (spacing * (high - low))
    return found.tocsr()


@dataclass
class Pressure:
    """The problem on a grid.

    shape (nz, ny, nx); spacing (dz, dy, dx) of the computational coordinates; periodic (z, y, x);
    levels (nz,): Z; hill (ny, nx): h; density: a function of z; a, g, c33: arrays that fit (nz, ny, nx).
    """

    shape: tuple
    spacing: tuple
    periodic: tuple
    levels: np.ndarray | None = None
    hill: np.ndarray | None = None
    density: object = None
    a: object = 1.0
    g: object = 0.0
    c33: object = 1.0
    n: int = field(init=False)

    def __post_init__(self):
        self.n = int(np.prod(self.shape))

    def full(self, values):
        return np.broadcast_to(np.asarray(values, float), self.shape).copy()

    @cached_property
    def d(self):
        """Derivatives along x, y, z as sparse matrices."""
        lines = [derivative(*numbers) for numbers in zip(self.shape, self.spacing, self.periodic, strict=True)]
        one = [sparse.identity(n) for n in self.shape]
        parts = [[*one[:k], lines[k], *one[k + 1 :]] for k in (2, 1, 0)]
        return [sparse.csr_matrix(reduce(sparse.kron, part)) for part in parts]

    @cached_property
    def weight(self):
        """Shares of a cell that points own."""
        found = np.ones(self.shape)
        for axis, (n, periodic) in enumerate(zip(self.shape, self.periodic, strict=True)):
            if n > 1 and not periodic:
                for end in (0, -1):
                    found[(slice(None),) * axis + (end,)] *= 0.5
        return found

    @cached_property
    def geometry(self):
        """Height z, Jacobian J, and the rows G_I as (3, 3, nz, ny, nx)."""
        nz, dz = self.shape[0], self.spacing[0]
        levels = self.levels if self.levels is not None else dz * np.arange(nz)
        hill = np.zeros(self.shape[1:]) if self.hill is None else self.hill
        top = levels[-1] if nz > 1 else 1.0
        stretch = derivative(nz, dz, False) @ levels if nz > 1 else np.ones(1)
        x, y = (derivative(self.shape[k], self.spacing[k], self.periodic[k]) for k in (2, 1))
        slope_x, slope_y = (x @ hill.T).T, y @ hill
        rest = 1.0 - levels / top if nz > 1 else np.zeros(1)
        z = hill + (1.0 - hill / top) * levels[:, None, None]
        jacobian = (1.0 - hill / top) * stretch[:, None, None]
        rows = np.zeros((3, 3, *self.shape))
        rows[0, 0] = rows[1, 1] = 1.0
        rows[2] = -slope_x * rest[:, None, None], -slope_y * rest[:, None, None], np.ones(self.shape)
        rows[2] /= jacobian
        return z, jacobian, rows

    @cached_property
    def rho(self):
        """rho*."""
        z, jacobian, _ = self.geometry
        return jacobian * (1.0 if self.density is None else self.density(z))

    @cached_property
    def c(self):
        """(3, 3, nz, ny, nx)."""
        a, g = self.full(self.a), self.full(self.g)
        found = np.zeros((3, 3, *self.shape))
        found[0, 0] = found[1, 1] = a / (a * a + g * g)
        found[0, 1], found[1, 0] = g / (a * a + g * g), -g / (a * a + g * g)
        found[2, 2] = self.full(self.c33)
        return found

    @cached_property
    def sides(self):
        """Where G_I . v is given: (3, nz, ny, nx)."""
        found = np.zeros((3, *self.shape), bool)
        for row, axis in enumerate((2, 1, 0)):
            if self.shape[axis] > 1 and not self.periodic[axis]:
                for end in (0, -1):
                    found[(row, *(slice(None),) * axis, end)] = True
        return found

    @cached_property
    def keep(self):
        """At each point P and F: v = P (v^ - C sum of G_I phi_I over free I) + F b."""
        _, _, rows = self.geometry
        keep, force = np.zeros((2, 3, 3, *self.shape))
        for at in np.ndindex(self.shape):
            where = (slice(None), slice(None), *at)
            c, on = self.c[where], self.sides[(slice(None), *at)]
            normal = rows[where][on]
            inverse = np.linalg.inv(normal @ c @ normal.T) if on.any() else np.zeros((0, 0))
            lift = c @ normal.T @ inverse
            keep[where] = np.eye(3) - lift @ normal
            force[(slice(None), on, *at)] = lift
        return keep, force

    @cached_property
    def gradient(self):
        """The part of v that comes from phi, with its sign changed: three sparse matrices (n, n)."""
        _, _, rows = self.geometry
        keep, _ = self.keep
        flow = np.einsum("ab...,bc...,Ic...->aI...", keep, self.c, rows * ~self.sides[:, None])
        return [sum(sparse.diags(flow[a, axis].ravel()) @ self.d[axis] for axis in range(3)).tocsr() for a in range(3)]

    def divergence(self, v):
        """(1 / rho*) sum d(rho* G_I . v) / dx_I of a field (3, nz, ny, nx)."""
        _, _, rows = self.geometry
        flux = self.rho * np.einsum("Ia...,a...->I...", rows, v)
        return sum(self.d[axis] @ flux[axis].ravel() for axis in range(3)).reshape(self.shape) / self.rho

    def start(self, hat, normal=None):
        """v^ with the values given at sides, (3, nz, ny, nx): the velocity where phi = 0."""
        keep, force = self.keep
        found = np.einsum("ab...,b...->a...", keep, hat)
        return found if normal is None else found + np.einsum("ab...,b...->a...", force, normal)

    def velocity(self, hat, phi, normal=None):
        """v = v^ - C grad phi with the values given at sides."""
        found = self.start(hat, normal)
        for a in range(3):
            found[a] -= (self.gradient[a] @ phi.ravel()).reshape(self.shape)
        return found

    @cached_property
    def matrix(self):
        """L, (n, n)."""
        _, _, rows = self.geometry
        total = sparse.csr_matrix((self.n, self.n))
        for axis in range(3):
            flux = sum(sparse.diags((self.rho * rows[axis, a]).ravel()) @ self.gradient[a] for a in range(3))
            total = total + self.d[axis] @ flux
        return (sparse.diags(1.0 / self.rho.ravel()) @ total).tocsr()

    @cached_property
    def classes(self):
        """Points that centred differences connect: a number of each, (nz, ny, nx)."""
        found = np.zeros(self.shape, int)
        for axis, (n, periodic) in enumerate(zip(self.shape, self.periodic, strict=True)):
            if n > 1 and not (periodic and n % 2):
                parity = (np.arange(n) % 2).reshape([-1 if k == axis else 1 for k in range(3)])
                found = 2 * found + parity
        return found

    def solve(self, hat, normal=None):
        """phi of no divergence, zero at the first point of each class, by elimination."""
        right = self.divergence(self.start(hat, normal)).ravel()
        matrix = self.matrix.tolil()
        firsts = np.unique(self.classes.ravel(), return_index=True)[1]
        for at in firsts:
            matrix.rows[at], matrix.data[at] = [at], [-1.0]
            right[at] = 0.0
        return splu(matrix.tocsc()).solve(right).reshape(self.shape)


def gcr(operator, right, precondition=lambda r: r, kept=1, small=1e-10, most=1000, weight=1.0):
    """Solve operator(x) = right to max |r| <= small; the transcription of the source. Returns x and iterations."""
    x, r = np.zeros_like(right), -right
    direction = [precondition(r)]
    image = [operator(direction[0])]
    for made in range(1, most + 1):
        share = -np.sum(weight * r * image[-1]) / np.sum(weight * image[-1] ** 2)
        x, r = x + share * direction[-1], r + share * image[-1]
        if np.abs(r).max() <= small:
            return x, made
        q = precondition(r)
        aq = operator(q)
        shares = [-np.sum(weight * aq * a) / np.sum(weight * a * a) for a in image]
        q = q + sum(s * d for s, d in zip(shares, direction, strict=True))
        aq = aq + sum(s * a for s, a in zip(shares, image, strict=True))
        if len(direction) == kept:
            direction, image = [], []
        direction.append(q)
        image.append(aq)
    return x, most
