"""Interface of all models, used by the run loop, output files, command line, validation and benchmarks."""

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
"""Return the first `n` sample times after one time and up to another, s: (after, until, n)."""

Batch = Callable[[], dict[str, np.ndarray]]
"""Function that returns sampled fields by name, (times, points)."""


class Recording(NamedTuple):
    """Request for values that a model samples during `advance`.

    names, points : names of fields, and cells (j, i). sample_times : sample times; time steps end at each of them.
    take : callback; `advance` calls it with ascending times, s, and a function that returns their values. This function
    may be called from any thread until the next call of `take` has returned.
    """

    names: Sequence[str]
    points: Sequence[tuple[int, int]]
    sample_times: SampleTimes
    take: Callable[[np.ndarray, Batch], None]


class Model(Protocol):
    """Interface of a model: grid, fields, time stepping and restart.

    A class implements the interface by these members; it need not inherit from `Model`. All arrays are on the host.
    """

    @property
    def kind(self) -> str:
        """Name of the model in case files and on the command line."""
        ...

    @property
    def grid(self) -> Grid:
        """Horizontal grid of the fields."""
        ...

    @property
    def levels(self) -> Levels | None:
        """Vertical levels of three-dimensional fields; None for models without such fields."""
        ...

    @property
    def device(self) -> Device | Group:
        """Device of the model, or a group of devices that share the domain."""
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
        """Number of completed steps since the start of the run, across restarts."""
        ...

    @property
    def time_step(self) -> float:
        """Length of the next step, s, before it is shortened to end at a requested time."""
        ...

    def advance(self, until: float, max_steps: int | None = None) -> None:
        """Advance the model to `until`, s, or by at most `max_steps` steps.

        Raises
        ------
        InputError
            If `until` is earlier than the current model time.
        BlowUpError
            If the solution contains NaN or infinity; the model then holds the last valid state.
        """
        ...

    def steps_without_checks(self, count: int) -> Callable[[], None]:
        """Return a function that advances the model by `count` steps, for timing.

        The function does not check the solution, copies nothing to the host, need not wait for the device and ignores
        the end of time series. The number of completed steps may differ slightly from `count` where the device decides
        whether steps are accepted; `steps` counts the completed steps. The model can be used afterwards.
        """
        ...

    def use_tuning(self, device: Any) -> None:
        """Use another table of launch parameters for the same device; the state is unchanged."""
        ...

    # -- fields -------------------------------------------------------------------------------------

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Available fields, by name."""
        ...

    def field(self, name: str) -> np.ndarray:
        """Return a field in its units, of the shape of its location (centres: (ny, nx)); vertical levels come first."""
        ...

    def snapshot(self, names: Sequence[str]) -> Callable[[], dict[str, np.ndarray]]:
        """Store copies of fields and return a function that returns them by name.

        The model can advance before the function is called. The function can be called once, from any thread, and must
        be called before the next `snapshot`.
        """
        ...

    def sample(self, names: Sequence[str], points: Sequence[tuple[int, int]]) -> dict[str, np.ndarray]:
        """Return values of fields in cells (j, i), one array (n,) per name, without copying whole fields."""
        ...

    def start_sampling(self, recording: Recording | None) -> bool:
        """Start in-run sampling, or stop it with None; return False if the model does not support it."""
        ...

    @property
    def statistics_start(self) -> float:
        """Start of the interval of the fields that are statistics over time, s; NaN for models without such fields."""
        ...

    @property
    def wall_points(self) -> np.ndarray | None:
        """Mask (ny, nx) of wall points with constant values; None if the model has no such points."""
        ...

    @property
    def particle_positions(self) -> np.ndarray:
        """x, y of passive particles, (n, 2), m; n is 0 for models without particles."""
        ...

    # -- restart ------------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Return the state that a run needs to continue bitwise identically."""
        ...

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restore a `state` of a model with the same set-up."""
        ...

    # -- summary ------------------------------------------------------------------------------------

    def settings(self) -> Mapping[str, str | float | int]:
        """Return the resolved set-up, for the attributes of output files."""
        ...

    def diagnostics(self) -> dict[str, float]:
        """Return current integrals and extrema; the progress bar shows ``"volume_error"`` as mass error, if present."""
        ...

    def statistics(self) -> dict[str, float]:
        """Return statistics of the steps, at least ``"steps"``, ``"dt_min"`` and ``"dt_max"``, s.

        Adaptive steps that are shortened to end at a requested time do not count in the range; NaN if all are.
        """
        ...

    @property
    def notes(self) -> Sequence[str]:
        """Notes about the set-up, shown before the run."""
        ...

    @property
    def summary_rows(self) -> Sequence[tuple[str, str]]:
        """Rows (label, text) of the run summary; an empty label continues the previous row."""
        ...

    @property
    def bytes_per_step(self) -> int:
        """Compulsory memory traffic per cell and step, bytes (perfect caches)."""
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
        """Run to `until`, s, and return fields over time as an `xarray.Dataset` (`models.base.run_to_dataset`)."""
        ...


def gauged(model: Model) -> list[str]:
    """Return the names of fields that gauges can record: time-dependent fields without vertical levels."""
    return [name for name, one in model.variables.items() if one.gauged and not (one.static or one.levels)]


def field_type(model: Model) -> np.dtype:
    """Return the floating-point type of a model's fields."""
    return np.dtype(np.float32 if model.precision == "single" else np.float64)
