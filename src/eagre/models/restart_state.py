"""Saved states: the grid and the reference data that must agree between a state and the model that restores it.

A state holds, for example, the perturbation theta' relative to the ambient atmosphere, or a potential at points whose
positions depend on the depth. The same numbers describe another flow if the ambient atmosphere or the depth differs.
A state therefore includes its reference data, and `check_references` compares them with the data of the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eagre.checks import is_finite
from eagre.errors import InputError
from eagre.grid import PARAMETERS, Grid

TOLERANCE = 1e-9  # relative to the maximum; differences between processors are smaller


@dataclass(frozen=True)
class RestartReference:
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
    labels : tuple of str
        Names of the values 0, 1, ... of a categorical quantity; empty for other quantities.
    """

    what: str
    values: Any
    unit: str
    fix: str
    labels: tuple[str, ...] = ()

    def describe(self, value: float) -> str:
        """Return a description with a value."""
        if self.labels:
            return f'{self.what} = "{self.labels[int(value)]}"'
        return f"{self.what} of {value:.10g} {self.unit}".rstrip()


def reference_values(references: Mapping[str, RestartReference]) -> dict[str, np.ndarray]:
    """Return the reference data as arrays, for a saved state."""
    return {name: np.asarray(reference.values, np.float64) for name, reference in references.items()}


def check_references(state: Mapping[str, np.ndarray], references: Mapping[str, RestartReference]) -> None:
    """Raise `InputError` if the reference data of a state differ from the model's; missing data are not checked."""
    model_values = reference_values(references)
    for name, reference in references.items():
        state_value, model_value = np.asarray(state.get(name, model_values[name])), model_values[name]
        if state_value.shape != model_value.shape:
            got, allowed = (_many(reference, values) for values in (state_value, model_value))
            raise _differs(reference, got, allowed)
        apart = np.abs(state_value - model_value)
        if apart.size and not apart.max() <= TOLERANCE * np.abs(model_value).max():
            index = np.unravel_index(int(np.argmax(np.nan_to_num(apart, nan=np.inf))), apart.shape)
            position = f" at point {', '.join(str(int(n)) for n in index)}" if index else ""
            got, allowed = (f"{reference.describe(values[index])}{position}" for values in (state_value, model_value))
            raise _differs(reference, got, allowed)


def bed_references(over_rows: np.ndarray, over_columns: np.ndarray) -> dict[str, RestartReference]:
    """Return the means of the bed over each row and over each column, m, as reference data."""
    fix = "the bed of the run that wrote the state; with another bed, start a run with surface_elevation in [initial]"
    means = zip(("rows", "columns"), (over_rows, over_columns), strict=True)
    return {f"bed_{name}": RestartReference(f"mean bed of {name}", values, "m", fix) for name, values in means}


def _differs(reference: RestartReference, got: str, allowed: str) -> InputError:
    """Return the error for a state with other reference data than the model."""
    problem = f"The {reference.what} differs between the state and the model."
    return InputError(f"a state with {got}", allowed=f"{allowed}, as in the model", fix=reference.fix, problem=problem)


def _many(reference: RestartReference, values: np.ndarray) -> str:
    """Return a description of the number of values and their maximum."""
    if values.size == 0:
        return reference.describe(0.0)
    return f"{reference.what} at {values.size} points, up to {values.max():g} {reference.unit}"


def grid_state(grid: Grid, references: Mapping[str, RestartReference] | None = None) -> dict[str, np.ndarray]:
    """Return the grid parameters and the reference data, for a saved state."""
    numbers = np.array([getattr(grid, name) for name in PARAMETERS], np.float64)
    return {"grid": numbers} | reference_values(references or {})


def check_state(
    state: Mapping[str, np.ndarray], fields: Mapping[str, tuple[int, ...]], grid: Grid, numbers: Sequence[str] = (),
    references: Mapping[str, RestartReference] | None = None,
) -> None:  # fmt: skip
    """Raise `InputError` for a state of another model kind, grid or reference data, or with values that are not finite.

    fields : shapes by name; numbers : names of required entries of any shape; references : see
    `RestartReference`.
    """
    for name in (*fields, *numbers):
        actual_shape = np.shape(state[name]) if name in state else None
        shape = tuple(fields.get(name, actual_shape or ()))
        more = f", {name} of shape {shape}" if name in fields else ""
        if actual_shape != shape:
            raise InputError(
                f"a state with {name} of shape {actual_shape}"
                if actual_shape is not None
                else f"a state without {name}",
                allowed=f"the state of a model of the same kind and grid{more}",
                fix="model.restore(read_restart(path, model))",
                problem=f"The state has no {name}."
                if actual_shape is None
                else f"The state has {name} of another shape.",
            )
        if np.asarray(state[name]).dtype.kind not in "biuf":
            raise InputError(
                f"a state with {name} of type {np.asarray(state[name]).dtype}", allowed="real numbers",
                problem=f"The values of {name} in the state are not real numbers.",
            )  # fmt: skip
        if name in fields and not is_finite(state[name]):
            raise InputError(
                f"a state with {name} that is not finite", allowed="finite numbers",
                problem=f"The field {name} of the state contains NaN or infinity.",
            )  # fmt: skip
    for key, state_value, model_value in zip(PARAMETERS, state.get("grid", ()), grid_state(grid)["grid"], strict=False):
        if state_value != model_value:
            raise InputError(
                f"a state of a grid with {key} = {state_value:g}", allowed=f"{key} = {model_value:g}, as in the model",
                problem=f"The grid of the state differs from the grid of the model in {key}.",
            )  # fmt: skip
    check_references(state, references or {})
