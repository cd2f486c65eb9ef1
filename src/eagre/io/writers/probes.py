"""Series at probes inside the water: NetCDF (CF discrete sampling geometry) or CSV."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol, Unpack

import numpy as np

from eagre.contract import Model
from eagre.fields import Variable
from eagre.io.records.options import Manner
from eagre.io.records.writer import Writer
from eagre.io.writers.stations import Stations, open_stations


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

    def close(self) -> None:
        """Close the file."""
        self._file.close()
