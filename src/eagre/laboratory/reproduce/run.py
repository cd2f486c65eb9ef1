"""Run of the items of a paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from eagre.errors import DeviceError, EagreError, InputError
from eagre.laboratory.papers import Number, paper
from eagre.laboratory.reproduce.registry import Item, Line, NotRun, Run, holds, items_named, not_run, source_named
from eagre.laboratory.reproduce.tables import draw_numbers, stored_lines, stored_note, write_report

PRECISIONS = ("single", "double")
MAX_SECONDS = 60.0
ERROR = "error"  # replaces the numbers of an item that failed


def reproduce(
    name: str,
    items: Sequence[str] | None = None,
    output_dir: str | Path | None = None,
    device: Any = "auto",
    precision: str | None = None,
    max_seconds: float = MAX_SECONDS,
    on_item: Callable[[Item, list[Line]], None] | None = None,
) -> list[Line]:
    """Repeat tables and figures of a paper and compare the numbers.

    Parameters
    ----------
    name : str
        Paper, ``"bleichrodt2011"``, or its model, ``"barotropic"``.
    items : sequence of str, optional
        Tables, figures and sections such as ``"table-B.1"``; all by default.
    output_dir : path, optional
        Folder for ``reproduce.md``, ``reproduce.csv`` and the pictures, also after an interruption.
    device : str
        Device of the models.
    precision : {"single", "double"}, optional
        Precision of the models; by default that of the paper.
    max_seconds : float, s
        Items that take longer are not run.
    on_item : callable(item, lines), optional
        Called after each item.

    Returns
    -------
    list of Line
        Check ``not any(line.failed for line in lines)``.

    Raises
    ------
    InputError
        For unknown papers, items and precisions.
    DeviceError
        If the device is not available.
    """
    from eagre.backend.select import select
    from eagre.laboratory.bench import machine

    name = source_named(name)
    chosen = items_named(name, items)
    if precision not in (None, *PRECISIONS):
        raise InputError(f"precision = {precision!r}", allowed=", ".join(PRECISIONS), fix='precision = "double"')
    hardware = select(device)
    commit = str(machine.provenance(hardware)["commit"])
    folder = None if output_dir is None else Path(output_dir)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    origin = {"device": machine.device_name(hardware), "commit": commit}
    lines: list[Line] = []
    sections: list[tuple[Item, list[Line], Path | None]] = []
    try:
        for item in chosen:
            run = Run(paper(name), item.name, device, precision, max_seconds)
            with run.closing:
                lines_of_item: list[Line] = []
                sections.append((item, lines_of_item, None))
                for line in _lines(item, run, on_gpu=hardware.kind == "cuda"):
                    lines_of_item.append(replace(line, **origin, precision=line.precision or precision or ""))
                    lines.append(lines_of_item[-1])
                if folder is not None:
                    sections[-1] = (item, lines_of_item, _picture(folder, item, run, lines_of_item))
            if on_item is not None:
                on_item(item, lines_of_item)
    finally:
        if folder is not None:
            write_report(folder, name, sections)
    return lines


def _lines(item: Item, run: Run, *, on_gpu: bool) -> Iterator[Line]:
    """Yield the lines of an item, or a line that states why the item was not run."""
    everything = Number(item.name, item.title, "", "", "")
    seconds = item.gpu_seconds if on_gpu and item.gpu_seconds is not None else item.seconds
    if item.lines is None:
        yield not_run(everything, item.reason)
    elif "gpu" in item.needs and not on_gpu:
        yield from _stored(item, run) or [not_run(everything, "needs a GPU")]
    elif seconds > run.max_seconds:
        write = f"eagre reproduce {run.paper.name} {item.name} --most {seconds:.0f}"
        yield not_run(everything, f"takes about {seconds:.0f} s: {write}")
    else:
        try:
            yield from item.lines(run)
        except NotRun as reason:
            yield not_run(everything, str(reason))
        except DeviceError:
            raise
        except EagreError as error:  # a wrong result is a failure of the item, not of the command
            yield holds(everything, ERROR, passed=False, note=str(error).replace("\n", "; "))


def _stored(item: Item, run: Run) -> list[Line]:
    """Return the stored results of a GPU as lines without a comparison."""
    return [
        not_run(Number(one.item, one.row, one.column, one.printed, one.unit), f"needs a GPU; {stored_note(one)}")
        for one in stored_lines(run.paper.name)
        if one.item == item.name
    ]


def _picture(folder: Path, item: Item, run: Run, lines: Sequence[Line]) -> Path | None:
    """Draw the picture of an item; return None without Matplotlib and for an item without results or with an error."""
    if find_spec("matplotlib") is None or all(line.computed is None for line in lines) or lines[-1].computed == ERROR:
        return None
    path = folder / f"{item.name}.png"
    if item.draw is not None:
        item.draw(path, run, lines)
    else:
        draw_numbers(path, f"{run.paper.name} {item.name}: {item.title}", lines)
    return path if path.exists() else None
