"""Values that take the place of those in a case file: what a sweep over parameters changes from run to run."""

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
    """A key as messages spell it, ``"boundaries.north[1].rate"`` (parts of a list count from 1), as a path.

    Raises
    ------
    InputError
        If it is no name of a key.
    """
    key: list[str | int] = []
    for part in name.split(".") if isinstance(name, str) else [""]:
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise InputError(f"the key {name!r}", allowed=f"names with dots, such as {_EXAMPLE} or output[1].file")
        key += [match[1], *(int(index) - 1 for index in re.findall(r"\d+", match[2]))]
    return tuple(key)


def parse_change(text: str) -> tuple[str, Any]:
    """A change as it stands on a command line, ``friction.manning=0.03``: a key and its value.

    The value is TOML where it can be read as such, else a text: ``run.end_time=2 h`` needs no quotes within.
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


def parse_changes(texts: Iterable[str]) -> dict[str, Any]:
    """Changes as they stand on a command line; each key once."""
    found: dict[str, Any] = {}
    for text in texts:
        name, value = parse_change(text)
        if name in found:
            raise InputError(f"--set {name} twice", allowed="each key once", fix=f"--set {text}")
        found[name] = value
    return found


def changed(data: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a case with some values replaced, added or, where None is given, taken out.

    Parameters
    ----------
    data : dict
        As TOML gives it; it stays as it is.
    changes : dict
        Values by key, such as ``{"friction.manning": 0.03, "output[2].file": "harbour.nc"}``.

    Raises
    ------
    InputError
        If a key leads through something that is neither a table nor a list, or beyond the end of a list.
    """
    new = copy.deepcopy(dict(data))
    for name, value in changes.items():
        key = key_of(name)
        _put(_table_above(new, key, name), key[-1], _plain(value), name)
    return new


def note_of(changes: Mapping[str, Any]) -> str:
    """Comment lines for the end of a case's text, so that a result tells with which values it was made."""
    if not changes:
        return ""
    words = {name: "(taken out)" if value is None else literal(_plain(value)) for name, value in changes.items()}
    lines = [f"#   {name} = {word}" for name, word in words.items()]
    return "\n".join(["", "# Changed for this run:", *lines, ""])


def _table_above(data: dict[str, Any], key: Key, name: str) -> Any:
    """What holds the last part of `key`; tables that are not there are made."""
    at: Any = data
    for part, following in pairwise(key):
        if isinstance(part, str) and isinstance(at, dict) and part not in at and isinstance(following, str):
            at[part] = {}
        at = _get(at, part, name)
    return at


def _get(at: Any, part: str | int, name: str) -> Any:
    if isinstance(part, int):
        if not isinstance(at, list) or part >= len(at):
            raise InputError(f"the key {name!r}, whose part [{part + 1}] is not there", allowed=_there(at))
        return at[part]
    if not isinstance(at, dict) or part not in at:
        raise InputError(f"the key {name!r}: there is no {part!r}", allowed=_there(at))
    return at[part]


def _put(at: Any, part: str | int, value: Any, name: str) -> None:
    if isinstance(part, int):
        _get(at, part, name)
    elif not isinstance(at, dict):
        raise InputError(f"the key {name!r}: there is no {part!r}", allowed=_there(at))
    if value is None:
        if part in at or isinstance(part, int):
            del at[part]
    else:
        at[part] = value


def _there(at: Any) -> str:
    """What can follow in a key."""
    if isinstance(at, list):
        return f"[1] to [{len(at)}]" if at else "nothing: the list is empty"
    return "one of " + ", ".join(at) if isinstance(at, dict) else f"nothing: the case has {literal(at)} there"


def _plain(value: Any) -> Any:
    """A value of Python as TOML has it: NumPy's numbers and arrays, tuples and paths too."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, PathLike):
        return fspath(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(item) for item in value]
    return value
