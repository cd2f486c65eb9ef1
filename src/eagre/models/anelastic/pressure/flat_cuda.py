"""GPU kernels of prforc and divrhs for flat terrain: tiles stream upwards, and L phi is a separable stencil.

See `operator.set_residual` and `operator.set_wind`; coefficients are profiles, without Coriolis and open boundaries.

    residual     r = L phi - (1 / rho*) div(rho* v^) in some rows, and its convergence test: the last block sums the
                 `partials` of all blocks, (2, 1, blocks); for several devices, a separate kernel sums them
    divergence   r = -(1 / rho*) div(rho* v^)
    wind         v = v^ - C grad phi, and increments dt/2 R
    sweep        a q + b L q + c r until convergence
    add forces   the advected field and the past velocity: `kernels.add_force_to_wind`

In the source (see `eagre.solvers.gcr.fused`) ``{name}`` stands for the points of an array of the thread, and all loads
of a level precede their use. `star`, `first` and `gradient` are tables per axis.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from eagre.backend.compilation.cells import Entry, flat_load
from eagre.models.anelastic.step_coefficients import HALF, SCALE
from eagre.solvers.gcr.fused_cuda import SCOPE, kernel, next_to

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


class Gradient(NamedTuple):
    """Factors of the differences between the two neighbours of a point, along z (nz,), y (ny,) and x (nx,).

    along_* : C times 1 / (2 d), 0 on boundaries; `across`, c11, is an additional factor along y and x.
    keep_* : 0 on boundaries with zero normal velocity, otherwise 1.
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
