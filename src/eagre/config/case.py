"""A case: one TOML file that describes a run of one model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator

from eagre.config.changes import changed, key_of, note_of
from eagre.config.problems import ConfigError, Key, Problem, Problems, problem_of
from eagre.config.section import Section, check
from eagre.config.sections import (
    GaugesSection,
    MeasuredSection,
    Outputs,
    OutputSection,
    RestartSection,
    RunSection,
)
from eagre.config.toml import line_of, parse_toml, read_toml
from eagre.errors import DeviceError, InputError
from eagre.names import field_names

if TYPE_CHECKING:
    from eagre.contract import Model


class Case(Section):
    """Base of the five models' cases: the sections that all have, loading and error messages.

    A model's case declares `kind`, `default_variables`, its own sections and `build`.
    """

    kind: ClassVar[str] = ""
    default_variables: ClassVar[tuple[str, ...]] = ()
    gauge_variables: ClassVar[tuple[str, ...]] = ()

    model: str = Field(description="the kind of model")
    title: str = Field(default="", description="one line about the case, copied to the output")
    run: RunSection = Field(description="the section [run]", examples=[{"end_time": "2 h"}])
    output: Outputs | None = Field(default=None, description="the section [output], or several [[output]]")
    gauges: GaugesSection | None = Field(default=None, description="the section [gauges]")
    restart: RestartSection | None = Field(default=None, description="the section [restart]")

    _path: Path | None = PrivateAttr(None)
    _text: str = PrivateAttr("")
    _changes: Mapping[str, Any] = PrivateAttr(default_factory=dict)
    _inputs: tuple[Path, ...] = PrivateAttr(())
    _tuned: tuple[str, int] = PrivateAttr(("", 0))

    @field_validator("model")
    @classmethod
    def _is_this_kind(cls, value: str, info: ValidationInfo) -> str:
        if value != cls.kind:
            raise InputError(f'model = "{value}"', allowed=f'"{cls.kind}"', fix=f'model = "{cls.kind}"')
        return value

    @classmethod
    def load(cls, path: str | Path, changes: Mapping[str, Any] | None = None) -> Self:
        """Read a case file.

        Parameters
        ----------
        path : str or Path
            A TOML file; relative paths in it start from its folder.
        changes : dict, optional
            Values in place of those of the file, by key (`changes.changed`).

        Raises
        ------
        ConfigError
            If keys are unknown, missing or wrong; every problem is listed with its line.
        InputError
            If the file is not there or is no TOML.
        """
        data, text = read_toml(path)
        return cls._make(data, text, Path(path), changes=changes)

    @classmethod
    def loads(cls, text: str, directory: str | Path = ".") -> Self:
        """Read a case from a TOML text; relative paths start from `directory`."""
        return cls._make(parse_toml(text), text, None, Path(directory))

    @classmethod
    def _make(
        cls,
        data: dict[str, Any],
        text: str,
        path: Path | None,
        directory: Path | None = None,
        changes: Mapping[str, Any] | None = None,
    ) -> Self:
        changes = changes or {}
        folder = path.parent if path is not None else directory or Path(".")
        inputs: list[Path] = [] if path is None else [path]
        try:
            case = check(cls, changed(data, changes), {"directory": folder, "inputs": inputs})
        except Problems as error:
            raise _config_error(error.problems, text, path, changes) from None
        case._path, case._text, case._changes, case._inputs = path, text, changes, tuple(inputs)
        return case

    @property
    def name(self) -> str:
        """Name of the case file without its ending, or the model's kind."""
        return self._path.stem if self._path is not None else self.kind

    @property
    def directory(self) -> Path:
        """Folder of the case file."""
        return self._path.parent if self._path is not None else Path(".")

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The case file and every file that it reads."""
        return self._inputs

    @property
    def text(self) -> str:
        """The case as it was read, with what was changed then in comments at its end."""
        return self._text + note_of(self._changes)

    def problem(self, key: Key, error: InputError) -> ConfigError:
        """An error about the value of `key` that was found after reading, with key and line."""
        return _config_error(problem_of(error, key), self._text, self._path, self._changes)

    def check_begin(self, place: str) -> None:
        """Refuse a section whose `from` lies behind the end of the run: nothing would count."""
        start, end = getattr(self, place).from_, self.run.end_time
        if start is not None and start >= end:
            error = InputError(
                f"from = {start:g} s", allowed=f"before end_time, {end:g} s", fix=f"from = {0.5 * end:g}"
            )
            raise self.problem((place, "from"), error)

    @contextmanager
    def naming(self, *places: str) -> Iterator[None]:
        """Name the key in an `InputError` whose first word is a key of one of `places`: "section", "section.within"."""
        try:
            yield
        except ConfigError:
            raise
        except InputError as error:
            word = error.what.partition(" ")[0]
            for place in places:
                section: Any = self
                for name in place.split("."):
                    section = getattr(section, name, None)
                if section is not None and word in type(section).model_fields:
                    raise self.problem((*place.split("."), word), error) from None
            raise

    @contextmanager
    def at(self, *key: str | int) -> Iterator[None]:
        """Name `key` in every `InputError` that is raised inside the with block."""
        try:
            yield
        except InputError as error:
            raise self.problem(key, error) from None

    @property
    def outputs(self) -> list[tuple[Key, OutputSection]]:
        """Every section that asks for a file of fields, with its key."""
        if isinstance(self.output, list):
            return [(("output", n), section) for n, section in enumerate(self.output)]
        return [] if self.output is None else [(("output",), self.output)]

    @property
    def measured(self) -> list[tuple[Key, MeasuredSection]]:
        """Every section that asks for a file of measurements, with its key; an empty one writes none."""
        found: list[tuple[Key, MeasuredSection]] = []
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, MeasuredSection):
                found.append(((name,), value))
            elif isinstance(value, list):
                found += [((name, n), one) for n, one in enumerate(value) if isinstance(one, MeasuredSection)]
        return [(key, section) for key, section in found if section.any]

    @property
    def log_name(self) -> str:
        """Name of the log that the model keeps in this case; without one it keeps none."""
        return ""

    def log(self, model: Any) -> tuple[list[str], list[tuple[float, ...]]]:
        """The model's log: columns with units, and rows."""
        return [], []

    def findings(self, model: Any, records: Callable[[str], tuple[Any, Any]]) -> list[tuple[str, str]]:
        """Rows (name, text) of the summary that gauges give at the end of a run.

        `records` gives times, (n,), s, and values, (n, gauges), of a variable of the gauges.
        """
        return []

    def checked_variables(self, names: Sequence[str], available: Collection[str], *section: str | int) -> list[str]:
        """Fields of a model that the section of this key asks for; `ConfigError` for names of none."""
        with self.at(*section, "variables"):
            return field_names(names, available)

    @property
    def tuned(self) -> str:
        """Which values the kernels of the model that was built have, and why, in words."""
        return self._tuned[0]

    @property
    def tuned_threads(self) -> int:
        """Threads of a CPU that tuning found best for the model that was built; 0 where it did not."""
        return self._tuned[1]

    def place(self, device: Any, precision: str | None, cells: int, scheme: str = "") -> dict[str, Any]:
        """Arguments `device` and `precision` of a model of so many cells; a `Device` is taken as it is."""
        from eagre.backend.device import Device
        from eagre.backend.tuned import chosen

        precision = precision or self.run.precision
        if not isinstance(device, Device):
            device = self.run.device if device is None else device
            with suppress(DeviceError):  # which the model raises as well
                found = chosen(device, self.kind, cells, precision, scheme, self.run.tuning)
                self._tuned = found.words, found.threads
                device = found.device if found.tuned else device
        return {"device": device, "precision": precision}

    def build(self, device: Any = None, precision: str | None = None) -> Model:
        """Make the model that the case describes; arguments override [run].

        Raises
        ------
        InputError
            If files hold no such data, an expression is not finite, or the model refuses a value.
        DeviceError, MemoryNeededError
            If the device is not there or the model does not fit it.
        """
        raise NotImplementedError(f"{type(self).__name__}.build")


def _config_error(problems: Sequence[Problem], text: str, path: Path | None, changes: Mapping[str, Any]) -> ConfigError:
    """The error that tells of `problems`, in the order of their lines; keys that were changed stand in no line."""
    new = [key_of(name) for name in changes]

    def placed(problem: Problem) -> Problem:
        is_new = any(problem.key[: len(key)] == key for key in new)
        return replace(problem, line=None if is_new else line_of(text, problem.key))

    found = sorted(map(placed, problems), key=lambda problem: problem.line or 0)
    return ConfigError(found, str(path) if path is not None else "the case")
