"""A case: one TOML file that describes a run of one model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import PrivateAttr, ValidationInfo, field_validator

from eagre.config.changes import changed, key_of, note_of
from eagre.config.problems import ConfigError, Key, Problem, Problems, problem_of
from eagre.config.section import Section, case_key, check
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
    """Base class of the cases of all models: common sections, loading and error messages.

    The case of a model declares `kind`, `default_variables`, further sections and `build`.
    """

    kind: ClassVar[str] = ""
    default_variables: ClassVar[tuple[str, ...]] = ()
    gauge_variables: ClassVar[tuple[str, ...]] = ()

    model: str = case_key("kind of the model")
    title: str = case_key("title of the case, one line, copied to the output", default="")
    run: RunSection = case_key("the section [run]", {"end_time": "2 h"})
    output: Outputs | None = case_key("the section [output], or several [[output]]", default=None)
    gauges: GaugesSection | None = case_key("the section [gauges]", default=None)
    restart: RestartSection | None = case_key("the section [restart]", default=None)

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
            A TOML file. Paths in it are relative to its folder.
        changes : dict, optional
            Values that replace values of the file, by key; see `changes.changed`.

        Raises
        ------
        ConfigError
            If keys are unknown, missing or invalid. The message lists every problem with its line.
        InputError
            If the file does not exist or is not valid TOML.
        """
        data, text = read_toml(path)
        return cls._make(data, text, Path(path), changes=changes)

    @classmethod
    def loads(cls, text: str, directory: str | Path = ".") -> Self:
        """Read a case from a TOML string; paths are relative to `directory`."""
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
        """Name of the case file without its suffix, or the kind of the model."""
        return self._path.stem if self._path is not None else self.kind

    @property
    def directory(self) -> Path:
        """Folder of the case file."""
        return self._path.parent if self._path is not None else Path(".")

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The case file and all files that it reads."""
        return self._inputs

    @property
    def text(self) -> str:
        """Text of the case file, followed by comments with the overridden values."""
        return self._text + note_of(self._changes)

    def problem(self, key: Key, error: InputError) -> ConfigError:
        """Return an error about the value of `key` with key and line, for checks after reading."""
        return _config_error(problem_of(error, key), self._text, self._path, self._changes)

    def check_begin(self, section_name: str) -> None:
        """Raise an error if `from` of a section is at or after the end of the run."""
        start, end = getattr(self, section_name).from_, self.run.end_time
        if start is not None and start >= end:
            error = InputError(
                f"from = {start:g} s", allowed=f"before end_time, {end:g} s", fix=f"from = {0.5 * end:g}"
            )
            raise self.problem((section_name, "from"), error)

    @contextmanager
    def naming(self, *sections: str) -> Iterator[None]:
        """Add the key to an `InputError` whose first word is a key of a section in `sections`, such as "a" or "a.b"."""
        try:
            yield
        except ConfigError:
            raise
        except InputError as error:
            word = error.what.partition(" ")[0]
            for section_name in sections:
                section: Any = self
                for name in section_name.split("."):
                    section = getattr(section, name, None)
                if section is not None and word in type(section).model_fields:
                    raise self.problem((*section_name.split("."), word), error) from None
            raise

    @contextmanager
    def at(self, *key: str | int) -> Iterator[None]:
        """Add `key` to every `InputError` raised inside the with block."""
        try:
            yield
        except InputError as error:
            raise self.problem(key, error) from None

    @property
    def outputs(self) -> list[tuple[Key, OutputSection]]:
        """Sections of field output, with their keys."""
        if isinstance(self.output, list):
            return [(("output", n), section) for n, section in enumerate(self.output)]
        return [] if self.output is None else [(("output",), self.output)]

    @property
    def measured(self) -> list[tuple[Key, MeasuredSection]]:
        """Sections of other output files, with their keys; without sections that have nothing to write."""
        sections: list[tuple[Key, MeasuredSection]] = []
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, MeasuredSection):
                sections.append(((name,), value))
            elif isinstance(value, list):
                sections += [((name, n), one) for n, one in enumerate(value) if isinstance(one, MeasuredSection)]
        return [(key, section) for key, section in sections if section.any]

    @property
    def log_name(self) -> str:
        """Name of the model's log in this case; empty if the model keeps no log."""
        return ""

    def log(self, model: Any) -> tuple[list[str], list[tuple[float, ...]]]:
        """Return the model's log: columns with units, and rows."""
        return [], []

    def findings(self, model: Any, records: Callable[[str], tuple[Any, Any]]) -> list[tuple[str, str]]:
        """Return rows (name, text) of the summary, computed from the gauges at the end of a run.

        `records` returns times, (n,), s, and values, (n, gauges), of a variable of the gauges.
        """
        return []

    def checked_variables(self, names: Sequence[str], available: Collection[str], *section: str | int) -> list[str]:
        """Return the fields requested by the section of this key; raise `ConfigError` for unknown names."""
        with self.at(*section, "variables"):
            return field_names(names, available)

    @property
    def tuned(self) -> str:
        """Description of the tuning parameters of the built model, and of their origin."""
        return self._tuned[0]

    @property
    def tuned_threads(self) -> int:
        """Tuned number of CPU threads of the built model; 0 if not tuned."""
        return self._tuned[1]

    def place(self, device: Any, precision: str | None, cells: int, scheme: str = "") -> dict[str, Any]:
        """Return the arguments `device` and `precision` of a model of `cells` cells; a `Device` is not changed."""
        from eagre.backend.device import Device
        from eagre.backend.tuned import chosen

        precision = precision or self.run.precision
        if not isinstance(device, Device):
            device = self.run.device if device is None else device
            with suppress(DeviceError):  # raised again by the model
                choice = chosen(device, self.kind, cells, precision, scheme, self.run.tuning)
                self._tuned = choice.words, choice.threads
                device = choice.device if choice.tuned else device
        return {"device": device, "precision": precision}

    def build(self, device: Any = None, precision: str | None = None) -> Model:
        """Build the model of the case, with its grid, initial state, boundaries and forcing.

        Parameters
        ----------
        device, precision : str or Device, str, optional
            Override the keys of the section [run].

        Raises
        ------
        InputError
            If files do not contain the data, an expression is not finite, or the model rejects a value.
        DeviceError, MemoryNeededError
            If the device is not available or its memory is too small.
        """
        raise NotImplementedError(f"{type(self).__name__}.build")


def _config_error(problems: Sequence[Problem], text: str, path: Path | None, changes: Mapping[str, Any]) -> ConfigError:
    """Return the error of `problems`, in the order of their lines; overridden keys have no line."""
    new = [key_of(name) for name in changes]

    def placed(problem: Problem) -> Problem:
        is_new = any(problem.key[: len(key)] == key for key in new)
        return replace(problem, line=None if is_new else line_of(text, problem.key))

    ordered = sorted(map(placed, problems), key=lambda problem: problem.line or 0)
    return ConfigError(ordered, str(path) if path is not None else "the case")
