"""What every model offers: the run loop, the files, the command line, validation and benchmarks need nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    import xarray

    from eagre.backend.device import Device
    from eagre.backend.group import Group
    from eagre.fields import Variable
    from eagre.grid import Grid, Levels


SampleTimes = Callable[[float, float, int], list[float]]
"""Times after one and up to another, s: the first so many."""

Batch = Callable[[], dict[str, np.ndarray]]
"""Gives fields by name, (times, points)."""


class Recording(NamedTuple):
    """Values that a model is to take on its way.

    names, points : fields, and cells (j, i). instants : when; the model lands on each of them.
    take : called in `advance` with times, s, ascending, and their values. These may be asked for, on any thread, until
    it is called again and has returned.
    """

    names: Sequence[str]
    points: Sequence[tuple[int, int]]
    instants: SampleTimes
    take: Callable[[np.ndarray, Batch], None]


class Model(Protocol):
    """A model of any kind at one instant.

    A class is a model if it has these members; it need not inherit from this one. Arrays are on the host.
    """

    @property
    def kind(self) -> str:
        """Name of the kind in case files and on the command line."""
        ...

    @property
    def grid(self) -> Grid:
        """The grid of its fields."""
        ...

    @property
    def levels(self) -> Levels | None:
        """The levels of its fields of three dimensions; None where there are none."""
        ...

    @property
    def device(self) -> Device | Group:
        """Where it computes: one device, or several that share the domain."""
        ...

    @property
    def precision(self) -> str:
        """``"single"`` or ``"double"``."""
        ...

    # -- time ---------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Model time, s."""
        ...

    @property
    def steps(self) -> int:
        """Steps made since the start of the run, across restarts."""
        ...

    @property
    def time_step(self) -> float:
        """Length of the next step before it is shortened to land on a time, s."""
        ...

    def advance(self, until: float, max_steps: int | None = None) -> None:
        """Step to `until`, s, or stop after `max_steps` steps.

        Raises
        ------
        InputError
            If `until` lies before the present.
        BlowUpError
            If the solution stops being finite; the model then holds its last good state.
        """
        ...

    def steps_without_checks(self, count: int) -> Callable[[], None]:
        """A function that makes `count` steps, give or take a few where the device decides which are accepted.

        For timing: it does not check the solution, copies nothing to the host, need not wait for the device and
        disregards the end of series. `steps` counts what it made; the model can be used on afterwards.
        """
        ...

    def use_tuning(self, device: Any) -> None:
        """Go on on `device`, the same one with another table of layouts; the state stays."""
        ...

    # -- fields -------------------------------------------------------------------------------------

    @property
    def variables(self) -> Mapping[str, Variable]:
        """What `field` gives, by name."""
        ...

    def field(self, name: str) -> np.ndarray:
        """A field of `variables`, of the shape of its location (centres: (ny, nx)), in its units; levels come first."""
        ...

    def snapshot(self, names: Sequence[str]) -> Callable[[], dict[str, np.ndarray]]:
        """Fields as they are now, while the model goes on: a function that gives them, once, on any thread.

        It is to be called before the next `snapshot`.
        """
        ...

    def sample(self, names: Sequence[str], points: Sequence[tuple[int, int]]) -> dict[str, np.ndarray]:
        """Values of fields in cells (j, i): one array (n,) a name, without a copy of the whole field."""
        ...

    def start_sampling(self, recording: Recording | None) -> bool:
        """Take values on the way from now on, or None: no more; False if the model cannot, and has to be stopped."""
        ...

    @property
    def wall_points(self) -> np.ndarray | None:
        """Mask (ny, nx) of points on walls where the flow does not change; None if the model has none."""
        ...

    @property
    def particle_positions(self) -> np.ndarray:
        """x, y of the particles that it carries, (n, 2), m; n is 0 in most models."""
        ...

    # -- restart ------------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Everything that a run needs to continue bit for bit."""
        ...

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Continue from a `state` of a model with the same set-up."""
        ...

    # -- summary ------------------------------------------------------------------------------------

    def settings(self) -> Mapping[str, str | float | int]:
        """The resolved set-up, for the attributes of output files."""
        ...

    def diagnostics(self) -> dict[str, float]:
        """Integrals and extremes now; ``"volume_error"``, if there is one, is the mass error of the progress bar."""
        ...

    def statistics(self) -> dict[str, float]:
        """Facts of the steps so far, at least ``"steps"``, ``"dt_min"`` and ``"dt_max"``, s."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What a user should know before the run."""
        ...

    @property
    def summary_rows(self) -> Sequence[tuple[str, str]]:
        """Rows (name, text) of the summary at the end of a run; an empty name continues the row above."""
        ...

    @property
    def bytes_per_step(self) -> int:
        """Bytes a cell that a step must move between memory and processor, caches being perfect."""
        ...

    def run(
        self,
        until: float,
        *,
        output_interval: float | None = None,
        variables: Sequence[str] | None = None,
        gauges: Mapping[str, tuple[float, float]] | None = None,
        gauge_interval: float | None = None,
        progress: bool = False,
    ) -> xarray.Dataset:
        """Run to `until`, s, and return fields over time as an `xarray.Dataset` (`models.dataset.run_to_dataset`)."""
        ...


def gauged(model: Model) -> list[str]:
    """Names of the fields that gauges can show: those that change with time and have no levels."""
    return [name for name, one in model.variables.items() if not (one.static or one.levels)]


def field_type(model: Model) -> np.dtype:
    """Type of a model's fields: float32 or float64."""
    return np.dtype(np.float32 if model.precision == "single" else np.float64)
