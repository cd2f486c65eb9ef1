"""``eagre run`` and ``eagre check``: from a case file to result files, or to the plan of the run only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eagre.cli.support.options import CaseFile, Changes, Device, Precision, Restart

if TYPE_CHECKING:
    from rich.console import Console

    from eagre.cli.support.outputs import OutputPlan
    from eagre.config.case import Case
    from eagre.config.problems import ConfigError
    from eagre.contract import Model
    from eagre.stepping.run import Interrupts, RunSummary


Rows = list[tuple[str, str]]
COPY = 64
"""Size of the array whose copy measures the bandwidth of the memory, MiB."""


def check(
    case_file: CaseFile,
    device: Device = None,
    precision: Precision = None,
    restart: Restart = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Allow existing output files.")] = False,
    changes: Changes = None,
) -> None:
    """Check a case without running it: inputs, outputs, memory, time step and size of the output."""
    from eagre.cli.support.console import console, print_rows
    from eagre.cli.support.outputs import check_disk

    case, plan, origin = prepare(case_file, changes, restart, overwrite, create=False)
    model = case.build(device=device, precision=precision)
    if origin is not None:
        restore(case, model, origin)
    rows = plan_rows(case, model, plan)
    rows += [(f"{name:<10}", text) for name, text in _estimates(case, model)]
    check_disk(case, model)
    _open_outputs(case, model, plan)
    out = console()
    out.print(f"device      {model.device}, {model.precision} precision", markup=False, soft_wrap=True)
    print_rows(out, [*rows, (f"{'state':<10}", "the case is valid; no file was written")])


def _open_outputs(case: Case, model: Model, plan: Any) -> None:
    """Open all outputs in a temporary folder, which rejects gauges, variables and lines that a run would reject."""
    from contextlib import ExitStack
    from tempfile import TemporaryDirectory

    from eagre.cli.support.outputs import make_events

    with TemporaryDirectory() as folder, ExitStack() as stack:
        make_events(case, model, plan.within(Path(folder)), stack)


def _estimates(case: Case, model: Model) -> Rows:
    """Return rows for the memory, the time step, the number of steps and the shortest possible run time."""
    from eagre.backend.group import Group
    from eagre.backend.timing import copy_bandwidth
    from eagre.cli.support.console import duration, size, whole

    rows = [("memory", f"{size(_memory())} of host memory after the set-up")]
    devices = model.device.devices if isinstance(model.device, Group) else [model.device]
    rows += [("memory", f"{device}: {size(device.free_memory())} free") for device in devices if device.kind == "cuda"]
    step = model.time_step
    if not 0.0 < step < float("inf"):
        return rows
    count = max(1, round((case.run.end_time - model.time) / step))
    rows.append(("time step", f"{duration(step)} at the start: about {whole(count)} steps"))
    if not isinstance(model.device, Group):
        points = model.grid.cells * (1 if model.levels is None else model.levels.height.size)
        seconds = count * points * model.bytes_per_step / copy_bandwidth(model.device, COPY)
        rows.append(("run time", f"at least {duration(seconds)} (memory traffic of the steps at the copy bandwidth)"))
    return rows


def _memory() -> int:
    """Return the resident memory of this process, bytes; 0 where the system does not report it."""
    import os

    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def run(
    case_file: CaseFile,
    device: Device = None,
    precision: Precision = None,
    restart: Restart = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace existing output files.")] = False,
    changes: Changes = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Number of CPU threads. Default: all cores.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the device only.")] = False,
) -> None:
    """Run a case and write its output. Ctrl-C, SIGTERM, SIGHUP or SIGUSR1 stops the run and writes a restart file.

    With ``mpirun -n 4 eagre run case.toml`` the processes share the domain.
    """
    import os

    from eagre.backend.compilation.parallel import compile_workers
    from eagre.backend.mpi.launch import communicator
    from eagre.config.changes import parse_changes
    from eagre.io.records.output_paths import locked
    from eagre.models.registry import load_case
    from eagre.processes import Leader, repeat_calls
    from eagre.stepping.run import interrupts

    if threads is not None:
        _use_threads(threads)
    comm = communicator()
    build = partial(_build, device=device, precision=precision, comm=comm)
    if comm is not None and comm.rank > 0:
        repeat_calls(comm, lambda: build(load_case(case_file, parse_changes(changes or ()))))
        return
    with ExitStack() as stack:
        leader = None if comm is None else stack.enter_context(Leader(comm))
        case, plan, origin = prepare(case_file, changes, restart, overwrite)
        signals = stack.enter_context(interrupts(_early))
        if comm is None:
            stack.enter_context(compile_workers(threads or os.cpu_count() or 1))
        for _, path in plan.output_paths:
            stack.enter_context(locked(path))
        again = _command(case_file, device=device, precision=precision, threads=threads, set=changes)
        make = partial(build, case) if leader is None else partial(leader.build, partial(build, case))
        free = threads is None and comm is None
        _run(case, plan, origin, make, quiet, signals, free, again)


def _build(case: Case, *, device: str | None, precision: str | None, comm: Any) -> Model:
    """Return the model of a case, in this process or in all processes of a communicator."""
    if comm is None:
        return case.build(device=device, precision=precision)
    from eagre.backend.mpi.group import connected
    from eagre.backend.mpi.launch import device_of_process

    local = device_of_process(comm, device or case.run.device)
    return case.build(device=connected(local, comm), precision=precision)


def prepare(
    case_file: Path, changes: list[str] | None, restart: Path | None, overwrite: bool, *, create: bool = True
) -> tuple[Case, OutputPlan, Path | None]:
    """Read a case and decide where it writes; return the case, its output plan and the restart file to continue from.

    create : create the folders of outputs, see `plan_outputs`.
    """
    from eagre.cli.support.outputs import plan_outputs
    from eagre.config.changes import parse_changes
    from eagre.config.toml import existing_file
    from eagre.io.restart import read_restart_header
    from eagre.models.registry import load_case

    case = load_case(case_file, parse_changes(changes or ()))
    origin = restart if restart is not None else (case.restart.from_ if case.restart else None)
    if origin is not None:
        read_restart_header(existing_file(origin, "restart file"))
    return case, plan_outputs(case, origin=origin, overwrite=overwrite, create=create), origin


def _command(case_file: Path, **options: Any) -> list[str]:
    """Return the command that runs a case with these options."""
    arguments = ["eagre", "run", str(case_file)]
    for name, value in options.items():
        for one in value if isinstance(value, list) else [value]:
            arguments += [] if one is None else [f"--{name}", str(one)]
    return arguments


def _use_threads(count: int) -> None:
    """Set the number of threads of CPU kernels."""
    from eagre.backend.cpu.compiler import set_threads, threads
    from eagre.errors import InputError

    try:
        set_threads(count)
    except ValueError:
        raise InputError(
            f"--threads {count}",
            allowed=f"1 to {threads()}",
            fix=f"--threads {threads()}",
            problem="The number of threads is out of range.",
        ) from None


def _use_tuned_threads(threads: int) -> None:
    """Let CPU programs use as many threads as tuning found best, if it did."""
    import os

    if threads and "NUMBA_NUM_THREADS" not in os.environ:
        _use_threads(threads)


def _early(number: int) -> KeyboardInterrupt:
    """Return the exception of a signal that comes before the run begins."""
    import signal

    from eagre.cli.support.exits import Terminated

    message = "the run had not begun: no file was written or changed"
    return KeyboardInterrupt(message) if number == signal.SIGINT else Terminated(message, number)


def _run(
    case: Case,
    plan: OutputPlan,
    origin: Path | None,
    build: Callable[[], Model],
    quiet: bool,
    signals: Interrupts,
    free: bool,
    again: list[str],
) -> None:
    """Build the model, run it and print the summary.

    `signals` : recorded from the first file on; `free` : tuning may select the number of threads; `again` : the command
    of this run, to which `--restart` is added.
    """
    from eagre.cli.support.console import console, preparing, print_rows
    from eagre.cli.support.outputs import check_disk

    out = console()
    with preparing(out, quiet=quiet):
        model = build()
        if origin is not None:
            restore(case, model, origin)
    if free:
        _use_tuned_threads(case.tuned_threads)
    out.print(f"device      {model.device}, {model.precision} precision", markup=False, soft_wrap=True)
    if not quiet:
        print_rows(out, plan_rows(case, model, plan))
    check_disk(case, model)
    signals.begin()
    summary = _go(case, model, plan, out, quiet)
    if not quiet:
        print_rows(out, _summary_rows(summary, plan, model, _findings(case, model, plan)))
    if summary.interrupted:
        raise _interruption(summary, plan, again)


def restore(case: Case, model: Model, origin: Path) -> None:
    """Restore a model from a restart file and check that it has the time of the file, before the end time.

    Restart files of old versions hold the number of steps only, so their time depends on the time step.
    """
    from eagre.errors import InputError
    from eagre.io import read_restart
    from eagre.io.restart import read_restart_header

    header = read_restart_header(origin)
    case_date, file_date = "" if case.run.start_date is None else case.run.start_date.isoformat(), header.start_date
    if file_date not in ("", case_date):
        error = InputError(
            f"start_date = {case_date or 'none'} for the restart file {origin} of a run with start_date = {file_date}",
            allowed="the start date of the original run",
            fix=f"start_date = {file_date}",
            problem="The start date differs from the start date of the restart file.",
        )
        raise case.problem(("run", "start_date"), error)
    model.restore(read_restart(origin, model))
    written = header.time
    if model.time != written:
        raise InputError(
            f"t = {written:g} s of the restart file {origin} and a time step of {model.time_step:g} s",
            allowed="the time step of the original run",
            fix="the time_step or courant_number of the original run",
            problem="The time of the restart file is not a multiple of the time step.",
        )
    if model.time >= case.run.end_time:
        raise _finished(case, model.time)


def _go(case: Case, model: Model, plan: OutputPlan, out: Console, quiet: bool) -> RunSummary:
    """Open the files, run to the end and close the files; write a restart file if closing an output fails."""
    from eagre.cli.support.console import ProgressView
    from eagre.cli.support.outputs import make_events, write_log
    from eagre.stepping.run import restart_paths, save_state
    from eagre.stepping.run import run as run_loop

    restart_options, date, summary = (
        {"checkpoint": plan.checkpoint, "alternatives": plan.alternatives},
        case.run.start_date,
        None,
    )
    try:
        with ExitStack() as stack:
            events = make_events(case, model, plan, stack)
            stack.callback(write_log, case, model, plan)
            view = stack.enter_context(ProgressView(out, model.time, quiet=quiet))
            summary = run_loop(
                model, case.run.end_time, events, on_progress=view.update, start_date=date, **restart_options
            )
    except OSError as error:
        if summary is not None:
            save_state(error, model, restart_paths(**restart_options), date)
        raise
    return summary


def _finished(case: Case, time: float) -> ConfigError:
    """Return the error of a restart at or after the end time."""
    from eagre.errors import InputError

    is_end = time - case.run.end_time <= 1e-9 * time
    error = InputError(
        f"end_time = {case.run.end_time:g} s for a restart at t = {time:g} s" + ", where the run is finished" * is_end,
        allowed="an end time after the restart time",
        fix=f"end_time = {2 * time:g}",
        problem="The end time is not later than the restart time.",
    )
    return case.problem(("run", "end_time"), error)


def plan_rows(case: Case, model: Model, plan: OutputPlan) -> list[tuple[str, str]]:
    """Return the rows (name, text) that describe a run before it starts."""
    from eagre.cli.support.console import duration, size, whole
    from eagre.cli.support.outputs import field_bytes, records
    from eagre.io.writers.stations import gauge_notes

    grid, end = model.grid, case.run.end_time
    cells = f"{grid.nx} x {grid.ny} = {whole(grid.cells)} cells of {grid.dx:g} m x {grid.dy:g} m"
    if model.levels is not None:
        count = model.levels.height.size
        cells = f"{grid.nx} x {grid.ny} x {count} = {whole(grid.cells * count)} points, {grid.dx:g} m x {grid.dy:g} m"
    rows = [
        ("case", f"{case.title or case.name} ({case.kind})"),
        ("grid", cells),
        ("time", f"{duration(model.time)} to {duration(end)}"),
    ]
    rows += [("tuning", case.tuned)] if case.tuned else []
    rows += [("note", note) for note in model.notes]
    for key, section in case.outputs:
        amount, count = size(field_bytes(case, key, model)), records(model.time, end, section.interval)
        rows.append(("output", f"{section.file}: {count} records, at most {amount}"))
    if case.gauges is not None and plan.gauges is not None:
        points = f"{len(case.gauges.points)} point{'s' if len(case.gauges.points) > 1 else ''}"
        rows.append(("gauges", f"{plan.gauges}: {points} every {duration(case.gauges.interval)}"))
        with case.at("gauges", "points"):
            rows += [("note", note) for note in gauge_notes(model, case.gauges.on(model.grid))]
    for key, section in case.measured:
        rows.append((str(key[0]), f"{section.file}: {section.note}"))
    if plan.particles is not None:
        rows.append(("particles", f"{plan.particles}: {len(model.particle_positions)} particles"))
    if model.diagnostics().get("wet_fraction") == 0.0:
        rows.append(("water", "the whole domain is dry at the start"))
    if not plan.files:
        rows.append(("output", "no output: the case has no [output], [gauges] or [restart] with a file"))
    if plan.append:
        rows.append(("continues", "appending to existing files; records after the restart time are recomputed"))
    return [(f"{name:<10}", value) for name, value in rows]


def _summary_rows(
    summary: RunSummary, plan: OutputPlan, model: Model, findings: Sequence[tuple[str, str]] = ()
) -> list[tuple[str, str]]:
    """Return the rows of the summary after a run."""
    from eagre.cli.support.console import duration, quantity, whole

    error = summary.diagnostics.get("volume_error", math.nan)
    rows = [
        ("state", f"interrupted at t = {duration(summary.time)}" if summary.interrupted else "finished"),
        ("wall time", duration(summary.wall_seconds)),
        ("steps", f"{whole(summary.steps)}, {_time_steps(summary)}"),
        ("speed", f"{quantity(summary.cell_steps_per_second)} cell-steps/s{_of_copy(summary, model)}"),
    ]
    if error == error:
        rows.append(("mass error", f"{error:.2e}"))
    rows += [*model.summary_rows, *findings]
    files = [path for path in (*plan.files, summary.restart) if path and path.exists()]
    rows += [("wrote", str(path)) for path in dict.fromkeys(files)]
    return [(f"{name:<10}", value) for name, value in rows]


def _time_steps(summary: RunSummary) -> str:
    """Return the range of the time steps that are not shortened to end at an output time."""
    from eagre.cli.support.console import duration

    if math.isnan(summary.dt_max):
        return "each shortened to end at an output time" if summary.steps else "no time step"
    return f"dt {duration(summary.dt_min)} to {duration(summary.dt_max)}"


def _findings(case: Case, model: Model, plan: OutputPlan) -> list[tuple[str, str]]:
    """Return the summary rows that a case computes from the records of its gauges."""
    path = plan.gauges
    if path is None or not path.exists():
        return []

    def records(name: str) -> tuple[Any, Any]:
        from eagre.plots import open_results
        from eagre.plots.data.results import GaugeFile

        results = open_results(path)
        assert isinstance(results, GaugeFile)
        return results.times, results.values[name]

    return case.findings(model, records)


def _of_copy(summary: RunSummary, model: Model) -> str:
    """Return the fraction of the copy bandwidth of a GPU that the compulsory memory traffic of the steps used."""
    from eagre.backend.group import Group
    from eagre.backend.timing import copy_bandwidth

    megabytes, device = 512, model.device
    if isinstance(device, Group) or device.kind != "cuda" or device.free_memory() < 2.2e6 * megabytes:
        return ""
    traffic = model.bytes_per_step * summary.cell_steps_per_second
    return f", {traffic / copy_bandwidth(device, megabytes):.0%} of the copy bandwidth"


def _interruption(summary: RunSummary, plan: OutputPlan, again: list[str]) -> KeyboardInterrupt:
    """Return the exception that ends the command after a signal; its message states how to continue."""
    import shlex
    import signal

    from eagre.cli.support.console import duration
    from eagre.cli.support.exits import Terminated

    arguments = [*again, "--restart", str(summary.restart or plan.checkpoint)]
    message = f"stopped at t = {duration(summary.time)}\ntry:     {shlex.join(arguments)}"
    return KeyboardInterrupt(message) if summary.signal == signal.SIGINT else Terminated(message, summary.signal)
