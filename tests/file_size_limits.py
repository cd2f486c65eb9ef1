"""Writing with a limit of the file size, in processes that start from a small one.

A copy of a test process takes seconds if that process has compiled many programs, so a server that has only imported
modules starts the processes.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray

from eagre.io import FieldWriter, GaugeWriter, WriteError, read_restart, write_restart
from eagre.io.tables.csv_rows import write_rows
from eagre.io.writers.gis import Band, Frame, write_geojson, write_geotiff
from written_models import FakeModel

TOO_LARGE = "larger than the system allows; check the limit of the file size, ulimit -f"
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    [
        "eagre.io.restart",
        "eagre.io.writers.gis",
        "eagre.plots.drawing.frames",
        "h5netcdf",
        "matplotlib.figure",
        "xarray",
    ]
)


class Model(FakeModel):
    """A model whose files take more than 1 MB in 12 records."""

    steps = 4

    def __init__(self):
        super().__init__(nx=200, ny=150)

    def sample(self, names, cells):
        return {name: self.field(name)[tuple(np.transpose(cells))] for name in names}

    def state(self):
        return {name: self.field(name) + self.time for name in ("speed", "froude", "surface_elevation", "flux_x")}


def fields(path):
    model: Any = Model()
    return FieldWriter(path, model, ["speed"], compression=0)


def gauges(path):
    points = {f"p{k}": (1005.0 + 10 * k, 2005.0) for k in range(150)}
    model: Any = Model()
    return GaugeWriter(path, model, points, ["speed", "froude"])


def records(path):
    """Times of the records in a file."""
    if path.suffix == ".csv":
        return [float(line.split(",")[0]) for line in path.read_text().splitlines()[1:]]
    engine = "zarr" if path.suffix == ".zarr" else "h5netcdf"
    with xarray.open_dataset(path, engine=engine) as data:
        assert np.isfinite(data.speed.values).all()
        return data.time.values.tolist()


GROWING = {"fields.nc": fields, "fields.zarr": fields, "gauges.nc": gauges, "gauges.csv": gauges}


def restart(path):
    model: Any = Model()
    write_restart(path, model)


def picture(path):
    from matplotlib.figure import Figure

    from eagre.plots.drawing.frames import save

    figure = Figure()
    figure.subplots().imshow(np.random.default_rng(0).random((100, 100)))
    save(figure, path, 100)


def geotiff(path):
    values = np.random.default_rng(0).random((500, 500))
    write_geotiff(path, Frame(0.0, 0.0, 1.0, 1.0), values.shape, [Band(values, "depth")], 1)


def geojson(path):
    ring = [[float(k), 0.5] for k in range(20_000)]
    write_geojson(path, [{"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [ring]}}])


def table(path):
    write_rows(path, ["time (s)"], [[float(k)] for k in range(30_000)])


AT_ONCE = {"r.nc": restart, "a.png": picture, "a.tif": geotiff, "a.geojson": geojson, "a.csv": table}


def set_limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def check_growing(path, limit, before):
    """`before` is the number of records that are written without a limit."""
    open_writer, error = GROWING[path.name], None
    model: Any = Model()
    writer: Any = open_writer(path) if before else None
    written = 0
    for _ in range(before):
        model.time = float(written)
        writer.write(model)
        written += 1
    set_limit(limit)
    try:
        writer = writer or open_writer(path)
        for _ in range(12):
            model.time = float(written)
            writer.write(model)
            written += 1
    except WriteError as failed:
        error = failed
    if writer is not None:
        writer.close()
    set_limit(resource.RLIM_INFINITY)
    assert error is not None or path.name != "fields.nc"  # 12 records of 120 kB
    assert error is None or TOO_LARGE in str(error), error
    assert error is None or error.path == path
    assert sorted(one.name for one in path.parent.iterdir()) == [path.name] * (written > 0)
    if written:
        assert records(path) == [float(k) for k in range(written)]


def check_at_once(path, limit, older):
    write = AT_ONCE[path.name]
    if older:
        write(path)
    before = {one.name: one.read_bytes() for one in path.parent.iterdir()}
    set_limit(limit)
    error = None
    try:
        write(path)
    except WriteError as failed:
        error = failed
    set_limit(resource.RLIM_INFINITY)
    assert (error is None) == (path.stat().st_size <= limit if path.exists() else False)
    if error is not None:
        assert "larger than the system allows" in str(error) or "GDAL stopped" in str(error), error
        assert {one.name: one.read_bytes() for one in path.parent.iterdir()} == before
    if older and path.name == "r.nc":
        assert read_restart(path)["speed"][0, 1] == 1.0


def in_a_process(check: Callable[..., None], *arguments: Any) -> None:
    """Call a function of this module in a process of its own, which must end well."""
    process = PROCESSES.Process(target=ended, args=(check, *arguments))
    process.start()
    process.join()
    code = process.exitcode or 0
    assert code == 0, (arguments, signal.Signals(-code) if code < 0 else code)


def ended(check: Callable[..., None], *arguments: Any) -> None:
    """Call a function, and end the process as the end of Python does, which ends HDF5."""
    code = 1
    try:
        check(*arguments)
        code = 0
    except BaseException:
        set_limit(resource.RLIM_INFINITY)
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        ctypes.CDLL(None).exit(code)
