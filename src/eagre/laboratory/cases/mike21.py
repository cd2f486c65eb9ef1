"""Pool of the GPU port of MIKE 21 HD, the source of the ADI model, at any size.

P. E. Aackermann and P. J. Dinesen Pedersen, Development of a GPU-accelerated MIKE 21 Solver for Water Wave
Dynamics, BSc thesis IMM-B.Sc.-2012-29, Technical University of Denmark (2012).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eagre.grid import Grid

if TYPE_CHECKING:
    from eagre.backend.device import Device
    from eagre.models.shallow_water_adi.model import ShallowWaterADI

VARIANTS: dict[str, dict[str, Any]] = {"mike21": {"dissipation": "none", "drying": "off"}, "default": {}}
"""Options by scheme: that of the source, and the default one, which has dissipation and drying."""
DX, DT, STILL_DEPTH, STRICKLER = 100.0, 20.0, 50.0, 32.0  # m, s, m, m^(1/3) s-1
HUMP_CELLS = 32.0  # cells per side divided by the standard deviation of the hump in cells


def pool(shape: tuple[int, int], device: str | Device, precision: str, variant: str = "default") -> ShallowWaterADI:
    """The model at its start: a hump of 1 m in the middle, sigma n / 32 cells, water at rest, Courant number 4.4."""
    from eagre.models.shallow_water_adi.model import ShallowWaterADI

    ny, nx = shape
    x, y = hump(nx), hump(ny)
    return ShallowWaterADI(
        Grid(nx, ny, DX, DX), -STILL_DEPTH, DT, surface_elevation=x * y[:, None], manning=1.0 / STRICKLER,
        device=device, precision=precision, **VARIANTS[variant],
    )  # fmt: skip


def hump(n: int) -> np.ndarray:
    """Return the hump of 1 m along one axis of n cells, m."""
    return np.exp(-(((np.arange(n) - n / 2 + 0.5) * HUMP_CELLS / n) ** 2) / 2.0)
