"""Values of the features of a vector file: one value for all features, or the name of a property."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eagre.config.values.units import is_quantity, parse_quantity
from eagre.errors import InputError
from eagre.grid import Grid


@dataclass(frozen=True)
class FeatureValue:
    """Value of each feature, as defined by a key of a case file.

    Parameters
    ----------
    given : float or str
        Value of all features (a number, SI, or a string with a unit), or the name of the property with the value.
    dimension : str
        Dimension of the value, for unit conversion.
    key : str
        Key in the case file, for error messages.

    Raises
    ------
    InputError
        For a value of another dimension.
    """

    given: float | str
    dimension: str
    key: str

    def __post_init__(self) -> None:
        if not self._is_property:
            parse_quantity(self.given, self.dimension, self.key)

    @property
    def _is_property(self) -> bool:
        return isinstance(self.given, str) and not is_quantity(self.given)

    def of(self, feature: Any, kind: str, path: Path | None) -> float:
        """Return the value of a feature, SI; `kind`, "line" or "polygon", and `path` are for error messages.

        Raises
        ------
        InputError
            If the property is missing or not a finite quantity.
        """
        if not self._is_property:
            return parse_quantity(self.given, self.dimension, self.key)
        name = str(self.given)
        held = property_of(feature, name, kind, path, self.key)
        try:
            return parse_quantity(held, self.dimension, name)
        except InputError as error:
            what = f"{path}, the {kind} {feature.name}: {error.what}"
            raise InputError(what, allowed=error.allowed, fix=error.fix, problem=error.problem) from None


def property_of(feature: Any, name: str, kind: str, path: Path | None, key: str) -> Any:
    """Return the property of a feature that a key of the case file names.

    Raises
    ------
    InputError
        If the property is missing; the message lists the available properties.
    """
    from eagre.io.files import choose

    choose(name, feature.properties, f"{path}, the {kind} {feature.name}: property", f'{key} = "{{}}"')
    held = feature.properties[name]
    return held.item() if isinstance(held, np.generic) else held


def cells_in_none(out: np.ndarray, grid: Grid, path: Path, kind: str, fix: str) -> InputError:
    """Return the error for cells, (ny, nx) bool, whose centres are outside all polygons or zones of a file."""
    j, i = (int(index) for index in np.argwhere(out)[0])
    return InputError(
        f"{path}: {out.sum()} of {out.size} cells in no {kind}; the first centre is "
        f"x = {grid.x[i]:.10g} m, y = {grid.y[j]:.10g} m",
        allowed=f"{kind}s that cover all cell centres, or a value outside", fix=fix,
    )  # fmt: skip
