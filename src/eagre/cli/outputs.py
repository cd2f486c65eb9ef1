"""What a run writes: checked before it starts, opened as events of the run loop."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagre.cli.exits import OutputError
from eagre.errors import InputError

if TYPE_CHECKING:
    from eagre.config.case import Case
    from eagre.config.problems import Key
    from eagre.contract import Model
    from eagre.io import FieldWriter
    from eagre.stepping.run import Event


@dataclass(frozen=True)
class OutputPlan:
    """Where a run writes.

    Parameters
    ----------
    fields, gauges, particles, restart : Path or None
        Files; None is not written.
    measured : tuple of (key, Path)
        Files of the case's `measured` sections.
    log : Path or None
        What the model noted on its way, written at the end.
    checkpoint : Path
        The restart file that is written when the run is interrupted or blows up.
    append : bool
        Go on with existing files (a continued run).
    overwrite : bool
        Replace existing files, or drop their records after the restart time.
    """

    fields: Path | None
    gauges: Path | None
    particles: Path | None
    measured: tuple[tuple[Key, Path], ...]
    log: Path | None
    restart: Path | None
    checkpoint: Path
    append: bool
    overwrite: bool

    @property
    def files(self) -> list[Path]:
        """Files of a run that ends well."""
        return [path for path in (*(path for _, path in self._outputs), self.restart) if path is not None]

    @property
    def _outputs(self) -> list[tuple[Key, Path | None]]:
        """Files of every section but [restart]."""
        named = (("output",), self.fields), (("gauges",), self.gauges), (("particles",), self.particles)
        return [*named, *self.measured, (("breaking",), self.log)]

    @property
    def places(self) -> list[tuple[Key, Path]]:
        """Every file that the run may write, with its section; the restart is the last."""
        return [*((key, path) for key, path in self._outputs if path is not None), (("restart",), self.checkpoint)]


def plan_outputs(case: Case, *, origin: Path | None, overwrite: bool) -> OutputPlan:
    """Decide where a run writes, and refuse what cannot be before anything is computed.

    Parameters
    ----------
    case : Case
    origin : Path or None
        The restart file that the run continues from.
    overwrite : bool
        Replace existing files.

    Raises
    ------
    InputError
        If a file exists and may not be replaced, two outputs are one file, or an output is a file that the case reads.
    OutputError
        If a folder cannot be made or written.
    """
    overwrite = overwrite or bool(case.output and case.output.overwrite)
    fields = case.output.file if case.output else None
    gauges = case.gauges.file if case.gauges and case.gauges.points else None
    drifting = getattr(case, "particles", None)
    particles = drifting.file if drifting else None
    measured = tuple((key, section.file) for key, section in case.measured)
    restart = case.restart.file if case.restart else None
    files = (fields, gauges, particles, *(path for _, path in measured))
    beside = next((path.parent for path in files if path is not None), None)
    folder = beside or case.directory
    log = beside / f"{case.name}_{case.log_name}.csv" if beside and case.log_name else None
    checkpoint = restart or folder / f"{case.name}_restart.nc"
    plan = OutputPlan(
        fields, gauges, particles, measured, log, restart, checkpoint, origin is not None, overwrite
    )  # fmt: skip
    _check_places(case, plan, origin)
    for key, path in plan.places[:-1]:
        if path.exists() and not (plan.append or overwrite):
            raise case.problem(
                (*key, "file"),
                InputError(
                    f"{path}, which exists already",
                    allowed="a new file name, or permission to replace the file",
                    fix="--overwrite on the command line, or overwrite = true in [output]",
                ),
            )
    return plan


def _check_places(case: Case, plan: OutputPlan, origin: Path | None) -> None:
    """Refuse outputs that are one file, inputs, or no place for a restart; make their folders."""
    from eagre.io.places import same_place
    from eagre.io.restart import restart_place

    seen: list[Path] = []
    for key, path in plan.places:
        inputs = list(case.inputs) + ([origin] if origin is not None else [])
        if key == ("restart",) and origin is not None:
            inputs = [file for file in inputs if not same_place(file, origin)]
        _prepare_folder(path)
        try:
            for other in seen:
                if same_place(path, other):
                    raise InputError(f"{path} for two outputs", allowed="a file of its own for each section")
            for file in inputs:
                if same_place(path, file):
                    raise InputError(f"{path}, which the case reads ({file})", allowed="another file than the inputs")
            if key == ("restart",):
                restart_place(path)
        except InputError as error:
            if path in plan.files:
                raise case.problem((*key, "file"), error) from None
            fix = '[restart]\nfile = "restart.nc"'
            raise InputError(f"{error.what}, for the restart of this run", allowed=error.allowed, fix=fix) from None
        seen.append(path)


def records(start: float, end: float, interval: float | None) -> int:
    """Number of records from `start` to `end`, s: both of them, and the multiples of `interval` between."""
    if interval is None:
        return 2
    import math

    between = math.ceil(end / interval * (1 - 1e-12)) - 1 - math.floor(start / interval * (1 + 1e-12))
    return 2 + between


def field_bytes(case: Case, model: Model, start: float) -> int:
    """Bytes of the field file, at most (before compression)."""
    if case.output is None:
        return 0
    names = case.output.variables or case.default_variables
    width = 4 if model.precision == "single" else 8
    levels = 1 if model.levels is None else model.levels.height.size
    arrays = sum(levels if model.variables[name].levels else 1 for name in names if name in model.variables)
    return records(start, case.run.end_time, case.output.interval) * arrays * model.grid.cells * width


def make_events(case: Case, model: Model, plan: OutputPlan, stack: ExitStack) -> list[Event]:
    """Open the files and return what the run loop has to do at which times.

    Parameters
    ----------
    case : Case
    model : Model
        At its start time (restored, if it is continued).
    plan : OutputPlan
    stack : ExitStack
        Closes the files.
    """
    from eagre.config.problems import spell_key
    from eagre.io import FieldWriter, GaugeWriter, ParticleWriter
    from eagre.stepping.run import Event

    options = _options(case, plan)
    events: list[Event] = []
    fields: FieldWriter | None = None
    new = {path: not (plan.append and path.exists()) for path in plan.files}

    def add(name: str, interval: float | None, action: Callable[[Model], object], *, at_start: bool) -> None:
        events.append(Event(interval=interval, times=None, action=action, name=name, at_start=at_start, at_end=True))

    if case.output is not None and plan.fields is not None:
        names = list(case.output.variables or case.default_variables)
        case.check_variables(names, model.variables, "output")
        compressed = {"compression": case.output.compression, "beside": True}
        fields = stack.enter_context(FieldWriter(plan.fields, model, names, **compressed, **options))
        add("fields", case.output.interval, fields.write, at_start=new[plan.fields])
    if case.gauges is not None and plan.gauges is not None:
        names = list(case.gauges.variables or case.gauge_variables)
        case.check_variables(names, _moving(model), "gauges")
        with case.at("gauges", "points"):
            gauges = GaugeWriter(plan.gauges, model, case.gauges.points, names, **options)
        stack.enter_context(gauges)
        add("gauges", case.gauges.interval, gauges.write, at_start=new[plan.gauges])
    drifting = getattr(case, "particles", None)
    if drifting is not None and plan.particles is not None:
        tracks = stack.enter_context(ParticleWriter(plan.particles, model, **options))
        add("particles", drifting.interval, tracks.write, at_start=new[plan.particles])
    for key, section in case.measured:
        with case.at(*key, *section.culprit):
            writer = stack.enter_context(section.open(section.file, model, **options))
        at_start = section.at_start and new[section.file]
        add(spell_key(key), section.interval, writer.write, at_start=at_start)
    if case.restart is not None and plan.restart is not None:
        add("restart", case.restart.interval, _restarts(plan.restart, fields), at_start=False)
    return events


def _options(case: Case, plan: OutputPlan) -> dict[str, Any]:
    """What all files are opened with."""
    return {
        "attributes": _attributes(case),
        "start_date": case.run.start_date,
        "overwrite": plan.overwrite,
        "append": plan.append,
        "until": case.run.end_time,
    }


def write_log(case: Case, model: Model, plan: OutputPlan) -> None:
    """Write what the model noted on its way, if there is a place for it."""
    from eagre.io.rows import write_rows

    if plan.log is not None:
        write_rows(plan.log, *case.log(model))


def _restarts(path: Path, fields: FieldWriter | None) -> Callable[[Model], None]:
    """What writes a restart file once all records of fields up to it are on disk: a run that goes on needs them."""
    from eagre.io import write_restart

    def save(model: Model) -> None:
        if fields is not None:
            fields.finish()
        write_restart(path, model)

    return save


def _attributes(case: Case) -> dict[str, Any]:
    """Attributes of the output files that come from the case."""
    given = {"title": case.title or case.name, "case": case.text}
    if case.run.start_date is not None:
        given["start_date"] = case.run.start_date.isoformat()
    return given


def _moving(model: Model) -> list[str]:
    return [name for name, variable in model.variables.items() if not variable.static]


def _prepare_folder(path: Path) -> None:
    """Make the folder of a file, and check that it can be written."""
    import os

    folder = path.resolve().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder {folder}: {error.strerror}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write {path.resolve()}: no permission to write in {folder}")


def check_disk(case: Case, model: Model, plan: OutputPlan) -> None:
    """Refuse a run whose field file cannot fit the disk even if it compresses well.

    Raises
    ------
    OutputError
        If less than a tenth of the uncompressed size is free.
    """
    import shutil

    from eagre.cli.console import size

    if plan.fields is None:
        return
    folder = plan.fields.resolve().parent
    needed, free = field_bytes(case, model, model.time), shutil.disk_usage(folder).free
    if free < 0.1 * needed:
        raise OutputError(
            f"cannot write {plan.fields}: up to {size(needed)} of output, and {folder} has {size(free)} free\n"
            "write:   a larger interval or fewer variables in [output]"
        )
