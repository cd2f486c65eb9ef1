"""Interpolation to arbitrary points below the surface: geometry of the column and derivatives of a potential.

Along x, y and sigma a polynomial through the order + 2 points around each position is differentiated, so that second
derivatives have the order of the model. Walls are treated by mirroring, as in the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from eagre.errors import InputError
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.solvers.finite_differences import all_weights

Array = np.ndarray
Sampler = Callable[[Array, Array], Array]
PLANE = ((0, 0), (1, 0), (0, 1), (2, 0), (0, 2), (1, 1))  # derivatives by x and y: 1, x, y, xx, yy, xy
VOLUME = ((0, 0), (1, 0), (2, 0), (0, 1), (3, 0), (4, 0), (0, 2), (5, 0), (1, 1), (2, 1))
"""Indices into `PLANE`, and numbers of derivatives by sigma: 1, x, y, s, xx, yy, ss, xy, xs, ys."""

MAX_COLUMNS = 2048  # columns fetched from the device per call


class Column(NamedTuple):
    """Geometry at n points: heights, depths, derivatives of sigma, and a mask of points in the water."""

    z: Array
    sigma: Array
    d: Array
    d_x: Array
    d_y: Array
    s_x: Array
    s_y: Array
    s_xx: Array
    s_yy: Array
    s_xy: Array
    elevation: Array
    water: Array


class Probes:
    """Points at which the flow is evaluated.

    Parameters
    ----------
    h : (ny, nx)
        Still-water depth, m.
    points : (x, y)
        Coordinates of the grid points, m; see `LaplaceProblem.points`.
    vertical : Vertical
    periodic : (y, x)
    x, y : (n,) or one value, m
        Horizontal positions.
    z : (n,) or one value, m, optional
        Fixed heights above the still-water level.
    below : (n,) or one value, m, optional
        Instead of z: depths below the moving surface, >= 0.
    sigma : (n,) or one value, optional
        Instead of z: relative height in the instantaneous depth, 0 at the bed, 1 at the surface.

    Raises
    ------
    InputError
        If a point is outside the grid or below the bed, or not exactly one of `z`, `below` and `sigma` is given.
    """

    def __init__(
        self, h: Array, points: tuple[Array, Array], vertical: Vertical, periodic: tuple[bool, bool],
        x: Array | float, y: Array | float, *, z: Array | float | None = None, below: Array | float | None = None,
        sigma: Array | float | None = None,
    ) -> None:  # fmt: skip
        levels = {name: v for name, v in {"z": z, "below": below, "sigma": sigma}.items() if v is not None}
        if len(levels) != 1:
            raise InputError(
                " and ".join(levels) or "probes without a level", allowed="exactly one of z, below and sigma"
            )
        self._kind, level = next(iter(levels.items()))
        self.x, self.y, self._level = (
            np.array(v, np.float64) for v in np.broadcast_arrays(*map(np.atleast_1d, (x, y, level)))
        )
        self._vertical, self._order = vertical, vertical.order
        positions, self._of = np.unique(np.stack([self.x, self.y], axis=1), axis=0, return_inverse=True)
        self._of = self._of.reshape(-1)
        self._i, self._weights_x = _stencil(positions[:, 0], points[0], vertical.order, periodic[1], "x")
        self._j, self._weights_y = _stencil(positions[:, 1], points[1], vertical.order, periodic[0], "y")
        self._bed = self._surface_derivatives(lambda j, i: h[j, i])[:, self._of]
        self._check()

    def _check(self) -> None:
        bed = self._bed[0]
        if self._kind == "z":
            wrong, allowed = ~(self._level >= -bed - 1e-9 * bed), "from the bed, z = {:g} m, upward"
        elif self._kind == "below":
            wrong, allowed = ~((self._level >= 0.0) & (self._level <= bed)), "from 0 to the depth, {:g} m"
        else:
            wrong, allowed = ~((self._level >= 0.0) & (self._level <= 1.0)), "from 0 at the bed to 1 at the surface"
        if wrong.any():
            n = int(np.argmax(wrong))
            bound = -bed[n] if self._kind == "z" else bed[n]
            got = f"{self._kind} = {self._level[n]:g} of a probe at x = {self.x[n]:g} m, y = {self.y[n]:g} m"
            raise InputError(got, allowed=allowed.format(bound), fix=f"{self._kind} = {_inside(self._kind, bound):g}")

    def _surface_derivatives(self, sample: Sampler) -> Array:
        """Return the derivatives `PLANE` of a surface field, (6, positions)."""
        return self._plane(lambda j, i: sample(j, i)[None])[:, 0]

    def _plane(self, sample: Sampler) -> Array:
        """Return the derivatives `PLANE` of all layers, (6, layers, positions)."""
        chunks = []
        for start in range(0, len(self._i), MAX_COLUMNS):
            batch = slice(start, start + MAX_COLUMNS)
            values = sample(self._j[batch, :, None], self._i[batch, None, :]).astype(np.float64)
            along_x = np.einsum("kpyx,pxm->kpym", values, self._weights_x[batch])
            chunks.append([np.einsum("kpy,py->kp", along_x[..., a], self._weights_y[batch, :, b]) for a, b in PLANE])
        return np.concatenate([np.array(chunk) for chunk in chunks], axis=-1)

    def column(self, eta: Sampler, linear: bool) -> Column:
        """Return the geometry below a surface elevation, m; for `linear` waves below still water."""
        surface = self._surface_derivatives(eta)[:, self._of]
        h = self._bed
        d = h if linear else h + surface
        z = {
            "z": self._level,
            "below": d[0] - h[0] - self._level,
            "sigma": self._level * d[0] - h[0],
        }[self._kind]
        sigma = self._level if self._kind == "sigma" else (z + h[0]) / d[0]
        edge = 1e-9
        water = (sigma >= -edge) & (sigma <= 1.0 + edge)
        sigma = np.clip(sigma, 0.0, 1.0)
        s_x, s_y = (h[1] - sigma * d[1]) / d[0], (h[2] - sigma * d[2]) / d[0]
        s_xx = (h[3] - sigma * d[3] - 2.0 * s_x * d[1]) / d[0]
        s_yy = (h[4] - sigma * d[4] - 2.0 * s_y * d[2]) / d[0]
        s_xy = (h[5] - sigma * d[5] - s_x * d[2] - s_y * d[1]) / d[0]
        return Column(z, sigma, d[0], d[1], d[2], s_x, s_y, s_xx, s_yy, s_xy, surface[0], water)

    def derivatives(self, column: Column, psi: Sampler, surface: Sampler) -> Array:
        """Return the derivatives `VOLUME` of Phi, the sum of psi and its surface values, (10, n)."""
        layers = self._plane(psi)  # (6, nz + 1, positions)
        on_surface = self._surface_derivatives(surface)[:, self._of]
        first, weights = self._levels(column.sigma)
        window = first[:, None] + np.arange(weights.shape[1])
        inside = layers[:, window, self._of[:, None]]  # (6, n, layers of a window)
        derivatives = np.einsum("fnk,nkm->fmn", inside, weights)
        derivatives[:, 0] += on_surface
        return np.stack([derivatives[a, m] for a, m in VOLUME])

    def _levels(self, sigma: Array) -> tuple[Array, Array]:
        """Return the first layer of the stencil around each sigma, and the weights of the derivatives by sigma."""
        layers, many = self._vertical.sigma, self._order + 2
        above = np.searchsorted(-layers, -sigma, side="left") - 1  # the layer above or at the point
        first = np.clip(above - many // 2 + 1, 0, layers.size - many)
        return first, all_weights(sigma, layers[first[:, None] + np.arange(many)], 2)


def _inside(kind: str, bound: float) -> float:
    return {"z": 0.5 * bound, "below": 0.5 * bound, "sigma": 0.5}[kind]


def _stencil(positions: Array, points: Array, order: int, periodic: bool, name: str) -> tuple[Array, Array]:
    """Return the grid points around positions, (n, order + 2), and weights of derivatives 0 to 2, (n, order + 2, 3)."""
    n = points.size
    if n == 1:
        return np.zeros((positions.size, 1), np.intp), np.broadcast_to([1.0, 0.0, 0.0], (positions.size, 1, 3)).copy()
    spacing = points[1] - points[0]
    end = points[0] + spacing * (n if periodic else n - 1)
    wrong = ~((positions >= points[0] - 1e-9 * spacing) & (positions <= end + 1e-9 * spacing))
    if wrong.any():
        got = f"{name} = {positions[np.argmax(wrong)]:g} m of a probe"
        raise InputError(got, allowed=f"from {points[0]:g} to {end:g} m")
    scaled = (positions - points[0]) / spacing
    left = np.floor(scaled).astype(np.intp)
    index = left[:, None] + np.arange(order + 2) - order // 2
    weights = all_weights(scaled, index.astype(np.float64), 2) / spacing ** np.arange(3.0)
    if periodic:
        return index % n, weights
    return (n - 1) - np.abs((n - 1) - np.abs(index)), weights
