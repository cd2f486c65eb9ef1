"""The base of every table of a case file: unknown keys refused, problems explained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Self, get_args

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, ValidationInfo, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from eagre.config.problems import Problem, Problems, problem_of
from eagre.config.toml import literal
from eagre.errors import InputError
from eagre.names import nearest

_YES = ("1", "1.0", "true", "yes", "y", "on", "t")  # texts and numbers that stand for true elsewhere


class Section(BaseModel):
    """A table of a case file. Keys that are not declared are refused with the nearest name.

    Values are of the type that is declared: the text "yes" is no true, true is no 1, "2" and 2.0 are no whole numbers.
    A key's ``description`` says what is allowed and its first ``examples`` entry is the value to write;
    both go into the messages.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, arbitrary_types_allowed=True
    )

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
    name = str(key[0]) if key else ""
    field = _field(section, name)
    example = field.examples[0] if field and field.examples else None
    items = key[1:]
    own = all(isinstance(part, int) for part in items)  # the key itself, or an item of its list
    fix = f"{name} = {literal(example)}" if example is not None and own else ""
    if isinstance(cause, InputError):
        found = problem_of(cause, key)
        return [replace(one, fix=fix) for one in found] if items and fix else found
    if kind == "extra_forbidden":
        return [_unknown_key(section, key, value)]
    if kind == "missing":
        return [Problem(key, "nothing: this key is needed", _description(field), fix)]
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        keys = f"a table with the keys {', '.join(section.keys())}" if not key else "a table"
        return [Problem(key, _shown(value), keys)]
    if kind == "bool_type":
        return [_no_flag(key, value, field)]
    if kind == "too_short":
        return [Problem(key, _shown(value, name), f"one or more ({_description(field)})", fix)]
    message = "a whole number" if kind.startswith("int_") else details["msg"].removeprefix("Input should be ")
    if kind == "too_long":
        message = f"{details.get('ctx', {}).get('max_length')} at most"
    message = message.removeprefix("Value error, ").replace("valid tuple", "list").replace("valid list", "list")
    text = _description(field)
    allowed = f"{message} ({text})" if text and len(key) == 1 else message
    return [Problem(key, _shown(value, name if len(key) == 1 else ""), allowed, fix)]


def _unknown_key(section: type[Section], key: tuple[int | str, ...], value: object) -> Problem:
    """A key that the section does not have, and the nearest one that it has and that may take such a value."""
    keys = section.keys()
    near = nearest(str(key[-1]), [name for name in keys if _may_take(_field(section, name), value)])
    what = f'"{key[-1]}", which is no key here' + (f' (did you mean "{near}"?)' if near else "")
    fix = ""
    if near:
        fix = f"[{near}]" if isinstance(value, dict) and len(literal(value)) > 40 else f"{near} = {literal(value)}"
    return Problem(key, what, "the keys " + ", ".join(keys), fix)


def _may_take(field: FieldInfo | None, value: object) -> bool:
    """False of a list or a table for a key that takes a text, a number or a flag alone."""
    kinds = [] if field is None else get_args(field.annotation) or (field.annotation,)
    plain = bool(kinds) and all(kind in (str, Path, int, float, bool, type(None)) for kind in kinds)
    return not (plain and isinstance(value, (list, dict)))


def _no_flag(key: tuple[int | str, ...], value: object, field: FieldInfo | None) -> Problem:
    """A value that is neither true nor false; the line to write says what it seems to mean."""
    name, text = str(key[-1]), _description(field)
    meant = "true" if str(value).casefold() in _YES else "false"
    allowed = f"true or false ({text})" if text else "true or false"
    return Problem(key, _shown(value, name), allowed, f"{name} = {meant}")


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
