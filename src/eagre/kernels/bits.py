"""Comparison of non-negative reals by their bit patterns: a maximum that is safe with fast-math.

Bit patterns of non-negative IEEE numbers have the order of the numbers, with NaN above infinity. An integer maximum
therefore vectorises, works with integer atomics, and preserves NaN.
"""

import numpy as np

from eagre.backend.compilation.cells import cell, real


@cell
def to_bits(x):
    """Return the bit pattern of x >= 0 in double precision."""
    return np.float64(x).view(np.int64)


@to_bits.variant("python", "single")
@to_bits.variant("cpu", "single")
@to_bits.variant("cuda", "single")
def _single(x):
    return np.float32(x).view(np.int32)


@cell
def from_bits(n):
    """Return the non-negative number with the bit pattern n."""
    return np.int64(n).view(np.float64)


@from_bits.variant("python", "single")
@from_bits.variant("cpu", "single")
@from_bits.variant("cuda", "single")
def _from_single(n):
    return np.int32(n).view(np.float32)


@cell
def magnitude_bits(x):
    """Return the bit pattern of |x|; for infinity and NaN it exceeds that of any finite number."""
    return np.float64(x).view(np.int64) & np.int64(0x7FFFFFFFFFFFFFFF)


@magnitude_bits.variant("python", "single")
@magnitude_bits.variant("cpu", "single")
@magnitude_bits.variant("cuda", "single")
def _single_magnitude(x):
    return np.float32(x).view(np.int32) & np.int32(0x7FFFFFFF)


@cell
def binade(x):
    """Return the largest power of two that does not exceed |x|; 0 for 0."""
    return np.int64(np.float64(x).view(np.int64) & np.int64(0x7FF0000000000000)).view(np.float64)


@binade.variant("python", "single")
@binade.variant("cpu", "single")
@binade.variant("cuda", "single")
def _single_binade(x):
    return np.int32(np.float32(x).view(np.int32) & np.int32(0x7F800000)).view(np.float32)


@cell
def is_bad(x):
    """Return True for NaN, infinity and values above 1e30, by an integer test that fast-math preserves."""
    return magnitude_bits(x) > to_bits(real(1e30))
