"""Particle tracks: NetCDF (CF trajectories) or CSV."""

from __future__ import annotations

import os
from typing import Unpack

import numpy as np

from eagre.contract import Model
from eagre.errors import InputError
from eagre.io.cf import axis_attributes
from eagre.io.records.records import RecordFile
from eagre.io.records.writer import Manner, Writer, WriterSetup
from eagre.io.tables.csv_rows import RowFile
from eagre.io.writers.field_files import write_mapping

_TIMES_A_CHUNK = 64


class ParticleWriter(Writer):
    """Write the positions of the particles of a model, one time record per call.

    Parameters
    ----------
    path : path-like
        ``.nc``: x and y with dimensions (time, particle), m, CF feature type ``trajectory``. ``.csv``: the columns
        ``"0 x (m)"``, ``"0 y (m)"``, ... of the particles in the order of the model.
    model : Model
        Read: `particle_positions` (n, 2), `grid`, `kind`, `precision`, `device`, `settings()`, `time`.
    **manner
        Arguments of `eagre.io.WriterSetup`.

    Raises
    ------
    InputError
        If the model has no particles, or the file cannot be used.
    WriteError
        If the disk is full; the message states which records are on disk.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        model: Model,
        **manner: Unpack[Manner],
    ) -> None:
        count = len(model.particle_positions)
        if count == 0:
            raise InputError(
                "a particle file of a model without particles",
                allowed="a model with particles",
                problem="The model has no particles.",
            )
        setup = WriterSetup(**manner)
        full = setup.output_path(path, ".nc", ".csv", what="particle file")
        self._file: RecordFile | RowFile
        if full.suffix.lower() == ".csv":
            self._file = setup.rows(full, model, [f"{k} {axis} (m)" for k in range(count) for axis in "xy"])
            return
        self._file, goes_on = setup.records(full, model, ())
        if goes_on:
            held = self._file.variables
            if "particle" not in held or held["particle"].shape != (count,):
                self._file.close()
                what = f"{full}: other particles"
                raise InputError(
                    what,
                    allowed="the particles of this run",
                    fix="another file name",
                    problem=f"Cannot append to {full}: its particles differ from the particles of this run.",
                )
        else:
            self._declare(self._file, model, count)

    @staticmethod
    def _declare(file: RecordFile, model: Model, count: int) -> None:
        """Declare the tracks as CF trajectories (section H.4) with common times."""
        file.attribute("featureType", "trajectory")
        file.dimension("particle", count)
        identity = {"long_name": "number of the particle", "cf_role": "trajectory_id"}
        file.variable("particle", ("particle",), np.int32, identity, data=np.arange(count, dtype=np.int32))
        mapping = write_mapping(file, model.grid.crs)
        for axis in "xy":
            attributes = axis_attributes(axis, f"{axis} of the particle") | mapping
            chunks = (_TIMES_A_CHUNK, count)
            file.variable(axis, ("time", "particle"), np.float64, attributes, chunks=chunks, fill=True)
        file.ready()

    def write(self, model: Model) -> None:
        """Append the positions at `model.time`; do nothing if the last record has this time."""
        if self._file.last_time != model.time:
            x, y = model.particle_positions.T
            self._file.append(float(model.time), {"x": x, "y": y})
