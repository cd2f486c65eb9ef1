"""Files of series at named stations: NetCDF (CF discrete sampling geometry) or CSV."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Unpack

import numpy as np

from eagre.contract import Batch, Model, Recording, SampleTimes, field_type, gauged
from eagre.errors import InputError, do_all
from eagre.fields import TIME_BOUNDS, Variable, time_bounds
from eagre.grid import check_metres, on_walls
from eagre.io.cf import axis_attributes, variable_attributes
from eagre.io.records.records import RecordFile
from eagre.io.records.writer import BackgroundWriter, Manner, Writer, WriterSetup
from eagre.io.tables.csv_rows import RowFile
from eagre.io.writers.field_files import write_mapping
from eagre.names import field_names

_TIMES_A_CHUNK = 256


class Stations(NamedTuple):
    """Positions of series.

    Parameters
    ----------
    what : str
        ``"gauge"``, for messages and attributes.
    names : list of str
    coordinates : dict
        Values, (n,), and attributes of each coordinate of the stations, including x and y in m.
    comment : str
        Comment attribute of every variable; none if empty.
    along : tuple of str
        Variables with the positions of moving stations.
    """

    what: str
    names: list[str]
    coordinates: dict[str, tuple[np.ndarray, dict[str, Any]]]
    comment: str = ""
    along: tuple[str, ...] = ()


def open_stations(
    path: str | os.PathLike[str],
    model: Model,
    stations: Stations,
    variables: Sequence[Variable],
    **manner: Unpack[Manner],
) -> RecordFile | RowFile:
    """Open a file of ``.nc`` or ``.csv`` for (stations,) values of the variables at each time.

    For the options see `eagre.io.WriterSetup`.

    Raises
    ------
    InputError
        If the file cannot be used, or an existing file has other stations or variables. A ``.csv`` file has names only:
        stations that moved are not noticed there.
    """
    setup = WriterSetup(**manner)
    full = setup.output_path(path, ".nc", ".csv", what=f"{stations.what} file")
    if full.suffix.lower() == ".csv":
        each = [f"{station} {one.name} ({one.units or '1'})" for station in stations.names for one in variables]
        return setup.rows(full, model, each)
    file, goes_on = setup.records(full, model, variables)
    if goes_on:
        coordinates = {name: values for name, (values, _) in stations.coordinates.items()}
        coordinates["station_name"] = np.array(stations.names, dtype=object)
        file.check_holds(f"{stations.what}s or variables", coordinates, [one.name for one in variables])
    else:
        _declare(file, model, stations, variables)
    return file


def _declare(file: RecordFile, model: Model, stations: Stations, variables: Sequence[Variable]) -> None:
    """Declare the stations and the variables, after CF 1.11 section H.2.1 (orthogonal time series)."""
    file.attribute("featureType", "timeSeries")
    file.dimension("station", len(stations.names))
    station = {"long_name": f"name of the {stations.what}", "cf_role": "timeseries_id"}
    file.variable("station_name", ("station",), str, station, data=np.array(stations.names, dtype=object))
    for name, (values, attributes) in stations.coordinates.items():
        text = values.dtype == object
        file.variable(name, ("station",), str if text else values.dtype, attributes, data=values)
    mapping = write_mapping(file, model.grid.crs)
    dtype = field_type(model)
    for one in variables:
        along = [] if one.name in stations.along else stations.along
        coordinates = " ".join([*along, *stations.coordinates, "station_name"])
        attributes = variable_attributes(one) | mapping | {"coordinates": coordinates}
        if stations.comment:
            attributes["comment"] = stations.comment
        chunks = (_TIMES_A_CHUNK, len(stations.names))
        file.variable(one.name, ("time", "station"), dtype, attributes, chunks=chunks, fill=True)
    file.ready()


MAX_NAMES = 5  # maximum number of names in a note


class GaugeWriter(Writer):
    """Write variables of a model at points, one time record per call.

    Parameters
    ----------
    path : path-like
        ``.nc``: dimensions (time, station), CF feature type ``timeSeries``. ``.csv``: one column per point and
        variable, with the unit in the header (``"pier surface_elevation (m)"``); `eagre.io.read_series` reads it.
    model : Model
        Read: `grid`, `variables`, `kind`, `precision`, `device`, `settings()`, `sample(names, cells)`, `time`.
    points : mapping of str to (x, y)
        Name and position of each gauge, m. Values are taken from the cell that contains the point. Without
        points no file is created.
    variables : sequence of str
        Variables at each point; ``"velocity"`` stands for its components.
    beside : BackgroundWriter, optional
        Writes the in-run samples of `follow`; see `eagre.io.FieldWriter`.
    **manner
        Arguments of `eagre.io.WriterSetup`.

    Raises
    ------
    InputError
        If a point lies outside the grid, a variable is unknown, static or on levels, or the file cannot be used.
    WriteError
        If the disk is full; the message states which records are on disk.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        model: Model,
        points: Mapping[str, tuple[float, float]],
        variables: Sequence[str],
        *,
        beside: BackgroundWriter | None = None,
        **manner: Unpack[Manner],
    ) -> None:
        self._behind = beside
        self._names: list[str] = []
        self._cells = gauge_cells(model, points)
        self._over_time = False
        self._file: RecordFile | RowFile | None = None
        if not points:
            return
        self._names = field_names(variables, gauged(model))
        sampled = [model.variables[name] for name in self._names]
        self._over_time = any(one.over_time for one in sampled)
        self._file = open_stations(path, model, _stations(points), sampled, **manner)

    def write(self, model: Model) -> None:
        """Append the values at `model.time`; do nothing if the last record has this time.

        Raises
        ------
        InputError
            If `model.time` is before the last record.
        WriteError
            If the disk is full.
        """
        do_all((self._finish, lambda: self._append(model)))

    def _append(self, model: Model) -> None:
        """Append the values at `model.time`, unless the file has this record or a write has failed."""
        if self._file is None or self._file.failed or self._file.last_time == model.time:
            return
        sampled, time = model.sample(self._names, self._cells), float(model.time)
        bounds = {TIME_BOUNDS: time_bounds(model.statistics_start, time)} if self._over_time else {}
        self._file.append(time, {name: np.asarray(sampled[name]) for name in self._names} | bounds)

    def start_sampling(self, model: Model, sample_times: SampleTimes | None) -> bool:
        """Start in-run sampling at the given times, or stop it with None; return whether the model supports it.

        Statistics over time are not sampled in the run.
        """
        if sample_times is None or self._file is None or self._over_time:
            return model.start_sampling(None)
        return model.start_sampling(Recording(self._names, self._cells, sample_times, self._take))

    def _take(self, times: np.ndarray, batch: Batch) -> None:
        """Write a batch of in-run samples to disk."""
        if self._behind is None:
            self._extend(times, batch)
        else:
            self._behind.do(self._extend, times, batch)

    def _extend(self, times: np.ndarray, batch: Batch) -> None:
        assert self._file is not None
        fields = batch()
        self._file.extend(times, {name: fields[name] for name in self._names})

    def _finish(self) -> None:
        """Wait until all records are on disk."""
        if self._behind is not None:
            self._behind.wait()

    def close(self) -> None:
        """Close the file."""
        do_all((self._finish, lambda: None if self._file is None else self._file.close()))


def gauge_cells(model: Model, points: Mapping[str, tuple[float, float]]) -> list[tuple[int, int]]:
    """Return the cells (j, i) of gauges.

    Raises
    ------
    InputError
        For points outside the domain, and for points on walls whose coordinates are in kilometres.
    """
    cells, walls = [], model.wall_points
    for name, point in points.items():
        if len(point) != 2:
            raise InputError(
                f"gauge {name!r} at {point!r}",
                allowed="two numbers, x and y in m",
                fix=f"{name} = [x, y]",
                problem=f"The position of gauge {name!r} does not have two coordinates.",
            )
        try:
            cells.append(model.grid.cell_of(float(point[0]), float(point[1])))
            check_metres("the point", np.array([point], np.float64), model.grid, walls, name)
        except InputError as error:
            raise InputError(
                f"gauge {name!r}: {error.what}", allowed=error.allowed, fix=error.fix, problem=error.problem
            ) from None
    return cells


def gauge_notes(model: Model, points: Mapping[str, tuple[float, float]]) -> list[str]:
    """Return notes on gauges on walls, and on gauges in dry cells while other cells are wet."""
    if not points:
        return []
    cells, names = gauge_cells(model, points), list(points)
    walls = on_walls(np.array(list(points.values()), np.float64), model.grid, model.wall_points)
    notes = []
    if walls.any():
        listed = _listed([name for name, one in zip(names, walls, strict=True) if one])
        notes.append(
            f"{listed} on a wall, where the streamfunction and the velocity across the wall are 0; "
            f"for the flow near the wall write points at least {max(model.grid.dx, model.grid.dy):g} m from it"
        )
    if "depth" in model.variables and model.levels is None:
        dry = model.sample(["depth"], cells)["depth"] <= 0.0
        if dry.any() and model.diagnostics().get("wet_fraction") != 0.0:
            listed = _listed([name for name, one in zip(names, dry, strict=True) if one])
            notes.append(
                f"{listed} in a dry cell at t = {model.time:g} s, where the depth is 0 until water arrives; "
                "for a gauge in the water write a point of a wet cell"
            )
    return notes


def _listed(names: Sequence[str]) -> str:
    """Return the subject and verb of a sentence on gauges."""
    shown = ", ".join(names[:MAX_NAMES]) + (f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else "")
    return f"the gauge {shown} is" if len(names) == 1 else f"the gauges {shown} are"


def _stations(points: Mapping[str, tuple[float, float]]) -> Stations:
    """Return the gauges as stations of a file."""
    positions = np.array(list(points.values()), dtype=np.float64)
    coordinates = {}
    for k, axis in enumerate("xy"):
        attributes = axis_attributes(axis, f"{axis} of the gauge")
        del attributes["axis"]
        coordinates[axis] = positions[:, k], attributes
    return Stations("gauge", list(points), coordinates, "value of the grid cell that contains the point")


class Measuring(Protocol):
    """Interface of a model component that measures at named probes."""

    names: list[str]
    coordinates: dict[str, tuple[np.ndarray, dict[str, Any]]]

    @property
    def variables(self) -> Sequence[Variable]:
        """Measured variables."""
        ...

    def sample(self) -> dict[str, np.ndarray]:
        """Return the current values of each variable, (n,)."""
        ...


class ProbeWriter(Writer):
    """Write series at probes, one time record per call.

    Parameters
    ----------
    path : path-like
        ``.nc`` or ``.csv``, as for `eagre.io.GaugeWriter`; for probes that move vertically, ``z`` (time, station)
        is their height.
    model : Model
        Read: `grid`, `kind`, `precision`, `device`, `settings()`, `time`.
    probes : Measuring
        Probes of the model.
    what : str
        Kind of the stations, for attributes and messages.
    **manner
        Arguments of `eagre.io.WriterSetup`.

    Raises
    ------
    InputError
        If the file cannot be used.
    WriteError
        If the disk is full; the message states which records are on disk.
    """

    def __init__(
        self, path: str | os.PathLike[str], model: Model, probes: Measuring, *, what: str = "probe",
        **manner: Unpack[Manner],
    ) -> None:  # fmt: skip
        self._probes = probes
        along = tuple(one.name for one in probes.variables if one.name == "z")
        stations = Stations(what, probes.names, probes.coordinates, along=along)
        self._file = open_stations(path, model, stations, probes.variables, **manner)

    def write(self, model: Model) -> None:
        """Append the values at `model.time`; do nothing if the last record has this time."""
        if self._file.last_time != model.time:
            self._file.append(float(model.time), self._probes.sample())
