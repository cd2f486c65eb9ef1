"""`Mpdata`: what it takes, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.advection import Mpdata, Open
from eagre.errors import InputError
from mpdata_runs import faces, rough


def still(shape):
    return [np.zeros(faces(shape, axis)) for axis in range(len(shape))]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (((4, 0),), {}, r"shape \(4, 0\)"),
        (((4, 4, 4, 4),), {}, "one to three"),
        (((4, 4), "ring"), {}, "boundaries 'ring'"),
        (((4, 4), ("wall",)), {}, "for all 2 axes"),
        (((4, 4), ("wall", Open(np.nan, 1.0))), {}, r"boundaries Open\(low=nan"),
        (((4, 4), Open("low", 1.0)), {}, "finite numbers, or None"),
        (((4, 4),), {"passes": 0}, "passes = 0"),
        (((4, 4),), {"passes": 3}, 'variant = "sign-preserving"'),
        (((4, 4),), {"variant": "classic"}, "variant = 'classic'"),
        (((4, 4),), {"kernels": "quick"}, "kernels = 'quick'"),
    ],
)
def test_what_is_no_scheme(arguments, options, message):
    with pytest.raises(InputError, match=message):
        Mpdata(*arguments, **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.zeros((4, 5))}, r"x of shape \(4, 5\)"),
        ({"x": np.zeros((4, 6), int)}, "float32 or float64"),
        ({"x": [1.0]}, "x, which is list"),
        ({"x": np.full((4, 6), np.nan)}, "x with values that are not finite"),
        ({"x": np.zeros((4, 6), np.float32)}, r"v\[0\], ndarray of shape \(5, 6\) and type float64"),
        ({"v": still((4, 6))[::-1]}, r"v\[0\], ndarray of shape \(4, 7\)"),
        ({"v": still((4, 6))[:1]}, "v of 1 arrays"),
        ({"v": [np.full((5, 6), np.inf), np.zeros((4, 7))]}, "v with values that are not finite"),
        ({"h": np.zeros((4, 6))}, "h with a minimum of 0"),
        ({"h": np.ones((4, 5))}, "h, ndarray"),
        ({"h": np.full((4, 6), np.nan)}, "h with values that are not finite"),
        ({"steps": -1}, "steps = -1"),
        ({"odd": (2,)}, r"odd = \(2,\)"),
        ({"odd": 0}, "odd = 0"),
        ({"out": np.zeros((4, 5))}, "out, ndarray"),
        ({"out": np.broadcast_to(0.0, (4, 6))}, "out, whose memory is read-only"),
        ({"v": None}, "v of type NoneType"),
        ({"x": np.ma.masked_greater(np.ones((4, 6)), 0.5)}, "x with 24 masked values"),
        ({"h": np.ma.masked_greater(np.ones((4, 6)), 0.5)}, "h with 24 masked values"),
    ],
)
def test_what_is_no_step(change, message):
    arguments = {"x": np.ones((4, 6)), "v": still((4, 6)), "h": np.ones((4, 6)), **change}
    with pytest.raises(InputError, match=message):
        Mpdata((4, 6), kernels="reference").step(**arguments)


def test_where_the_step_is_too_long():
    v = still((4, 6))
    v[0][2, 3] = -0.6
    v[1][2, 4] = 0.6
    with pytest.raises(InputError, match=r"an outflow Courant number of 1\.2 at point \(2, 3\), of v and h"):
        Mpdata((4, 6), kernels="reference").step(np.ones((4, 6)), v)
    Mpdata((4, 6), kernels="reference").step(np.ones((4, 6)), v, np.full((4, 6), 1.2))
    v[0][:], v[1][:] = 0.0, 1.0
    Mpdata((4, 6), kernels="reference").step(np.ones((4, 6)), v)  # 1 is allowed


def test_a_step_that_is_too_long_for_convergent_flow():
    """The divergence term enlarges Courant numbers where flow converges."""
    v = np.zeros((7,))
    v[2], v[3] = 0.98, -0.98
    words = r"an outflow Courant number of 1\.\d+ at point .*, of v, corrected for its divergence, and h"
    with pytest.raises(InputError, match=words):
        Mpdata((6,), kernels="reference").step(np.ones(6), v)
    Mpdata((6,), kernels="reference", solenoidal=True).step(np.ones(6), v)


def test_both_signs_need_the_gauge():
    x = np.linspace(-1.0, 1.0, 6)
    with pytest.raises(InputError, match='variant = "gauge"'):
        Mpdata((6,), variant="sign-preserving", kernels="reference").step(x, still((6,)))
    Mpdata((6,), variant="sign-preserving", kernels="reference").step(-np.abs(x), still((6,)))


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_several_steps_are_as_many_single_ones(steps):
    x, v, h = rough((4, 6, 5))
    scheme, known = Mpdata((4, 6, 5), ("wall", "open", "periodic")), x
    for _ in range(steps):
        known = scheme.step(known, v, h)
    before = x.copy()
    assert np.array_equal(scheme.step(x, v, h, steps=steps), known)
    assert np.array_equal(x, before)
    assert scheme.step(x, v, h, steps=steps, out=x) is x
    assert np.array_equal(x, known)


def test_several_fields_at_once_and_any_strides():
    x, v, h = rough((4, 6, 5))
    scheme = Mpdata((4, 6, 5), Open(0.5, None))
    both = scheme.step(np.stack([x, 1 - x]), v, h)
    assert np.array_equal(both, [scheme.step(x, v, h), scheme.step(1 - x, v, h)])
    turned = [np.asfortranarray(a) for a in (x, *v, h)]
    assert np.array_equal(scheme.step(turned[0], turned[1:4], turned[4]), both[0])


@pytest.mark.parametrize("order", ["C", "F"])
def test_read_only_memory(order):
    """Files that are mapped, broadcast numbers and constants of other libraries are read-only."""
    x, v, h = rough((4, 6, 5))
    scheme = Mpdata((4, 6, 5), order=order)
    known = scheme.step(x, v, h)
    fixed = [np.array(a, order=order) for a in (x, *v, h)]
    for a in fixed:
        a.flags.writeable = False
    assert np.array_equal(scheme.step(fixed[0], fixed[1:4], fixed[4]), known)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_an_answer_in_the_place_of_the_density(steps):
    x, v, h = rough((4, 6, 5))
    known = Mpdata((4, 6, 5)).step(x, v, h, steps=steps)
    assert np.array_equal(Mpdata((4, 6, 5)).step(x, v, h, steps=steps, out=h), known)


def test_axes_of_one_point_are_no_axes():
    x, v, h = rough((6, 5))
    known = Mpdata((6, 5), ("wall", "periodic")).step(x, v, h)
    for axis in range(3):
        shape = np.expand_dims(x, axis).shape
        more = [np.expand_dims(a, axis) for a in v]
        more.insert(axis, np.ones(faces(shape, axis)))
        sides = ["wall", "periodic"]
        sides.insert(axis, "wall")
        found = Mpdata(shape, sides).step(np.expand_dims(x, axis), more, np.expand_dims(h, axis))
        assert np.allclose(found.reshape(x.shape), known, rtol=0.0, atol=1e-15)


def test_a_line():
    x, v, _ = rough((9,))
    plane = Mpdata((9, 1), kernels="reference").step(x[:, None], [v[0][:, None], np.zeros((9, 2))])
    assert np.allclose(Mpdata((9,), kernels="reference").step(x, v[0]), plane[:, 0], rtol=0.0, atol=1e-15)


@pytest.mark.gpu
def test_cupy_arrays():
    cupy = pytest.importorskip("cupy")
    for shape in ((20, 17, 33), (40, 50), (99,)):
        for options in ({}, {"variant": "sign-preserving", "passes": 3}, {"third_order": True}):
            x, v, h = rough(shape)
            scheme = Mpdata(shape, "wall", **options)
            found = scheme.step(cupy.asarray(x), [cupy.asarray(a) for a in v], cupy.asarray(h), steps=3)
            assert isinstance(found, cupy.ndarray)
            assert np.abs(found.get() - scheme.step(x, v, h, steps=3)).max() < 1e-14
