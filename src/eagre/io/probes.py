"""What probes inside the water measure, over time: NetCDF (CF discrete sampling geometry) or CSV."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol, Unpack

import numpy as np

from eagre.contract import Model
from eagre.fields import Variable
from eagre.io.opening import Manner
from eagre.io.stations import Stations, open_stations
from eagre.io.writer import Writer


class Measuring(Protocol):
    """What a model has that measures at named probes."""

    names: list[str]
    coordinates: dict[str, tuple[np.ndarray, dict[str, Any]]]

    @property
    def variables(self) -> Sequence[Variable]:
        """What is measured."""
        ...

    def sample(self) -> dict[str, np.ndarray]:
        """Values of each variable now, (n,)."""
        ...


class ProbeWriter(Writer):
    """Write what probes measure, one time record a call.

    Parameters
    ----------
    path : path-like
        ``.nc`` or ``.csv``, as for `eagre.io.GaugeWriter`; where probes move up and down ``z`` (time, station)
        is where they are.
    model : Model
        Read: `grid`, `kind`, `precision`, `device`, `settings()`, `time`.
    probes : Measuring
        Of that model.
    what : str
        Of what the stations are, for attributes and messages.
    **manner
        How the file is opened: the arguments of `eagre.io.Opening`.

    Raises
    ------
    InputError
        If the file cannot be used.
    WriteError
        If the disk is full; the message says what is safe.
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
        """Append the values at `model.time`; nothing happens if that time is the last record's."""
        if self._file.last_time != model.time:
            self._file.append(float(model.time), self._probes.sample())

    def close(self) -> None:
        """Close the file."""
        self._file.close()
