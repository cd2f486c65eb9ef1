"""Slow, plain NumPy ADI step for the shallow-water equations: what the kernels are compared with.

Written from the difference equations, not from the kernels: a sweep sets up the rows of mass and
momentum for the interleaved unknowns (z, P) of every line and solves the pentadiagonal system with
LAPACK. The y sweep transposes and calls the x sweep.

Arrays: z, d, land (ny, nx) at centres; p (ny, nx + 1) at west faces, q (ny + 1, nx) at south faces;
d is the bed, positive up. A land cell is never wet.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import solve_banded


@dataclass
class Options:
    """What a run has; sides map "low"/"high" of a direction to an (ny,) list of (kind, value) or None."""

    dx: float
    dy: float
    dt: float
    g: float = 9.81
    manning: np.ndarray | float = 0.0
    chezy: np.ndarray | float | None = None
    coriolis: np.ndarray | float = 0.0  # at centres, s-1
    viscosity: float = 0.0
    dissipation: bool = False
    convection: bool = True
    drying: float | None = None  # depth below which a face is closed, m; None: only land is dry
    linear_depth: float | None = None
    rain: np.ndarray | float = 0.0  # m s-1
    stress: tuple = (0.0, 0.0)  # m2 s-2, maps at centres
    accel: tuple = (0.0, 0.0)  # body force, m s-2
    sides: dict = field(default_factory=dict)  # "west".. -> list over the side of None or (kind, value)
    land: np.ndarray | None = None
    walls: tuple | None = None  # closed internal faces: west faces, (ny, nx + 1), and south faces, (ny + 1, nx)

    def closed(self, across, j, i):
        """Whether an internal wall closes the west (0) or the south (1) face of cell (j, i)."""
        return self.walls is not None and bool(self.walls[across][j, i])


def transposed(o):
    """The same options seen with x and y exchanged."""
    t = lambda a: a.T if isinstance(a, np.ndarray) else a  # noqa: E731
    return Options(
        dx=o.dy, dy=o.dx, dt=o.dt, g=o.g, manning=t(o.manning), chezy=t(o.chezy), coriolis=-t(np.asarray(o.coriolis)),
        viscosity=o.viscosity, dissipation=o.dissipation, convection=o.convection, drying=o.drying,
        linear_depth=o.linear_depth, rain=t(o.rain), stress=(t(o.stress[1]), t(o.stress[0])),
        accel=(t(o.accel[1]), t(o.accel[0])),
        sides={"west": o.sides.get("south"), "east": o.sides.get("north")}, land=t(o.land),
        walls=None if o.walls is None else (o.walls[1].T, o.walls[0].T),
    )  # fmt: skip


def blend(fr2):
    """Weight of upwinding: 0 up to Froude number 1/4, 1 from 1 on, linear in the square between."""
    return np.clip((fr2 - 1 / 16) * (16 / 15), 0, 1)


def at(a, j, i):
    """Element of an array, or the number itself."""
    a = np.asarray(a)
    return float(a[j, i]) if a.ndim == 2 else float(a)


def corner_momentum(p, qn, h, wet, j, i, row, o):
    """Momentum flux of p through the corner below face (j, i), m3 s-2 per m, and what full upwinding would subtract.

    j = 0 .. ny is the horizontal line, i = 1 .. nx - 1 the face; outside the domain p is 0. It enters row j - 1 or j of
    cells, for which cells behind a wall are dry.
    """
    ny = h.shape[0]
    behind = [(2 * j - 1 - row, c) for c in (i - 1, i) if o.closed(1, j, c)]
    if behind:
        wet = wet.copy()
        wet[tuple(np.transpose(behind))] = False
    total = 0.0
    for c in (i - 1, i):
        inside = [h[r, c] for r in (j - 1, j) if 0 <= r < ny and wet[r, c]]
        if len(inside) == 2:
            total += inside[0] + inside[1]
        elif inside:
            total += 2 * inside[0]
    below = p[j - 1, i] if j > 0 else 0.0
    above = p[j, i] if j < ny else 0.0
    four = [0 <= r < ny and wet[r, c] for r in (j - 1, j) for c in (i - 1, i)]
    beside = (four[0] and four[2]) or (four[1] and four[3])  # beyond an open side neither is wet on both lines
    slips = o.dissipation and not all(four) and beside and below * above == 0
    flux = rest = 0.0
    if total > 0 and o.convection:
        v = 2 * (qn[j, i - 1] + qn[j, i]) / total
        a = fast = blend(v * v / (o.g * total / 4)) if o.dissipation else 0.0
        if o.drying is not None:  # what is carried is at most a cell a step
            v = float(np.clip(v, -o.dy / o.dt, o.dy / o.dt))
        if o.dissipation:  # Lax and Wendroff: p is explicit across the lines
            a = max(a, min(abs(v) * o.dt / o.dy, 1.0))
            rest = 0.5 * (1.0 - a) * abs(v) * (above - below)
        flux = 0.5 * (below + above) * v - 0.5 * a * abs(v) * (above - below)
        if slips:
            share = max(1.0 - fast - 2.0 * abs(v) * o.dt / o.dy, 0.0)
            flux += share * (slip_momentum(below, above, qn[j, i - 1], qn[j, i], v, o) - flux)
            rest *= 1.0 - share
    if o.viscosity and all(four):
        flux -= o.viscosity * (above - below) / o.dy
    return flux, rest


def slip_momentum(below, above, q_l, q_r, v, o):
    """Momentum flux through a corner beside land: of the fluxes below and above one is that of a closed face, 0.

    It is replaced by the value that makes the vorticity of the corner 0, (above - below) / dy = (q_r - q_l) / dx,
    with a difference of twice the open flux at most.
    """
    here, side = (above, -1.0) if below == 0 else (below, 1.0)
    turn = float(np.clip(o.dy * (q_r - q_l) / o.dx, -2.0 * abs(here), 2.0 * abs(here)))
    return v * 0.5 * (here + here + side * turn)


def across_lines(p, qn, h, wet, j, i, o):
    """What the corners of face (j, i) bring: their fluxes, and the rest of upwinding where p is uneven across lines."""
    below, rest_below = corner_momentum(p, qn, h, wet, j, i, j, o)
    above, rest_above = corner_momentum(p, qn, h, wet, j + 1, i, j, o)
    squares = rest_above**2 + rest_below**2
    uneven = min((rest_above - rest_below) ** 2 / squares, 1.0) if squares > 0 else 0.0
    return (below - above + uneven * (rest_above - rest_below)) / o.dy


def face_is_open(zl, zr, dl, dr, o):
    """Whether water can pass between two water cells."""
    if o.drying is None:
        return True
    return max(zl, zr) - max(dl, dr) > o.drying


def x_sweep(z, p, qo, qn, d, o):
    """One sweep along x: new z (half a step on) and new p (a whole step on)."""
    ny = z.shape[0]
    land = np.zeros(z.shape, bool) if o.land is None else o.land
    h = z - d if o.linear_depth is None else np.full_like(z, o.linear_depth)
    h = np.where(land, 0.0, np.maximum(h, 0.0))
    wet = ~land & (h > 0.0)
    z_new, p_new = np.empty_like(z), np.empty_like(p)
    for j in range(ny):
        line(j, z, p, qo, qn, d, h, wet, land, o, z_new, p_new)
    return z_new, p_new


def line(j, z, p, qo, qn, d, h, wet, land, o, z_new, p_new):
    """Solve line j: unknowns p_0, z_0, p_1, z_1, ..., z_{nx-1}, p_nx."""
    nx = z.shape[1]
    size = 2 * nx + 1
    ab, rhs = np.zeros((5, size)), np.zeros(size)

    def put(row, column, value):
        ab[2 + row - column, column] += value

    for i in range(nx):
        row = 2 * i + 1
        flow = (qn[j + 1, i] - qn[j, i] + qo[j + 1, i] - qo[j, i]) / (2 * o.dy)
        put(row, row, 2 / o.dt)
        put(row, row - 1, -1 / (2 * o.dx))
        put(row, row + 1, 1 / (2 * o.dx))
        wetting = 0.0 if land[j, i] else at(o.rain, j, i)
        rhs[row] = 2 * z[j, i] / o.dt - (p[j, i + 1] - p[j, i]) / (2 * o.dx) - flow + wetting
    for i in range(nx + 1):
        momentum_row(j, i, z, p, qo, qn, d, h, wet, land, o, put, rhs)
    x = solve_banded((2, 2), ab, rhs)
    p_new[j], z_new[j] = x[0::2], x[1::2]


def momentum_row(j, i, z, p, qo, qn, d, h, wet, land, o, put, rhs):
    """Row of face i of line j."""
    nx = z.shape[1]
    row = 2 * i
    if i in (0, nx):
        side = (o.sides.get("west" if i == 0 else "east") or [None] * z.shape[0])[j]
        end_row(j, i, side, z, p, d, h, land, o, put, rhs)
        return
    a, b = i - 1, i
    blocked = land[j, a] or land[j, b] or o.closed(0, j, i)
    if blocked or not face_is_open(z[j, a], z[j, b], d[j, a], d[j, b], o):
        put(row, row, 1.0)
        return
    ridge, top = max(d[j, a], d[j, b]), max(z[j, a], z[j, b])
    depth_a, depth_b = h[j, a], h[j, b]
    steps = o.drying is not None
    if steps and (min(z[j, a], z[j, b]) < ridge or min(h[j, a], h[j, b]) < 2 * o.drying):
        depth_a = depth_b = top - ridge
    deep = 0.5 * (depth_a + depth_b)
    if steps and p[j, i] * (d[j, b] - d[j, a]) > 0:  # onto a higher bed: 3/2 of the smaller depth
        deep = min(deep, max(1.5 * min(depth_a, depth_b), top - ridge))
    gravity = o.g * deep / o.dx
    put(row, row, 1 / o.dt)
    rhs[row] += p[j, i] / o.dt
    q8 = (qo[j, a] + qo[j, b] + qo[j + 1, a] + qo[j + 1, b] + qn[j, a] + qn[j, b] + qn[j + 1, a] + qn[j + 1, b]) / 8
    speed = np.hypot(p[j, i], q8)
    most = 2 / (top - ridge) ** 2 if steps else np.inf  # a front rubs as the water behind it does
    put(row, row, friction(speed, depth_a, depth_b, j, a, b, o, most))
    # Behind an edge the water falls as over a weir, and by as much more as critical flow of that depth rubs away.
    over = max(top - ridge, 0.0)
    rubbed = friction(over * np.sqrt(o.g * over), depth_a, depth_b, j, a, b, o, most) * over * np.sqrt(o.g * over)
    edge = ridge - o.dx * rubbed / (o.g * over)
    for c, sign in ((a, -1.0), (b, 1.0)):
        if steps and z[j, c] < edge:
            rhs[row] -= sign * gravity * edge
        else:
            put(row, 2 * c + 1, sign * gravity)
    if steps:  # a drag once more than half of the cell behind would leave in a step
        behind = max(h[j, a] if p[j, i] > 0 else h[j, b], o.drying)
        put(row, row, 4 * max(0.0, abs(p[j, i]) * o.dt / (o.dx * behind) - 0.5) / o.dt)
    for c, sign in ((a, -1.0), (b, 1.0)):
        low, high = carried(j, c, p, h, d, o)
        put(row, 2 * c, sign * low / o.dx)
        put(row, 2 * c + 2, sign * high / o.dx)
    if o.viscosity:
        e = o.viscosity / o.dx**2
        for n in (i - 1, i + 1):
            put(row, 2 * n, -e)
        put(row, row, 2 * e)
    rhs[row] += across_lines(p, qn, h, wet, j, i, o)
    mean = lambda m: 0.5 * (at(m, j, a) + at(m, j, b))  # noqa: E731
    rhs[row] += mean(o.coriolis) * (qn[j, a] + qn[j, b] + qn[j + 1, a] + qn[j + 1, b]) / 4
    rhs[row] += mean(o.stress[0]) + 0.5 * (h[j, a] + h[j, b]) * mean(o.accel[0])


def carried(j, c, p, h, d, o):
    """Momentum that cell c passes on along the line, over the new fluxes at its low and at its high face, m s-1."""
    if not o.convection:
        return 0.0, 0.0
    least = o.drying or 0.0
    u = (p[j, c] + p[j, c + 1]) / (2 * max(h[j, c], least))
    k = blend(u * u / (o.g * max(h[j, c], least))) if o.dissipation else 0.0
    if k > 0:  # the depth under P is taken upstream as P is, but over the bed of this cell
        n = c - 1 if u > 0 else c + 1
        upstream = 0.0
        if 0 <= n < h.shape[1] and h[j, n] > 0 and not o.closed(0, j, max(c, n)):
            rise = max(d[j, c] - d[j, n], 0.0)
            upstream = max(h[j, n] - rise, 0.0)
            if upstream > h[j, c]:  # the rise takes as much again from the difference, at most half of it
                upstream -= min(rise, 0.5 * (upstream - h[j, c]))
        upstream = upstream if upstream > 0 else h[j, c]
        u = (p[j, c] + p[j, c + 1]) / (2 * max(h[j, c] + 0.5 * k * (upstream - h[j, c]), least))
    if o.drying is not None:
        u = float(np.clip(u, -o.dx / o.dt, o.dx / o.dt))
    return (u + k * abs(u)) / 2, (u - k * abs(u)) / 2


def friction(speed, depth_a, depth_b, j, a, b, o, most=np.inf):
    """Resistance over the flux, s-1: g |p| / (C^2 h^2), 1/h^2 the mean of the two cells', `most` at most."""
    s = min(0.5 * (1 / depth_a**2 + 1 / depth_b**2), most)
    if o.chezy is not None:
        return 0.5 * sum(o.g / at(o.chezy, j, c) ** 2 for c in (a, b)) * speed * s
    return 0.5 * sum(o.g * at(o.manning, j, c) ** 2 for c in (a, b)) * speed * s ** (7 / 6)


def end_row(j, i, side, z, p, d, h, land, o, put, rhs):
    """Row of a face on the boundary: a wall, a level, a flux, or waves that leave."""
    inward, c = (1.0, 0) if i == 0 else (-1.0, z.shape[1] - 1)
    row = 2 * i
    least = o.drying or 0.0
    if side is None or land[j, c]:
        put(row, row, 1.0)
        return
    kind, value = side
    if kind == "flux":
        put(row, row, 1.0)
        rhs[row] = inward * value
    elif kind == "level":
        if max(z[j, c], value) - d[j, c] <= least:
            put(row, row, 1.0)
            return
        leaves, critical = inward * p[j, i] < 0, np.cbrt(p[j, i] ** 2 / o.g)
        level = max(value, d[j, c])
        outside = level - d[j, c]
        if leaves:  # over an edge as over a weir; the bed falls from the centre to the face as uniform flow needs
            flowing = max(h[j, c], least)
            slope = friction(abs(p[j, i]), flowing, flowing, j, c, c, o) * abs(p[j, i]) / (o.g * flowing)
            bed = d[j, c] - slope * o.dx / 2
            level = max(value, bed + min(critical, h[j, c]))
            outside = np.clip(h[j, c], level - d[j, c], max(level - d[j, c], level - bed))
        depth = 0.5 * (h[j, c] + outside)
        gravity = inward * o.g * depth / (o.dx / 2)
        held = held_out(-inward * p[j, i], h[j, c], o)
        put(row, row, (1 + held) / o.dt + friction(abs(p[j, i]), depth, depth, j, c, c, o))
        put(row, 2 * c + 1, gravity)
        rhs[row] = p[j, i] / o.dt + gravity * level
        level_end_momentum(j, i, c, h[j, c] if leaves else max(level - d[j, c], critical), p, h, d, o, put)
    else:  # value is the still level plus twice the incoming elevation
        if h[j, c] <= least:
            put(row, row, 1.0)
            return
        speed = np.sqrt(o.g * h[j, c])
        theta = min(1.0, 0.5 + o.dx / (2 * speed * o.dt))
        put(row, row, theta + held_out(-inward * p[j, i], h[j, c], o))
        put(row, 2 * c + 1, inward * speed)
        rhs[row] = inward * speed * max(value, d[j, c]) - (1 - theta) * p[j, i]


def held_out(leaves, depth, o):
    """Drag on what leaves a cell once that is half of its water in a step, over the new flux."""
    if o.drying is None:
        return 0.0
    return 4 * max(leaves * o.dt / (o.dx * max(depth, o.drying)) - 0.5, 0.0)


def level_end_momentum(j, i, c, depth, p, h, d, o, put):
    """What passes the face i of a level, `depth` deep, less what cell c passes on, over half a cell."""
    if not o.convection:
        return
    outward = -1.0 if i == 0 else 1.0
    u = p[j, i] / max(depth, o.drying or 0.0)
    if o.drying is not None:
        u = float(np.clip(u, -o.dx / o.dt, o.dx / o.dt))
    low, high = carried(j, c, p, h, d, o)
    if outward * u <= 0 and outward * (low + high - u) >= 0:  # what enters brings no more than the cell passes on
        return
    put(2 * i, 2 * i, outward * u / (o.dx / 2))
    put(2 * i, 2 * c, -outward * low / (o.dx / 2))
    put(2 * i, 2 * c + 2, -outward * high / (o.dx / 2))


def step(z, p, qo, qn, d, o, o_half=None):
    """z^n, p^n, q^{n-1/2}, q^{n+1/2} -> z^{n+1}, p^{n+1}, q^{n+1/2}, q^{n+3/2}.

    `o_half` are the options of the y sweep where they differ (values of series half a step later).
    """
    z_half, p_new = x_sweep(z, p, qo, qn, d, o)
    z_new, q_new = x_sweep(z_half.T, qn.T, p.T, p_new.T, d.T, transposed(o_half or o))
    return z_new.T, p_new, qn, q_new.T


def half_step_start(z, p, q, d, o):
    """q at -dt/2 and +dt/2 from q at 0: half an explicit step of the surface slope and the forces each way."""
    land = np.zeros(z.shape, bool) if o.land is None else o.land
    h = z - d if o.linear_depth is None else np.full_like(z, o.linear_depth)
    h = np.where(land, 0.0, np.maximum(h, 0.0))
    before, after = q.copy(), q.copy()
    for j in range(1, z.shape[0]):
        for i in range(z.shape[1]):
            blocked = land[j - 1, i] or land[j, i] or o.closed(1, j, i)
            if blocked or not face_is_open(z[j - 1, i], z[j, i], d[j - 1, i], d[j, i], o):
                before[j, i] = after[j, i] = 0.0
                continue
            if o.drying is not None and min(z[j, i], z[j - 1, i]) < max(d[j, i], d[j - 1, i]):
                continue
            mean = lambda m: 0.5 * (at(m, j - 1, i) + at(m, j, i))  # noqa: B023, E731
            rate = -o.g * mean(h) * (z[j, i] - z[j - 1, i]) / o.dy
            rate -= mean(o.coriolis) * (p[j - 1, i] + p[j - 1, i + 1] + p[j, i] + p[j, i + 1]) / 4
            rate += mean(o.stress[1]) + mean(h) * mean(o.accel[1])
            before[j, i] -= 0.5 * o.dt * rate
            after[j, i] += 0.5 * o.dt * rate
    return before, after
