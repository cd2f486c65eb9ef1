"""Plain NumPy float64 reference of the explicit shallow-water model.

Every formula is written once, along the last axis of padded arrays (2 ghost cells a side); the y
direction runs the same code on transposed data with the two momenta swapped. Nothing here is fast,
and nothing is shared with the package: the tests compare the two.

States are arrays ``q`` of shape (3, ny, nx) holding w (surface elevation, m), hu and hv (m2 s-1).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

GHOSTS = 2
EPS = 2.0**-52


def minmod(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Smallest modulus if all signs agree, else 0."""
    same = (np.sign(a) == np.sign(b)) & (np.sign(b) == np.sign(c))
    smallest = np.minimum(np.minimum(np.abs(a), np.abs(b)), np.abs(c))
    return np.where(same, np.sign(a) * smallest, 0.0)


def half_slope(q: np.ndarray, theta: float) -> np.ndarray:
    """Half of the limited difference across each cell but the first and the last of the last axis."""
    left = q[..., 1:-1] - q[..., :-2]
    right = q[..., 2:] - q[..., 1:-1]
    return 0.5 * minmod(theta * left, 0.5 * (left + right), theta * right)


def velocity(h: np.ndarray, hu: np.ndarray, kappa: float) -> np.ndarray:
    """Desingularised velocity, exactly hu / h for h >= kappa and tending to 0 with h."""
    h = np.maximum(h, 0.0)
    h4 = h**4
    below = np.sqrt(2.0) * h * hu / np.sqrt(h4 + max(kappa, 1e-30) ** 4)
    return np.where(h >= kappa, hu / np.maximum(h, max(kappa, 1e-300)), below)


def speed_left(speed, a):
    """s of s (1 + a s) = speed by Newton's method from above, where the parabola is convex: what friction leaves."""
    s = np.array(speed, dtype=np.float64)
    for _ in range(60):
        s -= (s + a * s**2 - speed) / (1.0 + 2.0 * a * s)
    return s


def wave_speeds(hl: np.ndarray, ul: np.ndarray, hr: np.ndarray, ur: np.ndarray, g: float):
    """One-sided local speeds a+ >= 0 and a- <= 0 of the central-upwind flux."""
    cl, cr = np.sqrt(g * hl), np.sqrt(g * hr)
    plus = np.maximum(0.0, np.maximum(ul + cl, ur + cr))
    minus = np.minimum(0.0, np.minimum(ul - cl, ur - cr))
    return plus, minus


def blend(plus: np.ndarray, minus: np.ndarray, fl, fr, jump) -> np.ndarray:
    """Central-upwind flux [a+ f(l) - a- f(r) + a+ a- jump] / (a+ - a-), 0 where a+ = a-."""
    width = plus - minus
    wet = width > 1e-20
    return np.where(wet, (plus * fl - minus * fr + plus * minus * jump) / np.where(wet, width, 1.0), 0.0)


def mirrored(k: int, cells: int) -> int:
    """Corner that stands for corner k of a line of cells between walls: they repeat their mirror image."""
    k %= 2 * cells
    return min(k, 2 * cells - k)


@dataclass
class ShallowWaterOracle:
    """The model on one grid.

    Parameters
    ----------
    bed : (ny + 1, nx + 1), m
        Bed elevation at the corners.
    dx, dy : float, m
    sides : dict
        ``"wall"``, ``"periodic"`` or ``"outflow"`` for west, east, south, north.
    wet_dry : str
        ``"hydrostatic"`` or ``"kurganov-petrova"``.
    manning : float or (ny, nx), s m-1/3
    films : bool
        Hydrostatic only: treat thin films on rough slopes (a wedge of water needs a neighbour that
        stands against it; a drop at a face pulls on the water above it).
    """

    bed: np.ndarray
    dx: float
    dy: float
    wet_dry: str = "hydrostatic"
    scheme: str = "rk2"
    g: float = 9.81
    theta: float = 1.3
    kappa: float = 0.01
    cfl: float = 0.25
    max_dt: float = np.inf
    manning: float | np.ndarray = 0.0
    sides: dict[str, str] = field(default_factory=dict)
    time: float = 0.0
    steps: int = 0
    clamped: float = 0.0
    films: bool = True

    def __post_init__(self) -> None:
        self.sides = {s: self.sides.get(s, "wall") for s in ("west", "east", "south", "north")}
        self.bed = self.pad_bed(np.asarray(self.bed, dtype=np.float64))
        self.face_x = 0.5 * (self.bed[:-1, :] + self.bed[1:, :])
        self.face_y = 0.5 * (self.bed[:, :-1] + self.bed[:, 1:])
        self.centre = 0.5 * (self.face_x[:, :-1] + self.face_x[:, 1:])

    @property
    def bed_centre(self) -> np.ndarray:
        """Bed at the interior centres, (ny, nx), m: the mean of the four corners."""
        return self.centre[2:-2, 2:-2]

    def pad_bed(self, bed: np.ndarray) -> np.ndarray:
        """Corner bed with two ghost corners a side: mirrored, periodic or extended."""
        for axis, sides in ((1, ("west", "east")), (0, ("south", "north"))):
            low, high = (self.sides[s] for s in sides)
            bed = np.moveaxis(bed, axis, -1)
            n = bed.shape[-1]
            pick = {
                "wall": ([mirrored(-2, n - 1), 1], [n - 2, mirrored(n + 1, n - 1)]),
                "periodic": ([(n - 3) % (n - 1), n - 2], [1, 2 % (n - 1)]),
                "outflow": ([0, 0], [n - 1, n - 1]),
            }
            bed = np.concatenate([bed[..., pick[low][0]], bed, bed[..., pick[high][1]]], axis=-1)
            bed = np.moveaxis(bed, -1, axis)
        return bed

    def pad(self, q: np.ndarray) -> np.ndarray:
        """State with two ghost cells a side, (3, ny + 4, nx + 4)."""
        for axis, normal, sides in ((2, 1, ("west", "east")), (1, 2, ("south", "north"))):
            q = np.moveaxis(q, axis, -1)
            n = q.shape[-1]
            pick = {
                "wall": ([min(1, n - 1), 0], [n - 1, max(n - 2, 0)]),
                "periodic": ([(-2) % n, n - 1], [0, 1 % n]),
                "outflow": ([0, 0], [n - 1, n - 1]),
            }
            ghosts = []
            for end, side in enumerate(sides):
                kind = self.sides[side]
                ghost = q[..., pick[kind][end]].copy()
                if kind == "wall":
                    ghost[normal] *= -1.0
                ghosts.append(ghost)
            q = np.moveaxis(np.concatenate([ghosts[0], q, ghosts[1]], axis=-1), -1, axis)
        return q

    # One direction: everything below works along the last axis of arrays with 2 ghosts in it.

    def sweep_kurganov_petrova(self, w, hn, ht, face, centre):
        """(dw, dhn, dht) times the cell size, and the largest wave speed; spec 2.4-2.8."""
        g, kappa = self.g, self.kappa
        s = half_slope(w, self.theta)
        wc, lo, hi = w[..., 1:-1], face[..., 1:-2], face[..., 2:-1]
        w_hi, w_lo = wc + s, wc - s
        fix_hi = w_hi < hi
        fix_lo = ~fix_hi & (w_lo < lo)
        w_hi, w_lo = (
            np.where(fix_hi, hi, np.where(fix_lo, 2 * wc - lo, w_hi)),
            np.where(fix_hi, 2 * wc - hi, np.where(fix_lo, lo, w_lo)),
        )
        h_hi, h_lo = np.maximum(w_hi - hi, 0.0), np.maximum(w_lo - lo, 0.0)
        sn, st = half_slope(hn, self.theta), half_slope(ht, self.theta)
        u_hi, u_lo = velocity(h_hi, hn[..., 1:-1] + sn, kappa), velocity(h_lo, hn[..., 1:-1] - sn, kappa)
        v_hi, v_lo = velocity(h_hi, ht[..., 1:-1] + st, kappa), velocity(h_lo, ht[..., 1:-1] - st, kappa)
        hl, ul, vl = h_hi[..., :-1], u_hi[..., :-1], v_hi[..., :-1]
        hr, ur, vr = h_lo[..., 1:], u_lo[..., 1:], v_lo[..., 1:]
        plus, minus = wave_speeds(hl, ul, hr, ur, g)
        ql, qr = hl * ul, hr * ur
        f1 = blend(plus, minus, ql, qr, w_lo[..., 1:] - w_hi[..., :-1])
        f2 = blend(plus, minus, ql * ul + 0.5 * g * hl**2, qr * ur + 0.5 * g * hr**2, qr - ql)
        f3 = blend(plus, minus, ql * vl, qr * vr, hr * vr - hl * vl)
        source = -g * (0.5 * (h_hi + h_lo) * (hi - lo))[..., 1:-1]
        rate = -np.diff(f1), -np.diff(f2) + source, -np.diff(f3)
        return rate, max(plus.max(), -minus.min())

    def sweep_hydrostatic(self, w, hn, ht, face, centre):
        """(dw, dhn, dht) times the cell size, and the largest wave speed; the default wet/dry scheme."""
        g, kappa, theta = self.g, self.kappa, self.theta
        hbar_all = np.maximum(w - centre, 0.0)
        u, v = velocity(hbar_all, hn, kappa), velocity(hbar_all, ht, kappa)
        s, su, sv = half_slope(w, theta), half_slope(u, theta), half_slope(v, theta)
        w_all = w
        w, u, v, hbar = w[..., 1:-1], u[..., 1:-1], v[..., 1:-1], hbar_all[..., 1:-1]
        lo, hi = face[..., 1:-2], face[..., 2:-1]
        dry = 1e-3 * kappa + 8 * EPS * np.abs(w)
        shore = (np.minimum(w + s - hi, w - s - lo) < 0.0) | (hbar < dry)
        excess = np.clip(w - hi, 0.0, 2 * hbar) - hbar
        if self.films:
            behind = np.clip(w_all[..., :-2] - w + hbar, 0.0, hbar)
            ahead = np.clip(w_all[..., 2:] - w + hbar, 0.0, hbar)
            excess = np.clip(excess, -behind, ahead)
        excess = np.where(hbar < dry, 0.0, excess)
        h_hi, h_lo = hbar + excess, hbar - excess
        s, su, sv = (np.where(shore, 0.0, x) for x in (s, su, sv))
        w_hi, w_lo = w + s, w - s
        z_hi, z_lo = np.where(shore, w - h_hi, hi), np.where(shore, w - h_lo, lo)
        to_left, to_right, mass, tangential, speed = self.hydrostatic_flux(
            (w_hi[..., :-1], z_hi[..., :-1], (u + su)[..., :-1], (v + sv)[..., :-1]),
            (w_lo[..., 1:], z_lo[..., 1:], (u - su)[..., 1:], (v - sv)[..., 1:]),
        )
        source = -(g * hbar * (w_hi - w_lo))[..., 1:-1]
        rate = -np.diff(mass), -(to_left[..., 1:] - to_right[..., :-1]) + source, -np.diff(tangential)
        return rate, speed

    def hydrostatic_flux(self, left, right):
        """Normal momentum flux less the own-side pressure for the left and the right cell, mass, tangential, speed."""
        (wl, zl, ul, vl), (wr, zr, ur, vr) = left, right
        g = self.g
        z = np.maximum(zl, zr)
        el, er = np.maximum(wl, z), np.maximum(wr, z)
        hl, hr = el - z, er - z
        plus, minus = wave_speeds(hl, ul, hr, ur, g)
        width = plus - minus
        wet = width > 1e-20
        inverse = np.where(wet, 1.0 / np.where(wet, width, 1.0), 0.0)
        ql, qr = hl * ul, hr * ur
        mass = blend(plus, minus, ql, qr, er - el)
        common = blend(plus, minus, ql * ul, qr * ur, qr - ql)
        pressure = 0.5 * g * (el - er) * (hl + hr)
        tangential = blend(plus, minus, ql * vl, qr * vr, hr * vr - hl * vl)
        drop_l = g * (wl - zl) * np.maximum(zl - wr, 0.0) if self.films else 0.0
        drop_r = g * (wr - zr) * np.maximum(zr - wl, 0.0) if self.films else 0.0
        return (
            common + minus * pressure * inverse - drop_l,
            common + plus * pressure * inverse - drop_r,
            mass,
            tangential,
            max(plus.max(), -minus.min()),
        )

    def residual(self, q: np.ndarray) -> tuple[np.ndarray, float]:
        """dQ/dt without friction, (3, ny, nx), and min(dx / a_x, dy / a_y), s."""
        sweep = {"hydrostatic": self.sweep_hydrostatic, "kurganov-petrova": self.sweep_kurganov_petrova}[self.wet_dry]
        w, hu, hv = self.pad(q)
        rows, cols = slice(2, -2), slice(2, -2)
        x, ax = sweep(w[rows], hu[rows], hv[rows], self.face_x[rows], self.centre[rows])
        y, ay = sweep(w[:, cols].T, hv[:, cols].T, hu[:, cols].T, self.face_y[:, cols].T, self.centre[:, cols].T)
        x = [rate / self.dx for rate in x]
        y = [rate.T / self.dy for rate in y]
        rate = np.stack([x[0] + y[0], x[1] + y[2], x[2] + y[1]])
        tiny = 1e-300
        return rate, min(self.dx / max(ax, tiny), self.dy / max(ay, tiny))

    def reset(self, q: np.ndarray) -> np.ndarray:
        """State whose momentum is h u with the desingularised velocity (cells with h < kappa; hydrostatic only)."""
        if self.wet_dry != "hydrostatic":
            return q
        h = np.maximum(q[0] - self.bed_centre, 0.0)
        thin = h < self.kappa
        return np.stack([q[0], *(np.where(thin, h * velocity(h, m, self.kappa), m) for m in q[1:])])

    def friction(self, q: np.ndarray) -> np.ndarray:
        """a of Manning's friction a |U| U of the unit discharge U, (ny, nx), m-2: g n^2 / max(h, kappa)^(7/3)."""
        return self.g * np.asarray(self.manning) ** 2 * np.maximum(self.depth(q), self.kappa) ** (-7.0 / 3.0)

    def stage(self, base: np.ndarray, rate: np.ndarray, dt: float) -> np.ndarray:
        """U of U (1 + dt a |U|) = base + dt rate, a by the new depth, with the surface held at or above the bed."""
        new = base + dt * rate
        a = dt * self.friction(new)
        new[1:] /= 1.0 + a * speed_left(np.hypot(new[1], new[2]), a)
        low = self.bed_centre - new[0]
        self.clamped = max(self.clamped, float(low.max()))
        new[0] = np.maximum(new[0], self.bed_centre)
        return new

    def step(self, q: np.ndarray, until: float = np.inf, fixed_dt: float | None = None) -> np.ndarray:
        """State one step later; dt by the CFL rule, shortened to land on `until`."""
        rate, limit = self.residual(q)
        dt = min(self.cfl * limit, self.max_dt) if fixed_dt is None else fixed_dt
        last = self.time + dt >= until
        dt = until - self.time if last else dt
        base = self.reset(q)
        new = self.stage(base, rate, dt)
        if self.scheme == "rk2":
            rate, _ = self.residual(new)
            base = self.reset(new)
            new = self.stage(0.5 * (q + base), rate, 0.5 * dt)
        self.time = until if last else self.time + dt
        self.steps += 1
        return new

    def run(self, q: np.ndarray, until: float, fixed_dt: float | None = None) -> np.ndarray:
        """State at `until`, s."""
        q = np.array(q, dtype=np.float64)
        while self.time < until:
            q = self.step(q, until, fixed_dt)
        return q

    def at_rest(self, surface: float | np.ndarray) -> np.ndarray:
        """Still water at `surface`, dry where the bed is higher, (3, ny, nx)."""
        w = np.maximum(surface, self.bed_centre)
        return np.stack([w, np.zeros_like(w), np.zeros_like(w)])

    def depth(self, q: np.ndarray) -> np.ndarray:
        """Depth, (ny, nx), m."""
        return q[0] - self.bed_centre


@dataclass
class DepthOracle(ShallowWaterOracle):
    """The same with the depth h as unknown, in any precision: states are (h, hu, hv), and nothing is large and cancels.

    Surfaces are compared by differences of depth plus differences of the bed. A face has y, the surface over its bed,
    and h, the depth, on either side.
    """

    real: type = np.float64

    def residual(self, q):
        """See `ShallowWaterOracle.residual`."""
        sweep = {"hydrostatic": self.depth_hydrostatic, "kurganov-petrova": self.depth_kurganov_petrova}[self.wet_dry]
        half = [np.diff(self.face_x, axis=1) / 2, np.diff(self.face_y, axis=0) / 2]
        half_x, half_y = (np.asarray(one, self.real) for one in half)
        h, hu, hv = self.pad(np.asarray(q, self.real))
        rows, cols = slice(2, -2), slice(2, -2)
        x, ax = sweep(h[rows], hu[rows], hv[rows], half_x[rows])
        y, ay = sweep(h[:, cols].T, hv[:, cols].T, hu[:, cols].T, half_y[:, cols].T)
        x = [rate / self.real(self.dx) for rate in x]
        y = [rate.T / self.real(self.dy) for rate in y]
        tiny = 1e-30
        limit = min(self.dx / max(float(ax), tiny), self.dy / max(float(ay), tiny))
        return np.stack([x[0] + y[0], x[1] + y[2], x[2] + y[1]]), limit

    def slopes(self, h, t):
        """Half slopes of the surface and its differences to both sides; t : half the rise of the bed across a cell."""
        d = np.diff(h) + (t[..., :-1] + t[..., 1:])
        low, high = d[..., :-1], d[..., 1:]
        theta, half = self.real(self.theta), self.real(0.5)
        return half * minmod(theta * low, half * (low + high), theta * high).astype(self.real), low, high

    def depth_hydrostatic(self, h, hn, ht, t):
        """As `sweep_hydrostatic`."""
        s, low, high = self.slopes(h, t)
        u, v = velocity(h, hn, self.kappa).astype(self.real), velocity(h, ht, self.kappa).astype(self.real)
        su, sv = (half_slope(x, self.theta).astype(self.real) for x in (u, v))
        h, u, v, t = (x[..., 1:-1] for x in (h, u, v, t))
        mean = np.maximum(h, 0)
        dry = mean < 1e-3 * self.kappa
        shore = (np.minimum(h + (s - t), h - (s - t)) < 0) | dry
        excess = np.clip(h - t, 0, 2 * mean) - mean
        excess = np.where(dry, 0, np.clip(excess, -np.clip(mean - low, 0, mean), np.clip(mean + high, 0, mean)))
        s, su, sv = (np.where(shore, 0, one) for one in (s, su, sv))
        y_hi, y_lo = h + (s - t), h - (s - t)
        h_hi, h_lo = np.where(shore, mean + excess, y_hi), np.where(shore, mean - excess, y_lo)
        return self.depth_rates(
            (y_hi[..., :-1], h_hi[..., :-1], (u + su)[..., :-1], (v + sv)[..., :-1]),
            (y_lo[..., 1:], h_lo[..., 1:], (u - su)[..., 1:], (v - sv)[..., 1:]),
            self.real(self.g) * mean * (s + s),
        )

    def depth_kurganov_petrova(self, h, hn, ht, t):
        """As `sweep_kurganov_petrova`: where a face would be dry, all water stands at the other one."""
        s, _, _ = self.slopes(h, t)
        sn, st = (half_slope(x, self.theta).astype(self.real) for x in (hn, ht))
        h, hn, ht, t = (x[..., 1:-1] for x in (h, hn, ht, t))
        mean = np.maximum(h, 0)
        cut_hi = h + (s - t) < 0
        cut_lo = ~cut_hi & (h - (s - t) < 0)
        h_hi = np.where(cut_hi, 0, np.where(cut_lo, 2 * mean, h + (s - t)))
        h_lo = np.where(cut_hi, 2 * mean, np.where(cut_lo, 0, h - (s - t)))
        u_hi, u_lo = velocity(h_hi, hn + sn, self.kappa), velocity(h_lo, hn - sn, self.kappa)
        v_hi, v_lo = velocity(h_hi, ht + st, self.kappa), velocity(h_lo, ht - st, self.kappa)
        return self.depth_rates(
            (h_hi[..., :-1], h_hi[..., :-1], u_hi[..., :-1], v_hi[..., :-1]),
            (h_lo[..., 1:], h_lo[..., 1:], u_lo[..., 1:], v_lo[..., 1:]),
            self.real(self.g) * mean * ((h_hi - h_lo) + 2 * t),
        )

    def depth_rates(self, left, right, source):
        """(dh, dhn, dht) times the cell size, and the largest wave speed, from both sides of all faces."""
        (yl, dl, ul, vl), (yr, dr, ur, vr) = left, right
        g, films = self.real(self.g), self.films and self.wet_dry == "hydrostatic"
        zl, zr = yl - dl, yr - dr
        hl, hr = np.clip(yl - zr, 0, dl), np.clip(yr - zl, 0, dr)
        plus, minus = wave_speeds(hl, ul, hr, ur, g)
        width = plus - minus
        inverse = np.where(width > 1e-20, 1 / np.where(width > 1e-20, width, 1), 0).astype(self.real)
        mass = blend(plus, minus, hl * ul, hr * ur, hr - hl)
        common = blend(plus, minus, hl * ul * ul, hr * ur * ur, hr * ur - hl * ul)
        pressure = self.real(0.5) * g * (hl - hr) * (hl + hr) * inverse
        along = blend(plus, minus, hl * ul * vl, hr * ur * vr, hr * vr - hl * vl)
        drop_l = g * dl * np.maximum(zl - yr, 0) if films else 0
        drop_r = g * dr * np.maximum(zr - yl, 0) if films else 0
        to_left, to_right = common + minus * pressure - drop_l, common + plus * pressure - drop_r
        rates = -np.diff(mass), -(to_left[..., 1:] - to_right[..., :-1]) - source[..., 1:-1], -np.diff(along)
        return rates, max(plus.max(), -minus.min())

    def reset(self, q):
        """See `ShallowWaterOracle.reset`."""
        if self.wet_dry != "hydrostatic":
            return q
        h = np.maximum(q[0], 0)
        return np.stack([q[0], *(np.where(h < self.kappa, h * velocity(h, m, self.kappa), m) for m in q[1:])])

    def stage(self, base, rate, dt):
        """See `ShallowWaterOracle.stage`; a depth below zero stays, and is noted."""
        new = (base + self.real(dt) * rate).astype(self.real)
        a = dt * self.friction(new)
        new[1:] /= (1 + a * speed_left(np.hypot(new[1], new[2]), a)).astype(self.real)
        self.clamped = max(self.clamped, float(-new[0].min()))
        return new

    def run(self, q, until, fixed_dt=None):
        """State at `until`, s."""
        q = np.asarray(q, self.real)
        while self.time < until:
            q = self.step(q, until, fixed_dt)
        return q

    def depth(self, q):
        """Depth, (ny, nx), m."""
        return q[0]
