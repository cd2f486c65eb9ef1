"""Roots without library calls: a call in a loop stops LLVM's vectoriser."""

import numpy as np

from eagre.backend.cells import cell, real


@cell
def root_guess(x):
    """x^(-1/3) to 4 %, from the exponent bits of x in single precision; x > 0."""
    third = np.float32(0.33333333) * np.float32(np.float32(x).view(np.int32))
    return real(np.int32(np.int32(0x54A21D2A) - np.int32(third)).view(np.float32))


@cell
def power_four_thirds(x):
    """x^(4/3) for x >= 0 (the power of 1/h in Manning's law); ~0 below x = 1e-12."""
    return x ** real(4.0 / 3.0)


@cell
def newton_step(x, y):
    """One Newton step towards y = x^(-1/3): y (4 - x y^3) / 3."""
    return y * (real(4.0 / 3.0) - real(1.0 / 3.0) * x * (y * y * y))


@power_four_thirds.variant("cpu", "single")
def _single_on_cpu(x):
    x = max(x, real(1e-12))
    y = newton_step(x, newton_step(x, newton_step(x, root_guess(x))))
    return x * x * y * y


@power_four_thirds.variant("cpu", "double")
def _double_on_cpu(x):
    x = max(x, real(1e-12))
    y = newton_step(x, newton_step(x, newton_step(x, newton_step(x, root_guess(x)))))
    return x * x * y * y


@power_four_thirds.variant("cuda", "double")
def _double_on_cuda(x):
    x = max(x, real(1e-12))
    y = newton_step(x, newton_step(x, real(np.float32(x) ** np.float32(-1.0 / 3.0))))
    return x * x * y * y
