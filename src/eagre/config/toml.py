"""TOML input and output: syntax errors with line and column, and the line number of a key."""

from __future__ import annotations

import datetime
import json
import os
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from eagre.config.problems import ConfigError, Key, Problem
from eagre.errors import InputError
from eagre.io.files import nearest_file

_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?")
_ENTRY = re.compile(r"\s*((?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*[A-Za-z0-9_\"'-]+)*)\s*=")


DEEPEST = 64
"""Levels of tables and lists in a case; a case needs fewer than ten."""
_LONG_KEY = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{DEEPEST}}}")


def read_toml(path: str | Path) -> tuple[dict[str, Any], str]:
    """Read a TOML file.

    Returns
    -------
    data : dict
    text : str
        The file as it was read.

    Raises
    ------
    InputError
        If the file does not exist, is not UTF-8 text, or has a syntax error (with line and column).
    """
    path = Path(path)
    existing_file(path, "case file")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path.resolve()}: byte {error.start} is not UTF-8", allowed="a TOML text file") from None
    return parse_toml(text, str(path)), text


_SYNTAX = 'TOML: key = value lines under [section] lines; strings in quotes: end_time = "2 h"'
_ONCE = "each key and each [section] once; sections that can be repeated in double brackets: [[sponges]]"
_TWICE = ("Cannot overwrite a value", "Cannot declare", "Cannot mutate", "Cannot redefine")


def parse_toml(text: str, source: str = "the case") -> dict[str, Any]:
    """Parse TOML, or raise `InputError` with the line and a mark below the column."""
    if _LONG_KEY.search(text):  # the parser's time grows with the square of the length
        raise _too_deep(source)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _PLACE.search(str(error))
        lines = text.splitlines() or [""]
        line, column = (int(match[1]), int(match[2])) if match else (len(lines), len(lines[-1]) + 1)
        reason = _PLACE.sub("", str(error)).replace("(at end of document)", "at the end of the file").strip()
        shown = lines[line - 1] if line <= len(lines) else ""
        mark = " " * (column - 1) + "^"
        raise InputError(
            f"{source}, line {line}, column {column}: {reason}\n{shown}\n{mark}",
            allowed=_ONCE if reason.startswith(_TWICE) else _SYNTAX,
        ) from None
    except RecursionError:
        raise _too_deep(source) from None
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(f"{source}: {error}", allowed="64-bit integers") from None
    odd = _odd(data)
    if odd is not None:
        raise ConfigError([replace(odd, line=line_of(text, odd.key))], source)
    return data


def _too_deep(source: str) -> InputError:
    problem = f"The file is nested too deeply: it has tables or lists more than {DEEPEST} levels deep."
    return InputError(source, allowed="a few levels", problem=problem)


def _odd(data: Any, key: Key = ()) -> Problem | None:
    """Return the first value that is valid TOML but invalid in a case: null character, huge integer, deep nesting."""
    if len(key) > DEEPEST:
        return Problem(key[:1], f"values more than {DEEPEST} levels deep", "a few levels of tables and lists")
    if isinstance(data, str) and "\0" in data:
        return Problem(key, "a string with the character \\u0000", "strings without null characters")
    if isinstance(data, int) and not -(2**63) <= data < 2**63:
        return Problem(key, f"an integer of {data.bit_length()} bits", "64-bit integers; write larger numbers as 1e30")
    inner = list(data.items()) if isinstance(data, dict) else list(enumerate(data)) if isinstance(data, list) else []
    for name, value in inner:
        plain = name.replace("\0", "?") if isinstance(name, str) else name
        unusual = (_odd(name, (*key, plain)) if plain != name else None) or _odd(value, (*key, plain))
        if unusual is not None:
            return unusual
    return None


def existing_file(path: Path, what: str = "file") -> Path:
    """Return `path` if it is a file, else raise `InputError` with the full path and the most similar file name."""
    try:
        path.stat()
    except FileNotFoundError:
        pass
    except OSError as error:  # a name that is too long, circular links, a folder without permission
        raise InputError(f"{what} {str(path)[-80:]}: {error.strerror}", allowed="the path of a file") from None
    if path.is_file():
        if not os.access(path, os.R_OK):
            raise InputError(f"{what} {path.resolve()}: no permission to read it", fix=f"chmod u+r {path}")
        return path
    full = Path(os.path.realpath(path))
    if path.is_dir():
        raise InputError(f"{what} {full}, which is a folder", allowed="the path of a file")
    if not full.parent.is_dir():
        raise InputError(f"{what} {full}: there is no folder {full.parent}", allowed="the path of a file that exists")
    there = [item.name for item in full.parent.iterdir() if item.is_file()]
    near = nearest_file(full.name, sorted(there))
    fix = f'"{path.parent / near}"' if near else ""
    raise InputError(f"{what} {full}: there is no such file", allowed="the path of a file that exists", fix=fix)


def literal(value: object) -> str:
    """Format a value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {literal(item)}" for name, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    return repr(value) if not isinstance(value, Path) else json.dumps(str(value))


def line_of(text: str, key: Key) -> int | None:
    """Return the line (from 1) of a key, or of the nearest table above it, in a TOML text.

    The text is scanned, not parsed: a key of an inline table has the line of its table.
    """
    if not key:
        return None
    table: Key = ()
    counts: dict[Key, int] = {}
    best, best_length = None, 0
    for number, line in enumerate(text.splitlines(), start=1):
        header, entry = _HEADER.fullmatch(line), _ENTRY.match(line)
        if header:
            table = _split(header[2])
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            position = table
        elif entry:
            position = (*table, *_split(entry[1]))
        else:
            continue
        if position == key[: len(position)] and len(position) > best_length:
            best, best_length = number, len(position)
    return best


def _split(dotted: str) -> Key:
    """Split a dotted key into parts without quotes."""
    return tuple(key_part.strip().strip("\"'") for key_part in dotted.split("."))
