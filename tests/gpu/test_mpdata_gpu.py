"""MPDATA on a real card: the numbers of the CPU, for every side, option and size; the same bits each time."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.advection import Mpdata
from eagre.backend.select import cuda_problem
from mpdata_runs import SIDES, rough

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(cuda_problem() is not None, reason=f"no CUDA: {cuda_problem()}"),
]
TOLERANCE = {np.float32: 2e-6, np.float64: 4e-15}
OPTIONS = {
    "gauge": {},
    "gauge, not limited": {"nonoscillatory": False},
    "sign-preserving": {"variant": "sign-preserving"},
    "sign-preserving, not limited": {"variant": "sign-preserving", "nonoscillatory": False},
    "donor cell": {"passes": 1},
    "three passes": {"variant": "sign-preserving", "passes": 3},
    "third order": {"third_order": True},
}
SHAPES = [(9, 40, 70), (33, 31, 65), (16, 16, 16), (2, 2, 2), (300, 5, 3)]
SHAPES += [(1, 1, 300), (40, 1, 9), (1, 33, 30), (1, 1, 1)]


def on_gpu(arrays):
    import cupy

    return [None if a is None else cupy.asarray(a) for a in arrays]


def stepped(scheme, x, v, h, **more):
    """The field on the host after steps on the card."""
    there, *faces, mass = on_gpu([x, *v, h])
    return scheme.step(there, faces, mass, **more).get()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_and_side(name, dtype):
    shape = (9, 35, 40)
    low = 0.0 if "variant" in OPTIONS[name] else -1.0
    x, v, h = rough(shape, low=low, dtype=dtype)
    for sides in SIDES.values():
        scheme = Mpdata(shape, sides, **OPTIONS[name])
        for mass, odd in ((h, ()), (None, ()), *(((h, (0, 2)),) if low else ())):
            expected = scheme.step(x, v, mass, odd=odd, check=False)
            assert np.abs(stepped(scheme, x, v, mass, odd=odd, check=False) - expected).max() < TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_any_size(shape, dtype):
    x, v, h = rough(shape, low=-1.0, dtype=dtype)
    for sides in (SIDES["rings"], SIDES["mixed"]):
        scheme = Mpdata(shape, sides)
        assert np.abs(stepped(scheme, x, v, h) - scheme.step(x, v, h)).max() < TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [2, 3, 5])
def test_several_fields(count, dtype):
    shape = (12, 33, 61)
    _, v, h = rough(shape, dtype=dtype)
    x = np.stack([rough(shape, seed=n, low=-1.0, dtype=dtype)[0] for n in range(count)])
    scheme = Mpdata(shape, SIDES["mixed"])
    found = stepped(scheme, x, v, h, steps=3, odd=(0,))
    assert np.abs(found - scheme.step(x, v, h, steps=3, odd=(0,))).max() < 3 * TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_bits_again(dtype):
    shape = (64, 66, 130)
    x, v, h = rough(shape, low=-1.0, dtype=dtype)
    scheme = Mpdata(shape, SIDES["mixed"])
    found = [stepped(scheme, x, v, h, steps=4) for _ in range(3)]
    assert all(np.array_equal(one, found[0]) for one in found[1:])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_stages_on_the_card_agree(dtype):
    shape = (30, 50, 90)
    x, v, h = rough(shape, low=-1.0, dtype=dtype)
    fused, stages = (stepped(Mpdata(shape, "wall", kernels=kernels), x, v, h) for kernels in ("fast", "reference"))
    assert np.abs(fused - stages).max() < TOLERANCE[dtype]
