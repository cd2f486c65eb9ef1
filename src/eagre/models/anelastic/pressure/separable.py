"""Pressure operator for flat terrain as tables per axis (separable stencil), and GPU kernels for these tables.

GPU kernels of prforc and divrhs for flat terrain: tiles stream upwards, and L phi is a separable stencil.

See `operator.set_residual` and `operator.set_wind`; coefficients are profiles, without Coriolis. With open boundaries
`ends` first stores the prescribed normal velocities in v^, which the tables then treat like all other velocities.

    residual     r = L phi - (1 / rho*) div(rho* v^) in some rows, and its convergence test: the last block sums the
                 `partials` of all blocks, (2, 1, blocks); for several devices, a separate kernel sums them
    divergence   r = -(1 / rho*) div(rho* v^)
    wind         v = v^ - C grad phi, and increments dt/2 R
    sweep        a q + b L q + c r until convergence
    ends         prescribed normal velocities at the ends of an axis
    add forces   the advected field and the past velocity: `kernels.add_force_to_wind`

In the source (see `eagre.solvers.gcr.fused_cuda`) ``{name}`` stands for the points of an array of the thread, and all
loads of a level precede their use. `star`, `first` and `gradient` are tables per axis.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import Entry, cell, flat_load, switch
from eagre.backend.device import Device, Launch, check_precision
from eagre.models.anelastic.pressure.operator import Wind
from eagre.models.anelastic.pressure.operator_launches import PressureOperator
from eagre.models.anelastic.step_kernels import HALF, SCALE
from eagre.solvers.gcr.fused_cuda import BLOCK, SCOPE, SeparableStencil, Tiles, kernel, next_to, on_device, vector_of
from eagre.solvers.gcr.iteration import arrived

RESIDUAL = """
def residual_cuda(phi, u, v, w, r, star, first, periodic, planes, rows, control, partials, arrived):
    tree = cuda.shared.array(BLOCK, np.float64)
    flag = cuda.shared.array(1, np.float64)
    t = thread()
    if is_iterating(control):
        i = np.uint32((cuda.blockIdx.x * LANES + cuda.threadIdx.x) * VECTOR)
        j = np.uint32(cuda.blockIdx.y * ROWS + cuda.threadIdx.y)
        nz, ny, nx = phi.shape
        largest, squares = real(0.0), 0.0
        if i < nx and rows[0] <= j and j < rows[1]:
            n, o = near(star, j, i, nx), next_to(first, j, i, nx)
            bottom, size = cuda.blockIdx.z * planes, ny * nx
            {a} = load(phi, level(bottom - 2, nz, size, periodic), n.here)
            {b} = load(phi, level(bottom - 1, nz, size, periodic), n.here)
            {c} = load(phi, level(bottom, nz, size, periodic), n.here)
            {d} = load(phi, level(bottom + 1, nz, size, periodic), n.here)
            {w_below} = load(w, level(bottom - 1, nz, size, periodic), n.here)
            {w_here} = load(w, level(bottom, nz, size, periodic), n.here)
            for m in range(bottom, min(nz, bottom + planes)):
                k = np.uint32(m)
                start = np.uint32(k * np.uint32(size))
                {e} = load(phi, level(m + 2, nz, size, periodic), n.here)
                {w_above} = load(w, level(m + 1, nz, size, periodic), n.here)
                {north} = load(phi, start, n.to_north)
                {south} = load(phi, start, n.to_south)
                {west} = load_sides(phi, start, n.to_west)
                {east} = load_sides(phi, start, n.to_east)
                {v_north} = load(v, start, o.to_north)
                {v_south} = load(v, start, o.to_south)
                {u_here} = load(u, start, o.here)
                u_west, u_east = flat_load(u, start, o.to_west), flat_load(u, start, o.to_east)
                across, up, down = star.across[k], star.up[k], star.down[k]
                rises, falls = first.up[k], first.down[k]
                part = real(0.0)
                for v in range(VECTOR):
                    total[v] = n.east * ((east[v + SIDE - VECTOR] if v + SIDE >= VECTOR else c[v + 2]) - c[v])
                    total[v] += n.west * ((west[v] if v < SIDE else c[v - 2]) - c[v])
                    total[v] += n.north * (north[v] - c[v]) + n.south * (south[v] - c[v])
                    total[v] = across * total[v] + up * (e[v] - c[v]) + down * (a[v] - c[v])
                    total[v] -= o.east * (u_here[v + 1] if v + 1 < VECTOR else u_east)
                    total[v] -= o.west * (u_here[v - 1] if v > 0 else u_west)
                    total[v] -= o.north * v_north[v] + o.south * v_south[v] + rises * w_above[v] + falls * w_below[v]
                    largest = max(largest, abs(total[v]))
                    part += total[v] * total[v]
                store(r, start, n.here, ({total}))
                squares += float(part)
                for v in range(VECTOR):
                    a[v], b[v], c[v], d[v], w_below[v], w_here[v] = b[v], c[v], d[v], e[v], w_here[v], w_above[v]
        store_parts(tree, t, float(largest), squares, partials, True)
        if ALONE and is_last(flag, t, partials.shape[2], arrived):
            most, squares = both_totals(tree, t, partials, True)
            if t == 0:
                check_residual(control, most, squares)
"""

DIVERGENCE = """
def divergence_cuda(u, v, w, r, first, periodic, planes):
    i = np.uint32((cuda.blockIdx.x * LANES + cuda.threadIdx.x) * VECTOR)
    j = np.uint32(cuda.blockIdx.y * ROWS + cuda.threadIdx.y)
    nz, ny, nx = r.shape
    if i < nx and j < ny:
        o = next_to(first, j, i, nx)
        bottom, size = cuda.blockIdx.z * planes, ny * nx
        {w_below} = load(w, level(bottom - 1, nz, size, periodic), o.here)
        {w_here} = load(w, level(bottom, nz, size, periodic), o.here)
        for m in range(bottom, min(nz, bottom + planes)):
            k = np.uint32(m)
            start = np.uint32(k * np.uint32(size))
            {w_above} = load(w, level(m + 1, nz, size, periodic), o.here)
            {v_north} = load(v, start, o.to_north)
            {v_south} = load(v, start, o.to_south)
            {u_here} = load(u, start, o.here)
            u_west, u_east = flat_load(u, start, o.to_west), flat_load(u, start, o.to_east)
            rises, falls = first.up[k], first.down[k]
            for v in range(VECTOR):
                total[v] = o.east * (u_here[v + 1] if v + 1 < VECTOR else u_east)
                total[v] += o.west * (u_here[v - 1] if v > 0 else u_west)
                total[v] += o.north * v_north[v] + o.south * v_south[v] + rises * w_above[v] + falls * w_below[v]
                total[v] = -total[v]
            store(r, start, o.here, ({total}))
            for v in range(VECTOR):
                w_below[v], w_here[v] = w_here[v], w_above[v]
"""

WIND = """
def wind_cuda(phi, out, gradient, first, periodic, planes):
    i = np.uint32((cuda.blockIdx.x * LANES + cuda.threadIdx.x) * VECTOR)
    j = np.uint32(cuda.blockIdx.y * ROWS + cuda.threadIdx.y)
    nz, ny, nx = phi.shape
    if i < nx and j < ny:
        o = next_to(first, j, i, nx)
        bottom, size = cuda.blockIdx.z * planes, ny * nx
        along_x, along_y = gradient.along_x[i], gradient.along_y[j]
        keep_x, keep_y = gradient.keep_x[i], gradient.keep_y[j]
        {below} = load(phi, level(bottom - 1, nz, size, periodic), o.here)
        {here} = load(phi, level(bottom, nz, size, periodic), o.here)
        for m in range(bottom, min(nz, bottom + planes)):
            k = np.uint32(m)
            start = np.uint32(k * np.uint32(size))
            {above} = load(phi, level(m + 1, nz, size, periodic), o.here)
            {u} = load(out.x if IN_PLACE else out.force_x, start, o.here)
            {v} = load(out.y if IN_PLACE else out.force_y, start, o.here)
            {w} = load(out.z if IN_PLACE else out.force_z, start, o.here)
            if FINISHES:
                {u_hat} = load(out.force_x, start, o.here)
                {v_hat} = load(out.force_y, start, o.here)
                {w_hat} = load(out.force_z, start, o.here)
            {north} = load(phi, start, o.to_north)
            {south} = load(phi, start, o.to_south)
            west, east = flat_load(phi, start, o.to_west), flat_load(phi, start, o.to_east)
            across_x, across_y = gradient.across[k] * along_x, gradient.across[k] * along_y
            along_z, keep_z = gradient.along_z[k], gradient.keep_z[k]
            for p in range(VECTOR):
                rise = (here[p + 1] if p + 1 < VECTOR else east) - (here[p - 1] if p > 0 else west)
                u[p] = keep_x * (u[p] - across_x * rise)
                v[p] = keep_y * (v[p] - across_y * (north[p] - south[p]))
                w[p] = keep_z * (w[p] - along_z * (above[p] - below[p]))
                if FINISHES:
                    u_hat[p] = u[p] - u_hat[p]
                    v_hat[p] = v[p] - v_hat[p]
                    w_hat[p] = w[p] - w_hat[p]
            store(out.x, start, o.here, ({u}))
            store(out.y, start, o.here, ({v}))
            store(out.z, start, o.here, ({w}))
            if FINISHES:
                store(out.force_x, start, o.here, ({u_hat}))
                store(out.force_y, start, o.here, ({v_hat}))
                store(out.force_z, start, o.here, ({w_hat}))
            for p in range(VECTOR):
                below[p], here[p] = here[p], above[p]
"""

ADD_FORCES = """
def add_force_to_wind_cuda(x, force, drag, numbers, past):
    n = np.uint32((cuda.blockIdx.x * BLOCK + cuda.threadIdx.x) * VECTOR)
    if n < x.size:
        {a} = load(x, n, 0)
        {f} = load(force, n, 0)
        if DRIVEN:
            {d} = load(drag, n, 0)
        scale, half = numbers[SCALE], numbers[HALF]
        store(past, n, 0, ({a}))
        for v in range(VECTOR):
            a[v] += scale * f[v]
            if DRIVEN:
                a[v] += half * d[v]
        store(x, n, 0, ({a}))
"""

SWEEP = """
def sweep_cuda(q, r, numbers, out, star, periodic, planes, control):
    if is_iterating(control):
        i = np.uint32((cuda.blockIdx.x * LANES + cuda.threadIdx.x) * VECTOR)
        j = np.uint32(cuda.blockIdx.y * ROWS + cuda.threadIdx.y)
        nz, ny, nx = q.shape
        if i < nx and j < ny:
            n = near(star, j, i, nx)
            bottom, size = cuda.blockIdx.z * planes, ny * nx
            own, image, its = numbers[0, 0, 0], numbers[0, 0, 1], numbers[0, 0, 2]
            {a} = load(q, level(bottom - 2, nz, size, periodic), n.here)
            {b} = load(q, level(bottom - 1, nz, size, periodic), n.here)
            {c} = load(q, level(bottom, nz, size, periodic), n.here)
            {d} = load(q, level(bottom + 1, nz, size, periodic), n.here)
            for m in range(bottom, min(nz, bottom + planes)):
                k = np.uint32(m)
                start = np.uint32(k * np.uint32(size))
                {e} = load(q, level(m + 2, nz, size, periodic), n.here)
                {north} = load(q, start, n.to_north)
                {south} = load(q, start, n.to_south)
                {west} = load_sides(q, start, n.to_west)
                {east} = load_sides(q, start, n.to_east)
                if HAS_RIGHT:
                    {right} = load(r, start, n.here)
                across, up, down = star.across[k], star.up[k], star.down[k]
                for v in range(VECTOR):
                    total[v] = n.east * ((east[v + SIDE - VECTOR] if v + SIDE >= VECTOR else c[v + 2]) - c[v])
                    total[v] += n.west * ((west[v] if v < SIDE else c[v - 2]) - c[v])
                    total[v] += n.north * (north[v] - c[v]) + n.south * (south[v] - c[v])
                    total[v] = across * total[v] + up * (e[v] - c[v]) + down * (a[v] - c[v])
                    total[v] = own * c[v] + image * total[v]
                    if HAS_RIGHT:
                        total[v] += its * right[v]
                store(out, start, n.here, ({total}))
                for v in range(VECTOR):
                    a[v], b[v], c[v], d[v] = b[v], c[v], d[v], e[v]
"""


ALONG = switch("ALONG", 2)  # axis of an array whose ends are set


@cell
def end_of(shape, k, j, i):
    """Return the indices of a point at an end of the axis ALONG: k is the end, j and i are those of the other axes."""
    last = np.uint32(k * np.uint32(shape[ALONG] - 1))
    if ALONG == 0:
        return last, j, i
    if ALONG == 1:
        return j, last, i
    return j, i, last


@cell
def set_end(k, j, i, a, normal, change):
    """Set a velocity at an end of an axis to its prescribed value; change : the difference."""
    value, (to_k, to_j, to_i) = normal[k, j, i], end_of(a.shape, k, j, i)
    change[k, j, i] = value - a[to_k, to_j, to_i]
    a[to_k, to_j, to_i] = value


@cell
def set_change(k, j, i, a, change):
    """Set an increment at an end of an axis to the change by `set_end`."""
    to_k, to_j, to_i = end_of(a.shape, k, j, i)
    a[to_k, to_j, to_i] = change[k, j, i]


class Gradient(NamedTuple):
    """Factors of the differences between the two neighbours of a point, along z (nz,), y (ny,) and x (nx,).

    along_* : C times 1 / (2 d), 0 on boundaries; `across`, c11, is an additional factor along y and x.
    keep_* : 0 on walls, otherwise 1.
    """

    along_z: Any
    keep_z: Any
    across: Any
    along_y: Any
    keep_y: Any
    along_x: Any
    keep_x: Any


NAMESPACE = {**SCOPE, "flat_load": flat_load, "next_to": next_to, "HALF": HALF, "SCALE": SCALE}


def residual(vector: int, alone: bool) -> Entry:
    """Return the kernel for `vector` points per thread; alone : True for a single device."""
    return kernel(RESIDUAL, vector, NAMESPACE, ALONE=int(alone))


def divergence(vector: int) -> Entry:
    """Return the kernel of the residual of phi = 0."""
    return kernel(DIVERGENCE, vector, NAMESPACE)


def wind(vector: int, in_place: bool, finishes: bool) -> Entry:
    """Return the kernel of the wind; in_place, finishes : see `operator`."""
    return kernel(WIND, vector, NAMESPACE, IN_PLACE=int(in_place), FINISHES=int(finishes))


def sweep(vector: int, has_right: bool) -> Entry:
    """Return the kernel of a sweep; has_right : True if c is not 0."""
    return kernel(SWEEP, vector, NAMESPACE, HAS_RIGHT=int(has_right))


def add_force_to_wind(vector: int, has_tendency: bool) -> Entry:
    """Return the kernel of the forces; has_tendency : True with explicit tendencies."""
    return kernel(ADD_FORCES, vector, NAMESPACE, DRIVEN=int(has_tendency))


class Line(NamedTuple):
    """Tables of an axis, see `eagre.models.anelastic.base.grid_lines.line_at`: neighbours, factors, 1 on boundaries.

    flow : 0 on boundaries without a stored normal velocity, otherwise 1.
    """

    low: np.ndarray
    high: np.ndarray
    over: np.ndarray
    on: np.ndarray
    flow: np.ndarray


def line_of(n: int, d: float, periodic: bool, has_flow: bool) -> Line:
    """Return the tables of an axis of n points with spacing d."""
    index, on = np.arange(n), np.zeros(n)
    low, high = index - 1, index + 1
    low[0], high[-1] = (n - 1, 0) if periodic else (0, n - 1)
    if n > 1 and not periodic:
        on[[0, -1]] = 1.0
    return Line(low, high, (0.5 / d if n > 1 else 0.0) * (1.0 + on), on, np.ones(n) if has_flow else 1.0 - on)


def lines_of(operator: PressureOperator) -> tuple[Line, ...]:
    """Return the tables of the axes z, y, x."""
    metric = operator.metric
    axes = zip(metric.shape, metric.spacing, metric.sides, strict=True)
    return tuple(line_of(n, d, side == "periodic", operator.has_flow and side == "open") for n, d, side in axes)


def is_separable(operator: PressureOperator) -> bool:
    """Return whether the stencil is separable: flat terrain, profiles as coefficients, no Coriolis."""
    return operator.is_flat and not operator.turning


def stencil_of(operator: PressureOperator) -> SeparableStencil:
    """Return the stencil of L: fluxes are located at the point between two points, and are 0 on a boundary."""
    rho, c11, c33 = (profile[:, 0, 0] for profile in (operator.rho, operator.c11, operator.c33))
    factors, tables = (rho * c33 / operator.metric.stretch**2, None, None), []
    for line, inner in zip(lines_of(operator), factors, strict=True):
        for to in (line.high, line.low):
            weight = line.over * line.over[to] * (1.0 - line.on[to])
            tables.append((weight if inner is None else weight * inner[to] / rho, to[to]))
    return _assembled(c11, tables)


def eigenvalue_bound(stencil: SeparableStencil) -> float:
    """Return a bound of the absolute eigenvalues of L: twice the maximum diagonal element (diagonal dominance)."""
    horizontal = (stencil.east + stencil.west).max() + (stencil.north + stencil.south).max()
    return 2.0 * float((stencil.across * horizontal + stencil.up + stencil.down).max())


def divergence_of(operator: PressureOperator) -> SeparableStencil:
    """Return the stencil of (1 / rho*) div(rho* v): factors of the velocities of neighbours."""
    rho = operator.rho[:, 0, 0]
    factors, tables = (rho / operator.metric.stretch, None, None), []
    for line, inner in zip(lines_of(operator), factors, strict=True):
        for sign, to in ((1.0, line.high), (-1.0, line.low)):
            weight = sign * line.over * line.flow[to]
            tables.append((weight if inner is None else weight * inner[to] / rho, to))
    return _assembled(np.ones_like(rho), tables)


def _assembled(across: np.ndarray, tables: list[tuple[np.ndarray, np.ndarray]]) -> SeparableStencil:
    (up, above), (down, below), (north, to_north), (south, to_south), (east, to_east), (west, to_west) = tables
    indices = {"to_above": above, "to_below": below, "to_north": to_north, "to_south": to_south}
    factors = {"up": up, "down": down, "north": north, "south": south, "east": east, "west": west}
    return SeparableStencil(across=across, to_east=to_east, to_west=to_west, **indices, **factors)


def gradient_of(operator: PressureOperator) -> Gradient:
    """Return the stencil of C grad phi."""
    z, y, x = lines_of(operator)
    along_z, along_y, along_x = (line.over * (1.0 - line.on) for line in (z, y, x))
    up = operator.c33[:, 0, 0] / operator.metric.stretch * along_z
    return Gradient(up, z.flow, operator.c11[:, 0, 0], along_y, y.flow, along_x, x.flow)


def _tables(operator: PressureOperator) -> tuple[SeparableStencil, SeparableStencil, Gradient]:
    """Return the stencils of L, the divergence and C grad phi, on the host."""
    return stencil_of(operator), divergence_of(operator), gradient_of(operator)


def elementwise(device: Device, precision: str, forced: bool, arguments: tuple[Any, ...]) -> Launch:
    """Return a launch of `kernels.add_force_to_wind` on a GPU, with the same arguments."""
    points = int(arguments[0].size)
    vector = vector_of(device, precision, (points,), True)
    program = device.program(add_force_to_wind(vector, forced), precision, {"VECTOR": vector})
    return Launch(program, arguments, (-(-points // (vector * BLOCK)),), (BLOCK,))


class FlatKernels:
    """Launches for a separable operator (`is_separable`).

    Parameters
    ----------
    device : Device
    precision : str
    operator : PressureOperator
    rows : slice, optional
        Interior rows of a subdomain; all rows by default.
    """

    def __init__(self, device: Device, precision: str, operator: PressureOperator, rows: slice | None = None) -> None:
        self._device, self._real, self._precision = device, check_precision(precision), precision
        self._periodic = int(operator.metric.sides[0] == "periodic" and operator.metric.shape[0] > 1)
        periodic_x = operator.metric.sides[2] == "periodic"
        vector = vector_of(device, precision, operator.metric.shape, periodic_x)
        self.tiles = Tiles.of(device, operator.metric.shape, vector)
        self._alone, rows = rows is None, rows or slice(0, operator.metric.shape[1])
        self._rows = (rows.start, rows.stop)
        self._host_tables = stencil, first, gradient = _tables(operator)
        self._stencil, self._first = on_device(stencil, device, self._real), on_device(first, device, self._real)
        self._gradient = Gradient(*(device.array(one.astype(self._real)) for one in gradient))
        open_axes = [axis for axis, side in enumerate(operator.metric.sides) if operator.has_flow and side == "open"]
        normals = {axis: operator.normal[2 - axis] for axis in open_axes if operator.metric.shape[axis] > 1}
        self._ends = {axis: (one, device.zeros(tuple(one.shape), self._real)) for axis, one in normals.items()}

    def ends(self, provisional: tuple[Any, Any, Any]) -> list[Launch]:
        """Return launches that store the normal velocities at open boundaries in v^, before all others."""
        return [self._end(set_end, axis, provisional) for axis in self._ends]

    def _end(self, one: Any, axis: int, vector: tuple[Any, Any, Any]) -> Launch:
        (normal, change), component = self._ends[axis], vector[2 - axis]
        program = self._device.loop(one, self._precision, {"ALONG": axis})
        arguments = (component, normal, change) if one is set_end else (component, change)
        return self._device.over(program, tuple(change.shape), arguments)

    def residual(self, phi: Any, provisional: tuple[Any, Any, Any], r: Any, control: Any, partials: Any) -> Launch:
        """Return `PressureOperator.residual` of interior rows, with its convergence test or partial sums."""
        program = self._program(residual(self.tiles.vector, self._alone))
        tables = (self._stencil, self._first, self._periodic, self.tiles.planes, self._rows)
        return self.tiles.launch(program, (phi, *provisional, r, *tables, control, partials, arrived(self._device)))

    def divergence(self, provisional: tuple[Any, Any, Any], r: Any) -> Launch:
        """Return launches of the residual of phi = 0."""
        program = self._program(divergence(self.tiles.vector))
        return self.tiles.launch(program, (*provisional, r, self._first, self._periodic, self.tiles.planes))

    def sweep(self, q: Any, r: Any, numbers: Any, out: Any, control: Any) -> Launch:
        """Return `PressureOperator.sweep`, without effect after convergence of `control`; if r is q, c is 0."""
        program = self._program(sweep(self.tiles.vector, r is not q))
        arguments = (q, r, numbers, out, self._stencil, self._periodic, self.tiles.planes, control)
        return self.tiles.launch(program, arguments)

    def _program(self, entry: Any) -> Any:
        registers = self._device.parameters("solver:gcr").registers[self._precision]
        switches = {"VECTOR": self.tiles.vector, "REGISTERS": registers}
        return self._device.program(entry, self._precision, switches)

    def wind(self, phi: Any, velocity: Any, forces: Any, from_velocity: bool) -> list[Launch]:
        """Return launches of `PressureOperator.wind`; v^ in the forces has lost its values at open boundaries."""
        out = Wind(*velocity, *(velocity if forces is None else forces))
        program = self._program(wind(self.tiles.vector, from_velocity, forces is not None))
        tables = (self._gradient, self._first, self._periodic, self.tiles.planes)
        changed = (
            [] if from_velocity or forces is None else [self._end(set_change, axis, forces) for axis in self._ends]
        )
        return [self.tiles.launch(program, (phi, out, *tables)), *changed]

    def refill(self, operator: PressureOperator) -> None:
        """Replace the coefficients."""
        new_tables = _tables(operator)
        device_tables = (self._stencil, self._first, self._gradient)
        for arrays, previous, tables in zip(device_tables, self._host_tables, new_tables, strict=True):
            for array, old, values in zip(arrays, previous, tables, strict=True):
                if not np.array_equal(old, values):
                    self._device.fill(array, np.asarray(values).astype(array.dtype))
        self._host_tables = new_tables
