"""Output files of a run: checks before the run, and events of the run loop."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagre.cli.support.exits import OutputError
from eagre.errors import InputError, do_all

if TYPE_CHECKING:
    from eagre.config.case import Case
    from eagre.config.problems import Key
    from eagre.contract import Model
    from eagre.io import FieldWriter
    from eagre.io.records.writer import BackgroundWriter
    from eagre.io.writers.field_files import Subset
    from eagre.stepping.run import Event


@dataclass(frozen=True)
class OutputPlan:
    """Output files of a run.

    Parameters
    ----------
    fields : tuple of (key, Path)
        Files of the case's `outputs`.
    gauges, particles, restart : Path or None
        Paths of the files; None if the file is not written.
    measured : tuple of (key, Path)
        Files of the case's `measured` sections.
    log : Path or None
        Log of the model, written at the end of the run.
    checkpoint : Path
        The restart file that is written when the run is interrupted or blows up.
    append : bool
        Append to existing files (a continued run).
    overwrite : bool
        Replace existing files, or drop their records after the restart time.
    """

    fields: tuple[tuple[Key, Path], ...]
    gauges: Path | None
    particles: Path | None
    measured: tuple[tuple[Key, Path], ...]
    log: Path | None
    restart: Path | None
    checkpoint: Path
    append: bool
    overwrite: bool

    def within(self, folder: Path) -> OutputPlan:
        """Return the same plan with new files in one folder, for a trial."""

        def in_folder(files: tuple[tuple[Key, Path], ...], name: str) -> tuple[tuple[Key, Path], ...]:
            return tuple((key, folder / f"{name}{n}_{path.name}") for n, (key, path) in enumerate(files))

        return replace(
            self, fields=in_folder(self.fields, "fields"), measured=in_folder(self.measured, "measured"),
            gauges=self.gauges and folder / f"gauges_{self.gauges.name}",
            particles=self.particles and folder / f"particles_{self.particles.name}",
            append=False, overwrite=True,
        )  # fmt: skip

    @property
    def files(self) -> list[Path]:
        """Files that a run without errors writes."""
        return [path for path in (*(path for _, path in self._outputs), self.restart) if path is not None]

    @property
    def alternatives(self) -> list[Path]:
        """Alternative paths of the restart file, in the folders of the other files, if `checkpoint` is not writable."""
        folders = dict.fromkeys(path.parent for _, path in self.output_paths)
        return [folder / self.checkpoint.name for folder in folders if folder != self.checkpoint.parent]

    @property
    def _outputs(self) -> list[tuple[Key, Path | None]]:
        """Files of every section except [restart]."""
        named = (("gauges",), self.gauges), (("particles",), self.particles)
        return [*self.fields, *named, *self.measured, (("breaking",), self.log)]

    @property
    def output_paths(self) -> list[tuple[Key, Path]]:
        """Every file that the run may write, with its section; the restart file is the last."""
        return [*((key, path) for key, path in self._outputs if path is not None), (("restart",), self.checkpoint)]


def plan_outputs(case: Case, *, origin: Path | None, overwrite: bool, create: bool = True) -> OutputPlan:
    """Determine the output files of a run and check them before the computation starts.

    Parameters
    ----------
    case : Case
    origin : Path or None
        The restart file that the run continues from.
    overwrite : bool
        Replace existing files.
    create : bool
        Create the folders of the files; False only checks that this is possible.

    Raises
    ------
    InputError
        If a file exists and may not be replaced, two outputs are one file, or an output is a file that the case reads.
    OutputError
        If a folder cannot be created or written.
    """
    replaced = {section.file for _, section in case.outputs if section.overwrite}
    overwrite = overwrite or (bool(case.outputs) and len(replaced) == len(case.outputs))
    fields = tuple((key, section.file) for key, section in case.outputs)
    gauges = case.gauges.file if case.gauges and case.gauges.points else None
    drifting = getattr(case, "particles", None)
    particles = drifting.file if drifting else None
    measured = tuple((key, section.file) for key, section in case.measured)
    restart = case.restart.file if case.restart else None
    files = (*(path for _, path in fields), gauges, particles, *(path for _, path in measured))
    sibling = next((path.parent for path in files if path is not None), None)
    folder = sibling or case.directory
    log = sibling / f"{case.name}_{case.log_name}.csv" if sibling and case.log_name else None
    checkpoint = restart or folder / f"{case.name}_restart.nc"
    plan = OutputPlan(
        fields, gauges, particles, measured, log, restart, checkpoint, origin is not None, overwrite
    )  # fmt: skip
    _check_output_paths(case, plan, origin, create)
    for key, path in plan.output_paths[:-1]:
        if path.exists() and not (plan.append or overwrite or path in replaced):
            raise case.problem(
                (*key, "file"),
                InputError(
                    str(path),
                    allowed="a new file name, or permission to replace the file",
                    fix="--overwrite on the command line, or overwrite = true in [output]",
                    problem=f"The file {path} exists already.",
                ),
            )
    return plan


def _check_output_paths(case: Case, plan: OutputPlan, origin: Path | None, create: bool) -> None:
    """Reject outputs with equal paths, with the path of an input, or that cannot be a restart file."""
    from eagre.io.files import is_same_file, is_store
    from eagre.io.restart import restart_path

    seen: list[Path] = []
    for key, path in plan.output_paths:
        inputs = list(case.inputs) + ([origin] if origin is not None else [])
        if key == ("restart",) and origin is not None:
            inputs = [file for file in inputs if not is_same_file(file, origin)]
        _prepare_folder(path, create)
        try:
            for other in seen:
                if is_same_file(path, other):
                    problem = f"Two outputs have the same file {path}."
                    raise InputError(str(path), allowed="a separate file for each section", problem=problem)
            for file in inputs:
                if is_same_file(path, file):
                    problem = f"The output {path} would overwrite the input {file} of the case."
                    raise InputError(str(path), allowed="another file than the inputs", problem=problem)
            if key == ("restart",):
                if create or path.parent.exists():
                    restart_path(path)
            elif path.is_dir() and not is_store(path):
                raise InputError(str(path), allowed="a file name", problem=f"The output {path} is a folder.")
        except InputError as error:
            if path in plan.files:
                raise case.problem((*key, "file"), error) from None
            fix = '[restart]\nfile = "restart.nc"'
            raise InputError(
                f"{error.what}, for the restart of this run", allowed=error.allowed, fix=fix, problem=error.problem
            ) from None
        seen.append(path)


MAX_RECORDS = 10**9  # of a file


def records(start: float, end: float, interval: float | None) -> int:
    """Return the number of records from `start` to `end`, s: at both times and at multiples of `interval` between."""
    if interval is None:
        return 2
    import math

    if end / interval > MAX_RECORDS:
        got, allowed = f"interval = {interval!r} s", f"at most {MAX_RECORDS:g} records"
        raise InputError(got, allowed=allowed, fix=f'interval = "{0.01 * end:g} s"')
    between = math.ceil(end / interval * (1 - 1e-12)) - 1 - math.floor(start / interval * (1 + 1e-12))
    return 2 + between


def part_of(case: Case, key: Key, model: Model) -> Subset:
    """Return the cells that a section of the case's `outputs` requests."""
    from eagre.io.writers.field_files import Subset

    section = dict(case.outputs)[key]
    try:
        return Subset.of(model.grid, section.extent, section.stride)
    except InputError as error:
        raise case.problem((*key, error.what.partition(" ")[0]), error) from None


def field_bytes(case: Case, key: Key, model: Model) -> int:
    """Return the maximum size of the field file of section `key` from the current time on, bytes before compression."""
    section = dict(case.outputs)[key]
    names = case.checked_variables(section.variables or case.default_variables, model.variables, *key)
    width = 4 if model.precision == "single" else 8
    levels = 1 if model.levels is None else model.levels.height.size
    arrays = sum(levels if model.variables[name].levels else 1 for name in names)
    rows, columns = part_of(case, key, model).shape(model.grid)
    return records(model.time, case.run.end_time, section.interval) * arrays * rows * columns * width


def make_events(case: Case, model: Model, plan: OutputPlan, stack: ExitStack) -> list[Event]:
    """Open the files and return the output events of the run loop.

    Parameters
    ----------
    case : Case
    model : Model
        At its start time (restored, if the run is continued).
    plan : OutputPlan
    stack : ExitStack
        Closes the files.
    """
    from eagre.config.problems import spell_key
    from eagre.contract import gauged
    from eagre.io import GaugeWriter, ParticleWriter
    from eagre.io.records.writer import BackgroundWriter
    from eagre.stepping.run import Event

    options = _options(case, plan)
    events: list[Event] = []
    writer_thread = BackgroundWriter()
    stack.callback(writer_thread.close)
    new = {path: not (plan.append and path.exists()) for path in plan.files}

    def add(name: str, interval: float | None, action: Callable[[Model], object], at_start: bool, **more: Any) -> None:
        events.append(Event(interval, None, action, name, at_start=at_start, at_end=True, **more))

    fields_of, measured_of = dict(plan.fields), dict(plan.measured)
    for key, section in case.outputs:
        fields = stack.enter_context(_field_writer(case, key, model, plan, writer_thread))
        add(spell_key(key), section.interval, fields.write, at_start=new[fields_of[key]])
    if case.gauges is not None and plan.gauges is not None:
        names = case.checked_variables(case.gauges.variables or case.gauge_variables, gauged(model), "gauges")
        with case.at("gauges", "points"):
            gauges = GaugeWriter(plan.gauges, model, case.gauges.on(model.grid), names, beside=writer_thread, **options)
        stack.enter_context(gauges)
        start = {"at_start": new[plan.gauges], "start_sampling": gauges.start_sampling}
        add("gauges", case.gauges.interval, gauges.write, **start)
    drifting = getattr(case, "particles", None)
    if drifting is not None and plan.particles is not None:
        tracks = stack.enter_context(ParticleWriter(plan.particles, model, **options))
        add("particles", drifting.interval, tracks.write, at_start=new[plan.particles])
    for key, section in case.measured:
        with case.at(*key, *section.culprit):
            writer = stack.enter_context(section.open(measured_of[key], model, **options))
        at_start = section.at_start and new[measured_of[key]]
        add(spell_key(key), section.interval, writer.write, at_start=at_start)
    if case.restart is not None and plan.restart is not None:
        add("restart", case.restart.interval, _restarts(case, plan.restart, writer_thread), at_start=False)
    return events


def _field_writer(case: Case, key: Key, model: Model, plan: OutputPlan, writer_thread: BackgroundWriter) -> FieldWriter:
    """Return the open file of a section of the case's `outputs`."""
    from eagre.io import FieldWriter

    section = dict(case.outputs)[key]
    names = case.checked_variables(section.variables or case.default_variables, model.variables, *key)
    options = {"compression": section.compression, "beside": writer_thread, "part": part_of(case, key, model)}
    options["overwrite"] = plan.overwrite or section.overwrite
    return FieldWriter(dict(plan.fields)[key], model, names, **(_options(case, plan) | options))


def _options(case: Case, plan: OutputPlan) -> dict[str, Any]:
    """Return the options with which all files are opened."""
    return {
        "attributes": _attributes(case),
        "start_date": case.run.start_date,
        "overwrite": plan.overwrite,
        "append": plan.append,
        "until": case.run.end_time,
    }


def write_log(case: Case, model: Model, plan: OutputPlan) -> None:
    """Write the log of the model, if the case has one."""
    from eagre.io.tables.csv_rows import write_rows

    if plan.log is not None:
        write_rows(plan.log, *case.log(model))


def _restarts(case: Case, path: Path, writer_thread: BackgroundWriter) -> Callable[[Model], None]:
    """Return an action that writes a restart file after all earlier field records are on disk."""
    from eagre.io import write_restart

    def save(model: Model) -> None:
        do_all((writer_thread.wait, lambda: write_restart(path, model, start_date=case.run.start_date)))

    return save


def _attributes(case: Case) -> dict[str, Any]:
    """Return the attributes of the output files that are taken from the case."""
    attributes = {"title": case.title or case.name, "case": case.text}
    if case.run.start_date is not None:
        attributes["start_date"] = case.run.start_date.isoformat()
    return attributes


def _prepare_folder(path: Path, create: bool) -> None:
    """Create the folder of a file, or only check that it can be created, and check that it is writable."""
    import os

    from eagre.io.files import first_missing

    folder = path.resolve().parent
    folder = folder if create else _existing(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        obstacle = first_missing(folder)
        why = f"{obstacle} is a file" if obstacle.is_file() else error.strerror
        raise OutputError(f"cannot create the folder {folder}: {why}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write {path.resolve()}: no permission to write in {folder}")


def _existing(folder: Path) -> Path:
    """Return a folder, or the nearest folder above it that exists."""
    return next(one for one in (folder, *folder.parents) if one.exists())


def check_disk(case: Case, model: Model) -> None:
    """Reject a run whose field files do not fit the disk even if they compress well.

    Raises
    ------
    OutputError
        If less than a tenth of the uncompressed size is free.
    """
    import shutil

    from eagre.cli.support.console import size

    for key, section in case.outputs:
        needed = field_bytes(case, key, model)
        folder = _existing(section.file.resolve().parent)
        free = shutil.disk_usage(folder).free
        if free < 0.1 * needed:
            raise OutputError(
                f"cannot write {section.file}: up to {size(needed)} of output, and {folder} has {size(free)} free\n"
                "write:   a larger interval or fewer variables in [output]"
            )
