"""Pressure operator of a grid: coefficients, and separate launches of prforc, divrhs, laplc and nablaCnablax.

Point functions of `operator` run in a generic loop, or by vectorised rows on a CPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell, entry, prange, real, switch
from eagre.backend.device import Device, Launch, check_precision
from eagre.errors import InputError
from eagre.models.anelastic.base.grid_lines import (
    axis_x,
    axis_y,
    axis_z,
    centre,
    inner_line,
    line_at,
    lower,
    periodic_line,
    upper,
)
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.pressure import operator as cells
from eagre.models.anelastic.pressure.operator import c11_at, density_at, residual_of, set_residual, tensor_at

POINT = switch("POINT", set_residual)


class Coefficients:
    """rho_b and C at points, each (nz, 1, 1) or (nz, ny, nx); density and c11, c33 above 0.

    Attributes
    ----------
    rho, c11, c12, c33 : arrays, double
        rho* and C.
    turning : bool
        True if c12 is not 0.
    """

    def __init__(self, metric: Metric, density: Any, c11: Any, c12: Any, c33: Any) -> None:
        self.metric = metric
        self.rho = _above_zero("density", density) * metric.jacobian
        self._take(c11, c12, c33)

    def _take(self, c11: np.ndarray, c12: np.ndarray, c33: np.ndarray) -> None:
        self.c11, self.c12, self.c33 = _above_zero("c11", c11), c12, _above_zero("c33", c33)
        self.turning = bool(np.any(c12))

    def holds(self, *tensor: np.ndarray) -> bool:
        """Return whether C equals c11, c12, c33."""
        return all(map(np.array_equal, tensor, (self.c11, self.c12, self.c33)))

    def update(self, c11: np.ndarray, c12: np.ndarray, c33: np.ndarray) -> bool:
        """Replace C; return False, without a change, if the new arrays need other compiled kernels."""
        pairs = ((self.c11, c11), (self.c12, c12), (self.c33, c33))
        if any(old.shape != new.shape for old, new in pairs) or bool(np.any(c12)) != self.turning:
            return False
        self._take(c11, c12, c33)
        return True

    def accessor(self, values: np.ndarray) -> Any:
        """Return the kernel function that reads values of a profile or of a field."""
        return (
            cells.of_field
            if values.shape == self.metric.shape and self.metric.shape[1:] != (1, 1)
            else cells.of_profile
        )

    def means(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return horizontal means of rho*, rho* c11 and rho* G3 . C G3, each (nz,)."""
        return means_of([self.sums()], self.metric.shape)

    def sums(self, rows: slice = slice(None)) -> list[np.ndarray]:
        """Return the sums over x of the terms of `means`, (nz, rows), or profiles, (nz,)."""
        metric = self.metric
        g33 = 1.0 / metric.jacobian
        total = g33**2 * self.c33
        if metric.terrain:
            for slope in (metric.slope_x, metric.slope_y):
                total = total + (slope * metric.fade[:, None, None] * g33) ** 2 * self.c11
        terms = (self.rho, self.rho * self.c11, self.rho * total)
        return [
            term[:, 0, 0] if term.shape[1:] == (1, 1) else np.broadcast_to(term, metric.shape).sum(axis=2)[:, rows]
            for term in terms
        ]

    @property
    def is_flat(self) -> bool:
        """True if metric and coefficients depend on height alone."""
        return not self.metric.terrain and all(
            self.accessor(values) is cells.of_profile for values in (self.rho, self.c11, self.c12, self.c33)
        )

    @property
    def exact(self) -> bool:
        """True if the flat operator with horizontal means is exact."""
        return self.is_exact(self.metric)

    def is_exact(self, metric: Metric) -> bool:
        """Return `exact` of the coefficients on the whole grid, of which `metric` is the metric."""
        lateral = any(n > 1 and side != "periodic" for n, side in zip(metric.shape[1:], metric.sides[1:], strict=True))
        even = metric.sides[0] != "periodic" or all(np.ptp(mean) == 0.0 for mean in self.means())
        return self.is_flat and even and not (lateral and self.turning)


def means_of(each: Sequence[Sequence[np.ndarray]], shape: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the horizontal means of the terms of `Coefficients.means` from their `sums` in subdomains."""

    def mean(sums: Sequence[np.ndarray]) -> np.ndarray:
        if sums[0].ndim == 1:
            return sums[0].copy()
        return np.concatenate(sums, axis=1).sum(axis=1) / (shape[1] * shape[2])

    density, across, up = map(mean, zip(*each, strict=True))
    return density, across, up


def _above_zero(name: str, values: np.ndarray) -> np.ndarray:
    if not (np.isfinite(values) & (values > 0.0)).all():
        raise InputError(
            f"this {name}",
            allowed="finite numbers above 0",
            problem=f"The array {name} has values that are not finite and positive.",
        )
    return values


@cell
def at_point(k, j, i, q, provisional, out, medium, normal, grid):
    """Evaluate the point function at a point."""
    POINT(
        q, provisional, out, medium, normal, line_at(k, axis_z(grid)), line_at(j, axis_y(grid)),
        line_at(i, axis_x(grid)),
    )  # fmt: skip


@entry
def rows_cpu(q, provisional, out, medium, normal, grid):
    """Evaluate all points; two points at each end of rows and planes at boundaries of z are handled separately."""
    nz, ny, nx = q.shape
    without_sides = grid.periodic_z or nz == 1
    for row in prange(nz * ny):
        k = row // ny
        y = line_at(row - k * ny, axis_y(grid))
        z = line_at(k, axis_z(grid))
        ends = min(nx, 4)
        for m in range(ends):
            i = m if m < 2 else nx - ends + m
            POINT(q, provisional, out, medium, normal, z, y, line_at(i, axis_x(grid)))
        if without_sides or (k > 1 and k < nz - 2):
            z = periodic_line(k, axis_z(grid))
            for m in range(nx - 4):
                POINT(q, provisional, out, medium, normal, z, y, inner_line(np.uint32(m), axis_x(grid)))
        else:
            for m in range(nx - 4):
                POINT(q, provisional, out, medium, normal, z, y, inner_line(np.uint32(m), axis_x(grid)))


@cell
def across(q, medium, z, y, x):
    """Return rho* c11 times the derivative of q along x at a point, 0 at a boundary."""
    weight = density_at(medium.density, z.here, y.here, x.here) * c11_at(medium.c11, z.here, y.here, x.here)
    return real(0.0) if x.on else weight * (q[z.here, y.here, x.high] - q[z.here, y.here, x.low]) * x.over


@cell
def along(q, medium, z, y, x):
    """Return the same along y."""
    weight = density_at(medium.density, z.here, y.here, x.here) * c11_at(medium.c11, z.here, y.here, x.here)
    return real(0.0) if y.on else weight * (q[z.here, y.high, x.here] - q[z.here, y.low, x.here]) * y.over


@cell
def horizontal_of(q, medium, z, y, x):
    """Return H q: the horizontal divergence of rho* c11 times the horizontal derivatives, without coordinate slopes."""
    zc, yc, xc = centre(z), centre(y), centre(x)
    total = (across(q, medium, zc, yc, upper(x)) - across(q, medium, zc, yc, lower(x))) * x.over
    return total + (along(q, medium, zc, upper(y), xc) - along(q, medium, zc, lower(y), xc)) * y.over


@cell
def set_horizontal(q, inputs, out, medium, normal, z, y, x):
    """Compute nablaCnablax: H q / rho*."""
    k, j, i = z.here, y.here, x.here
    out.x[k, j, i] = horizontal_of(q, medium, z, y, x) / density_at(medium.density, k, j, i)


@cell
def stiffness(medium, k, j, i):
    """Return rho* c11."""
    return density_at(medium.density, k, j, i) * c11_at(medium.c11, k, j, i)


@cell
def diagonal_of(medium, z, y, x):
    """Return -(diagonal of H)."""
    k, j, i = z.here, y.here, x.here
    east = real(0.0) if x.on_high else stiffness(medium, k, j, x.high) * x.over_high
    west = real(0.0) if x.on_low else stiffness(medium, k, j, x.low) * x.over_low
    north = real(0.0) if y.on_high else stiffness(medium, k, y.high, i) * y.over_high
    south = real(0.0) if y.on_low else stiffness(medium, k, y.low, i) * y.over_low
    return (east + west) * x.over + (north + south) * y.over


@cell
def set_line_system(q, inputs, out, medium, normal, z, y, x):
    """Compute d, w d and the coupling of a column; normal.x (1, 1, 1): 1 / beta, or 0 for the diagonal of H."""
    k, j, i = z.here, y.here, x.here
    over_beta = normal.x[0, 0, 0]
    d = diagonal_of(medium, z, y, x)
    if over_beta > real(0.0):
        d = density_at(medium.density, k, j, i) * over_beta
    out.x[k, j, i] = d
    out.y[k, j, i] = real(0.5) * d if z.on else d
    t = tensor_at(medium, z.high, j, i)
    through = (t.g13 * t.g13 + t.g23 * t.g23) * t.c11 + t.g33 * t.g33 * t.c33
    inner = z.on_high == 0 and z.high != k
    over = z.over_high * z.over_high if inner else real(0.0)
    out.z[k, j, i] = density_at(medium.density, z.high, j, i) * through * over


@cell
def set_line_right(q, inputs, out, medium, normal, z, y, x):
    """Compute rho* r - H q - d q; inputs: r and d."""
    k, j, i = z.here, y.here, x.here
    total = density_at(medium.density, k, j, i) * inputs.x[k, j, i] - horizontal_of(q, medium, z, y, x)
    out.x[k, j, i] = total - inputs.y[k, j, i] * q[k, j, i]


@cell
def weigh(k, j, i, q, density, out):
    """Compute rho* q."""
    out[k, j, i] = density_at(density, k, j, i) * q[k, j, i]


@cell
def set_sweep(q, inputs, out, medium, normal, z, y, x):
    """Compute a q + b L q + c r; inputs: r, and a, b, c as (1, 1, 3)."""
    k, j, i = z.here, y.here, x.here
    total = inputs.y[0, 0, 0] * q[k, j, i] + inputs.y[0, 0, 1] * residual_of(q, inputs, medium, normal, z, y, x)
    out.x[k, j, i] = total + inputs.y[0, 0, 2] * inputs.x[k, j, i]


class PressureOperator(Coefficients):
    """Launches of `operator` on fields of a device.

    Parameters
    ----------
    device : Device
    precision : str
    metric : Metric
    density, c11, c12, c33 : arrays
        rho_b and C at points, each (nz, 1, 1) or (nz, ny, nx); density and c11, c33 above 0.
    normal : operator.Normal, optional
        Normal components at open boundaries.

    Attributes
    ----------
    medium : operator.Medium
    normal : operator.Normal
    has_flow : bool
        True with normal components at open boundaries.
    """

    def __init__(
        self, device: Device, precision: str, metric: Metric, density: Any, c11: Any, c12: Any, c33: Any,
        normal: cells.Normal | None = None,
    ) -> None:  # fmt: skip
        real = check_precision(precision)
        super().__init__(metric, density, c11, c12, c33)
        self.device, self.precision = device, precision
        fields = {"density": self.rho, "c11": c11, "c12": c12, "c33": c33}
        put = {name: device.array(values.astype(real)) for name, values in fields.items()}
        self.medium = cells.Medium(**put, **metric.arrays(device, precision))
        self._grid, none = metric.grid(precision), device.zeros((1, 1, 1), real)
        self.normal = cells.Normal(none, none, none) if normal is None else normal
        kinds = {name.upper(): self.accessor(values) for name, values in fields.items()}
        self._switches: dict[str, Any] = {"TERRAIN": metric.terrain, "TURNING": self.turning, **kinds}
        self.has_flow = normal is not None

    def update(self, c11: np.ndarray, c12: np.ndarray, c33: np.ndarray) -> bool:
        """Replace C; return False, without a change, if other compiled kernels are needed."""
        if not super().update(c11, c12, c33):
            return False
        for name, values in (("c11", c11), ("c12", c12), ("c33", c33)):
            array = getattr(self.medium, name)
            self.device.fill(array, values.astype(array.dtype))
        return True

    def _over(
        self, point: Any, q: Any, provisional: Any, out: Any, forced: bool = True,
        switches: Mapping[str, Any] | None = None,
    ) -> Launch:  # fmt: skip
        here = {
            "POINT": point,
            "PROVISIONAL": cells.flow if forced else cells.no_flow,
            "OPEN": self.has_flow and forced,
        }
        here |= switches or {}
        arguments = (q, provisional, out, self.medium, self.normal, self._grid)
        if self.device.kind == "cuda":
            program = self.device.loop(at_point, self.precision, {**self._switches, **here})
            return self.device.over(program, self.metric.shape, arguments)
        return Launch(self.device.program(rows_cpu, self.precision, {**self._switches, **here}), arguments)

    def velocity(self, phi: Any, provisional: Any, out: Any) -> Launch:
        """Return launches of prforc: out = v^ - C grad phi; provisional, out: (u, v, w), can be the same arrays."""
        return self._over(cells.set_velocity, phi, cells.Vector(*provisional), cells.Vector(*out))

    def wind(self, phi: Any, velocity: Any, forces: Any, from_velocity: bool) -> list[Launch]:
        """Return launches of prforc into velocity, from v^ there or in forces; forces become v minus their values."""
        out = cells.Wind(*velocity, *(velocity if forces is None else forces))
        here = {"IN_PLACE": from_velocity, "FINISHES": forces is not None}
        return [self._over(cells.set_wind, phi, cells.Vector(*velocity), out, switches=here)]

    def residual(self, phi: Any, provisional: Any, r: Any) -> list[Launch]:
        """Return launches of prforc and divrhs: r = -(1 / rho*) div(rho* v) = L(phi) - (1 / rho*) div(rho* v^)."""
        return self._residual(phi, cells.Vector(*provisional), r)

    def start(self, provisional: Any, r: Any) -> list[Launch]:
        """Return launches of the residual of phi = 0."""
        return self._residual(r, cells.Vector(*provisional), r, switches={"GUESSED": False})

    def _residual(self, phi: Any, provisional: cells.Vector, r: Any, **options: Any) -> list[Launch]:
        """Return launches of the residual. Over terrain a CPU stores the fluxes, which six points use."""
        out = cells.Vector(r, r, r)
        if self.device.kind == "cuda" or not self.metric.terrain:
            return [self._over(cells.set_residual, phi, provisional, out, **options)]
        fluxes = self._over(cells.set_fluxes, phi, provisional, self._fluxes, **options)
        return [fluxes, self._over(cells.set_residual_of_fluxes, phi, self._fluxes, out, forced=False)]

    @cached_property
    def _fluxes(self) -> cells.Vector:
        """Scratch arrays of `_residual`."""
        real = check_precision(self.precision)
        return cells.Vector._make(self.device.zeros(self.metric.shape, real) for _ in range(3))

    def divergence(self, velocity: Any, r: Any) -> Launch:
        """Return launches of divrhs: r = -(1 / rho*) div(rho* v)."""
        return self._over(cells.set_divergence, r, cells.Vector(*velocity), cells.Vector(r, r, r))

    def apply(self, q: Any, out: Any) -> list[Launch]:
        """Return launches of laplc: out = L q."""
        return self._residual(q, cells.Vector(q, q, q), out, forced=False)

    def horizontal(self, q: Any, out: Any) -> Launch:
        """Return launches of nablaCnablax: the horizontal part of L q without slopes of the coordinate."""
        return self._over(set_horizontal, q, cells.Vector(q, q, q), cells.Vector(out, out, out), forced=False)

    def weighed(self, q: Any, out: Any) -> Launch:
        """Return launches of out = rho* q."""
        program = self.device.loop(weigh, self.precision, self._switches)
        return self.device.over(program, self.metric.shape, (q, self.medium.density, out))

    def sweep(self, q: Any, r: Any, numbers: Any, out: Any) -> Launch:
        """Return launches of out = a q + b L q + c r; `numbers` holds a, b, c, (1, 1, 3); out must differ from q."""
        operands = cells.Vector(r, numbers, r)
        return self._over(set_sweep, q, operands, cells.Vector(out, out, out), forced=False)

    def line_system(self, over_beta: float, out: tuple[Any, Any, Any]) -> Launch:
        """Return the column systems of `sweeps`: d, w d, a; d = rho* / beta, or -(diagonal of H) if 1 / beta is 0."""
        number = self.device.array(np.full((1, 1, 1), over_beta, check_precision(self.precision)))
        launch = self._over(set_line_system, out[0], cells.Vector(*out), cells.Vector(*out), forced=False)
        inverse_beta = cells.Normal(number, number, number)
        arguments = tuple(inverse_beta if isinstance(one, cells.Normal) else one for one in launch.arguments)
        return launch._replace(arguments=arguments)

    def line_right(self, q: Any, r: Any, d: Any, out: Any) -> Launch:
        """Return launches of out = rho* r - H q - d q."""
        return self._over(set_line_right, q, cells.Vector(r, d, r), cells.Vector(out, out, out), forced=False)
