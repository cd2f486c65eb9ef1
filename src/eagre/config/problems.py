"""Problems of a case file, each with key, value, allowed values and a corrected line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from eagre.errors import InputError

Result = TypeVar("Result")
Key = tuple[str | int, ...]
"""Path of a key: ``("boundaries", "north", 0, "kind")``."""


@dataclass(frozen=True)
class Problem:
    """One problem of a case.

    Parameters
    ----------
    key : tuple
        Path of the key.
    what, allowed, fix, problem : str
        See `eagre.errors.InputError`.
    line : int or None
        Line in the file, from 1.
    """

    key: Key
    what: str
    allowed: str = ""
    fix: str = ""
    line: int | None = None
    problem: str = ""

    def under(self, prefix: Key) -> Problem:
        """Return the problem with `prefix` in front of its key."""
        return replace(self, key=(*prefix, *self.key))

    def __str__(self) -> str:
        where = f" (line {self.line})" if self.line else ""
        lines = [f"{spell_key(self.key) or 'the file'}{where}"]
        if self.problem:
            lines.append(f"  {_indent(self.problem)}")
        lines.append(f"  got:     {_indent(self.what)}")
        if self.allowed:
            lines.append(f"  allowed: {_indent(self.allowed)}")
        if self.fix:
            lines.append(f"  write:   {_indent(self.fix)}")
        return "\n".join(lines)


class ConfigError(InputError):
    """Invalid case file; the message lists every problem.

    Attributes
    ----------
    problems : tuple of Problem
        Problems in the order of the sections.
    source : str
        Name of the file, for the message.
    """

    def __init__(self, problems: Sequence[Problem], source: str = "") -> None:
        self.problems, self.source = tuple(problems), source
        first = self.problems[0]
        super().__init__(first.what, allowed=first.allowed, fix=first.fix, problem=first.problem)
        count = "one problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        head = f"{source}: {count}" if source else count
        self.args = ("\n".join([head, *(str(problem) for problem in self.problems)]),)


class Problems(ValueError):
    """Internal exception that carries problems through pydantic."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(problem.problem or problem.what for problem in problems))


def problem_of(error: InputError, key: Key) -> list[Problem]:
    """Return the problems of an `InputError` raised for `key`."""
    if isinstance(error, ConfigError):
        return [problem.under(key) for problem in error.problems]
    return [Problem(key, error.what, error.allowed, error.fix, problem=error.problem)]


def read_each(items: Iterable[tuple[str | int, Any]], read: Callable[[Any, Any], Result]) -> list[Result]:
    """Apply `read` to every (part of the key, value) and collect the problems.

    Raises
    ------
    Problems
        All problems of `read`, which raises `Problems` or `InputError`.
    """
    results, problems = [], []
    for key_part, value in items:
        try:
            results.append(read(key_part, value))
        except Problems as error:
            problems += [problem.under((key_part,)) for problem in error.problems]
        except InputError as error:
            problems += problem_of(error, (key_part,))
    if problems:
        raise Problems(problems)
    return results


def spell_key(key: Key) -> str:
    """Format a path as in a case file: ``boundaries.north[1].kind`` (items are counted from 1)."""
    text = ""
    for key_part in key:
        text += f"[{key_part + 1}]" if isinstance(key_part, int) else f".{key_part}" if text else str(key_part)
    return text


def _indent(text: str) -> str:
    """Indent the lines after the first line."""
    return text.replace("\n", "\n           ")
