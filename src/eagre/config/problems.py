"""Problems of a case file, each with its key, what was got, what is allowed and the line to write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from eagre.errors import InputError

Made = TypeVar("Made")
Key = tuple[str | int, ...]
"""Path of a key: ``("boundaries", "north", 0, "kind")``."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a case.

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
        """The same problem, of a key one or more levels down."""
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
    """A case file cannot be used; every problem found in it is listed.

    Attributes
    ----------
    problems : tuple of Problem
        In the order of the file's sections.
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
    """Carries problems through pydantic; never seen by a user."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(problem.what for problem in problems))


def problem_of(error: InputError, key: Key) -> list[Problem]:
    """Problems of an `InputError` that was raised for `key`."""
    if isinstance(error, ConfigError):
        return [problem.under(key) for problem in error.problems]
    return [Problem(key, error.what, error.allowed, error.fix, problem=error.problem)]


def read_each(items: Iterable[tuple[str | int, Any]], read: Callable[[Any, Any], Made]) -> list[Made]:
    """`read` of every (part of the key, value); every wrong one is told.

    Raises
    ------
    Problems
        All of `read`, which raises them or `InputError`.
    """
    made, problems = [], []
    for part, value in items:
        try:
            made.append(read(part, value))
        except Problems as error:
            problems += [problem.under((part,)) for problem in error.problems]
        except InputError as error:
            problems += problem_of(error, (part,))
    if problems:
        raise Problems(problems)
    return made


def spell_key(key: Key) -> str:
    """A path as a person writes it: ``boundaries.north[1].kind`` (parts are counted from 1)."""
    text = ""
    for part in key:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _indent(text: str) -> str:
    """Continue lines below the first one."""
    return text.replace("\n", "\n           ")
