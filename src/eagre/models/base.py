"""What all models share; what others may rely on is `eagre.contract.Model`."""

from __future__ import annotations

import gc
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
        """The levels of its fields of three dimensions: none."""
        return None

    @property
    def notes(self) -> Sequence[str]:
        """What a user should know before the run."""
        return ()

    @property
    def summary_rows(self) -> Sequence[tuple[str, str]]:
        """Rows (name, text) of the summary at the end of a run; an empty name continues the row above."""
        return ()

    @property
    def wall_points(self) -> np.ndarray | None:
        """Mask (ny, nx) of points on walls where the flow does not change: none."""
        return None

    @property
    def particle_positions(self) -> np.ndarray:
        """x, y of the particles that it carries, (n, 2), m."""
        return np.empty((0, 2))

    def start_sampling(self, recording: Recording | None) -> bool:
        """It cannot take values on its way."""
        return False

    def snapshot(self: Model, names: Sequence[str]) -> Callable[[], dict[str, np.ndarray]]:
        """Fields as they are now: copied at once. Models whose fields are large copy them beside their steps."""
        fields = {name: self.field(name) for name in names}
        return lambda: fields

    def _begin_anew(self, state: dict[str, np.ndarray]) -> None:
        """Build what works on the device, `_engine` and `_stepper`, for a state that `restore` is about to take up."""
        raise NotImplementedError

    def __getstate__(self: Any) -> dict[str, Any]:
        """For pickle and copy: the set-up and the state; compiled programs and a device's arrays stay here."""
        kept = {name: value for name, value in vars(self).items() if name not in ("_engine", "_stepper")}
        return {"kept": kept, "state": self.state()}

    def __setstate__(self: Any, given: dict[str, Any]) -> None:
        vars(self).update(given["kept"])
        self._begin_anew(given["state"])
        self.restore(given["state"])
        vars(self).update(given["kept"])  # the first volume and time are those of the model that was copied

    def use_tuning(self: Any, device: Any) -> None:
        """Go on on `device`, the same one with another table of layouts; the state stays.

        An engine that can take them up keeps its arrays; others are built anew.
        """
        take = getattr(self._engine, "use_tuning", None)
        if take is not None:
            self.device = device
            take(device)
            return
        given = self.__getstate__()
        kept = {**given["kept"], "device": device}
        del self._engine, self._stepper
        gc.collect()  # arrays of the last engine: its closures hold one another
        self.__setstate__({**given, "kept": kept})

    run = run_to_dataset
