"""Small discrete Fourier transforms of thread-local arrays: X_k = sum_n v_n exp(-2 pi i n k / size), in place.

All indices are constants after unrolling, so the arrays stay in registers. Composite sizes are split as n = B a + b,
k = c + A d with A B = size (Cooley and Tukey 1965, doi:10.1090/S0025-5718-1965-0178586-1): a transform over a, a
rotation by b c, a transform over b.
"""

from __future__ import annotations

from eagre.backend.compilation.cells import cell, cplx, cuda, real

HALF_ROOT = 0.7071067811865476
COS_8, SIN_8 = 0.9238795325112867, 0.3826834323650898  # of pi / 8
HALF_ROOT_3 = 0.8660254037844386


@cell
def rotated(z, c, s):
    """Multiply z by c - i s."""
    return complex(c * z.real + s * z.imag, c * z.imag - s * z.real)


@cell
def dft2(v, index, step):
    """Transform two values of v at `index`, index + step."""
    first, second = v[index], v[index + step]
    v[index] = first + second
    v[index + step] = first - second


@cell
def dft3(v, index, step):
    """Transform three values of v at `index`, index + step, index + 2 step."""
    x, y, z = v[index], v[index + step], v[index + 2 * step]
    total = y + z
    rotated = y - z
    rotated = complex(real(HALF_ROOT_3) * rotated.imag, -(real(HALF_ROOT_3) * rotated.real))
    centre = complex(x.real - real(0.5) * total.real, x.imag - real(0.5) * total.imag)
    v[index] = x + total
    v[index + step] = centre + rotated
    v[index + 2 * step] = centre - rotated


@cell
def dft4(v, index, step):
    """Transform four values of v at `index`, index + step, ..."""
    a, b = v[index] + v[index + 2 * step], v[index] - v[index + 2 * step]
    c, d = v[index + step] + v[index + 3 * step], v[index + step] - v[index + 3 * step]
    d = complex(d.imag, -d.real)
    v[index] = a + c
    v[index + step] = b + d
    v[index + 2 * step] = a - c
    v[index + 3 * step] = b - d


@cell
def transform1(v):
    """Size 1: nothing to do."""


@cell
def transform2(v):
    """Size 2."""
    dft2(v, 0, 1)


@cell
def transform4(v):
    """Size 4."""
    dft4(v, 0, 1)


@cell
def transform8(v):
    """Size 8 = 4 x 2."""
    for b in range(2):
        dft4(v, b, 2)
    v[3] = rotated(v[3], real(HALF_ROOT), real(HALF_ROOT))
    v[5] = complex(v[5].imag, -v[5].real)
    v[7] = rotated(v[7], real(-HALF_ROOT), real(HALF_ROOT))
    w = cuda.local.array(8, cplx)
    for c in range(4):
        w[c] = v[2 * c] + v[2 * c + 1]
        w[c + 4] = v[2 * c] - v[2 * c + 1]
    for k in range(8):
        v[k] = w[k]


@cell
def transform12(v):
    """Size 12 = 4 x 3."""
    for b in range(3):
        dft4(v, b, 3)
    v[4] = rotated(v[4], real(HALF_ROOT_3), real(0.5))
    v[7] = rotated(v[7], real(0.5), real(HALF_ROOT_3))
    v[10] = complex(v[10].imag, -v[10].real)
    v[5] = rotated(v[5], real(0.5), real(HALF_ROOT_3))
    v[8] = rotated(v[8], real(-0.5), real(HALF_ROOT_3))
    v[11] = complex(-v[11].real, -v[11].imag)
    w = cuda.local.array(12, cplx)
    for c in range(4):
        dft3(v, 3 * c, 1)
        for d in range(3):
            w[c + 4 * d] = v[3 * c + d]
    for k in range(12):
        v[k] = w[k]


@cell
def transform16(v):
    """Size 16 = 4 x 4."""
    for b in range(4):
        dft4(v, b, 4)
    v[5] = rotated(v[5], real(COS_8), real(SIN_8))
    v[6] = rotated(v[6], real(HALF_ROOT), real(HALF_ROOT))
    v[7] = rotated(v[7], real(SIN_8), real(COS_8))
    v[9] = rotated(v[9], real(HALF_ROOT), real(HALF_ROOT))
    v[10] = complex(v[10].imag, -v[10].real)
    v[11] = rotated(v[11], real(-HALF_ROOT), real(HALF_ROOT))
    v[13] = rotated(v[13], real(SIN_8), real(COS_8))
    v[14] = rotated(v[14], real(-HALF_ROOT), real(HALF_ROOT))
    v[15] = rotated(v[15], real(-COS_8), real(-SIN_8))
    w = cuda.local.array(16, cplx)
    for c in range(4):
        dft4(v, 4 * c, 1)
        for d in range(4):
            w[c + 4 * d] = v[4 * c + d]
    for k in range(16):
        v[k] = w[k]


TRANSFORMS = {1: transform1, 2: transform2, 4: transform4, 8: transform8, 12: transform12, 16: transform16}
