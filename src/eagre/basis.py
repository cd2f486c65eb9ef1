"""Reference data of a saved state: values that must agree between the state and the model that restores it.

A state holds, for example, the perturbation theta' relative to the ambient atmosphere, or a potential at points whose
positions depend on the depth. The same numbers describe another flow if the ambient atmosphere or the depth differs.
A state therefore includes its reference data, and `check_basis` compares them with the data of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from eagre.errors import InputError

ALIKE = 1e-9  # relative to the maximum; differences between processors are smaller


@dataclass(frozen=True)
class Basis:
    """Reference data that a saved state depends on.

    Parameters
    ----------
    what : str
        Description in error messages: "ambient potential temperature".
    values : array
        Scalar, profile or field.
    unit : str
        Unit of `values`.
    fix : str
        Source of the data, for error messages: "theta in [atmosphere] of the run that wrote it".
    words : tuple of str
        Names of the values 0, 1, ... of a categorical quantity; empty for other quantities.
    """

    what: str
    values: Any
    unit: str
    fix: str
    words: tuple[str, ...] = ()

    def told(self, value: float) -> str:
        """Return a description with a value."""
        if self.words:
            return f'{self.what} = "{self.words[int(value)]}"'
        return f"{self.what} of {value:.10g} {self.unit}".rstrip()


def basis_state(parts: Mapping[str, Basis]) -> dict[str, np.ndarray]:
    """Return the reference data as arrays, for a saved state."""
    return {name: np.asarray(part.values, np.float64) for name, part in parts.items()}


def check_basis(state: Mapping[str, np.ndarray], parts: Mapping[str, Basis]) -> None:
    """Raise `InputError` if the reference data of a state differ from the model's; missing data are not checked."""
    own = basis_state(parts)
    for name, part in parts.items():
        theirs, ours = np.asarray(state.get(name, own[name])), own[name]
        if theirs.shape != ours.shape:
            got, allowed = (_many(part, values) for values in (theirs, ours))
            raise _differs(part, got, allowed)
        apart = np.abs(theirs - ours)
        if apart.size and not apart.max() <= ALIKE * np.abs(ours).max():
            at = np.unravel_index(int(np.argmax(np.nan_to_num(apart, nan=np.inf))), apart.shape)
            place = f" at point {', '.join(str(int(n)) for n in at)}" if at else ""
            got, allowed = (f"{part.told(values[at])}{place}" for values in (theirs, ours))
            raise _differs(part, got, allowed)


def bed_basis(bed: np.ndarray) -> dict[str, Basis]:
    """Return the means of the bed over rows and over columns, m, as reference data."""
    fix = "the bed of the run that wrote the state; with another bed, start a run with surface_elevation in [initial]"
    means = zip(("rows", "columns"), (bed.mean(axis=1), bed.mean(axis=0)), strict=True)
    return {f"bed_{name}": Basis(f"mean bed of {name}", values, "m", fix) for name, values in means}


def _differs(part: Basis, got: str, allowed: str) -> InputError:
    """Return the error for a state with other reference data than the model."""
    problem = f"The {part.what} differs between the state and the model."
    return InputError(f"a state with {got}", allowed=f"{allowed}, as in the model", fix=part.fix, problem=problem)


def _many(part: Basis, values: np.ndarray) -> str:
    """Return a description of the number of values and their maximum."""
    if values.size == 0:
        return part.told(0.0)
    return f"{part.what} at {values.size} points, up to {values.max():g} {part.unit}"
