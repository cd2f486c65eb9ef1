"""MPDATA in plain NumPy: the 17 stages of one step as they stand in the literature, on fields with ghost points.

Takes nothing from the package. Sources: P. K. Smolarkiewicz and L. G. Margolin, J. Comput. Phys. 140, 459-480 (1998),
doi:10.1006/jcph.1998.5901 (donor cell, pseudo velocities, limiter); K. A. Rojek et al., Concurrency Computat.: Pract.
Exper. 27, 937-957 (2015), doi:10.1002/cpe.3417 (the infinite gauge of its figures 2 and 3, and the stages).

Arrays are [k, j, i]. v = (v1, v2, v3) lie on faces, one more than points along their own axis; face i is left of
point i. The stages work on arrays with H ghost points an end, in which face arrays have the indices of points.
"""

import numpy as np

H = 7  # ghost points: more than a pass with third-order terms and the limiter spoils
TINY = 1e-300


def at(a, axis, m):
    """The value m points (or faces) further along an axis."""
    return np.roll(a, -m, axis)


# -- stages 1 to 4: the donor cell ----------------------------------------------------------------


def donor(left, right, u):
    return np.maximum(0.0, u) * left + np.minimum(0.0, u) * right


def donor_flux(x, u, axis):
    """f1, f2, f3: through the left face of each point."""
    return donor(at(x, axis, -1), x, u)


def with_divergence_term(u, h, axes):
    """U - U div(U)/(2 r): the term that makes the scheme second order in divergent flow.

    Smolarkiewicz, J. Comput. Phys. 54, 325-362 (1984), doi:10.1016/0021-9991(84)90121-9, has -U div(U)/(2 r) in the
    pseudo velocity. Here the donor cell has it, which the limiter does not act on. Not at the faces of open sides.
    """
    div = sum(at(u[axis], axis, 1) - u[axis] for axis in range(3))
    return [
        u[axis] - axes.passable(axis) * u[axis] * (div + at(div, axis, -1)) / (2 * (h + at(h, axis, -1)))
        for axis in range(3)
    ]


def updated(x, f, h):
    """xP and x_new."""
    net = sum(at(f[axis], axis, 1) - f[axis] for axis in range(3))
    return x - net / h


# -- stages 5 to 7: the pseudo velocities ---------------------------------------------------------


def ratio(pairs, gauge):
    """Sum of n plus minus sum of n minus, over n in the gauge of infinity, over the sum of all magnitudes else."""
    plus, minus = sum(pairs[0]), sum(pairs[1])
    if gauge:
        return (plus - minus) / (2 * len(pairs[0]))
    return (plus - minus) / np.maximum(plus + minus, TINY)


def four_faces(u, along, axis):
    """The sum of the four faces of `along` that surround a face of `axis`."""
    both = u[along] + at(u[along], along, 1)
    return both + at(both, axis, -1)


def pseudo_velocity(x, u, h, axis, gauge, third):
    """V1, V2, V3. A flux in the gauge of infinity."""
    a = x if gauge else np.abs(x)
    left, others = at(a, axis, -1), [other for other in range(3) if other != axis]
    U, r = u[axis], 0.5 * (h + at(h, axis, -1))
    V = (np.abs(U) - U**2 / r) * ratio(([a], [left]), gauge)
    for other in others:
        S = four_faces(u, other, axis)
        up = [at(a, other, 1), at(left, other, 1)]
        down = [at(a, other, -1), at(left, other, -1)]
        V = V - U / (8 * r) * S * ratio((up, down), gauge)
    return V + third_order(a, u, U, r, axis, others, gauge) if third else V


def third_order(a, u, U, r, axis, others, gauge):
    """The terms that leave an error of third order in a uniform flow."""
    left = at(a, axis, -1)
    along = ratio(([at(a, axis, 1), at(a, axis, -2)], [a, left]), gauge)
    T = -(U - 3 * np.abs(U) * U / r + 2 * U**3 / r**2) / 3 * along
    for other in others:
        plus = [at(a, other, 1), at(left, other, -1)]
        minus = [at(left, other, 1), at(a, other, -1)]
        T = T + (np.abs(U) - 2 * U**2 / r) * four_faces(u, other, axis) / (4 * r) * ratio((plus, minus), gauge)
    m, n = others
    plus = [at(at(p, m, s), n, s) for s in (1, -1) for p in (a, left)]
    minus = [at(at(p, m, s), n, -s) for s in (1, -1) for p in (a, left)]
    both = four_faces(u, m, axis) * four_faces(u, n, axis)
    return T - U * both / (24 * r**2) * ratio((plus, minus), gauge)


# -- stages 8 to 13: the limiter ------------------------------------------------------------------


def extrema(x, first):
    """Largest and smallest value of a point and its six neighbours, at the start of the step and now."""
    values = [at(a, axis, m) for a in (first, x) for axis in range(3) for m in (-1, 0, 1)]
    return np.max(values, axis=0), np.min(values, axis=0)


def beta_up(x, largest, f, h):
    """cp: the part of what flows in that a point may take."""
    inflow = sum(np.maximum(f[a], 0) - np.minimum(at(f[a], a, 1), 0) for a in range(3))
    room = (largest - x) * h
    return room / np.maximum(np.maximum(room, inflow), TINY)


def beta_down(x, smallest, f, h):
    """cn: the part of what flows out that a point may give."""
    outflow = sum(np.maximum(at(f[a], a, 1), 0) - np.minimum(f[a], 0) for a in range(3))
    room = (x - smallest) * h
    return room / np.maximum(np.maximum(room, outflow), TINY)


def limited(V, f, cp, cn, axis):
    """V1lim, V2lim, V3lim; f is the flux that V makes."""
    along = np.minimum(cp, at(cn, axis, -1))
    against = np.minimum(at(cp, axis, -1), cn)
    return V * np.where(f > 0, along, against)


# -- ghost points ---------------------------------------------------------------------------------


def point_at(m, n, side, odd):
    """Index, factor for x, factor for other velocities, of the point that stands for point m of an axis of n."""
    if n == 1:
        return 0, 1.0, 1.0
    if side == "periodic":
        return m % n, 1.0, 1.0
    if side == "wall":
        t = m % (2 * n - 2)
        return (t, 1.0, 1.0) if t < n else (2 * n - 2 - t, -1.0 if odd else 1.0, 1.0)
    return min(max(m, 0), n - 1), 1.0, 1.0 if 0 <= m < n else 0.0


def face_at(m, n, side):
    """Index and factor of the face that stands for face m."""
    if n == 1:
        return 0, 0.0
    if side == "periodic":
        return m % n, 1.0
    if side == "wall":
        t = (m - 1) % (2 * n - 2)
        return (t + 1, 1.0) if t < n - 1 else (2 * n - 2 - t, -1.0)
    return min(max(m, 0), n), 1.0


def padded(a, factors):
    """a with its ghost points; factors : (index, factor) of each place along each axis."""
    for axis, table in enumerate(factors):
        a = np.take(a, [index for index, _ in table], axis)
        a = a * np.array([factor for _, factor in table]).reshape([-1 if axis == b else 1 for b in range(3)])
    return a


class Axes:
    """The ghost points of a problem. side : "periodic", "wall", "open" or ("open", low, high) with values outside."""

    def __init__(self, shape, sides, odd):
        self.shape = shape
        self.kinds = [side if isinstance(side, str) else side[0] for side in sides]
        self.outside = [
            (None, None) if isinstance(side, str) or n == 1 else side[1:] for n, side in zip(shape, sides, strict=True)
        ]
        self.places = [
            [point_at(m, n, kind, o) for m in range(-H, n + H)]
            for n, kind, o in zip(shape, self.kinds, odd, strict=True)
        ]

    def field(self, x):
        """x with ghost points: axis after axis, the last one first, so that values outside are mirrored too."""
        for axis in (2, 1, 0):
            tables = [[(m, 1.0) for m in range(n)] for n in x.shape]
            tables[axis] = [(i, f) for i, f, _ in self.places[axis]]
            x = np.moveaxis(padded(x, tables), axis, 0)
            low, high = self.outside[axis]
            if low is not None:
                x[:H] = low
            if high is not None:
                x[H + self.shape[axis] :] = high
            x = np.moveaxis(x, 0, axis)
        return x

    def jacobian(self, h):
        return padded(h, [[(i, 1.0) for i, _, _ in table] for table in self.places])

    def velocity(self, v, axis):
        tables = [[(i, f) for i, _, f in table] for table in self.places]
        n = self.shape[axis]
        tables[axis] = [face_at(m, n, self.kinds[axis]) for m in range(-H, n + H)]
        return padded(v, tables)

    def passable(self, axis):
        """0 at the faces of open sides, 1 elsewhere."""
        n, one = self.shape[axis], np.ones(self.shape[axis] + 2 * H)
        if self.kinds[axis] == "open":
            one[H] = one[H + n] = 0.0
        return one.reshape([-1 if axis == b else 1 for b in range(3)])

    def close(self, V):
        """No pseudo velocity through an open side."""
        return [V[axis] * self.passable(axis) for axis in range(3)]

    def inner(self, a, face=None):
        return a[tuple(slice(H, H + n + (axis == face)) for axis, n in enumerate(self.shape))]


def mpdata(
    x, v, h=None, *, sides=("periodic",) * 3, passes=2, gauge=True, fct=False, third=False, divergent=False,
    odd=(False,) * 3,
):  # fmt: skip
    """One step: x after it. x, h : (nz, ny, nx); v = (v1, v2, v3) along x, y, z; sides and odd are those of z, y, x."""
    axes = Axes(x.shape, sides, odd)
    h = axes.jacobian(np.ones(x.shape) if h is None else h)
    u = [axes.velocity(v[2 - axis], axis) for axis in range(3)]
    u = with_divergence_term(u, h, axes) if divergent else u
    first = axes.field(x)
    x = updated(first, [donor_flux(first, u[axis], axis) for axis in range(3)], h)
    for number in range(1, passes):
        V = axes.close([pseudo_velocity(x, u, h, axis, gauge, third) for axis in range(3)])
        f, free = V if gauge else [donor_flux(x, V[axis], axis) for axis in range(3)], V
        if fct:
            largest, smallest = extrema(x, first)
            cp, cn = beta_up(x, largest, f, h), beta_down(x, smallest, f, h)
            V = [limited(V[axis], f[axis], cp, cn, axis) for axis in range(3)]
        f = V if gauge else [donor_flux(x, V[axis], axis) for axis in range(3)]
        x = updated(x, f, h)
        if number + 1 < passes:
            x = axes.field(axes.inner(x))
            u = [axes.velocity(axes.inner(free[axis], axis), axis) for axis in range(3)]
    return axes.inner(x).copy()
