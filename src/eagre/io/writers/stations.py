"""Files of series at named stations: NetCDF (CF discrete sampling geometry) or CSV."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np

from eagre.contract import Model, field_type
from eagre.fields import Variable
from eagre.io.cf import variable_attributes
from eagre.io.records.options import Manner, WriterSetup
from eagre.io.records.records import RecordFile
from eagre.io.tables.csv_rows import RowFile
from eagre.io.writers.field_files import write_mapping

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
        If the file cannot be used, or an existing file has other stations or variables.
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
