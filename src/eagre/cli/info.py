"""``eagre info`` and ``eagre compare``: content of results, and differences between results."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import xarray as xr

    from eagre.config.case import Case


PACKAGES = (
    *("numpy", "numba", "numba-cuda", "cupy-cuda13x", "cupy-cuda12x", "scipy", "xarray", "h5netcdf"),
    *("rasterio", "pydantic", "matplotlib"),
)
"""Packages whose versions affect results."""

Rows = list[tuple[str, str]]


def info(
    file: Annotated[
        Path | None, typer.Argument(help="Case, result, restart or elevation file. Default: this machine.")
    ] = None,
    mpi: Annotated[
        bool, typer.Option("--mpi", help="With mpirun: the processes, their devices, and the speed of messages.")
    ] = False,
) -> None:
    """Print versions, devices and memory, or summarise a file."""
    from eagre.cli.support.console import console, print_rows
    from eagre.config.toml import existing_file
    from eagre.io.files import is_store

    if mpi:
        rows = processes()
        if rows:
            print_rows(console(), rows)
        return
    rows = machine() if file is None else describe(file if is_store(file) else existing_file(file))
    print_rows(console(), rows)


def machine() -> Rows:
    """Return rows with versions, devices, memory and threads."""
    import os
    import platform

    from eagre import __version__
    from eagre.cli.support.console import size

    rows = [("eagre", __version__), ("python", platform.python_version())]
    rows += [(name, version) for name in PACKAGES if (version := _version(name))]
    rows += [("system", f"{platform.system()} {platform.release()}, {platform.machine()}")]
    usable = f"{len(os.sched_getaffinity(0))} of " if hasattr(os, "sched_getaffinity") else ""
    rows += [("cores", f"{usable}{os.cpu_count()}")]
    total, free = _memory()
    rows += [("memory", f"{size(total)}, {size(free)} free")] if total else []
    return rows + _devices()


def processes() -> Rows:
    """Return rows with the processes of ``mpirun``, their devices and the speed of messages, in the first process."""
    from eagre.backend.mpi.launch import communicator, device_of_process, message_speed

    comm = communicator()
    if comm is None:
        return [("processes", "1: start several with mpirun -n 2 eagre info --mpi")]
    from mpi4py import MPI

    device = device_of_process(comm, "auto")
    devices, hosts = comm.gather(str(device), root=0), comm.gather(socket.gethostname(), root=0)
    speeds = [message_speed(comm, device, rank) for rank in range(1, comm.size)]
    if comm.rank > 0:
        return []
    rows = [("processes", str(comm.size)), ("library", MPI.Get_library_version().splitlines()[0].strip("\0 "))]
    rows += [(f"process {n}", f"{one} on {host}") for n, (one, host) in enumerate(zip(devices, hosts, strict=True), 1)]
    rows += [(f"1 and {n}", f"{speed}") for n, speed in enumerate(speeds, 2)]
    slow = [str(n) for n, speed in enumerate(speeds, 2) if speed.is_slow]
    return rows + ([("warning", f"slow messages to process {', '.join(slow)}: {SLOW}")] if slow else [])


SLOW = "a network without its fast transport (such as TCP instead of InfiniBand), or cores that other programs use"
"""Causes of slow messages."""


def describe(path: Path) -> Rows:
    """Return rows with the content of a file.

    Raises
    ------
    InputError
        If the file is not a case, result, restart or elevation file.
    """
    ending = path.suffix.lower()
    if ending == ".toml":
        from eagre.models.registry import load_case

        return _case(load_case(path))
    if ending in (".nc", ".nc4", ".zarr"):
        return _netcdf(path)
    from eagre.io.rasters.esri_ascii import is_esri_ascii

    if ending in (".csv", ".txt", ".dat", ".tsv") and not is_esri_ascii(path):
        return _series(path)
    return _raster(path)


def _case(case: Case) -> Rows:
    """Return rows for the keys of a case file, with the values as they are written in the file."""
    from eagre.config.toml import parse_toml

    rows: Rows = [("case", case.title or case.name), ("model", case.kind)]
    for name, value in parse_toml(case.text).items():
        if name not in ("model", "title"):
            rows += _section(name, value)
    return rows


def _section(name: str, value: Any) -> Rows:
    """Return one row for the values of a table, then the rows of its sub-tables."""
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return [row for number, one in enumerate(value, 1) for row in _section(f"{name}[{number}]", one)]
    if not isinstance(value, dict):
        return [(name, _short(value))]
    tables = {key: one for key, one in value.items() if _holds_tables(one)}
    text = ", ".join(f"{key} = {_short(one)}" for key, one in value.items() if key not in tables)
    rows = [(name, text)] if text or not tables else []
    return rows + [row for key, one in tables.items() for row in _section(f"{name}.{key}", one)]


def _holds_tables(value: Any) -> bool:
    """Return whether a value of a case is a table or a list of tables."""
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict) for one in value))


def _netcdf(path: Path) -> Rows:
    """A restart file, fields, gauges, or a raster in NetCDF."""
    from eagre.errors import InputError
    from eagre.io.restart import read_restart_header

    try:
        header = read_restart_header(path)
    except InputError:
        pass
    else:
        grid = f"{header.grid['nx']} x {header.grid['ny']} cells of {header.grid['dx']:g} m x {header.grid['dy']:g} m"
        return [
            *(("file", f"{path}: restart file"), ("model", f"{header.kind}, {header.precision} precision")),
            *(("grid", grid), ("time", f"{header.time:.10g} s, {header.steps} steps"), ("version", header.version)),
        ]
    from eagre.plots.data.reading import open_results
    from eagre.plots.data.results import FieldFile, NumberFile, ProfileFile, SpectrumFile, TrackFile

    try:
        results = open_results(path)
    except InputError as error:
        try:
            return _raster(path)
        except InputError:
            raise error from None
    if isinstance(results, TrackFile):
        return _tracks(results)
    if isinstance(results, (ProfileFile, SpectrumFile)):
        return _profiles(results, "profiles" if isinstance(results, ProfileFile) else "spectra")
    if isinstance(results, NumberFile):
        return _numbers(results)
    return _fields(results) if isinstance(results, FieldFile) else _gauges(results)


def _records(times: Any) -> str:
    """Return the first and last time, s and in larger units, and the number of records."""
    from eagre.cli.support.console import duration

    first, last = float(times[0]), float(times[-1])
    span = f" ({duration(first)} to {duration(last)})" if last >= 3600.0 else ""
    return f"{first:g} s to {last:g} s{span}, {times.size} records"


def _tracks(results: Any) -> Rows:
    rows = [("file", f"{results.path}: tracks of {results.x.shape[1]} particles")]
    rows += [("time", _records(results.times))]
    return rows + [(axis, f"{a.min():.4g} to {a.max():.4g} m") for axis, a in (("x", results.x), ("y", results.y))]


def _numbers(results: Any) -> Rows:
    import numpy as np

    from eagre.plots.drawing.style import plain

    rows = [("file", f"{results.path}: numbers over time")]
    if results.times.size:
        rows += [("time", _records(results.times))]
    for name, values in results.values.items():
        if np.isfinite(values).any():
            rows.append((name, f"{plain(results.labels[name])}: {np.nanmin(values):.4g} to {np.nanmax(values):.4g}"))
    return rows


def _profiles(results: Any, what: str) -> Rows:
    import numpy as np

    from eagre.plots.drawing.style import plain

    z = results.heights
    rows = [("file", f"{results.path}: {what} at {z.size} heights, {z[0]:g} to {z[-1]:g} m")]
    rows += [("time", _records(results.times))]
    for name, values in results.values.items():
        if np.isfinite(values[-1]).any():
            span = f"{np.nanmin(values[-1]):.4g} to {np.nanmax(values[-1]):.4g} in the last record"
            rows.append((name, f"{plain(results.labels[name])}: {span}"))
    return rows


def _fields(results: Any) -> Rows:
    import numpy as np

    attributes = results.dataset.attrs
    rows = [("file", f"{results.path}: fields"), ("title", results.title)]
    rows += [(name, str(attributes[name])) for name in ("kind", "source", "device", "precision") if name in attributes]
    rows += [
        ("grid", f"{results.x.size} x {results.y.size} cells"),
        ("time", _records(results.times)),
    ]
    last = results.times.size - 1
    if results.date(last):
        rows.append(("dates", f"{results.date(0)} to {results.date(last)}"))
    for name in results.variables:
        values = results.values(name, last)
        if np.isfinite(values).any():
            span = f"{np.nanmin(values):.4g} to {np.nanmax(values):.4g} in the last record"
            told = results.dataset[name].attrs
            units = f" ({told['units']})" if "units" in told else ""
            rows.append((name, f"{told.get('long_name', name)}{units}: {span}"))
    return rows


def _gauges(results: Any) -> Rows:
    import numpy as np

    span = f"{results.times[0]:g} s to {results.times[-1]:g} s, " if results.times.size else ""
    rows = [("file", f"{results.path}: series"), ("time", f"{span}{results.times.size} records")]
    for name, values in results.values.items():
        for index, gauge in enumerate(results.names):
            column = values[:, index]
            if np.isfinite(column).any():
                rows.append((gauge, f"{name}: {np.nanmin(column):.4g} to {np.nanmax(column):.4g}"))
    return rows


def _series(path: Path) -> Rows:
    """Gauge output or any table of series."""
    import numpy as np

    from eagre.plots.data.reading import read_columns

    names, values = read_columns(path)
    rows = [("file", f"{path}: table of {values.shape[0]} rows")]
    for index, name in enumerate(names):
        column = values[:, index]
        if np.isfinite(column).any():
            rows.append((name, f"{np.nanmin(column):.6g} to {np.nanmax(column):.6g}"))
    return rows


def _raster(path: Path) -> Rows:
    """A raster such as an elevation model."""
    import numpy as np

    from eagre.io import read_raster

    dem = read_raster(path)
    ny, nx = dem.elevation.shape
    gaps = int(np.isnan(dem.elevation).sum())
    rows = [
        ("file", f"{path}: raster"),
        ("cells", f"{nx} x {ny} of {dem.dx:g} m x {dem.dy:g} m"),
        ("extent", "x {:.10g} to {:.10g} m, y {:.10g} to {:.10g} m".format(*dem.extent)),
        ("no data", f"{gaps} cells" if gaps else "none"),
    ]
    if gaps < dem.elevation.size:
        rows.insert(3, ("values", f"{np.nanmin(dem.elevation):g} to {np.nanmax(dem.elevation):g}"))
    return [*rows, ("crs", str(dem.crs).splitlines()[0][:80] if dem.crs else "unknown")]


def _devices() -> Rows:
    """Return rows for the CPU and the GPUs, or the reason why no GPU is available."""
    from eagre.backend.cuda.driver import driver_version
    from eagre.backend.layouts import parameters_of
    from eagre.backend.select import cuda_problem, select
    from eagre.cli.support.console import size
    from eagre.errors import EagreError

    rows = [("device", str(select("cpu"))), ("tuning", _tuning(select("cpu"))), ("driver", _driver(driver_version()))]
    problem = cuda_problem()
    if problem is not None:
        return [*rows, ("device", f"no cuda: {problem}")]
    for index in range(64):
        try:
            device = select(f"cuda:{index}")
        except EagreError:
            break
        rows.append(("device", f"{device}, {size(device.free_memory())} free"))
        rows += [("layouts", parameters_of(device.properties).source), ("tuning", _tuning(device))]
    return rows


def _tuning(device: Any) -> str:
    """Return the state of the tuning of a device, or the problem of its tuning file."""
    from eagre.backend.tuned import kept_for
    from eagre.errors import InputError

    try:
        return kept_for(device)
    except InputError as error:
        return f"{error.problem} {error.what}"


def _driver(version: tuple[int, int] | None) -> str:
    """Return the CUDA version of the NVIDIA driver, and the extra whose libraries support it."""
    from eagre.backend.cuda.driver import extra_for

    if version is None:
        return "no NVIDIA driver found"
    knows = f"NVIDIA, supports CUDA {version[0]}.{version[1]}"
    extra = extra_for(version)
    return f"{knows}: pip install 'eagre[{extra}]'" if extra else f"{knows}: too old, CUDA 12 or 13 is required"


def _memory() -> tuple[int, int]:
    """Return the total and the free memory, bytes; zeros where the system does not report them."""
    import os

    from eagre.backend.device import free_host_memory

    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), free_host_memory()
    except (AttributeError, ValueError, OSError):
        return 0, 0


def _version(package: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _short(value: Any) -> str:
    """Return a value as TOML, shortened to 90 characters."""
    from eagre.config.toml import literal

    text = literal(value)
    return text if len(text) <= 90 else text[:87] + "..."


def compare(
    first: Annotated[Path, typer.Argument(help="Field file of eagre run (.nc).")],
    second: Annotated[Path, typer.Argument(help="Field file of another run with the same points (.nc).")],
    variable: Annotated[
        list[str] | None,
        typer.Option("--variable", "-v", help="Field to compare; repeat the option for several. Default: all."),
    ] = None,
    record: Annotated[int, typer.Option("--record", help="Record number, from 1; -1 is the last record.")] = -1,
) -> None:
    """Compare two runs: L1, L2 and maximum norms of the difference, and the maximum divided by the number of points."""
    from eagre.cli.support.console import console, grid_table
    from eagre.errors import InputError
    from eagre.io.files import read_values
    from eagre.laboratory.validation.compare import difference, differing_axis
    from eagre.plots.data.reading import open_dataset

    with open_dataset(first) as a, open_dataset(second) as b:
        names = _compare_fields(first, a, second, b, variable)
        one, other = _at(first, a, record), _at(second, b, record)
        rows = []
        for name in names:
            if one[name].shape != other[name].shape:
                shapes = " and ".join(str(data[name].shape) for data in (one, other))
                raise InputError(
                    f"{name} of the shapes {shapes} in {first} and {second}",
                    allowed="files with the same points",
                    problem=f"The shapes of {name} in the two files differ.",
                )
            if (axis := differing_axis(first, one, second, other, name)) is not None:
                problem = f"{first} and {second} differ in {axis}, so their values cannot be compared."
                raise InputError(f"{name} of two files", allowed="the same points and times", problem=problem)
            norms = difference(read_values(one[name], first), read_values(other[name], second))
            if norms.points == 0:
                problem = f"{first} and {second} have no point where both have a value of {name}."
                raise InputError(
                    f"{name} of two files", allowed="files with a common point with values", problem=problem
                )
            numbers = norms.l1, norms.l2, norms.largest, norms.largest_over_points, norms.relative
            rows.append([name, *(f"{number:.4g}" for number in numbers), str(norms.points), str(norms.alone)])
        times = [f"{float(data['time']):.10g} s" for data in (one, other) if "time" in data.variables]
    out = console()
    out.print(
        f"at {' and '.join(dict.fromkeys(times)) or 'one time'}, {first} - {second}", markup=False, soft_wrap=True
    )
    heads = ["field", "L1", "L2", "max", "max/points", "L1/mean", "points", "in one only"]
    out.print(grid_table(heads, rows))


def _compare_fields(first: Path, a: xr.Dataset, second: Path, b: xr.Dataset, requested: list[str] | None) -> list[str]:
    """Return the names of the fields in both files; raise `InputError` if there are no such fields."""
    from eagre.errors import InputError
    from eagre.names import components

    both = [
        name
        for name in map(str, a.data_vars)
        if name in b and a[name].dtype.kind == b[name].dtype.kind == "f" and a[name].ndim
    ]
    requested = [one for name in requested or [] for one in components(name, both) or [name]]
    if missing := [name for name in requested if name not in both]:
        raise InputError(
            f"no field {missing[0]} in both {first} and {second}",
            allowed=", ".join(both) or "none",
            problem=f"The field {missing[0]} is not in both files.",
        )
    over_time = [name for name in both if "time" in a[name].dims and "time" in b[name].dims]
    if not both or not (requested or over_time or "time" not in a.dims or "time" not in b.dims):
        problem = f"{first} and {second} have no field over time in common."
        got = f"files whose common fields are {', '.join(both) or 'none'}"
        fix = f"-v {both[0]}" if both else ""
        raise InputError(
            got, allowed="two files of the same model and with the same variables", fix=fix, problem=problem
        )
    return requested or both


def _at(path: Path, data: xr.Dataset, record: int) -> xr.Dataset:
    """The fields of one record."""
    from eagre.plots.data.reading import record_at

    count = data.sizes.get("time", 0)
    return data.isel(time=record_at(record, count, path)) if count else data
