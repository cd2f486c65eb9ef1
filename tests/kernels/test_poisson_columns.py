"""Column systems on the CPU against LAPACK, wavenumber by wavenumber, to rounding."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_banded

from eagre.backend.device import Launch
from eagre.backend.select import select
from eagre.solvers.poisson.columns import CHUNK, column_table, solve_columns_cpu
from eagre.solvers.poisson.slabs import CpuInterfaces


def expected(f, dx, dy, screening, nx):
    """x_(j+1) - (2 + sigma) x_j + x_(j-1) = dy^2 (2 / nx) f_j, with x = 0 before the first and behind the last row."""
    found = np.zeros_like(f)
    for k in range(1, nx):
        sigma = 4.0 * (dy / dx) ** 2 * np.sin(0.5 * np.pi * k / nx) ** 2 + screening * dy**2
        bands = np.ones((3, f.shape[0]))
        bands[1] = -2.0 - sigma
        found[:, k - 1] = solve_banded((1, 1), bands, dy**2 * 2.0 / nx * f[:, k - 1])
    return found


@pytest.mark.parametrize(
    ("nx", "ny", "dx", "dy", "screening"),
    [
        (9, 6, 0.2, 0.3, 0.0),  # felt in every row
        (2 * CHUNK + 7, 300, 0.3, 0.1, 0.0),  # three chunks; mended in a part of the rows
        (CHUNK + 1, 40, 0.1, 0.4, 2.5),
        (CHUNK + 3, 900, 10.0, 1.0, 0.0),
    ],
)
@pytest.mark.parametrize("precision", ["double", "single"])
def test_columns_on_the_cpu(rng, nx, ny, dx, dy, screening, precision):
    real = np.float64 if precision == "double" else np.float32
    f = np.full((ny + 1, nx + 1), 7.0, real)  # a rim that stays
    f[1:-1, 1:-1] = rng.standard_normal((ny - 1, nx - 1))
    wanted = expected(f[1:-1, 1:-1].astype(float), dx, dy, screening, nx)
    device = select("cpu")
    table = np.ascontiguousarray(column_table(nx, ny, dx, dy, screening)[:, 1:], real)
    scratch, carry = np.zeros((-(-(nx - 1) // CHUNK), 2, CHUNK), real), np.zeros(CHUNK)
    program = device.program(solve_columns_cpu, precision)
    device.run([Launch(program, (f, table, scratch, carry))])
    apart = np.abs(f[1:-1, 1:-1] - wanted).max(axis=0) / np.abs(wanted).max(axis=0)
    # The longest waves of the last case have a condition number of 1e5: single precision needs its sums in double.
    assert apart.max() < (1e-11 if precision == "double" else 4e-7), (apart.argmax(), apart.max())
    assert (f[[0, -1]] == 7.0).all() and (f[:, [0, -1]] == 7.0).all()


@pytest.mark.parametrize("heights", [[23], [5, 90, 9], [1, 2, 200]], ids=str)
@pytest.mark.parametrize("screening", [0.0, 3.0])
def test_bands_on_the_cpu(rng, heights, screening):
    """Each band solved alone, its ends told to all others, joined: the columns as one."""
    nx, dx, dy = CHUNK + 9, 0.1, 0.07
    f, device = rng.standard_normal((sum(heights), nx - 1)), select("cpu")
    wanted = expected(f, dx, dy, screening, nx)
    works, seams = [], []
    for index, part in enumerate(np.split(f, np.cumsum(heights)[:-1])):
        work = np.pad(part, 1)
        table = column_table(nx, len(part) + 1, dx, dy, screening, walls=False)[:, 1:].copy()
        scratch, carry = np.zeros((-(-(nx - 1) // CHUNK), 2, CHUNK)), np.zeros(CHUNK)
        device.run([Launch(device.program(solve_columns_cpu, "double"), (work, table, scratch, carry))])
        works.append(work)
        seams.append(CpuInterfaces(device, "double", index, heights, nx, dx, dy, screening))
        device.run(seams[-1].leave(work))
    for one, work in zip(seams, works, strict=True):
        for other in seams:
            one.ends[other.local_rows] = other.ends[other.local_rows]
        device.run(one.join(work))
    found = np.concatenate([work[1:-1, 1:-1] for work in works])
    assert (np.abs(found - wanted).max(axis=0) < 1e-12 * np.abs(wanted).max(axis=0)).all()
    assert all((work[[0, -1]] == 0.0).all() and (work[:, [0, -1]] == 0.0).all() for work in works)
