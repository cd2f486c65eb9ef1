"""Sections [surface] and [closure] of a case file: surface heat flux and drag, eddy viscosity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from pydantic import model_validator

from eagre.config.section import Section, case_key
from eagre.config.values.field_values import LengthField, NumberField
from eagre.config.values.signals import HeatFluxSignal, KinematicHeatFluxSignal, Signal
from eagre.config.values.types import PositiveMetres
from eagre.config.values.units import DIMENSIONS, parse_quantity
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.anelastic.subgrid.closure import Smagorinsky
from eagre.models.anelastic.subgrid.surface import Surface
from eagre.time_varying.series import Series


class ClosureSection(Section):
    """Subgrid-scale closure."""

    kind: Literal["smagorinsky"] = case_key("kind of closure: smagorinsky", "smagorinsky", default="smagorinsky")
    constant: float = case_key("Smagorinsky constant, usually 0.1 to 0.2", 0.17, default=0.17, ge=0, le=10)
    prandtl: float = case_key("turbulent Prandtl number", 0.333, default=1.0 / 3.0, ge=0.01, le=100)
    length: PositiveMetres | None = case_key(
        "filter length, metres; by default the cube root of the cell volume", 25.0, default=None
    )

    def make(self) -> Smagorinsky:
        """Return the closure of the model."""
        return Smagorinsky(self.constant, self.prandtl, self.length)


FLUXES = {"heat_flux": "kinematic heat flux", "sensible_heat_flux": "heat flux"}  # keys and dimensions


class SurfaceSection(Section):
    """Surface heat flux and drag."""

    heat_flux: KinematicHeatFluxSignal | None = case_key(
        "kinematic heat flux of potential temperature, K m/s, positive upwards: a number, or a table "
        "with file, times and values, or expression",
        "0.1 K m/s",
        default=None,
    )
    sensible_heat_flux: HeatFluxSignal | None = case_key(
        "sensible heat flux, W/m2, positive upwards; alternative to heat_flux. The model divides it by the "
        "density, heat capacity and (anelastic) Exner function of the reference state at the surface",
        "120 W/m2",
        default=None,
    )
    pattern: NumberField | None = case_key("factor of the heat flux at each point", "where(x < 0, 1, 0)", default=None)
    roughness: LengthField | None = case_key(
        "roughness length of the log law, metres; without it free slip", 0.1, default=None
    )

    @model_validator(mode="before")
    @classmethod
    def _by_unit(cls, data: Any) -> Any:
        """Raise `InputError` with the right key for a flux with the unit of the other key."""
        for key, other in (tuple(FLUXES), tuple(FLUXES)[::-1]):
            value = data.get(key) if isinstance(data, dict) else None
            if isinstance(value, str) and _is_of(value, FLUXES[other]):
                raise InputError(
                    f'{key} = "{value}"', allowed=f"a {FLUXES[key]} in {DIMENSIONS[FLUXES[key]].si}",
                    fix=f'{other} = "{value}"', problem=f"The value of {key} has the unit of {other}.",
                )  # fmt: skip
        return data

    @model_validator(mode="after")
    def _one_flux(self) -> SurfaceSection:
        if self.heat_flux is not None and self.sensible_heat_flux is not None:
            raise InputError(
                "both heat_flux and sensible_heat_flux", allowed="one of them", problem="The heat flux is given twice."
            )
        if self.pattern is not None and self.heat_flux is None and self.sensible_heat_flux is None:
            raise InputError(
                "pattern without a heat flux",
                allowed="pattern with a heat flux",
                fix='heat_flux = "0.1 K m/s"',
                problem="The key pattern requires a heat flux.",
            )
        return self

    def make(
        self, grid: Grid, resolve: Callable[[Signal], float | Series], capacity: np.ndarray | float = 1.0
    ) -> Surface:
        """Return the surface of the model.

        Parameters
        ----------
        grid : Grid
        resolve : function
            Converts a signal to a number or a series.
        capacity : (ny, nx) array or float, J m-3 K-1
            Volumetric heat capacity at the surface (`Atmosphere.heat_capacity`).
        """
        pattern, roughness = (None if one is None else one.at_centres(grid) for one in (self.pattern, self.roughness))
        if self.sensible_heat_flux is None:
            return Surface(resolve(self.heat_flux or Signal(0.0, "kinematic heat flux")), pattern, roughness)
        max_capacity = float(np.max(capacity))
        flux = Series.of(resolve(self.sensible_heat_flux), "sensible_heat_flux")
        factor = np.broadcast_to((1.0 if pattern is None else pattern) * (max_capacity / capacity), grid.shape)
        return Surface(Series(flux.times, flux.values / max_capacity, flux.name), factor, roughness)


def _is_of(text: str, dimension: str) -> bool:
    """Return whether a string is a quantity of a dimension."""
    try:
        parse_quantity(text, dimension)
    except InputError:
        return False
    return True
