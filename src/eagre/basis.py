"""What the values of a state stand on: a run that goes on with them has to have the same.

A state holds theta' over the ambient air, or the potential at layers of a depth. With another ambient air or another
depth the same numbers are another flow. So a state says what its values stand on, and a model refuses those of others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from eagre.errors import InputError

ALIKE = 1e-9  # of the largest: what processors make of one expression differs by less


@dataclass(frozen=True)
class Basis:
    """Something that the values of a state stand on.

    Parameters
    ----------
    what : str
        As errors call it: "ambient potential temperature".
    values : array
        One number, one a level or one a point.
    unit : str
    fix : str
        Where it comes from, for the line to write: "theta in [atmosphere] of the run that wrote it".
    words : tuple of str
        What values 0, 1, ... stand for, where they are kinds and no amounts.
    """

    what: str
    values: Any
    unit: str
    fix: str
    words: tuple[str, ...] = ()

    def told(self, value: float) -> str:
        """It and a value in words."""
        if self.words:
            return f'{self.what} = "{self.words[int(value)]}"'
        return f"{self.what} of {value:.10g} {self.unit}".rstrip()


def basis_state(parts: Mapping[str, Basis]) -> dict[str, np.ndarray]:
    """What a state says of what its values stand on."""
    return {name: np.asarray(part.values, np.float64) for name, part in parts.items()}


def check_basis(state: Mapping[str, np.ndarray], parts: Mapping[str, Basis]) -> None:
    """Refuse a state whose values stand on something else; those of old versions do not say."""
    own = basis_state(parts)
    for name, part in parts.items():
        theirs, ours = np.asarray(state.get(name, own[name])), own[name]
        if theirs.shape != ours.shape:
            got, allowed = (_many(part, values) for values in (theirs, ours))
            raise InputError(f"a state with {got}", allowed=f"{allowed}, as the model has", fix=part.fix)
        apart = np.abs(theirs - ours)
        if apart.size and not apart.max() <= ALIKE * np.abs(ours).max():
            at = np.unravel_index(int(np.argmax(np.nan_to_num(apart, nan=np.inf))), apart.shape)
            place = f" at point {', '.join(str(int(n)) for n in at)}" if at else ""
            got, allowed = (f"{part.told(values[at])}{place}" for values in (theirs, ours))
            raise InputError(f"a state with {got}", allowed=f"{allowed}, as the model has", fix=part.fix)


def bed_basis(bed: np.ndarray) -> dict[str, Basis]:
    """The bed that water stands on, m, by its means over rows and columns, which few changes leave as they are."""
    fix = "the bed of the run that wrote it; over another one a new run begins with surface_elevation in [initial]"
    means = zip(("rows", "columns"), (bed.mean(axis=1), bed.mean(axis=0)), strict=True)
    return {f"bed_{name}": Basis(f"mean bed of {name}", values, "m", fix) for name, values in means}


def _many(part: Basis, values: np.ndarray) -> str:
    """How many values there are, and the largest."""
    if values.size == 0:
        return part.told(0.0)
    return f"{part.what} at {values.size} points, up to {values.max():g} {part.unit}"
