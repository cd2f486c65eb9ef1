"""Double gyre of Bleichrodt (2011), the source of the barotropic model, with its scheme or the default scheme.

F. Bleichrodt, Accelerating finite differences for solving a barotropic ocean model on the GPU, MSc thesis, Utrecht
University (2011).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eagre.backend.device import Device
    from eagre.models.barotropic.model import BarotropicVorticity

SCHEME: dict[str, Any] = {"jacobian": "advective", "scheme": "ab2"}
"""Options of the source."""
VARIANTS: dict[str, dict[str, Any]] = {"bleichrodt2011": SCHEME, "default": {}}


def double_gyre(
    points: int, device: str | Device, precision: str, variant: str = "default", **options: Any
) -> BarotropicVorticity:
    """The model at rest: `points` per side, Re = 20.83, dt = 1e-7, free slip; options : of `BarotropicVorticity`."""
    from eagre.models.barotropic.model import BarotropicVorticity

    return BarotropicVorticity.double_gyre(points, device=device, precision=precision, **VARIANTS[variant], **options)
