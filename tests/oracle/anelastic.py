"""A plain transcription of a step of the anelastic model (specification 002-eulag, 2.1, 2.2, 2.5, and corrections).

Nothing is taken from the model. Arrays are [k, j, i]; the pressure problem is solved as a dense matrix. Advection is
handed in, as the oracle of MPDATA.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

Array = np.ndarray
X, Y, Z = 2, 1, 0  # axes of an array


@dataclass
class Air:
    """Everything that fixes a step; profiles are arrays that fit (nz, ny, nx)."""

    spacing: tuple[float, float, float]  # dz, dy, dx
    walls: tuple[bool, bool, bool]  # along z, y, x; else periodic
    dt: float
    density: Array  # rho* = rho_b G
    g13: Array | float = 0.0  # d zeta / dx, d zeta / dy, d zeta / dz
    g23: Array | float = 0.0
    g33: Array | float = 1.0
    stability: Array | float = 0.0  # N^2 = g S / theta_b
    lapse: Array | float = 0.0  # S = d theta_e / dz
    buoyancy: Array | float = 0.0  # g / theta_b
    coriolis: float = 0.0
    absorber: Array | float = 0.0  # alpha = beta
    wind: tuple[Array | float, Array | float] = (0.0, 0.0)  # u_e, v_e
    geostrophic: tuple[Array | float, Array | float] | None = None  # u_g, v_g; else u_e, v_e
    is_open: tuple[bool, bool, bool] = (False, False, False)  # along z, y, x: then walls too, with wind through them
    push: Callable[[list[Array]], list[Array | float]] | None = None  # explicit tendencies of u, v, w, theta
    viscosity: float = 0.0
    diffusivity: float = 0.0
    advect: Callable[..., Array] = field(default=lambda x, *_: x)


def wide(a: Array, axis: int, walls: bool, sign: float = 1.0, is_open: bool = False) -> Array:
    """One point more on both ends: the other end, the mirror image about the outermost point, or on a straight line."""
    if is_open and a.shape[axis] > 1:
        n = a.shape[axis]
        ends = [2.0 * np.take(a, [k], axis) - np.take(a, [m], axis) for k, m in ((0, 1), (n - 1, n - 2))]
        return np.concatenate([ends[0], a, ends[1]], axis)
    if a.shape[axis] == 1:
        return np.concatenate([a, a, a], axis)
    first, second = np.take(a, [0], axis), np.take(a, [1], axis)
    last, before = np.take(a, [-1], axis), np.take(a, [-2], axis)
    ends = (sign * second, sign * before) if walls else (last, first)
    return np.concatenate([ends[0], a, ends[1]], axis)


def difference(a: Array, axis: int, air: Air, sign: float = 1.0) -> Array:
    """(a_{i+1} - a_{i-1}) / (2 d)."""
    n = a.shape[axis]
    b = wide(a, axis, air.walls[axis], sign, air.is_open[axis])
    return (np.take(b, range(2, n + 2), axis) - np.take(b, range(n), axis)) / (2.0 * air.spacing[axis])


def contravariant(v: list[Array], air: Air) -> list[Array]:
    """u*, v*, w* from u, v, w."""
    u, s, w = v
    return [u, s, air.g13 * u + air.g23 * s + air.g33 * w]


def faces(v: list[Array], air: Air) -> list[Array]:
    """Courant fluxes through n + 1 faces an axis: v1, v2, v3."""
    found = []
    for axis, star in zip((X, Y, Z), contravariant(v, air), strict=True):
        b = wide(air.density * star, axis, air.walls[axis], -1.0, air.is_open[axis])
        n = star.shape[axis]
        mean = 0.5 * (np.take(b, range(n + 1), axis) + np.take(b, range(1, n + 2), axis))
        found.append(air.dt / air.spacing[axis] * mean if n > 1 else 0.0 * mean)
    return found


def coefficients(air: Air) -> tuple[Array | float, Array | float, Array | float]:
    """c11, c12 and c33 of v = C (rhs - grad phi): the inverse of what is implicit."""
    a, gamma = 0.5 * air.dt * air.absorber, 0.5 * air.dt * air.coriolis
    size = (1.0 + a) ** 2 + gamma**2
    return (1.0 + a) / size, gamma / size, 1.0 / (1.0 + a + (0.5 * air.dt) ** 2 * air.stability / (1.0 + a))


def explicit_part(hat: list[Array], theta: Array, air: Air) -> list[Array]:
    """v^: what the velocity would be without a pressure."""
    a, gamma = 0.5 * air.dt * air.absorber, 0.5 * air.dt * air.coriolis
    c11, c12, c33 = coefficients(air)
    ue, ve = air.wind
    ug, vg = air.geostrophic or air.wind
    ru = hat[0] + a * ue - gamma * vg
    rv = hat[1] + a * ve + gamma * ug
    rw = hat[2] + 0.5 * air.dt * air.buoyancy * theta / (1.0 + a)
    return [c11 * ru + c12 * rv, c11 * rv - c12 * ru, c33 * rw]


def accelerated(first: list[Array], phi: Array, air: Air) -> list[Array]:
    """v = v^ - C G grad phi, with no flow through a wall, and the ambient wind through open sides.

    There the own derivative of phi does not count.
    """
    c11, c12, c33 = coefficients(air)
    zero = np.zeros_like(phi)
    p = [difference(phi, axis, air) for axis in (X, Y, Z)]

    def velocity(p: list[Array]) -> list[Array]:
        gx, gy, gz = p[0] + air.g13 * p[2], p[1] + air.g23 * p[2], air.g33 * p[2]
        return [
            first[0] - c11 * gx - c12 * gy,
            first[1] - c11 * gy + c12 * gx,
            first[2] - c33 * gz,
        ]

    walled = [(m, axis) for m, axis in ((0, X), (1, Y), (2, Z)) if air.walls[axis] and phi.shape[axis] > 1]
    still = contravariant(velocity([zero, zero, zero]), air)
    answers = []  # of the flow through the wall across axis m to a derivative along axis l
    for m, _ in walled:
        unit = [zero, zero, zero]
        unit[m] = np.ones_like(phi)
        answers.append(contravariant(velocity(unit), air))
    for point in np.ndindex(phi.shape):
        on = [n for n, (_, axis) in enumerate(walled) if point[axis] in (0, phi.shape[axis] - 1)]
        if on:  # the flow is linear in the derivatives across the walls: find those that stop it
            for n in on:
                p[walled[n][0]][point] = 0.0
    without = contravariant(velocity(p), air)
    through = [air.wind[m] * np.ones_like(phi) * air.is_open[axis] for m, axis in ((0, X), (1, Y))] + [zero]
    for point in np.ndindex(phi.shape):
        on = [n for n, (_, axis) in enumerate(walled) if point[axis] in (0, phi.shape[axis] - 1)]
        if on:
            rows = [walled[n][0] for n in on]
            matrix = [[np.broadcast_to(answers[n][m] - still[m], phi.shape)[point] for n in on] for m in rows]
            found = np.linalg.solve(matrix, [through[m][point] - without[m][point] for m in rows])
            for m, value in zip(rows, found, strict=True):
                p[m][point] = value
    return velocity(p)


def divergence(v: list[Array], air: Air) -> Array:
    """(1 / rho*) div rho* v*."""
    found = np.zeros(np.broadcast(v[0], air.density).shape)
    for axis, star in zip((X, Y, Z), contravariant(v, air), strict=True):
        found = found + difference(air.density * star, axis, air, -1.0)
    return found / air.density


def project(first: list[Array], air: Air) -> tuple[list[Array], Array]:
    """The velocity without divergence, and phi, by a dense matrix; its null modes are left out of phi."""
    shape = first[0].shape
    size = first[0].size
    zero = [np.zeros(shape)] * 3
    still = replace(air, wind=(0.0, 0.0))
    matrix = np.empty((size, size))
    for n in range(size):
        unit = np.zeros(size)
        unit[n] = 1.0
        matrix[:, n] = divergence(accelerated(zero, unit.reshape(shape), still), still).ravel()
    right = -divergence(accelerated(first, np.zeros(shape), air), air).ravel()
    phi = np.linalg.lstsq(matrix, right, rcond=1e-11)[0].reshape(shape)
    return accelerated(first, phi, air), phi


def laplacian(a: Array, axis_signs: tuple[float, float, float], air: Air) -> Array:
    """Second differences over neighbouring points."""
    found = np.zeros_like(a)
    for axis, sign in zip((X, Y, Z), axis_signs, strict=True):
        n = a.shape[axis]
        if n == 1:
            continue
        b = wide(a, axis, air.walls[axis], sign)
        sides = np.take(b, range(n), axis) + np.take(b, range(2, n + 2), axis)
        found += (sides - 2.0 * a) / air.spacing[axis] ** 2
    return found


PARITY = {"u": (-1.0, 1.0, 1.0), "v": (1.0, -1.0, 1.0), "w": (1.0, 1.0, -1.0), "theta": (1.0, 1.0, 1.0)}
"""Signs of the mirror images about walls along x, y and z."""


@dataclass
class State:
    """Fields of the present, velocities of the step before, half forces, phi, the last step's viscous tendencies."""

    v: list[Array]
    theta: Array
    before: list[Array]
    forces: list[Array]
    phi: Array
    drag: list[Array] | None = None


def start(v: list[Array], theta: Array, air: Air) -> State:
    """A state without divergence: v^-1 = v^0, and half forces that are means of both ends of a first step.

    Those at its beginning are of half a step in which nothing is carried; at its end there is the rest, so that the
    sum is dt times the force in its middle.
    """
    half = 0.5 * air.dt
    pure = Air(
        air.spacing, air.walls, air.dt, air.density, air.g13, air.g23, air.g33, wind=air.wind, is_open=air.is_open
    )
    v, _ = project(v, pure)
    later, _ = project(explicit_part(v, theta, air), air)
    warmer = (theta - half * later[2] * air.lapse) / (1.0 + half * air.absorber)
    forces = [new - hat for new, hat in zip([*later, warmer], [*v, theta], strict=True)]
    begun = State(v, theta, list(v), forces, np.zeros(v[0].shape))
    tried = step(begun, air)
    forces = [0.5 * (one + other) for one, other in zip(forces, tried.forces, strict=True)]
    return State(v, theta, list(v), forces, np.zeros(v[0].shape))


def held(x: Array, name: str, fluxes: list[Array], air: Air) -> Array:
    """On open sides where air enters: the ambient wind, no perturbation of theta (the donor is the environment)."""
    value = dict(zip("uv", air.wind, strict=True)).get(name, 0.0) * np.ones_like(x)
    for axis, flux in ((X, fluxes[0]), (Y, fluxes[1])):
        if not air.is_open[axis] or x.shape[axis] == 1:
            continue
        inside = np.zeros(x.shape, bool)
        for end, sign in ((0, 1.0), (-1, -1.0)):
            where = [slice(None)] * 3
            where[axis] = end
            inside[tuple(where)] = sign * np.take(flux, end, axis) > 0.0
        x = np.where(inside, value, x)
    return x


def step(old: State, air: Air, before: float | None = None) -> State:
    """One step, after one of another length if that is given."""
    half, scale = 0.5 * air.dt, air.dt / (before or air.dt)
    ratio = 0.5 * scale
    fluxes = faces([(1.0 + ratio) * now - ratio * then for now, then in zip(old.v, old.before, strict=True)], air)
    fields = [*old.v, old.theta]
    rates = [air.diffusivity if name == "theta" else air.viscosity for name in PARITY]
    drag = [nu * laplacian(f, PARITY[name], air) for nu, f, name in zip(rates, fields, PARITY, strict=True)]
    if air.push is not None:
        drag = [one + more for one, more in zip(drag, air.push(fields), strict=True)]
    last = drag if old.drag is None else old.drag
    hats = []
    for f, force, now, then, name in zip(fields, old.forces, drag, last, PARITY, strict=True):
        moved = air.advect(f + scale * force + half * now, *fluxes, air.density, PARITY[name])
        hats.append(held(moved + half * ((1.0 + scale) * now - scale * then), name, fluxes, air))
    v, phi = project(explicit_part(hats[:3], hats[3], air), air)
    theta = (hats[3] - half * v[2] * air.lapse) / (1.0 + half * air.absorber)
    forces = [new - hat for new, hat in zip([*v, theta], hats, strict=True)]
    return State(v, theta, old.v, forces, phi, drag)
