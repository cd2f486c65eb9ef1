"""Memory that a model takes."""

from __future__ import annotations

from typing import Any

import numpy as np


def resident_words(model: Any) -> float:
    """Words of the model's precision a cell that its arrays occupy on the device."""
    found: dict[int, int] = {}

    def count(value: Any) -> None:
        if isinstance(value, (list, tuple)):
            for item in value:
                count(item)
        elif not isinstance(value, (type, np.generic)) and hasattr(value, "nbytes"):
            base = getattr(value, "base", None)  # of a view
            whole = value if base is None else base
            found[id(whole)] = int(whole.nbytes)

    for owner in (model._engine, model._engine.schedule):
        for value in vars(owner).values():
            count(value)
    return sum(found.values()) / model.grid.cells / np.dtype(model._engine.real).itemsize
