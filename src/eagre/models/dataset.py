"""A run in memory: fields at intervals as an `xarray.Dataset`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eagre.arguments import all_of_type, of_type
from eagre.contract import Batch, Model, Recording, SampleTimes, gauged
from eagre.errors import InputError
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
