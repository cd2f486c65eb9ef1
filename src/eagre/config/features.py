"""What a case file says of the features of a vector file: one value for all, or the property that has it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eagre.config.units import is_quantity, parse_quantity
from eagre.errors import InputError
from eagre.grid import Grid


@dataclass(frozen=True)
class FeatureValue:
    """What a key of a case file says of the value of each feature.

    Parameters
    ----------
    given : float or str
        A number in SI or a text with a unit, which is the value of all; or the name of the property that has it.
    dimension : str
        Of the value, for its units.
    key : str
        In the case file, for errors.

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
        """The value of a feature, SI; `kind`, "line" or "polygon", and `path` of its file are for errors.

        Raises
        ------
        InputError
            If it has no such property, or one that is no finite quantity.
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
    """A property of a feature, which a key of the case file names.

    Raises
    ------
    InputError
        If it has no such property, with those that it has.
    """
    from eagre.io.files import choose

    choose(name, feature.properties, f"{path}, the {kind} {feature.name}: property", f'{key} = "{{}}"')
    held = feature.properties[name]
    return held.item() if isinstance(held, np.generic) else held


def cells_in_none(out: np.ndarray, grid: Grid, path: Path, kind: str, fix: str) -> InputError:
    """The error for cells, (ny, nx) bool, whose centres lie in no "polygon" or "zone" of a file."""
    j, i = (int(index) for index in np.argwhere(out)[0])
    return InputError(
        f"{path}: {out.sum()} of {out.size} cells in no {kind}; the first centre is "
        f"x = {grid.x[i]:.10g} m, y = {grid.y[j]:.10g} m",
        allowed=f"{kind}s over all centres, or a value outside", fix=fix,
    )  # fmt: skip
