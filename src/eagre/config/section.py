"""Base class of the tables of a case file: rejects unknown keys and explains problems."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from eagre.config.problems import Problem, Problems, problem_of
from eagre.config.toml import literal
from eagre.errors import InputError
from eagre.names import nearest

_YES = ("1", "1.0", "true", "yes", "y", "on", "t")  # strings and numbers that mean true in other formats


class Section(BaseModel):
    """Table of a case file. Undeclared keys are errors; the message suggests the nearest valid key.

    Types are strict: the string "yes" is not a boolean, true is not a number, "2" and 2.0 are not integers.
    Messages contain the description of a key and its example (`case_key`) as the value to write.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, arbitrary_types_allowed=True
    )

    synonyms: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Keys that an unknown key (in lower case) stands for; the message suggests the first that the table has."""

    @model_validator(mode="wrap")
    @classmethod
    def _explain(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        """Convert the pydantic errors of this table to `Problems`."""
        try:
            return handler(data)
        except ValidationError as error:
            problems = [problem for details in error.errors() for problem in _problems_of(cls, details)]
        except InputError as error:
            problems = problem_of(error, ())
        raise Problems(problems)

    @classmethod
    def keys(cls) -> list[str]:
        """Return the names of the keys in a case file."""
        return [field.alias or name for name, field in cls.model_fields.items()]


def case_key(description: str, example: Any = None, **more: Any) -> Any:
    """Return the pydantic field of a key with its description and an example; more : default, bounds, alias."""
    return Field(description=description, examples=None if example is None else [example], **more)


def only_one(
    section: Section, names: tuple[str, str], fix: str, allowed: str = "one of them", problem: str = ""
) -> dict[str, Any]:
    """Return the one of two keys that is set, by name; raise `InputError` if both or none of them are set."""
    specified = {name: getattr(section, name) for name in names if getattr(section, name) is not None}
    if len(specified) != 1:
        got = f"both {' and '.join(names)}" if specified else f"neither {' nor '.join(names)}"
        raise InputError(got, allowed=allowed, fix=fix, problem=problem)
    return specified


def check(section: type[Section], data: Any, context: Any = None) -> Any:
    """Create a section from plain data, or raise `Problems`."""
    try:
        return section.model_validate(data, context=context)
    except ValidationError as error:
        raise Problems([item for details in error.errors() for item in _problems_of(section, details)]) from None


def _problems_of(section: type[Section], details: ErrorDetails) -> list[Problem]:
    """Return the problems of one entry of a pydantic error."""
    key, kind, value = details["loc"], details["type"], details["input"]
    cause = details.get("ctx", {}).get("error")
    if isinstance(cause, Problems):
        return [problem.under(key) for problem in cause.problems]
    name = str(key[0]) if key else ""
    field = _field(section, name)
    example = field.examples[0] if field and field.examples else None
    items = key[1:]
    at_key = all(isinstance(key_part, int) for key_part in items)  # the key itself, or an item of its list
    fix = f"{name} = {literal(example)}" if example is not None and at_key else ""
    if kind == "literal_error":
        cause = _no_choice(name, value, field.annotation if field else None)
    if isinstance(cause, InputError):
        problems = problem_of(cause, key)
        return [replace(one, fix=fix) for one in problems] if items and fix else problems
    if kind == "extra_forbidden":
        return [_unknown_key(section, key, value)]
    if kind == "missing":
        return [Problem(key, "nothing", _description(field), fix, problem="Missing required key.")]
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return [_no_table(section, key, value)]
    if kind == "bool_type":
        return [_no_flag(key, value, field)]
    if kind == "too_short":
        return [Problem(key, _shown(value, name), f"one or more ({_description(field)})", fix)]
    message = "an integer" if kind.startswith("int_") else details["msg"].removeprefix("Input should be ")
    if kind == "too_long":
        message = f"at most {details.get('ctx', {}).get('max_length')}"
    message = message.removeprefix("Value error, ").replace("valid tuple", "list").replace("valid list", "list")
    text = _description(field)
    allowed = f"{message} ({text})" if text and len(key) == 1 else message
    return [Problem(key, _shown(value, name if len(key) == 1 else ""), allowed, fix)]


def elements_of(hint: Any) -> Iterator[Any]:
    """Yield the plain types, the names of choices and the metadata of a type."""
    metadata = getattr(hint, "__metadata__", ())
    inner = (hint.__origin__,) if metadata else get_args(hint)
    for one in inner:
        yield from elements_of(one)
    if not inner:
        yield hint
    for one in metadata:
        yield from getattr(one, "metadata", (one,))


def _no_choice(name: str, value: object, hint: Any) -> InputError:
    """Return the error for a value that is not among the choices of a type, with the nearest choice."""
    names = [one for one in elements_of(hint) if isinstance(one, str)]
    near = nearest(value, names) if isinstance(value, str) else None
    fix = f'{name} = "{near or names[0]}"'
    return InputError(f"{name} = {literal(value)}", allowed=", ".join(names), fix=fix)


def _no_table(section: type[Section], key: tuple[int | str, ...], value: object) -> Problem:
    """Return the problem of a single value where a table is necessary, and write an example of the table."""
    problem = "A table is necessary here, not a single value."
    if key:
        return Problem(key, _shown(value), "a table", problem=problem)
    fields = ((name, _field(section, name)) for name in section.keys())
    fix = next((f"{{ {name} = {literal(one.examples[0])} }}" for name, one in fields if one and one.examples), "")
    return Problem(key, _shown(value), f"a table with the keys {', '.join(section.keys())}", fix, problem=problem)


def _unknown_key(section: type[Section], key: tuple[int | str, ...], value: object) -> Problem:
    """Return the problem of an unknown key, with the nearest valid key that accepts the value."""
    keys = section.keys()
    meant = [name for name in section.synonyms.get(str(key[-1]).lower(), ()) if name in keys]
    near = (meant or [nearest(str(key[-1]), [name for name in keys if _may_take(_field(section, name), value)])])[0]
    what = f'the key "{key[-1]}"' + (f' (did you mean "{near}"?)' if near else "")
    fix = ""
    if near:
        fix = f"[{near}]" if isinstance(value, dict) and len(literal(value)) > 40 else f"{near} = {literal(value)}"
    return Problem(key, what, "the keys " + ", ".join(keys), fix, problem=f'Unknown key "{key[-1]}".')


def _may_take(field: FieldInfo | None, value: object) -> bool:
    """Return False for a list or table if the key accepts only a string, number or boolean."""
    kinds = [] if field is None else get_args(field.annotation) or (field.annotation,)
    single = (str, Path, int, float, bool, type(None))
    plain = bool(kinds) and all(kind in single or isinstance(kind, str) for kind in kinds)
    return not (plain and isinstance(value, (list, dict)))


def _no_flag(key: tuple[int | str, ...], value: object, field: FieldInfo | None) -> Problem:
    """Return the problem of a value that is not a boolean; the correction has the likely meaning."""
    name, text = str(key[-1]), _description(field)
    meant = "true" if str(value).casefold() in _YES else "false"
    allowed = f"true or false ({text})" if text else "true or false"
    return Problem(key, _shown(value, name), allowed, f"{name} = {meant}")


def _field(section: type[Section], name: str) -> FieldInfo | None:
    """Return the declaration of a key by its name in case files."""
    for field_name, field in section.model_fields.items():
        if name in (field_name, field.alias):
            return field
    return None


def _description(field: FieldInfo | None) -> str:
    return (field.description or "") if field else ""


def _shown(value: object, name: str = "") -> str:
    """Format a value as TOML, shortened."""
    text = literal(value)
    text = text if len(text) <= 80 else text[:77] + "..."
    return f"{name} = {text}" if name else text


def kind_of(
    value: Any, kinds: Collection[str], default: str, problem: str, synonyms: Mapping[str, str] | None = None
) -> str:
    """Return the `kind` of a table, or raise `InputError` with the nearest kind to write.

    default : kind to write if none is near; synonyms : kinds by their names in other programs, in lower case.
    """
    is_table = isinstance(value, Mapping)
    kind = value.get("kind") if is_table else None
    if isinstance(kind, str) and kind in kinds:
        return kind
    entry = value if kind is None else kind
    word = str(entry).lower()
    fix = f'kind = "{(synonyms or {}).get(word) or nearest(word, kinds) or default}"'
    raise InputError(
        "no kind" if kind is None and is_table else literal(entry),
        allowed=f"kind = one of {', '.join(kinds)}",
        fix=fix if is_table else f"{{ {fix} }}",
        problem=problem,
    )
