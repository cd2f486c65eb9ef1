"""The base of every table of a case file: unknown keys refused, problems explained."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, ValidationInfo, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from eagre.config.nearest import nearest
from eagre.config.problems import Problem, Problems, problem_of
from eagre.config.toml import literal
from eagre.errors import InputError


class Section(BaseModel):
    """A table of a case file. Keys that are not declared are refused with the nearest name.

    A key's ``description`` says what is allowed and its first ``examples`` entry is the value to write;
    both go into the messages.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, arbitrary_types_allowed=True)

    @model_validator(mode="wrap")
    @classmethod
    def _explain(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        """Turn pydantic's errors of this table into `Problems`."""
        try:
            return handler(data)
        except ValidationError as error:
            problems = [problem for details in error.errors() for problem in _problems_of(cls, details)]
        except InputError as error:
            problems = problem_of(error, ())
        raise Problems(problems)

    @classmethod
    def keys(cls) -> list[str]:
        """Names of the keys as they are written in a file."""
        return [field.alias or name for name, field in cls.model_fields.items()]


def check(section: type[Section], data: Any, context: Any = None) -> Any:
    """Make a section from plain data, or raise `Problems`."""
    try:
        return section.model_validate(data, context=context)
    except ValidationError as error:
        raise Problems([item for details in error.errors() for item in _problems_of(section, details)]) from None


def _problems_of(section: type[Section], details: ErrorDetails) -> list[Problem]:
    """Problems of one entry of a pydantic error."""
    key, kind, value = details["loc"], details["type"], details["input"]
    cause = details.get("ctx", {}).get("error")
    if isinstance(cause, Problems):
        return [problem.under(key) for problem in cause.problems]
    if isinstance(cause, InputError):
        return problem_of(cause, key)
    name = str(key[0]) if key else ""
    if kind == "extra_forbidden":
        return [_unknown_key(section, key, value)]
    field = _field(section, name)
    example = field.examples[0] if field and field.examples else None
    fix = f"{name} = {literal(example)}" if example is not None and len(key) == 1 else ""
    if kind == "missing":
        return [Problem(key, "nothing: this key is needed", _description(field), fix)]
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        keys = f"a table with the keys {', '.join(section.keys())}" if not key else "a table"
        return [Problem(key, _shown(value), keys)]
    if kind.startswith("int_"):
        return [Problem(key, _shown(value, name), _description(field) or "a whole number", fix)]
    if kind == "too_short":
        return [Problem(key, _shown(value, name), f"one or more ({_description(field)})", fix)]
    message = details["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    text = _description(field)
    allowed = f"{message} ({text})" if text and len(key) == 1 else message
    return [Problem(key, _shown(value, name if len(key) == 1 else ""), allowed, fix)]


def _unknown_key(section: type[Section], key: tuple[int | str, ...], value: object) -> Problem:
    """A key that the section does not have, and the nearest one that it has."""
    keys = section.keys()
    near = nearest(str(key[-1]), keys)
    what = f'"{key[-1]}", which is no key here' + (f' (did you mean "{near}"?)' if near else "")
    fix = ""
    if near:
        fix = f"[{near}]" if isinstance(value, dict) and len(literal(value)) > 40 else f"{near} = {literal(value)}"
    return Problem(key, what, "the keys " + ", ".join(keys), fix)


def _field(section: type[Section], name: str) -> FieldInfo | None:
    """Declaration of a key by the name it has in files."""
    for field_name, field in section.model_fields.items():
        if name in (field_name, field.alias):
            return field
    return None


def _description(field: FieldInfo | None) -> str:
    return (field.description or "") if field else ""


def _shown(value: object, name: str = "") -> str:
    """A value as TOML, shortened."""
    text = literal(value)
    text = text if len(text) <= 80 else text[:77] + "..."
    return f"{name} = {text}" if name else text
