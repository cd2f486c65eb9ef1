"""What all models share; what others may rely on is `eagre.contract.Model`."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eagre.contract import Model, Recording
from eagre.grid import Levels
from eagre.models.dataset import run_to_dataset


class BaseModel:
    """Parts of `eagre.contract.Model` that are the same, or nothing, in most models."""

    def __repr__(self: Any) -> str:
        try:
            size = (*reversed(self.grid.shape), *(() if self.levels is None else (self.levels.height.size,)))
            what = f"{' x '.join(map(str, size))}, t = {self.time:g} s after {self.steps} steps, {self.device}"
            return f"<{type(self).__name__}: {what}, {self.precision} precision>"
        except AttributeError:  # a model that is not whole yet, in a debugger
            return object.__repr__(self)

    @property
    def levels(self) -> Levels | None:
        """Vertical levels of three-dimensional fields; None for two-dimensional models."""
        return None

    @property
    def notes(self) -> Sequence[str]:
        """Notes about the set-up, shown before the run."""
        return ()

    @property
    def summary_rows(self) -> Sequence[tuple[str, str]]:
        """Rows (label, text) of the run summary; an empty label continues the previous row."""
        return ()

    @property
    def statistics_start(self) -> float:
        """Start of the interval of the fields that are statistics over time, s; NaN for models without such fields."""
        return math.nan

    @property
    def wall_points(self) -> np.ndarray | None:
        """Mask (ny, nx) of points on walls without flow; None for models without such points."""
        return None

    @property
    def particle_positions(self) -> np.ndarray:
        """Positions x, y of Lagrangian particles, (n, 2), m; n is 0 for models without particles."""
        return np.empty((0, 2))

    def start_sampling(self, recording: Recording | None) -> bool:
        """Return False: the model does not support in-run sampling."""
        return False

    def snapshot(self: Model, names: Sequence[str]) -> Callable[[], dict[str, np.ndarray]]:
        """Return a function that returns the current fields. This model copies them immediately."""
        fields = {name: self.field(name) for name in names}
        return lambda: fields

    def _begin_anew(self, state: dict[str, np.ndarray]) -> None:
        """Build `_engine` and `_stepper` for a state that `restore` loads next."""
        raise NotImplementedError

    def __getstate__(self: Any) -> dict[str, Any]:
        """Return the set-up and the state for pickle and copy, without compiled kernels and device arrays."""
        kept = {name: value for name, value in vars(self).items() if name not in ("_engine", "_stepper")}
        return {"kept": kept, "state": self.state()}

    def __setstate__(self: Any, given: dict[str, Any]) -> None:
        vars(self).update(given["kept"])
        self._begin_anew(given["state"])
        self.restore(given["state"])
        vars(self).update(given["kept"])  # keep the initial volume and time of the copied model

    def use_tuning(self: Any, device: Any) -> None:
        """Use another table of launch parameters for the same device; the state is unchanged.

        Engines without support for this are rebuilt.
        """
        take = getattr(self._engine, "use_tuning", None)
        if take is not None:
            self.device = device
            take(device)
            return
        given = self.__getstate__()
        kept = {**given["kept"], "device": device}
        del self._engine, self._stepper
        gc.collect()  # free the arrays of the previous engine, whose closures form cycles
        self.__setstate__({**given, "kept": kept})

    run = run_to_dataset
