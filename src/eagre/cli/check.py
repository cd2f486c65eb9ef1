"""``eagre check``: check of a case without a time step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eagre.cli.support.options import CaseFile, Changes, Device, Precision, Restart

if TYPE_CHECKING:
    from eagre.config.case import Case
    from eagre.contract import Model

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
    from eagre.cli.run import plan_rows, prepare, restore
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
