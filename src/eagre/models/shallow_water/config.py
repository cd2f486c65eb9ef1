"""Case file of the explicit shallow-water model and construction of the model from a case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import PrivateAttr, field_validator

from eagre.config.section import Section, case_key
from eagre.config.values.field_values import ManningField
from eagre.config.water.sections import WaterCase
from eagre.errors import InputError
from eagre.models.shallow_water.options import Numerics

if TYPE_CHECKING:
    from eagre.models.shallow_water.model import ShallowWater

USUAL_SCHEME = "rk2"


class FrictionSection(Section):
    """Bed friction."""

    manning: ManningField = case_key("Manning's n, s m-1/3", 0.03)


class NumericsSection(Section, Numerics):
    """Options of the numerical scheme."""

    scheme: Literal["rk2", "euler", "srk2", "ds1", "ds2", "auto"] = case_key(
        "rk2, euler, srk2, ds1, ds2, or auto: the fastest second-order scheme measured by eagre tune", default="rk2"
    )

    @field_validator("time_step", mode="before")
    @classmethod
    def _no_control(cls, value: Any) -> Any:
        if value in ("predicted", "exact"):
            raise InputError(
                f'time_step = "{value}"', allowed="a time; the control of the time step is time_step_control",
                fix=f'time_step_control = "{value}"', problem=f'The time step "{value}" is not a time.',
            )  # fmt: skip
        return value


class ShallowWaterCase(WaterCase):
    """Case file of the explicit model: ``ShallowWaterCase.load("case.toml").build()``."""

    kind: ClassVar[str] = "shallow-water"
    default_variables: ClassVar[tuple[str, ...]] = ("surface_elevation", "depth", "velocity_x", "velocity_y")
    gauge_variables: ClassVar[tuple[str, ...]] = ("surface_elevation", "depth", "velocity_x", "velocity_y")

    friction: FrictionSection | None = case_key("the section [friction]", default=None)
    numerics: NumericsSection = case_key("the section [numerics]", default_factory=NumericsSection)
    _why: str = PrivateAttr("")  # reason for the choice of the scheme

    def build(self, device: Any = None, precision: str | None = None) -> ShallowWater:
        from eagre.local_rows import LocalRows
        from eagre.models.shallow_water.model import MIN_ROWS, ShallowWater

        local = device if device is not None else self.run.device
        rows, corners, bed = self._terrain(lambda grid: LocalRows.of(local, grid, MIN_ROWS), local)
        grid = rows.grid
        numerics, scheme = self.numerics.model_dump(exclude_unset=True), self._scheme(grid.cells, device, precision)
        numerics |= {"scheme": scheme} if "scheme" in numerics else {}
        options = self._options(rows, bed, self.friction, device, precision, scheme, self.numerics.gravity)
        del bed
        with self.naming("initial", "friction", "numerics", "run", "maps"), self._naming_sources():
            return ShallowWater(grid, corners, **options, **numerics)

    def _scheme(self, cells: int, device: Any, precision: str | None) -> str:
        """Return the name of the scheme; "auto" selects the fastest second-order scheme for the time-step control."""
        self._why = ""
        if self.numerics.scheme != "auto":
            return self.numerics.scheme
        if self.numerics.time_step_control == "exact":
            self._why = f'scheme {USUAL_SCHEME}: time_step_control = "exact"'
            return USUAL_SCHEME
        from eagre.backend.tuned import scheme_for

        run = self.run
        where, precision = device or run.device, precision or run.precision
        scheme, self._why = scheme_for(where, self.kind, cells, precision, USUAL_SCHEME, run.tuning)
        return scheme

    @property
    def tuned(self) -> str:
        """Description of the scheme, if the case sets "auto", and of the tuning parameters, with the reasons."""
        return "; ".join(filter(None, (self._why, super().tuned)))
