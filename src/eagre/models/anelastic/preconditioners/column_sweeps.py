"""Preconditioners with column systems: line Jacobi and Richardson sweeps; vertical terms implicit, the rest lagged.

    (d - V) q* = H q + d q - rho* r,      q <- (1 - omega) q + omega q*,      initially q = 0

V, H: the vertical and horizontal parts of rho* L without cross terms. Line Jacobi: d = -(diagonal of H), omega = 0.7.
Richardson: d = rho* / beta, omega = 1, beta = 1 / (2 max(c11 / (4 dx^2) + c11 / (4 dy^2))), half of that in 3-D.

Source: P. K. Smolarkiewicz, L. G. Margolin, in Geophys. Astrophys. Convection (1994/2000); S. J. Thomas et al., Mon.
Weather Rev. 131, 2464 (2003), of EULAG's preconditioners.

On a GPU, a decoupled system has one thread, with loads of four points in flight. The two systems of a column, and real
and imaginary parts, have separate threads, because a grid has few columns and each step of the recursion waits for
memory.

Column systems are tridiagonal in k and k +- 2, because derivatives span two grid spacings.

    d_k q_k - a_k q_(k+2) - a_(k-2) q_(k-2) = -b_k,    a_k = m_(k+1) / (4 dzeta^2),  m = rho* G3 . C G3

Matrix rows on walls have weight 1/2, which makes the matrix symmetric: d_k = a_k + a_(k-2) + w_k e_k, e >= 0. Even and
odd points are two decoupled systems. For e = 0 a system is singular: its last unknown is set to 0 by a zero inverse
pivot. Source: L. H. Thomas's elimination, as in G. H. Golub, C. F. Van Loan, Matrix Computations, 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, load_two, prange, real, store_two, switch
from eagre.backend.device import Device, Launch, Work, check_precision
from eagre.errors import InputError
from eagre.models.anelastic.pressure import operator as cells
from eagre.models.anelastic.pressure.operator import of_profile
from eagre.models.anelastic.pressure.operator_launches import PressureOperator

coupling_at = switch("COUPLING", of_profile)
PARTS = switch("PARTS", 1)  # 2: f holds real and imaginary parts in pairs
LANES = 32
SYSTEMS = 2
ROWS = 8  # modes per block of the kernel that divides modes
AHEAD = 4  # points with loads in flight, in `down_four` and `up_four`


@cell
def step_down(f, inverse, coupling, scale, k, j, i):
    """Eliminate the point below: f holds b on input, the intermediate solution on output."""
    for component in range(PARTS):
        m = PARTS * i + component
        total = -scale[k] * f[k, j, m]
        if k > 1:
            total += coupling_at(coupling, k - 2, j, i) * f[k - 2, j, m]
        f[k, j, m] = total * inverse[k, j, i]


@cell
def step_up(f, inverse, coupling, k, j, i):
    """Back-substitute from the point above."""
    factor = coupling_at(coupling, k, j, i) * inverse[k, j, i]
    for component in range(PARTS):
        m = PARTS * i + component
        f[k, j, m] += factor * f[k + 2, j, m]


@cell
def solve_column(j, i, f, inverse, coupling, scale):
    """Solve in place; f (nz, ny, PARTS n): b; inverse (nz, ny, n); coupling: a; scale (nz,): factor of b."""
    nz = f.shape[0]
    for k in range(nz):
        step_down(f, inverse, coupling, scale, k, j, i)
    for back in range(nz - 2):
        step_up(f, inverse, coupling, nz - 3 - back, j, i)


@cell
def factor_of(tables, k, j, i):
    """Return the factor of a mode for a transformed periodic z: -1 / e times the factor of b."""
    e = tables.across[k] * (tables.along_y[j] + tables.along_x[i]) + tables.along_z[k]
    return -tables.scale[k] / e if e > real(0.0) else real(0.0)


@cell
def divide(k, j, i, f, tables):
    """Solve for a transformed periodic z; tables : `Symbols`. A CPU uses `spectral.solve_periodic_cpu`."""
    factor = real(factor_of(tables, k, j, i))
    for component in range(PARTS):
        f[k, j, PARTS * i + component] *= factor


class Symbols(NamedTuple):
    """e = across_k (along_y_j + along_x_i) + along_z_k of a mode, and the factor of b, scale_k."""

    across: Any
    along_z: Any
    along_y: Any
    along_x: Any
    scale: Any


@cell
def factor_modes(j, i, inverse, tables, coupling):
    """Compute the inverse pivots of a mode, in double precision; along_z is not read; see `factor_column`."""
    nz, flat = inverse.shape[0], tables.along_y[j] + tables.along_x[i]
    below = between = 0.0  # of the level below in the same system, and in the other system
    for k in range(nz):
        e = tables.across[k] * flat
        pivot = e
        if k < nz - 2:
            pivot += coupling[k]
        if k > 1:
            a = coupling[k - 2]
            pivot += a - a * a * below
        inverse_pivot = 1.0 / pivot if e > 0.0 or k < nz - 2 else 0.0
        inverse[k, j, i] = inverse_pivot
        below, between = between, inverse_pivot


@entry
def solve_columns_cpu(f, inverse, coupling, scale):
    """Solve all columns, vectorised along rows; see `solve_column`."""
    nz, ny, nx = inverse.shape
    for j in prange(ny):
        for k in range(nz):
            for i in range(nx):
                step_down(f, inverse, coupling, scale, k, j, i)
        for back in range(nz - 2):
            for i in range(nx):
                step_up(f, inverse, coupling, nz - 3 - back, j, i)


@cell
def factor_column(j, i, inverse, coupling, nz):
    """Replace w e in `inverse`, (nz, ny, n), by inverse pivots; a singular system ends with 0."""
    for k in range(nz):
        e = inverse[k, j, i]
        pivot = e
        if k < nz - 2:
            pivot += coupling_at(coupling, k, j, i)
        if k > 1:
            a = coupling_at(coupling, k - 2, j, i)
            pivot += a - a * a * inverse[k - 2, j, i]
        inverse[k, j, i] = real(1.0) / pivot if e > real(0.0) or k < nz - 2 else real(0.0)


@cell
def inside(k, last):
    """Return a level, limited to the last level of its system."""
    return np.uint32(min(k, last))


@cell
def down(x, b, over, coupling, scale, k, last, j, i):
    """Return the unknown of level k from the level below, x; beyond the last level return x."""
    if k > last:
        return x
    below = coupling_at(coupling, np.uint32(max(k - 2, 0)), j, i)
    return (below * x - scale[np.uint32(k)] * b) * over


@cell
def store(f, k, last, j, m, x):
    """Store the unknown of a valid level."""
    if k <= last:
        f[np.uint32(k), j, m] = x


@cell
def down_four(x, f, inverse, coupling, scale, k, last, j, m):
    """Eliminate four levels, from level k upwards."""
    i = np.uint32(m // PARTS)
    k0, k1, k2, k3 = inside(k, last), inside(k + 2, last), inside(k + 4, last), inside(k + 6, last)
    b0, b1, b2, b3 = f[k0, j, m], f[k1, j, m], f[k2, j, m], f[k3, j, m]
    o0, o1, o2, o3 = inverse[k0, j, i], inverse[k1, j, i], inverse[k2, j, i], inverse[k3, j, i]
    x = down(x, b0, o0, coupling, scale, k, last, j, i)
    store(f, k, last, j, m, x)
    x = down(x, b1, o1, coupling, scale, k + 2, last, j, i)
    store(f, k + 2, last, j, m, x)
    x = down(x, b2, o2, coupling, scale, k + 4, last, j, i)
    store(f, k + 4, last, j, m, x)
    x = down(x, b3, o3, coupling, scale, k + 6, last, j, i)
    store(f, k + 6, last, j, m, x)
    return x


@cell
def up(x, b, over, coupling, k, j, i):
    """Return the unknown of level k from the level above, x; below the first level return x."""
    if k < 0:
        return x
    return b + coupling_at(coupling, np.uint32(k), j, i) * over * x


@cell
def store_up(f, k, j, m, x):
    """Store the unknown of a valid level."""
    if k >= 0:
        f[np.uint32(k), j, m] = x


@cell
def up_four(x, f, inverse, coupling, k, system, j, m):
    """Back-substitute four levels, from level k downwards."""
    i = np.uint32(m // PARTS)
    k0, k1 = np.uint32(max(k, system)), np.uint32(max(k - 2, system))
    k2, k3 = np.uint32(max(k - 4, system)), np.uint32(max(k - 6, system))
    b0, b1, b2, b3 = f[k0, j, m], f[k1, j, m], f[k2, j, m], f[k3, j, m]
    o0, o1, o2, o3 = inverse[k0, j, i], inverse[k1, j, i], inverse[k2, j, i], inverse[k3, j, i]
    x = up(x, b0, o0, coupling, k, j, i)
    store_up(f, k, j, m, x)
    x = up(x, b1, o1, coupling, k - 2, j, i)
    store_up(f, k - 2, j, m, x)
    x = up(x, b2, o2, coupling, k - 4, j, i)
    store_up(f, k - 4, j, m, x)
    x = up(x, b3, o3, coupling, k - 6, j, i)
    store_up(f, k - 6, j, m, x)
    return x


@entry
def column_systems_cuda(f, inverse, coupling, scale):
    """Solve in place; grid: (tiles of LANES numbers of a row, rows), block: (LANES, SYSTEMS)."""
    m = np.uint32(cuda.blockIdx.x * LANES + cuda.threadIdx.x)
    system, j = cuda.threadIdx.y, np.uint32(cuda.blockIdx.y)
    nz = f.shape[0]
    last = system + 2 * ((nz - 1 - system) // 2)  # last level of the system
    if m < f.shape[2] and system < nz:
        x = real(0.0)
        for k in range(system, nz, 2 * AHEAD):
            x = down_four(x, f, inverse, coupling, scale, k, last, j, m)
        for back in range(0, last - system, 2 * AHEAD):
            x = up_four(x, f, inverse, coupling, last - 2 - back, system, j, m)


@cell
def multiply(f, offset, number, tables, k, j, i):
    """Multiply a loaded complex mode by its factor and store it."""
    factor = factor_of(tables, k, j, i)
    store_two(f, offset, 0, (number[0] * factor, number[1] * factor))


@entry
def divide_cuda(f, tables):
    """Apply `divide` to complex numbers; AHEAD levels per thread. Grid: tiles of LANES x ROWS modes, levels."""
    i = np.uint32(cuda.blockIdx.x * LANES + cuda.threadIdx.x)
    j = np.uint32(cuda.blockIdx.y * ROWS + cuda.threadIdx.y)
    nz, ny, n = f.shape[0], f.shape[1], f.shape[2] // 2
    if i < n and j < ny:
        last, k = np.uint32(nz - 1), np.uint32(cuda.blockIdx.z * AHEAD)
        k1, k2, k3 = np.uint32(k + 1), np.uint32(k + 2), np.uint32(k + 3)
        step, row = np.uint32(np.uint32(2 * ny) * np.uint32(n)), np.uint32(2) * (j * np.uint32(n) + i)
        offset, offset1 = np.uint32(k * step + row), np.uint32(min(k1, last) * step + row)
        offset2, offset3 = np.uint32(min(k2, last) * step + row), np.uint32(min(k3, last) * step + row)
        zero, one = load_two(f, offset, 0), load_two(f, offset1, 0)
        two, three = load_two(f, offset2, 0), load_two(f, offset3, 0)
        multiply(f, offset, zero, tables, k, j, i)
        if k1 <= last:
            multiply(f, offset1, one, tables, k1, j, i)
        if k2 <= last:
            multiply(f, offset2, two, tables, k2, j, i)
        if k3 <= last:
            multiply(f, offset3, three, tables, k3, j, i)


def column_solver(device: Device, precision: str, switches: Mapping[str, Any]) -> Callable[[tuple[Any, ...]], Launch]:
    """Return a function from (f, inverse, coupling, scale) to the launch of `solve_column`."""
    on_gpu = device.kind == "cuda"
    program = device.program(column_systems_cuda if on_gpu else solve_columns_cpu, precision, switches)

    def launch(arguments: tuple[Any, ...]) -> Launch:
        if not on_gpu:
            return Launch(program, arguments)
        _, ny, n = map(int, arguments[0].shape)
        return Launch(program, arguments, (-(-n // LANES), ny), (LANES, SYSTEMS))

    return launch


def mode_divider(device: Device, precision: str, components: int) -> Callable[[Any, Symbols], Launch]:
    """Return a function from (f, tables) to the launch of `divide`; parts : real numbers per mode."""
    if device.kind == "cuda" and components == 2:
        program = device.program(divide_cuda, precision)

        def launch(f: Any, tables: Symbols) -> Launch:
            nz, ny, n = map(int, f.shape)
            grid = (-(-(n // 2) // LANES), -(-ny // ROWS), -(-nz // AHEAD))
            return Launch(program, (f, tables), grid, (LANES, ROWS))

        return launch
    loop = device.loop(divide, precision, {"PARTS": components})
    return lambda f, tables: device.over(loop, (*f.shape[:2], f.shape[2] // components), (f, tables))


WEIGHT = 0.7  # omega of line Jacobi


@cell
def take(k, j, i, q, new, weight):
    """Set q = weight new."""
    q[k, j, i] = weight * new[k, j, i]


@cell
def blend(k, j, i, q, new, weight):
    """Relax q towards new with a weight."""
    q[k, j, i] += weight * (new[k, j, i] - q[k, j, i])


class Sweeps:
    """Preconditioner q = P^-1 r by sweeps.

    Parameters
    ----------
    operator : PressureOperator
    kind : {"line-jacobi", "richardson"}
    count : int
        Number of sweeps.
    """

    def __init__(self, operator: PressureOperator, kind: str, count: int = 2) -> None:
        metric, device, precision = operator.metric, operator.device, operator.precision
        if metric.sides[0] == "periodic" and metric.shape[0] > 1:
            raise InputError(
                f"preconditioner = {kind!r} where z is periodic",
                allowed='"fft", "none"',
                fix='"fft"',
                problem=f"The preconditioner {kind} requires walls along z.",
            )
        if count != int(count) or count < 1:
            raise InputError(f"sweeps = {count!r}", allowed="1 or more", fix="sweeps=2")
        real, shape = check_precision(precision), metric.shape
        self._operator, self._kind, self._count = operator, kind, count
        self._weight = real(WEIGHT if kind == "line-jacobi" else 1.0)
        self._d, self._inverse, self._coupling, self._new = (device.zeros(shape, real) for _ in range(4))
        w = [0.5 if shape[0] > 1 and k in (0, shape[0] - 1) else 1.0 for k in range(shape[0])]
        self._w = device.array(np.array(w, real))
        switches = {"COUPLING": cells.of_field}
        self._factor = device.loop(factor_column, precision, switches)
        self._loops = {one.name: device.loop(one, precision) for one in (take, blend)}
        self._columns = column_solver(device, precision, switches)(self._system)
        self.factorise()

    @property
    def _system(self) -> tuple[Any, ...]:
        return self._new, self._inverse, self._coupling, self._w

    def factorise(self) -> None:
        """Factorise the column systems of the operator."""
        operator, device = self._operator, self._operator.device
        out = (self._d, self._inverse, self._coupling)
        launches = [operator.line_system(self._slowest() if self._kind == "richardson" else 0.0, out)]
        arguments = (self._inverse, self._coupling, operator.metric.shape[0])
        device.run([*launches, device.over(self._factor, operator.metric.shape[1:], arguments)])

    def _slowest(self) -> float:
        """Return 1 / beta."""
        metric = self._operator.metric
        axes = [d for n, d in zip(metric.shape[1:], metric.spacing[1:], strict=True) if n > 1]
        return 2.0 * max(1, len(axes)) * float(self._operator.c11.max()) * sum(0.25 / d**2 for d in axes)

    def launches(self, r: Any, q: Any) -> list[Work]:
        """Return launches of q = P^-1 r, both (nz, ny, nx)."""
        operator, device, shape = self._operator, self._operator.device, self._operator.metric.shape
        arguments = (q, self._new, self._weight)
        launches: list[Work] = [operator.weighed(r, self._new), self._columns]
        launches.append(device.over(self._loops["take"], shape, arguments))
        for _ in range(self._count - 1):
            launches += [operator.line_right(q, r, self._d, self._new), self._columns]
            launches.append(device.over(self._loops["blend"], shape, arguments))
        return launches
