"""Names that a user wrote: the nearest that there is, and fields of a vector by the vector's name."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterable, Sequence

from eagre.errors import InputError

LEAST_LIKENESS = 0.6  # of 0 (nothing in common) to 1 (the same letters)
SHORTEST_END = 4  # letters of a name that is recognised at the end of a longer one
AXES = ("x", "y", "z")
WIND = ("u", "v", "w")


def nearest(word: object, names: Iterable[str]) -> str | None:
    """The one of `names` that looks most like `word`, capitals and dashes for underscores aside; None if none does.

    A name that differs from `word` by leading words only is preferred if it is the only one.

    Parameters
    ----------
    word : object
        What was written, a text as a rule.
    names : iterable of str
        What may be written.
    """
    folded, written = {_folded(name): name for name in names}, _folded(str(word))
    same_end = [] if written in folded else [name for name in folded if _one_ends_the_other(name, written)]
    alike = difflib.get_close_matches(written, list(folded), n=1, cutoff=LEAST_LIKENESS)
    found = same_end if len(same_end) == 1 else alike
    return folded[found[0]] if found else None


def did_you_mean(word: object, names: Iterable[str]) -> str:
    """``' (did you mean "name"?)'``, or an empty text when nothing is near."""
    name = nearest(word, names)
    return f' (did you mean "{name}"?)' if name else ""


def components(name: str, known: Collection[str]) -> list[str]:
    """Those of `known` that `name` stands for: itself, the components of a vector, or none.

    A vector has fields that end in ``_x`` and ``_y``, and maybe ``_z``; ``"velocity"`` of air is u, v and w.
    """
    if name in known:
        return [name]
    if name not in vectors(known):
        return []
    ended = [f"{name}_{axis}" for axis in AXES]
    return [one for one in (WIND if f"{name}_x" not in known else ended) if one in known]


def vectors(known: Collection[str]) -> list[str]:
    """Names of vectors whose components `known` holds."""
    found = [name[:-2] for name in known if name.endswith("_x") and f"{name[:-2]}_y" in known]
    return found + (["velocity"] if {"u", "v"} <= set(known) and "velocity" not in found else [])


def field_names(names: Sequence[str], known: Collection[str], key: str = "variables") -> list[str]:
    """Fields that a list asks for, each once, components in place of a vector.

    Parameters
    ----------
    names : sequence of str
        What was written under `key`.
    known : collection of str
        Fields that there are.
    key : str
        What the list is called, for the message.

    Raises
    ------
    InputError
        For names of none, with all of them, those that there are and the list to write.
    """
    possible = [*known, *vectors(known)]
    if wrong := [name for name in names if not components(name, known)]:
        told = " and ".join(f"{json.dumps(name)}{did_you_mean(name, possible)}" for name in wrong)
        right = [name if components(name, known) else nearest(name, possible) for name in names]
        listed = list(dict.fromkeys(name for name in right if name)) or possible[:1]
        fix = f"{key} = {json.dumps(listed)}" if listed else ""
        raise InputError(f"{key} with {told}", allowed=", ".join(possible) or "none: there are none", fix=fix)
    return list(dict.fromkeys(one for name in names for one in components(name, known)))


def unknown_field(name: object, known: Collection[str]) -> InputError:
    """The error for a field that a model does not have: the nearest one, or the components of a vector."""
    parts = components(str(name), known)
    near = parts[0] if parts else nearest(name, known)
    hint = f", a vector of {', '.join(parts)}" if parts else did_you_mean(name, known)
    return InputError(f"the field {name!r}{hint}", allowed=", ".join(known), fix=f'"{near}"' if near else "")


def _one_ends_the_other(name: str, other: str) -> bool:
    """Whether two names differ by leading words only: ``theta`` and ``minmod_theta``."""
    short, long = sorted((name, other), key=len)
    return len(short) >= SHORTEST_END and long.endswith(f"_{short}")


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_")
