"""Search spaces of the models, one module per model with a list `SPACES`."""

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
    """Return the spaces of a model on a kind of device ("cpu", "cuda") for a size class."""
    return [space for space in SPACES if space.model == model and kind in space.kinds and size in space.sizes]
