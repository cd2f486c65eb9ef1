"""Case file of the ADI shallow-water model and construction of the model from a case."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import model_validator

from eagre.config.section import Section, case_key, only_one
from eagre.config.values.field_values import ChezyField, ManningField, NumberField
from eagre.config.water.sections import WaterCase
from eagre.models.shallow_water_adi.options import Numerics

if TYPE_CHECKING:
    from eagre.models.shallow_water_adi.model import ShallowWaterADI


class LandMaskSection(Section):
    """Land mask: cells that are never wet."""

    where: NumberField = case_key("land mask; nonzero values are land", "bed > 5")


class BedFrictionSection(Section):
    """Bed friction: Manning's n or Chezy's C."""

    manning: ManningField | None = case_key("Manning's n, s m-1/3", 0.03, default=None)
    chezy: ChezyField | None = case_key("Chezy's C, m1/2 s-1", 60.0, default=None)

    @model_validator(mode="after")
    def _one_law(self) -> BedFrictionSection:
        problem = "The section [friction] needs exactly one of manning and chezy."
        only_one(self, ("manning", "chezy"), "manning = 0.03", "either manning or chezy", problem)
        return self


class ImplicitSection(Section, Numerics):
    """Options of the numerical scheme."""


class ShallowWaterADICase(WaterCase):
    """Case file of the ADI model: ``ShallowWaterADICase.load("case.toml").build()``."""

    kind: ClassVar[str] = "shallow-water-adi"
    default_variables: ClassVar[tuple[str, ...]] = ("surface_elevation", "depth", "velocity_x", "velocity_y")
    gauge_variables: ClassVar[tuple[str, ...]] = ("surface_elevation", "depth", "velocity_x", "velocity_y")

    land_mask: LandMaskSection | None = case_key("the section [land_mask]", default=None)
    friction: BedFrictionSection | None = case_key("the section [friction]", default=None)
    numerics: ImplicitSection = case_key("the section [numerics]", {"time_step": "20 s"})

    def build(self, device: Any = None, precision: str | None = None) -> ShallowWaterADI:
        from eagre.models.shallow_water_adi.devices.multi_device import local_rows
        from eagre.models.shallow_water_adi.model import ShallowWaterADI

        local = device if device is not None else self.run.device
        rows, corners, bed = self._terrain(partial(local_rows, local), local)
        options = self._options(rows, bed, self.friction, device, precision, gravity=self.numerics.gravity)
        if self.land_mask is not None:
            mask = self._values("land_mask", self.land_mask, "where", rows, bed)
            options["land_mask"] = np.broadcast_to(mask, rows.shape_of("centre")) != 0
        del bed
        if precision is None and "precision" not in self.run.model_fields_set:
            options["precision"] = None  # chosen by the model
        with self.naming("initial", "friction", "numerics", "run", "maps"), self._naming_sources():
            return ShallowWaterADI(rows.grid, corners, **options, **self.numerics.model_dump(exclude_unset=True))
