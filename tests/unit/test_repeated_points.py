"""Periodic axes whose last point repeats the first, as in EULAG (row F18): the flow of the distinct ones."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.advection import Mpdata, Open, with_repeated_points, without_repeated_points
from eagre.errors import InputError

N = 12


def flow(shape, sides, dtype=np.float64):
    """x, faces and h of distinct points, of random numbers that leave no more than a point holds."""
    random = np.random.default_rng(3)
    x, h = random.random(shape).astype(dtype), (1.0 + random.random(shape)).astype(dtype)
    faces = []
    for axis in range(len(shape)):
        of = [n + (axis == one) for one, n in enumerate(shape)]
        a = 0.3 / len(shape) * (random.random(of) - 0.5)
        if sides[axis] == "periodic":
            a = np.take(a, [*range(shape[axis]), 0], axis)
        faces.append(a.astype(dtype))
    return x, faces, h


def duplicated(x, faces, h, axes):
    """The same with the first point behind the last: by index, n - 1 -> 0 and face n -> face 1."""
    ndim = h.ndim
    for axis in axes:
        n = h.shape[axis]
        points = [*range(n), 0]
        x, h = np.take(x, points, axis - ndim), np.take(h, points, axis)
        faces = [np.take(a, [*range(n + 1), 1] if one == axis else points, axis) for one, a in enumerate(faces)]
    return x, faces, h


@pytest.mark.parametrize(
    ("shape", "sides"),
    [
        ((N,), ["periodic"]),
        ((9, N), ["wall", "periodic"]),
        ((5, 6, 7), ["wall", "periodic", "periodic"]),
    ],
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_step_is_that_of_the_distinct_points(shape, sides, order):
    """Bit for bit, one field and several, with h, into `out`; the last point stays a copy of the first."""
    x, faces, h = flow(shape, sides)
    axes = [axis for axis, side in enumerate(sides) if side == "periodic"]
    x = np.stack([x, x**2])
    after = Mpdata(shape, sides).step(x, faces, h, steps=3)
    expected = with_repeated_points(after, [axis - len(shape) for axis in axes])
    more, wide, dense = duplicated(x, faces, h, axes)
    names = ["duplicated" if side == "periodic" else side for side in sides]
    if order == "F":
        more, wide, dense = more.T, [a.T for a in reversed(wide)], dense.T
        names, expected = names[::-1], expected.T
    steps = Mpdata(dense.shape, names, order=order)
    np.testing.assert_array_equal(steps.step(more, wide, dense, steps=3), expected)
    out = np.empty_like(more)
    assert steps.step(more, wide, dense, steps=3, out=out) is out
    np.testing.assert_array_equal(out, expected)
    along = -1 if order == "C" else 0
    np.testing.assert_array_equal(np.take(out, 0, along), np.take(out, -1, along))


def test_what_does_not_repeat_is_told_with_its_place():
    x, faces, h = duplicated(*flow((4, N), ["wall", "periodic"]), [1])
    steps = Mpdata((4, N + 1), ["wall", "duplicated"])
    for name, broken in (("x", x), ("h", h), (r"v\[0\]", faces[0])):
        kept = broken[2, -1]
        broken[2, -1] += 1e-3
        words = rf"{name}, whose last point along axis .* differs from the first by 0.001 at \(2, 0\)"
        with pytest.raises(InputError, match=words):
            steps.step(x, faces, h)
        broken[2, -1] = kept
    faces[1][2, -1] += 1.0  # face n is face 1, which is read
    steps.step(x, faces, h)
    x[0, -1] = np.nan
    with pytest.raises(InputError, match="x, whose last point"):
        steps.step(x, faces, h)
    assert steps.step(x, faces, h, check=False).shape == x.shape
    with pytest.raises(InputError, match="duplicated axis 0 of 1 point"):
        Mpdata((1, 8), ["duplicated", Open()])
    with pytest.raises(InputError, match="two points or more along axis 1"):
        without_repeated_points(np.zeros((3, 1)), [1])


def test_points_are_dropped_and_put_back():
    a = np.random.default_rng(1).random((3, 4, 5)).astype(np.float32)
    again = with_repeated_points(a, [0, 2])
    assert again.shape == (4, 4, 6) and again[3, 1, 5] == a[0, 1, 0]
    np.testing.assert_array_equal(without_repeated_points(again, [0, 2]), a)
    turn = np.sin(np.linspace(0.0, 2.0 * np.pi, 129))
    assert turn[0] != turn[-1] and without_repeated_points(turn, [0]).size == 128
