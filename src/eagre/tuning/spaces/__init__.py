"""The spaces that models declare, one module a model: each has a list `SPACES`."""

from __future__ import annotations

from eagre.tuning.space import Space
from eagre.tuning.spaces import anelastic, barotropic, potential_waves, shallow_water, shallow_water_adi

SPACES: tuple[Space, ...] = (
    *shallow_water.SPACES,
    *shallow_water_adi.SPACES,
    *barotropic.SPACES,
    *potential_waves.SPACES,
    *anelastic.SPACES,
)


def spaces_of(model: str, kind: str, size: str) -> list[Space]:
    """Spaces of a kind of model on a kind of device ("cpu", "cuda") at a class of sizes."""
    return [space for space in SPACES if space.model == model and kind in space.kinds and size in space.sizes]
