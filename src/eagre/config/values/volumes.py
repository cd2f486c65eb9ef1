"""Three-dimensional field values: a number, or an expression in x, y and z."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import PlainValidator, ValidationInfo

from eagre.config.toml import literal
from eagre.config.values.expressions import Expression
from eagre.config.values.field_values import number_or_expression
from eagre.config.values.types import key_of
from eagre.config.values.units import DIMENSIONS
from eagre.errors import InputError
from eagre.grid import Grid, Levels
from eagre.local_rows import LocalRows

NAMES = ("x", "y", "z", "terrain_height")
"""Names in expressions: coordinates and the height of the ground below, m; z is upward from 0, not from the ground."""


@dataclass(frozen=True)
class VolumeValue:
    """Field value: a number or an expression."""

    source: float | Expression

    def at_points(self, grid: Grid | LocalRows, levels: Levels) -> float | np.ndarray:
        """Return a number, or an array of shape (nz, ny, nx).

        grid : the grid, or the rows of a process; `levels` and the result then have these rows.
        """
        if isinstance(self.source, Expression):
            rows = LocalRows.whole(grid)
            ground = 0.0 if levels.terrain_height is None else levels.terrain_height
            z = np.broadcast_to(levels.z, (levels.height.size, *rows.shape_of("centre")))
            x, y = rows.grid.x[None, None, :], rows.grid.y[None, rows.low : rows.high, None]
            return self.source(x=x, y=y, z=z, terrain_height=ground)
        return self.source


def _volume(dimension: str | None) -> PlainValidator:
    def read(value: Any, info: ValidationInfo) -> VolumeValue:
        if isinstance(value, VolumeValue):
            return value
        value_read = number_or_expression(value, info, dimension, NAMES)
        if value_read is not None:
            return VolumeValue(value_read)
        unit = f" in {DIMENSIONS[dimension].si}" if dimension else ""
        raise InputError(
            f"{key_of(info)} = {literal(value)}",
            allowed=f"a number{unit}, or an expression in x, y, z and terrain_height",
            fix=f'{key_of(info)} = "2 * exp(-hypot(x, z - 2000)**2 / 1e6)"',
        )

    return PlainValidator(read)


SpeedVolume = Annotated[VolumeValue, _volume("speed")]
TemperatureVolume = Annotated[VolumeValue, _volume("temperature")]
NumberVolume = Annotated[VolumeValue, _volume(None)]
