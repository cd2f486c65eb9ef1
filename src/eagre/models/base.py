"""Common part of all models, and runs in memory as an `xarray.Dataset`."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eagre.arguments import all_of_type, of_type
from eagre.contract import Batch, Model, Recording, SampleTimes, gauged
from eagre.errors import InputError
from eagre.grid import Levels
from eagre.io.cf import grid_mapping
from eagre.io.writers.stations import gauge_cells
from eagre.names import field_names
from eagre.stepping.run import Event, run

if TYPE_CHECKING:
    import xarray


def run_to_dataset(
    model: Model,
    until: float,
    *,
    output_interval: float | None = None,
    variables: Sequence[str] | None = None,
    gauges: Mapping[str, tuple[float, float]] | None = None,
    gauge_interval: float | None = None,
    progress: bool = False,
) -> xarray.Dataset:
    """Run to `until`, s, and return fields over time as an `xarray.Dataset`.

    Parameters
    ----------
    until : float, s
        End of the run, in model time.
    output_interval : float, s
        Time between records; only the first and the last if not given.
    variables : sequence of str
        Fields to keep, ``"velocity"`` for its components; all that change with time if not given.
    gauges : dict of name -> (x, y), m
        Points whose values are kept at every `gauge_interval`, s, as ``gauge_<variable>`` with
        dimensions (gauge_time, gauge).
    progress : bool
        Print a line at every look.

    Returns
    -------
    xarray.Dataset
        Fields with dimensions (time, y, x), or (time, z, y, x), units and long names, the coordinates x and y of the
        centres, the coordinate system of the grid, if it has one, as ``spatial_ref``, and the model's settings as
        attributes. For runs that do not fit the memory write a file:
        `eagre.io.FieldWriter`.

    Raises
    ------
    InputError
        For a variable that the model does not have, a gauge outside the domain, or an `until` before the present.
    BlowUpError
        If the solution stops being finite.
    """
    moving = [name for name, variable in model.variables.items() if not variable.static]
    names = moving if variables is None else _known(variables, model)
    gauges = of_type("gauges", gauges or {}, Mapping, 'gauges={"harbour": (1200.0, 300.0)}')
    times: list[float] = []
    kept: dict[str, list[np.ndarray]] = {name: [] for name in names}
    positions = {name: _point(name, point) for name, point in gauges.items()}
    points = dict(zip(positions, gauge_cells(model, positions), strict=True))
    gauge_times: list[float] = []
    shown = gauged(model)
    gauge_kept: dict[str, list[np.ndarray]] = {name: [] for name in shown}

    def keep(_: Any) -> None:
        times.append(model.time)
        for name in names:
            kept[name].append(model.field(name))

    def keep_gauges(_: Any) -> None:
        if gauge_times[-1:] == [model.time]:
            return
        gauge_times.append(model.time)
        for name, values in model.sample(shown, list(points.values())).items():
            gauge_kept[name].append(values)

    def take_gauges(taken: np.ndarray, batch: Batch) -> None:
        gauge_times.extend(taken.tolist())
        for name, values in batch().items():
            gauge_kept[name].extend(np.array(values))

    def follow(_: Any, instants: SampleTimes | None) -> bool:
        if instants is None:
            return model.start_sampling(None)
        return model.start_sampling(Recording(shown, list(points.values()), instants, take_gauges))

    events = [Event(output_interval, None, keep, "output")]
    if points:
        events.append(Event(gauge_interval or output_interval, None, keep_gauges, "gauges", start_sampling=follow))
    run(model, until, events, on_progress=_print if progress else None)
    return _dataset(model, times, kept, list(points), gauge_times, gauge_kept if points else {})


def _known(variables: Sequence[str], model: Model) -> list[str]:
    """Names that the model has."""
    return field_names(all_of_type("variables", variables, str, 'variables=["depth"]'), model.variables)


def _point(name: str, point: Any) -> tuple[float, float]:
    """A point of a gauge."""
    try:
        x, y = map(float, point)
    except (TypeError, ValueError):
        raise InputError(
            f"gauges[{name!r}] = {point!r}", allowed="(x, y), m", fix=f'gauges={{"{name}": (1200.0, 300.0)}}'
        ) from None
    return x, y


def _dataset(
    model: Model,
    times: list[float],
    kept: dict[str, list[np.ndarray]],
    points: list[str],
    gauge_times: list[float],
    gauge_kept: dict[str, list[np.ndarray]],
) -> Any:
    import xarray

    mapping = grid_mapping(model.grid.crs)

    def attributes(name: str) -> dict[str, str]:
        variable = model.variables[name]
        found = {"units": variable.units, "long_name": variable.long_name}
        found |= {"grid_mapping": "spatial_ref"} if mapping is not None else {}
        return found | ({"standard_name": variable.standard_name} if variable.standard_name else {})

    data: dict[str, Any] = {
        name: (("time", *_dimensions(model, name)), np.stack(values), attributes(name)) for name, values in kept.items()
    }
    for name, values in gauge_kept.items():
        data[f"gauge_{name}"] = (("gauge_time", "gauge"), np.stack(values), attributes(name))
    for name, variable in model.variables.items():
        if variable.static and name not in data:
            data[name] = (_dimensions(model, name), model.field(name), attributes(name))
    coordinates: dict[str, Any] = {
        "time": ("time", times, {"units": "s", "long_name": "model time"}),
        "x": ("x", model.grid.x, {"units": "m", "standard_name": "projection_x_coordinate"}),
        "y": ("y", model.grid.y, {"units": "m", "standard_name": "projection_y_coordinate"}),
    }
    if mapping is not None:
        coordinates["spatial_ref"] = ((), 0, mapping)
    if model.levels is not None:
        coordinates["z"] = ("z", model.levels.height, {"units": "m", "positive": "up"})
    if points:
        coordinates |= {"gauge": points, "gauge_time": ("gauge_time", gauge_times, {"units": "s"})}
    return xarray.Dataset(data, coordinates, attrs={"model": model.kind, **model.settings()})


def _dimensions(model: Model, name: str) -> tuple[str, ...]:
    return ("z", "y", "x") if model.variables[name].levels else ("y", "x")


def _print(progress: Any) -> None:
    print(f"t = {progress.time:.6g} s of {progress.until:.6g} s, step {progress.steps}, dt = {progress.dt:.3g} s")


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

    @property
    def rows_of_process(self: Model) -> tuple[int, int]:
        """Rows of the grid that `restore` reads in this process: the first, and one past the last."""
        return 0, self.grid.ny

    @property
    def restart_references(self: Any) -> Mapping[str, Any]:
        """Data of the model that a state depends on; see `eagre.models.restart_state.RestartReference`."""
        return self.setup.restart_references

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
