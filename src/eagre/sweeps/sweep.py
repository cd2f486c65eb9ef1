"""Definition of a sweep: members from lists of values and tables, checked before the first run."""

from __future__ import annotations

import csv
import hashlib
import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagre.arguments import of_type
from eagre.config.changes import parse_change, plain
from eagre.config.problems import spell_key
from eagre.config.toml import existing_file
from eagre.errors import InputError
from eagre.io.records.output_paths import locked
from eagre.io.tables.table import reading_rows
from eagre.models.registry import load_case
from eagre.sweeps.records import FAILED, RECORD, TABLE, WAITING, Record
from eagre.sweeps.running import Member

if TYPE_CHECKING:
    from eagre.config.case import Case

FOLDER = "members"
_OPENING, _CLOSING = "([{", ")]}"
_OTHERS = "more members than this sweep"
_CHANGED = "results of another sweep, of other values or of an older case file"


def sweep(
    case_file: str | Path,
    values: Mapping[str, Sequence[Any]] | None = None,
    *,
    table: str | Path | Iterable[Mapping[str, Any]] = (),
    folder: str | Path | None = None,
    device: str | None = None,
    overwrite: bool = False,
) -> list[Member]:
    """Return the members of a sweep: runs of one case, one for each combination of values.

    All members are checked, and their folders created. Call a member to run it, for example through dask or
    `concurrent.futures`, or pass several members to `eagre.run_sweep`.

    Parameters
    ----------
    case_file : str or Path
        A TOML file.
    values : dict, optional
        List of values by key, ``{"friction.manning": [0.02, 0.03]}``; see `eagre.load_case`. Several keys: all
        combinations, the last key varies fastest.
    table : str, Path or iterable of dict, optional
        CSV file with one row per member and one column per key, or such rows. An empty cell keeps the value of the case
        file. Rows are combined with `values`.
    folder : str or Path, optional
        Folder with a folder for each member: ``000``, ``001`` and so on. Default: ``members``, next to the case file.
    device : str, optional
        Device, as for `eagre run`.
    overwrite : bool
        Permission to replace members that were run with another case file or with other values.

    Returns
    -------
    members : list of Member

    Raises
    ------
    InputError
        If a member is invalid (see `eagre.load_case`), the case has no output, or the folder contains another sweep.
    """
    values = of_type("values", values or {}, Mapping, '{"friction.manning": [0.02, 0.03]}')
    rows = read_rows(table) if isinstance(table, str | Path) else [dict(row) for row in table]
    case_file = Path(case_file)
    target = Path(os.path.abspath(case_file.parent / FOLDER if folder is None else folder))
    combinations = [dict(zip(values, one, strict=True)) for one in itertools.product(*values.values())]
    changes = [plain(_joined(row, one)) for row in rows or [{}] for one in combinations]
    if not any(changes):
        raise InputError(
            f"{len(changes)} sets of values" if values else "no values",
            allowed="lists of values, or a table with one row per member",
            fix="eagre sweep case.toml --set friction.manning=0.02,0.03",
            problem="The sweep has no member.",
        )
    width = max(3, len(str(len(changes) - 1)))
    runs = [_checked(case_file, one, target / f"{n:0{width}d}", device) for n, one in enumerate(changes)]
    _check_folder(runs, target, overwrite)
    return runs


def parse_values(arguments: Iterable[str]) -> dict[str, list[Any]]:
    """Parse options such as ``friction.manning=0.02,0.03`` into lists of values by key.

    Commas within brackets and quotation marks belong to a value: ``a.b=[1, 2],[3, 4]`` has two values.
    """
    values: dict[str, list[Any]] = {}
    for text in arguments:
        name, equals, listed = text.partition("=")
        pairs = [parse_change(f"{name}{equals}{one}") for one in split_values(listed)]
        key = pairs[0][0]
        if key in values:
            raise InputError(f"--set {key} twice", allowed="each key once", fix=f"--set {key}=VALUE,VALUE")
        values[key] = [value for _, value in pairs]
    return values


def split_values(text: str) -> list[str]:
    """Split a string at commas outside of brackets and quotation marks."""
    items, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        depth += 0 if quote else (letter in _OPENING) - (letter in _CLOSING)
        if letter == "," and depth == 0 and not quote:
            items.append("")
        else:
            items[-1] += letter
    return items


def read_rows(path: str | Path) -> list[dict[str, Any]]:
    """Read a CSV table of members: keys in the first line, then one row per member.

    Raises
    ------
    InputError
        If the file is missing or has no rows, or a row has another number of cells than the first line.
    """
    with reading_rows(path):
        lines = existing_file(Path(path), "table").read_text(encoding="utf-8-sig").splitlines()
        header, *rows = [row for row in csv.reader(lines) if any(cell.strip() for cell in row)] or [[]]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise InputError(f"{path}: {len(row)} cells in row {number}", allowed=f"{len(header)} cells",
                             problem="A row of the table has another number of cells than the first line.")  # fmt: skip
    if not rows or len(set(header)) < len(header):
        raise InputError(f"{path} with {len(rows)} rows below {','.join(header)[:80]!r}",
                         allowed="a first line of different keys, then one row per member",
                         fix="friction.manning,run.end_time\n0.02,2 h",
                         problem="The table has no members, or a key twice.")  # fmt: skip
    pairs = [zip(header, row, strict=True) for row in rows]
    return [dict(parse_change(f"{key}={cell}") for key, cell in row if cell.strip()) for row in pairs]


def _joined(row: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a row of the table and of a combination."""
    for key in row.keys() & values.keys():
        raise InputError(f"{key} in the table and in the values", allowed="each key in one of them",
                         problem=f"The key {key} has two lists of values.")  # fmt: skip
    return {**row, **values}


def _checked(case_file: Path, values: Mapping[str, Any], folder: Path, device: str | None) -> Member:
    """Return a member after a check of its case."""
    for key, value in values.items():
        if _has_none(value):
            raise InputError(f"{key} = {value!r}", allowed="values that a case file can hold",
                             problem=f"A value of {key} is None.")  # fmt: skip
    case = load_case(case_file, values)
    files = output_files(case)
    names = list(files.values())
    if not any(section != "restart" for section in files):
        raise InputError(f"{case_file} without output", allowed="a case with [output] or [gauges]",
                         fix='[output]\nfile = "out.nc"', problem="The case has no output.")  # fmt: skip
    for name in (one for one in names if names.count(one) > 1):
        raise InputError(f"two output files with the name {name}", allowed="different file names",
                         problem="The output files of a member are in one folder.")  # fmt: skip
    fingerprint = hashlib.sha256(case.text.encode()).hexdigest()[:16]  # the text includes the values
    device = case.run.device if device is None else device
    return Member(folder.name, Path(os.path.abspath(case_file)), dict(values), folder, files, fingerprint, device)


def _has_none(value: Any) -> bool:
    """Return whether a value is None or contains None."""
    if isinstance(value, Mapping):
        return any(_has_none(one) for one in value.values())
    return value is None or (isinstance(value, list | tuple) and any(_has_none(one) for one in value))


def output_files(case: Case) -> dict[str, str]:
    """Return the names of the output files of a case, without folders, by section."""
    sections = [(key, section) for key, section in (*case.outputs, *case.measured)]
    sections += [((name,), getattr(case, name, None)) for name in ("gauges", "particles", "restart")]
    return {spell_key(key): one.file.name for key, one in sections if one is not None and one.file is not None}


def _check_folder(runs: Sequence[Member], folder: Path, overwrite: bool) -> None:
    """Reject a folder with other files or members, create the folders of all members, and write missing records."""
    names = {run.name for run in runs}
    others = [path.parent.name for path in sorted(folder.glob(f"*/{RECORD}")) if path.parent.name not in names]
    changed = [run.name for run in runs if _would_replace(run)]
    if others or (changed and not overwrite):
        raise InputError(
            f"{folder}: {', '.join((others or changed)[:8])}",
            allowed="a new folder" + ("" if others else ", or permission to run these members again"),
            fix="--output NEW_FOLDER" + ("" if others else ", or --overwrite"),
            problem=f"The folder {folder} has {_OTHERS if others else _CHANGED}.",
        )
    path = folder / TABLE
    if path.exists() and not path.read_bytes().startswith(b"member,"):
        raise InputError(str(path), allowed="a folder without another file of this name", fix="--output NEW_FOLDER",
                         problem=f"The file {TABLE} in the folder is not the table of a sweep.")  # fmt: skip
    for run in runs:
        run.folder.mkdir(parents=True, exist_ok=True)
        with suppress(InputError), locked(run.path):  # otherwise another process runs the member
            record = Record.read(run.path)
            if record is None or record.fingerprint != run.fingerprint:
                run.write(WAITING)


def _would_replace(run: Member) -> bool:
    """Return whether a run of the member would replace results of another run."""
    record = Record.read(run.path)
    if record is None:
        return any((run.folder / name).exists() for name in run.files.values())
    return record.fingerprint != run.fingerprint and record.state not in (WAITING, FAILED)
