"""The transcription of MPDATA meets the published numbers of libmpdata++ (doi:10.5194/gmd-8-1005-2015)."""

from __future__ import annotations

import numpy as np
import pytest

from oracle.mpdata import mpdata

PUBLISHED = {  # rms error after n steps on n points an axis, n = 16, 32, 64, infinite gauge, 2 passes
    (0.25, 0.0, 0.0): (5.6655e-3, 1.3590e-3, 3.3588e-4),
    (0.25, 0.25, 0.0): (7.1344e-3, 9.2440e-4, 1.1644e-4),
    (0.0, 0.25, 0.25): (7.1344e-3, 9.2440e-4, 1.1644e-4),
    (0.25, 0.25, 0.25): (2.0392e-2, 4.0347e-3, 9.1844e-4),
}
PLANE = (1.0090e-2, 1.3073e-3, 1.6467e-4)  # two dimensions, (0.25, 0.25)


def error(n, courant, planes, **options):
    """psi = 2 + sin x sin y sin z; without sin z on one plane."""
    step = 2 * np.pi / n
    z, y, x = np.meshgrid(step * np.arange(planes), step * np.arange(n), step * np.arange(n), indexing="ij")

    def exact(x, y, z):
        return 2 + np.sin(x) * np.sin(y) * (np.sin(z) if planes > 1 else 1.0)

    v = [np.full((planes, n, n + 1), courant[0]), np.full((planes, n + 1, n), courant[1])]
    v.append(np.full((planes + 1, n, n), courant[2]))
    psi = exact(x, y, z)
    for _ in range(n):
        psi = mpdata(psi, v, **options)
    way = n * step
    return np.sqrt(np.mean((psi - exact(x - courant[0] * way, y - courant[1] * way, z - courant[2] * way)) ** 2))


@pytest.mark.parametrize("courant", PUBLISHED)
def test_oblique_flow(courant):
    assert f"{error(16, courant, 16):.4e}" == f"{PUBLISHED[courant][0]:.4e}"


@pytest.mark.slow
@pytest.mark.parametrize("courant", PUBLISHED)
@pytest.mark.parametrize("number", [1, 2])
def test_oblique_flow_on_fine_grids(courant, number):
    n = 16 << number
    assert f"{error(n, courant, n):.4e}" == f"{PUBLISHED[courant][number]:.4e}"


@pytest.mark.parametrize("number", [0, 1])
def test_oblique_flow_in_a_plane(number):
    assert f"{error(16 << number, (0.25, 0.25, 0.0), 1):.4e}" == f"{PLANE[number]:.4e}"


def test_third_order():
    coarse, fine = (error(n, (0.25, 0.25, 0.0), 1, third=True) for n in (16, 32))
    assert np.log2(coarse / fine) > 2.9
