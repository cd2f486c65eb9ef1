"""Overrides of values in a case file, for `--set` and parameter studies."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from os import PathLike, fspath
from typing import Any

import numpy as np

from eagre.config.problems import Key
from eagre.config.toml import literal
from eagre.errors import InputError

_PART = re.compile(r"([A-Za-z0-9_-]+)((?:\[[1-9]\d*\])*)")
_EXAMPLE = '"friction.manning"'


def key_of(name: str) -> Key:
    """Convert a key such as ``"boundaries.north[1].rate"`` to a path; list items are counted from 1.

    Raises
    ------
    InputError
        If the string is not a valid key.
    """
    key: list[str | int] = []
    for key_part in name.split(".") if isinstance(name, str) else [""]:
        match = _PART.fullmatch(key_part.strip())
        if match is None:
            raise InputError(f"the key {name!r}", allowed=f"names with dots, such as {_EXAMPLE} or output[1].file")
        key += [match[1], *(int(index) - 1 for index in re.findall(r"\d+", match[2]))]
    return tuple(key)


def parse_change(text: str) -> tuple[str, Any]:
    """Parse a command-line override such as ``friction.manning=0.03`` into key and value.

    A value that is not valid TOML is a string: ``run.end_time=2 h`` needs no inner quotes.
    """
    name, equals, value = text.partition("=")
    if not equals or not value.strip():
        raise InputError(f"--set {text!r}", allowed="a key, = and a value", fix="--set friction.manning=0.03")
    name, value = name.strip(), value.strip()
    try:
        read = tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        return name, value
    except (RecursionError, ValueError) as error:  # deep nesting, or an integer of thousands of digits
        got = f"--set {text[:80]!r}"
        raise InputError(got, allowed="a value of a case", problem=f"The value cannot be read ({error}).") from None
    return name, read["value"] if len(read) == 1 else value


def parse_changes(arguments: Iterable[str]) -> dict[str, Any]:
    """Parse command-line overrides; each key can occur once."""
    changes: dict[str, Any] = {}
    for text in arguments:
        name, value = parse_change(text)
        if name in changes:
            raise InputError(f"--set {name} twice", allowed="each key once", fix=f"--set {text}")
        changes[name] = value
    return changes


def changed(data: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of a case with values replaced, added or, for None, removed.

    Parameters
    ----------
    data : dict
        Parsed TOML; not modified.
    changes : dict
        Values by key, such as ``{"friction.manning": 0.03, "output[2].file": "harbour.nc"}``.

    Raises
    ------
    InputError
        If a part of a key is neither a table nor a list, or an index is beyond the end of a list.
    """
    new = copy.deepcopy(dict(data))
    for name, value in changes.items():
        key = key_of(name)
        _put(_table_above(new, key, name), key[-1], plain(value), name)
    return new


def note_of(changes: Mapping[str, Any]) -> str:
    """Return comment lines with the overridden values, appended to the case text stored in results."""
    if not changes:
        return ""
    values = {name: "(removed)" if value is None else literal(plain(value)) for name, value in changes.items()}
    lines = [f"#   {name} = {word}" for name, word in values.items()]
    return "\n".join(["", "# Changed for this run:", *lines, ""])


def _table_above(data: dict[str, Any], key: Key, name: str) -> Any:
    """Return the table or list that contains the last part of `key`; create missing tables."""
    table: Any = data
    for key_part, following in pairwise(key):
        if (
            isinstance(key_part, str)
            and isinstance(table, dict)
            and key_part not in table
            and isinstance(following, str)
        ):
            table[key_part] = {}
        table = _get(table, key_part, name)
    return table


def _get(table: Any, key_part: str | int, name: str) -> Any:
    if isinstance(key_part, int):
        if not isinstance(table, list) or key_part >= len(table):
            raise InputError(f"the key {name!r}: the list has no item [{key_part + 1}]", allowed=_there(table))
        return table[key_part]
    if not isinstance(table, dict) or key_part not in table:
        raise InputError(f"the key {name!r}: the table has no key {key_part!r}", allowed=_there(table))
    return table[key_part]


def _put(table: Any, key_part: str | int, value: Any, name: str) -> None:
    if isinstance(key_part, int):
        _get(table, key_part, name)
    elif not isinstance(table, dict):
        raise InputError(f"the key {name!r}: the table has no key {key_part!r}", allowed=_there(table))
    if value is None:
        if key_part in table or isinstance(key_part, int):
            del table[key_part]
    else:
        table[key_part] = value


def _there(table: Any) -> str:
    """Return the valid next parts of a key, for messages."""
    if isinstance(table, list):
        return f"[1] to [{len(table)}]" if table else "none: the list is empty"
    return "one of " + ", ".join(table) if isinstance(table, dict) else f"none: the value there is {literal(table)}"


def plain(value: Any) -> Any:
    """Convert a Python value to TOML types, including NumPy numbers and arrays, tuples and paths."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, PathLike):
        return fspath(value)
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(item) for item in value]
    return value
