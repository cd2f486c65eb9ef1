"""The allowed name nearest to what was written."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, allowed: Iterable[str], *, cutoff: float = 0.55) -> str | None:
    """Return the name in `allowed` that looks most like `word`, or None.

    Parameters
    ----------
    word : str
        What was written.
    allowed : iterable of str
        What may be written.
    cutoff : float
        Least similarity, 0 (anything) to 1 (the same text without regard to case).
    """
    names = {name.lower().replace("-", "_"): name for name in allowed}
    found = difflib.get_close_matches(str(word).lower().replace("-", "_"), names, n=1, cutoff=cutoff)
    return names[found[0]] if found else None


def did_you_mean(word: str, allowed: Iterable[str]) -> str:
    """Return ``' (did you mean "name"?)'``, or an empty text when nothing is near."""
    name = nearest(word, allowed)
    return f' (did you mean "{name}"?)' if name else ""


def corrected(words: Iterable[str], allowed: Iterable[str]) -> list[str]:
    """The nearest names in place of words that are not allowed: both components for a vector; the first if none is."""
    known, found = list(allowed), list[str]()
    for word in words:
        parts = [name for name in (f"{word}_x", f"{word}_y") if name in known]
        near = nearest(word, known)
        found += [word] if word in known else parts or ([near] if near else [])
    return list(dict.fromkeys(found)) or known[:1]
