"""Order of non-negative reals as integers: a maximum that fast-math cannot spoil.

The bit patterns of non-negative IEEE numbers sort like the numbers, with NaN above infinity. An
integer maximum therefore vectorises, works with integer atomics, and keeps a NaN.
"""

import numpy as np

from eagre.backend.cells import cell, real


@cell
def to_bits(x):
    """Bit pattern of x >= 0 in double precision."""
    return np.float64(x).view(np.int64)


@to_bits.variant("python", "single")
@to_bits.variant("cpu", "single")
@to_bits.variant("cuda", "single")
def _single(x):
    return np.float32(x).view(np.int32)


@cell
def from_bits(n):
    """The non-negative number whose bit pattern is n."""
    return np.int64(n).view(np.float64)


@from_bits.variant("python", "single")
@from_bits.variant("cpu", "single")
@from_bits.variant("cuda", "single")
def _from_single(n):
    return np.int32(n).view(np.float32)


@cell
def magnitude_bits(x):
    """Bit pattern of |x|, whatever x is: above that of any finite number for infinity and NaN."""
    return np.float64(x).view(np.int64) & np.int64(0x7FFFFFFFFFFFFFFF)


@magnitude_bits.variant("python", "single")
@magnitude_bits.variant("cpu", "single")
@magnitude_bits.variant("cuda", "single")
def _single_magnitude(x):
    return np.float32(x).view(np.int32) & np.int32(0x7FFFFFFF)


@cell
def binade(x):
    """The largest power of two that is not above |x|; 0 of 0."""
    return np.int64(np.float64(x).view(np.int64) & np.int64(0x7FF0000000000000)).view(np.float64)


@binade.variant("python", "single")
@binade.variant("cpu", "single")
@binade.variant("cuda", "single")
def _single_binade(x):
    return np.int32(np.float32(x).view(np.int32) & np.int32(0x7F800000)).view(np.float32)


@cell
def is_bad(x):
    """True for NaN, infinity and anything above 1e30: an integer test that fast-math keeps."""
    return magnitude_bits(x) > to_bits(real(1e30))
