"""Roots, quotients and selections in the form that each target evaluates fastest.

On the CPU a library call in a loop prevents vectorisation by LLVM. On CUDA the compiler's double-precision root and
quotient are several times as expensive as a hardware approximation with Newton steps, and nested conditional
expressions become branches.
"""

import math

import numpy as np

from eagre.backend.compilation.cells import (
    cell,
    cuda,
    rcp_seed,
    real,
    rsqrt_seed,
    select_both,
    select_by_sign,
    select_larger,
    select_smaller,
)

# -- 1/x --------------------------------------------------------------------------------------------


@cell
def reciprocal(x):
    """Return 1/x for normal x != 0."""
    return real(1.0) / x


@reciprocal.variant("cuda", "double")
def _reciprocal_from_seed(x):
    y = rcp_seed(x)
    e = real(1.0) - x * y
    return y + y * (e + e * e)


@reciprocal.variant("simulator")
def _simulated_reciprocal(x):
    return real(1.0) / x


@cell
def quotient(a, b):
    """Return a / b for normal b != 0."""
    return a / b


@quotient.variant("cuda", "double")
def _quotient_from_seed(a, b):
    return a * reciprocal(b)


@quotient.variant("simulator")
def _simulated_quotient(a, b):
    return a / b


# -- square roots -----------------------------------------------------------------------------------


@cell
def inverse_root(x):
    """Return 1/sqrt(x) for normal x > 0."""
    return real(1.0) / math.sqrt(x)


@inverse_root.variant("cuda", "single")
def _hardware_inverse_root(x):
    return cuda.libdevice.rsqrtf(x)


@inverse_root.variant("cuda", "double")
def _inverse_root_from_seed(x):
    y = rsqrt_seed(x)
    e = real(1.0) - x * y * y
    return y + y * e * (real(0.5) + real(0.375) * e)


@inverse_root.variant("simulator")
def _simulated_inverse_root(x):
    return real(1.0) / math.sqrt(x)


@cell
def root(x):
    """Return sqrt(x) for x >= 0."""
    return math.sqrt(x)


@root.variant("cuda", "double")
def _root_from_seed(x):
    return x * inverse_root(larger(x, real(1e-200)))


@root.variant("simulator")
def _simulated_root(x):
    return math.sqrt(x)


@cell
def hypotenuse(x, y):
    """Return sqrt(x^2 + y^2)."""
    return math.sqrt(x * x + y * y)


@hypotenuse.variant("cuda", "double")
def _hypotenuse_from_seed(x, y):
    square = x * x + (y * y + real(1e-200))
    return square * inverse_root(square)


@hypotenuse.variant("simulator")
def _simulated_hypotenuse(x, y):
    return math.sqrt(x * x + y * y)


# -- x^(-1/3) and x^(4/3) -----------------------------------------------------------------------------


@cell
def inverse_cube_root(x):
    """Return x^(-1/3) for x > 0; x is limited to at least 1e-12."""
    return larger(x, real(1e-12)) ** real(-1.0 / 3.0)


@cell
def root_guess(x):
    """Return x^(-1/3) with an error of 4 %, from the exponent bits of x in single precision; x > 0."""
    third = np.float32(0.33333333) * np.float32(np.float32(x).view(np.int32))
    return real(np.int32(np.int32(0x54A21D2A) - np.int32(third)).view(np.float32))  # type: ignore[arg-type]


@cell
def newton_step(x, y):
    """Return the result of a Newton step towards y = x^(-1/3): y (4 - x y^3) / 3."""
    return y * (real(4.0 / 3.0) - real(1.0 / 3.0) * x * (y * y * y))


@inverse_cube_root.variant("cpu", "single")
def _single_on_cpu(x):
    x = max(x, real(1e-12))
    return newton_step(x, newton_step(x, newton_step(x, root_guess(x))))


@inverse_cube_root.variant("cpu", "double")
def _double_on_cpu(x):
    x = max(x, real(1e-12))
    return newton_step(x, newton_step(x, newton_step(x, newton_step(x, root_guess(x)))))


@cell
def single_guess(x):
    """Return x^(-1/3) in single precision, with the hardware's logarithm and power."""
    return real(np.float32(x) ** np.float32(-1.0 / 3.0))  # type: ignore[arg-type]


@inverse_cube_root.variant("cuda", "double")
def _double_on_cuda(x):
    x = larger(x, real(1e-12))
    return newton_step(x, newton_step(x, single_guess(x)))


@inverse_cube_root.variant("simulator")
def _simulated_cube_root(x):
    return larger(x, real(1e-12)) ** real(-1.0 / 3.0)


@cell
def power_minus_seven_thirds(x):
    """Return x^(-7/3) for x > 0 (the power of h in Manning's law for a unit discharge)."""
    y = inverse_cube_root(x)
    cube = y * y * y
    return cube * cube * y


@power_minus_seven_thirds.variant("cuda", "single")
def _seven_thirds_of_the_hardware(x):
    return x ** real(-7.0 / 3.0)


@cell
def power_four_thirds(x):
    """Return x^(4/3) for x >= 0 (the power of 1/h in Manning's law); ~0 below x = 1e-12."""
    y = inverse_cube_root(x)
    return x * x * y * y


@power_four_thirds.variant("cuda", "single")
def _power_of_the_hardware(x):
    return x ** real(4.0 / 3.0)


# -- x^(7/6) ----------------------------------------------------------------------------------------


@cell
def power_seven_sixths(x):
    """Return x^(7/6) for 1e-30 < x < 1e30 (the power of 1/h^2 in Manning's law)."""
    return x ** real(7.0 / 6.0)


@cell
def sixth_guess(x):
    """Return x^(-1/6) with an error of 4 %, from the exponent bits of x in single precision; x > 0."""
    sixth = np.float32(0.16666667) * np.float32(np.float32(x).view(np.int32))
    return real(np.int32(np.int32(0x4A0E2965) - np.int32(sixth)).view(np.float32))  # type: ignore[arg-type]


@cell
def cubic_step(x, y):
    """Return the result of a third-order step towards y = x^(-1/6), from e = 1 - x y^6."""
    cube = y * y * y
    e = real(1.0) - x * (cube * cube)
    return y + y * (e * (real(1.0 / 6.0) + real(7.0 / 72.0) * e))


@power_seven_sixths.variant("cpu", "single")
def _sevenths_single_on_cpu(x):
    y = cubic_step(x, cubic_step(x, sixth_guess(x)))
    square = y * y
    return (x * x) * (square * square * y)


@power_seven_sixths.variant("cpu", "double")
def _sevenths_double_on_cpu(x):
    y = cubic_step(x, cubic_step(x, cubic_step(x, sixth_guess(x))))
    square = y * y
    return (x * x) * (square * square * y)


@cell
def single_sixth(x):
    """Return x^(-1/6) in single precision, with the hardware's logarithm and power."""
    return real(np.float32(x) ** np.float32(-1.0 / 6.0))  # type: ignore[arg-type]


@power_seven_sixths.variant("cuda", "double")
def _sevenths_double_on_cuda(x):
    y = cubic_step(x, single_sixth(x))
    square = y * y
    return (x * x) * (square * square * y)


@power_seven_sixths.variant("simulator")
def _simulated_sevenths(x):
    return x ** real(7.0 / 6.0)


# -- extremes and choice -----------------------------------------------------------------------------------------


@cell
def smaller(a, b):
    """Return min(a, b)."""
    return min(a, b)


@cell
def larger(a, b):
    """Return max(a, b)."""
    return max(a, b)


# Hopper has no double minimum: the compiler's takes ten instructions with its rules for NaN, a
# comparison and a selection take three.


@smaller.variant("cuda", "double")
def _smaller_by_selection(a, b):
    return select_smaller(a, b)


@larger.variant("cuda", "double")
def _larger_by_selection(a, b):
    return select_larger(a, b)


@cell
def extremes(a, b):
    """Return max(a, b), min(a, b)."""
    return larger(a, b), smaller(a, b)


@extremes.variant("cuda", "double")
def _both_by_selection(a, b):
    return select_both(a, b)


@extremes.variant("simulator")
def _simulated_extremes(a, b):
    return max(a, b), min(a, b)


@cell
def by_sign(x, positive, negative):
    """Return the value for the sign of x; either one if x is 0."""
    return positive if x > real(0.0) else negative


@by_sign.variant("cuda", "double")
def _by_upper_half(x, positive, negative):
    return select_by_sign(x, positive, negative)


@by_sign.variant("simulator")
def _simulated_by_sign(x, positive, negative):
    return positive if x > real(0.0) else negative


@smaller.variant("simulator")
def _simulated_smaller(a, b):
    return min(a, b)


@larger.variant("simulator")
def _simulated_larger(a, b):
    return max(a, b)


@cell
def select(condition, a, b):
    """Return a if the condition holds, otherwise b; both are computed."""
    return a if condition else b


@select.variant("cuda")
def _select_instruction(condition, a, b):
    return cuda.selp(condition, a, b)


@select.variant("simulator")
def _simulated_select(condition, a, b):
    return a if condition else b
