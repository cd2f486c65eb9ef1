"""Arrays in Fortran order: taken and given as they lie, without copies."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.advection import Mpdata, mpdata
from eagre.advection.ghosts import Open
from eagre.errors import InputError
from eagre.laboratory.validation.compare import difference
from eagre.solvers.gcr import gcr

RNG = np.random.default_rng(4)
SHAPE = (14, 10, 8)


def fortran(a):
    return np.asfortranarray(a)


def problem(dtype=np.float64, shape=SHAPE):
    """A field, a wind of Courant numbers below 1 and a density."""
    x = RNG.random(shape).astype(dtype)
    v = [
        0.2 * RNG.standard_normal([n + (a == b) for b, n in enumerate(shape)]).astype(dtype) for a in range(len(shape))
    ]
    for a, one in enumerate(v):
        np.clip(one, -0.15, 0.15, out=one)
        np.moveaxis(one, a, 0)[-1] = np.moveaxis(one, a, 0)[0]
    return x, v, (1.0 + 0.2 * RNG.random(shape)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [SHAPE, (12, 9), (14, 1, 8)])
@pytest.mark.parametrize(
    ("sides", "odd"),
    [
        ("periodic", ()),
        (("wall", "periodic", "wall"), (0,)),
        (("open", "wall", Open(0.2, 0.7)), ()),
        (("open", "wall", "wall"), (1, 2)),
    ],
)
def test_both_orders_have_the_same_answer(dtype, shape, sides, odd):
    sides = sides if isinstance(sides, str) else sides[: len(shape)]
    odd = [axis for axis in odd if axis < len(shape)]
    x, v, h = problem(dtype, shape)
    expected = Mpdata(shape, sides).step(x, v, h, steps=3, odd=odd)
    found = Mpdata(shape, sides, order="F").step(fortran(x), [fortran(one) for one in v], fortran(h), steps=3, odd=odd)
    assert found.flags.f_contiguous and found.shape == shape and found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-6 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("own", [False, True])
def test_no_array_is_copied(monkeypatch, order, own):
    x, v, h = problem()
    x, h, v = np.array(x, order=order), np.array(h, order=order), [np.array(one, order=order) for one in v]
    seen, advance = [], mpdata._advance

    def watched(plan, x, out, v, *more):
        seen.append((x, out, v))
        advance(plan, x, out, v, *more)

    monkeypatch.setattr(mpdata, "_advance", watched)
    out = np.empty_like(x) if own else None
    answer = Mpdata(SHAPE, order=order, solenoidal=True).step(x, v, h, out=out)  # else v, which is divergent, is scaled
    ((field, target, advector),) = seen
    assert np.shares_memory(field, x) and np.shares_memory(target, answer) and np.shares_memory(advector.h, h)
    faces = [advector.v3, advector.v2, advector.v1] if order == "C" else [advector.v1, advector.v2, advector.v3]
    assert all(np.shares_memory(a, b) for a, b in zip(faces, v, strict=True))
    assert answer is out or not own
    assert answer.flags.f_contiguous if order == "F" else answer.flags.c_contiguous


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_answer_in_the_place_of_the_field(order):
    x, v, h = problem()
    expected, scheme = Mpdata(SHAPE).step(x, v, h, steps=2), Mpdata(SHAPE, order=order)
    own = np.array(x, order=order)
    assert scheme.step(own, v, h, steps=2, out=own) is own
    np.testing.assert_allclose(own, expected, atol=1e-13)
    part = np.zeros((16, 10, 8), order=order)[1:-1]  # not in one piece
    assert scheme.step(np.array(x, order=order), v, h, steps=2, out=part) is part
    np.testing.assert_allclose(part, expected, atol=1e-13)


def test_several_fields_in_fortran_order_come_last():
    x, v, h = problem()
    both = fortran(np.stack([x, 1.0 - x], axis=-1))
    found = Mpdata(SHAPE, order="F").step(both, [fortran(one) for one in v], fortran(h))
    assert found.shape == (*SHAPE, 2) and found.flags.f_contiguous
    for n, one in enumerate((x, 1.0 - x)):
        np.testing.assert_allclose(found[..., n], Mpdata(SHAPE).step(one, v, h), atol=1e-13)


def test_errors_name_shapes_and_places_as_they_were_given():
    x, v, h = problem()
    v[0][5, 2, 3] = -3.0
    scheme = Mpdata(SHAPE, order="F")
    with pytest.raises(InputError, match=r"at point \(5, 2, 3\)"):
        scheme.step(fortran(x), [fortran(one) for one in v], fortran(h))
    with pytest.raises(InputError, match=r"(?s)v\[1\].*\(14, 11, 8\)"):
        scheme.step(fortran(x), [v[0], v[0], v[2]])
    with pytest.raises(InputError, match=r"\(\*\(14, 10, 8\), fields\)"):
        scheme.step(fortran(x.T), v)
    with pytest.raises(InputError, match=r"odd = \(3,\)"):
        Mpdata(SHAPE, "wall", order="F").step(fortran(x), v, odd=(3,))
    with pytest.raises(InputError, match="order"):
        Mpdata(SHAPE, order="A")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("guess", [False, True])
def test_residuals_keep_their_order(order, guess):
    diagonal = np.array(2.0 + RNG.random(SHAPE), order=order)
    seen = []

    def apply(a):
        seen.append(a)
        return diagonal * a + 0.1 * np.roll(a, 1, 0).copy(order="K")

    right = np.array(RNG.standard_normal(SHAPE), order=order)
    found = gcr(apply, right, np.array(RNG.random(SHAPE), order=order) if guess else None, tolerance=1e-10)
    for a in (*seen, found.solution):
        assert a.flags.f_contiguous if order == "F" else a.flags.c_contiguous
    np.testing.assert_allclose(apply(found.solution), right, atol=1e-9)


def test_orders_may_differ_in_a_comparison():
    a, b = RNG.random(SHAPE), RNG.random(SHAPE)
    found, expected = difference(fortran(a), b), difference(a, b)
    assert found == expected
    assert found.largest == np.abs(a - b).max()
