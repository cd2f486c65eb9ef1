"""Wavemaker boundary: a flux inlet, or a piston with small displacements.

The total potential is the potential of the model plus a known potential a, which is harmonic, has no flow through the
bed and has the velocity U(t) n at the side, uniform over the depth. Its contribution to the surface equations is, on
z = eta::

    eta_t  += a_z - grad eta . grad a
    phi~_t -= a_t + grad phi~ . grad a + (|grad a|^2 + a_z^2) / 2

With the distance s from the side and zeta = z + h over a height of 4 h, in which the profile is antisymmetric about the
middle::

    a = -U sum f_n / k_n exp(-k_n s) cos(k_n zeta),   k_n = n pi / (4 h),   n odd

It decays within some depths from the side, beyond which the bed may vary.

A piston at a distance X from the side displaces the volume X (h + eta) per width. To second order the flux through
the side is the rate of change of this volume, with zero mean for a piston that returns to its initial position::

    U (h + eta) = X' (h + eta) + X eta_t

Here eta_t contains the part U a_z of the piston itself, so that the relation is solved for U. The velocity stays
uniform over the depth; the second-order part of its profile is not represented. The acceleration in a_t is X'', without
the derivative of the second-order part of U: an explicit difference of eta_t is unstable for X above a quarter of the
depth. A sinusoidal piston thus generates free second harmonics that are too high (by half for waves 0.06 m high in
0.45 m of water). Source: H. A. Schaffer, Ocean Eng. 23, 47-88 (1996), doi:10.1016/0029-8018(95)00008-B.

Sources: Y. Agnon, H. B. Bingham,
Eur. J. Mech. B 18, 527-534 (1999), doi:10.1016/S0997-7546(99)80047-8; G. Ducrozet, F. Bonnefoy, D. Le Touze,
P. Ferrant, Eur. J. Mech. B 34, 19-34 (2012), doi:10.1016/j.euromechflu.2012.01.017, section 2.
Active absorption after P. Higuera, J. L. Lara, I. J. Losada, Coastal Eng. 71, 102-118 (2013),
doi:10.1016/j.coastaleng.2012.07.002: incident waves are absorbed by U -= sqrt(g / h) (eta - target).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, real, serial_entry, switch
from eagre.errors import InputError
from eagre.models.potential_waves.boundaries.relaxation_zones import SIDES, across_x, from_side
from eagre.models.potential_waves.laplace.base import Laplace
from eagre.models.potential_waves.surface.forcing import Forcing, StageValues
from eagre.models.potential_waves.surface.reference_kernels import along_x, along_y
from eagre.stepping.convergence_loop import THREADS, add_up

HEIGHT = 4.0  # of the column in which a is defined, depths
TERMS = 40
NEGLIGIBLE = 1e-16  # ratio of a term to the first one from which terms are omitted
MAX_BED_FLOW = 1e-3  # maximum flow through a bed that is not flat, relative to U
BENDS = switch("BENDS", True)  # otherwise linear waves, evaluated at z = 0
MOTION = 5
SPEED, ACCELERATION, POSITION, TARGET, TARGET_RATE = range(MOTION)  # of the side: m/s, m/s2, m; of the level: m, m/s
MEANS = 3
ETA, RATE, RISE = range(MEANS)  # rows of means over the side: eta, eta_t, and eta_t per velocity of the side
PART = 32  # points of a row per thread in means over a side along x

Signal = Callable[[float], float]


class Wall(NamedTuple):
    """Geometry of the side, and coefficients of a.

    decay_x, decay_y : exp(-k_1 s), (nx,) and (ny,), one of them 1; n_x, n_y : inward normal; depth : m; f, f_over_k :
    f_n and f_n / k_n, (TERMS,).
    """

    decay_x: Any
    decay_y: Any
    n_x: float
    n_y: float
    depth: float
    f: Any
    f_over_k: Any


class Edge(NamedTuple):
    """Points of the side: factors of their weights in a mean, (nx,) and (ny,), 0 in other rows; range of columns."""

    weights_x: Any
    weights_y: Any
    first: int
    stop: int


# -- cells ----------------------------------------------------------------------------------------


@cell
def of_wall(eta, j, i, wall):
    """Return a for U = 1, m, and its derivatives along the normal and z, at the surface.

    Terms that decayed to less than the rounding error of the first term are omitted.
    """
    wide = math.pi / (real(HEIGHT) * wall.depth)
    zeta = wall.depth
    if BENDS:
        zeta += eta[0, j, i]
    size, left = wall.decay_x[i] * wall.decay_y[j], real(1.0)
    c, s = size * math.cos(wide * zeta), size * math.sin(wide * zeta)
    c_2, s_2 = c * c - s * s, real(2.0) * c * s
    a, a_n, a_z = real(0.0), real(0.0), real(0.0)
    for m in range(wall.f.shape[0]):
        if left < real(NEGLIGIBLE):
            break
        left *= size * size
        a -= wall.f_over_k[m] * c
        a_n += wall.f[m] * c
        a_z += wall.f[m] * s
        c, s = c * c_2 - s * s_2, s * c_2 + c * s_2
    return a, a_n, a_z


@cell
def set_edge_means(j, i, eta, rates, means, wall, edge):
    """Set partial means over the side, of every so many points of a row; 0 in other rows."""
    eta_mean, rate, rise = real(0.0), real(0.0), real(0.0)
    if edge.weights_y[j] > real(0.0):
        for m in range(np.int64(edge.first) + i, edge.stop, means.shape[2]):
            weight = edge.weights_x[m] * edge.weights_y[j]
            _, _, a_z = of_wall(eta, j, m, wall)  # the surface is level across a wall
            eta_mean += weight * eta[0, j, m]
            rate += weight * rates[0, j, m]
            rise += weight * a_z
    means[ETA, j, i] = eta_mean
    means[RATE, j, i] = rate
    means[RISE, j, i] = rise


@cell
def sum_of_means(means, row, first, step):
    """Return the sum of the partial means of a row, with stride `step`."""
    total, per_row = 0.0, means.shape[2]
    for n in range(first, means.shape[1] * per_row, step):
        total += means[row, n // per_row, n % per_row]
    return total


@cell
def set_motion(motion, eta, rate, rise, depth, absorption):
    """Correct the motion of the side for active absorption, 1/s, and for the displacement of a piston."""
    ratio = motion[POSITION] / (depth + eta)
    speed = motion[SPEED] - absorption * (eta - motion[TARGET])
    speed = (speed + ratio * rate) / (1.0 - ratio * rise)
    motion[SPEED] = speed
    motion[ACCELERATION] -= absorption * (rate + speed * rise - motion[TARGET_RATE])


@serial_entry
def set_motion_cpu(means, motion, depth, absorption):
    """See `set_motion`; sums the partial means in their order."""
    eta, rate = sum_of_means(means, ETA, 0, 1), sum_of_means(means, RATE, 0, 1)
    set_motion(motion, eta, rate, sum_of_means(means, RISE, 0, 1), depth, absorption)


@entry
def set_motion_cuda(means, motion, depth, absorption):
    """See `set_motion`; one block, with a reproducible tree reduction over its threads."""
    tree, t = cuda.shared.array(THREADS, np.float64), cuda.threadIdx.x
    add_up(tree, t, THREADS, sum_of_means(means, ETA, t, THREADS))
    eta = tree[0]
    cuda.syncthreads()
    add_up(tree, t, THREADS, sum_of_means(means, RATE, t, THREADS))
    rate = tree[0]
    cuda.syncthreads()
    add_up(tree, t, THREADS, sum_of_means(means, RISE, t, THREADS))
    if t == 0:
        set_motion(motion, eta, rate, tree[0], depth, absorption)


@cell
def along_normal(field, j, i, wall, lines):
    """Return the derivative of a surface field along the normal of the side."""
    if wall.n_x != real(0.0):
        return wall.n_x * along_x(field, 0, j, i, lines.x, lines.periodic_x)
    return wall.n_y * along_y(field, 0, j, i, lines.y, lines.periodic_y)


@cell
def push(j, i, eta, phi, rates, motion, wall, lines):
    """Add the contribution of a to the rates of eta and of the surface potential."""
    a, a_n, a_z = of_wall(eta, j, i, wall)
    speed = motion[SPEED]
    lift, rate = speed * a_z, motion[ACCELERATION] * a
    if BENDS:
        lift -= speed * a_n * along_normal(eta, j, i, wall, lines)
        along = along_normal(phi, j, i, wall, lines)
        rate += speed * a_n * along + real(0.5) * speed * speed * (a_n * a_n + a_z * a_z)
    rates[0, j, i] += lift
    rates[1, j, i] -= rate


@cell
def set_off(j, i, eta, velocity, motion, wall):
    """Add the velocity grad a at the surface, m/s."""
    _, a_n, a_z = of_wall(eta, j, i, wall)
    speed = motion[SPEED]
    velocity[0, j, i] += speed * wall.n_x * a_n
    velocity[1, j, i] += speed * wall.n_y * a_n
    velocity[2, j, i] += speed * a_z


# -- forcing --------------------------------------------------------------------------------------


class Inlet(Forcing):
    """`Forcing` by a flux through a side of the basin, for flux inlets, pistons and active absorption.

    Parameters
    ----------
    laplace : Laplace
    h : (ny, nx)
        Still-water depth, m; uniform along the side and some depths in front of it.
    side : {"west", "east", "south", "north"}
    velocity, acceleration : callable
        Velocity of the paddle or of the inflow, m/s, and its rate of change, m/s2, as functions of time, s; positive
        into the basin.
    gravity : float
        Acceleration of gravity, m/s2.
    linear : bool
        Whether the problem is linear.
    target : callable, optional
        Target elevation at the side, m, as a function of time, s; enables active absorption of deviations from it.
    target_rate : callable, optional
        Rate of change of the target, m/s; default: 0 within a step.
    position : callable, optional
        Displacement of a piston, m, as a function of time, s, positive into the basin. Without it the side is a fixed
        inlet. Not used by a linear problem.

    Raises
    ------
    InputError
        If the side is unknown or periodic, or the bed in front of the side is not flat enough.

    Notes
    -----
    Good values: a flat bed for 9 depths; 30 points per wave length. Limits: the potential of the model does not contain
    a. At the contact line of a piston the linear problem is singular, and the generated wave height converges slowly:
    2 % too high with 15 points per wave length, 0.8 % with 30. Active absorption is based on long-wave theory: it
    reflects less than 5 % at k h = 0.3, and more of shorter waves.
    """

    def __init__(
        self, laplace: Laplace, h: np.ndarray, side: str, velocity: Signal, acceleration: Signal, gravity: float,
        *, linear: bool = False, target: Signal | None = None, target_rate: Signal | None = None,
        position: Signal | None = None,
    ) -> None:  # fmt: skip
        if side not in SIDES:
            raise InputError(f"an inlet along the {side!r} side", allowed=", ".join(SIDES), fix='side = "west"')
        in_x = across_x(side)
        if laplace.periodic[int(in_x)]:
            raise InputError(f"an inlet along the {side} side, which is periodic", allowed="a side with a wall")
        (x, y), last = laplace.points, side in ("east", "north")
        away = from_side(side, x, y)
        edge = np.asarray(h)[(slice(None), -1 if last else 0) if in_x else (-1 if last else 0)]
        depth = float(edge[0])
        _check_bed(np.asarray(h), away if in_x else away[:, None], depth, side)
        device, sign = laplace.device, -1.0 if last else 1.0
        self._laplace, self._depth, self._f = laplace, depth, profile_coefficients()
        self._k = (2.0 * np.arange(TERMS) + 1.0) * math.pi / (HEIGHT * depth)
        self._signals = velocity, acceleration, None if linear else position, target, target_rate
        self._absorption = 0.0 if target is None else math.sqrt(gravity / depth)
        self._motion = StageValues(device, (MOTION,), device.graphs and device.is_one)
        self._origin = float((x if in_x else y)[-1 if last else 0]), int(not in_x), sign
        decay = np.exp(-math.pi * away / (HEIGHT * depth))
        self._wall = Wall(
            device.array(decay if in_x else np.ones(x.size)), device.field(np.ones(y.size) if in_x else decay, axis=-1),
            sign if in_x else 0.0, 0.0 if in_x else sign, depth, device.array(self._f), device.array(self._f / self._k),
        )  # fmt: skip
        switches = {"BENDS": not linear}
        self._loops = {one.name: device.loop(one, "double", switches) for one in (push, set_off, set_edge_means)}
        self._edge = _edge(laplace, side)
        per_row = -(-(self._edge.stop - self._edge.first) // PART)
        self._means, self._all_means, self._spread = laplace.rows_of_all(MEANS, per_row)
        self._set_motion = device.program(set_motion_cuda if device.kind == "cuda" else set_motion_cpu, "double")

    def begin_stage(self, time: float, dt: float, stage: int) -> bool:
        """See `Forcing.begin_stage`."""
        self._motion.set([0.0 if signal is None else signal(time) for signal in self._signals])
        return True

    def launches(self, rates: Any) -> list[Any]:
        """Return launches that complete the motion of the side and add to the rates, which lack this side so far."""
        laplace, device, motion = self._laplace, self._laplace.device, self._motion.array
        known = laplace.eta, laplace.phi, rates, motion, self._wall, laplace.lines
        return [
            *self._motion.launches,
            *self._motion_launches(rates),
            device.over(self._loops["push"], laplace.shape, known),
        ]

    def _motion_launches(self, rates: Any) -> list[Any]:
        """Return launches that correct the motion by means over the side; none for a flux inlet."""
        *_, position, target, _ = self._signals
        if position is None and target is None:
            return []
        laplace, device, (ny, _) = self._laplace, self._laplace.device, self._laplace.shape
        known = laplace.eta, rates, self._means, self._wall, self._edge
        arguments = self._all_means, self._motion.array, self._depth, self._absorption
        means = device.over(self._loops["set_edge_means"], (ny, self._means.shape[2]), known)
        return [means, *self._spread, laplace.on_each(self._set_motion, *arguments)]

    def motion(self) -> tuple[float, float]:
        """Return the velocity of the water at the side, m/s, and its rate of change, m/s2, of the last stage."""
        speed, acceleration, *_ = self._laplace.device.host(self._motion.array)
        return float(speed), float(acceleration)

    def add_velocity(self, velocity: Any) -> None:
        """Add U grad a of the last stage at the surface to a device array, (3, ny, nx), m/s."""
        laplace, device = self._laplace, self._laplace.device
        known = laplace.eta, velocity, self._motion.array, self._wall
        device.run([device.over(self._loops["set_off"], laplace.shape, known)])

    def potential(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return a for U = 1 m/s and its derivatives at points, m.

        Returns
        -------
        a : (n,), m
        gradient : (3, n)
            By x, y, z.
        second : (3, 3, n), 1/m
        """
        k = self._k
        first, along, sign = self._origin
        away = sign * ((y if along else x) - first)
        decay = self._f * np.exp(-np.multiply.outer(away, k))
        angle = np.multiply.outer(z + self._depth, k)
        cosine, sine = decay * np.cos(angle), decay * np.sin(angle)
        gradient, second = np.zeros((3, away.size)), np.zeros((3, 3, away.size))
        gradient[along], gradient[2] = sign * cosine.sum(axis=1), sine.sum(axis=1)
        second[along, along] = -(cosine @ k)
        second[along, 2] = second[2, along] = -sign * (sine @ k)
        second[2, 2] = cosine @ k
        return -(cosine @ (1.0 / k)), gradient, second


def profile_coefficients() -> np.ndarray:
    """Return f_n, n = 1, 3, ..., of a profile of 1 in the lower and -1 in the upper two fifths, smooth in between."""
    points = 4096
    zeta = (np.arange(points) + 0.5) / points
    s = np.clip((zeta - 0.4) / 0.2, 0.0, 1.0)
    shape = 1.0 - 2.0 * s**4 * (35.0 - 84.0 * s + 70.0 * s**2 - 20.0 * s**3)
    n = 2.0 * np.arange(TERMS) + 1.0
    return 2.0 * (np.cos(np.pi * n[:, None] * zeta) @ shape) / points


def stroke_of_height(height: float, wave_number: float, depth: float) -> float:
    """Return the stroke, m, of a piston for linear waves of a height, m: H / S = 4 sinh^2 kh / (sinh 2kh + 2kh).

    R. G. Dean, R. A. Dalrymple (1991), doi:10.1142/1232, equation 6.25, after F. Biesel and F. Suquet (1951).
    """
    kh = wave_number * depth
    return height * (math.sinh(2.0 * kh) + 2.0 * kh) / (4.0 * math.sinh(kh) ** 2)


def _edge(laplace: Laplace, side: str) -> Edge:
    """Return the points of a side with their weights in a mean; corner points count half."""
    device, (ny, nx), in_x = laplace.device, laplace.shape, across_x(side)
    count = ny if in_x else nx
    along, across = np.ones(count), np.zeros(nx if in_x else ny)
    if not laplace.periodic[int(not in_x)] and count > 1:
        along[[0, -1]] = 0.5
    across[0 if side in ("west", "south") else -1] = 1.0
    along /= along.sum()
    x, y = (across, along) if in_x else (along, across)
    first = int(np.argmax(x)) if in_x else 0
    return Edge(device.array(x), device.field(y, axis=-1), first, first + 1 if in_x else nx)


def _check_bed(h: np.ndarray, away: np.ndarray, depth: float, side: str) -> None:
    """Reject a bed with a flow through it of more than `MAX_BED_FLOW` of U."""
    left = np.broadcast_to(np.exp(-math.pi * away / (HEIGHT * depth)), h.shape)
    flow = np.abs(h / depth - 1.0) * left
    if flow.max() > MAX_BED_FLOW:
        j, i = np.unravel_index(int(np.argmax(flow)), h.shape)
        raise InputError(
            f"a depth of {h[j, i]:g} m at point ({i}, {j}) in front of an inlet in the {side}, {depth:g} m deep",
            allowed=f"a flat bed for about {-HEIGHT / math.pi * math.log(MAX_BED_FLOW):.0f} depths",
            fix="a relaxation zone, or a longer flat part",
        )  # fmt: skip
    if left.min() > MAX_BED_FLOW:
        raise InputError(
            f"{float(np.max(away)):g} m of water in front of an inlet {depth:g} m deep",
            allowed=f"{-HEIGHT * depth / math.pi * math.log(MAX_BED_FLOW):.3g} m or more",
        )
