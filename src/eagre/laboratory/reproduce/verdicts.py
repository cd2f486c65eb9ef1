"""Comparison of one number of a paper with the result of Eagre: one function per kind of comparison.

=========== =============================================== ================================
kind        meaning                                         failure
=========== =============================================== ================================
exact       formula: equal after rounding to printed digits not equal
holds       order, ranking, bound or behaviour              outside the limits of the item
explained   known difference with a reason                  outside the limits of the item
compared    time or speed of other hardware                 never
misprint    the paper contradicts itself                    not equal to the corrected value
not run     needs a GPU, data or more time                  never
=========== =============================================== ================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from eagre.laboratory.papers import Number

Value = float | str | None
TIMES = ("s", "ms", "us", "ns", "min", "minutes", "h")
"""Units of times; the first word of the unit counts, as in ``s for 100 steps``."""
NOT_RUN = "not run"
ROUNDING = 1e-9  # relative to one unit of the last printed digit


@dataclass(frozen=True)
class Line:
    """Comparison of one number.

    Parameters
    ----------
    item, row, column : str
        Position of the number in the paper.
    printed : str
        Number of the paper; empty for a result without a printed number.
    unit : str
    computed : float, str or None
        Result of Eagre in the same unit; None if it was not run.
    quotient : float or None
        `printed` divided by `computed`, for times.
    outcome : str
        Kind of comparison, see the module.
    note : str
    failed : bool
    device, precision, commit : str
        Origin of the result; `reproduce` fills them in.
    """

    item: str
    row: str
    column: str
    printed: str
    unit: str
    computed: Value
    quotient: float | None
    outcome: str
    note: str = ""
    failed: bool = False
    device: str = ""
    precision: str = ""
    commit: str = ""


class NotRun(Exception):
    """Raised by an item that cannot be run; the message is the reason."""


def exact(number: Number, computed: Value, note: str = "") -> Line:
    """Return the comparison with a number that follows from formulas: equal after rounding to the printed digits."""
    return _line(number, computed, "exact", note, not _equal(number.text, computed))


def holds(
    number: Number,
    computed: Value,
    minimum: float = -math.inf,
    maximum: float = math.inf,
    *,
    passed: bool | None = None,
    note: str = "",
) -> Line:
    """Return the comparison of a behaviour: `computed` lies within limits, or `passed` is true."""
    return _line(number, computed, "holds", note, not _within(computed, minimum, maximum, passed))


def explained(
    number: Number,
    computed: Value,
    minimum: float = -math.inf,
    maximum: float = math.inf,
    *,
    passed: bool | None = None,
    note: str,
) -> Line:
    """Return the comparison of a known difference: `computed` lies within its own limits, and `note` is the reason."""
    return _line(number, computed, "explained", note, not _within(computed, minimum, maximum, passed))


def compared(number: Number, computed: Value, note: str = "") -> Line:
    """Return a time or a speed of other hardware with the quotient of the times; it cannot fail."""
    return _line(number, computed, "compared", note, failed=False)


def misprint(number: Number, computed: Value, corrected: str, note: str = "") -> Line:
    """Return the comparison with the corrected value of a misprint, with the digits of `corrected`."""
    note = f"misprint of {corrected}" + (f": {note}" if note else "")
    return _line(number, computed, "misprint", note, not _equal(corrected, computed))


def not_run(number: Number, reason: str) -> Line:
    """Return the line of a number that was not compared."""
    return _line(number, None, NOT_RUN, reason, failed=False)


def _line(number: Number, computed: Value, kind: str, note: str, failed: bool) -> Line:
    quotient = None
    if number.unit.split(" ")[0] in TIMES and isinstance(number.value, float) and isinstance(computed, float):
        quotient = number.value / computed if computed else None
    return Line(
        number.item, number.row, number.column, number.text, number.unit, computed, quotient, kind, note, failed
    )


def _equal(text: str, computed: Value) -> bool:
    """Return whether `computed` equals a printed number after rounding to its digits, or a printed string."""
    if computed is None or isinstance(computed, str):
        return computed == text
    try:
        exponent = Decimal(text).as_tuple().exponent
    except InvalidOperation:
        return False
    last = 10.0 ** float(exponent)  # one unit of the last printed digit
    return abs(float(text) - computed) <= (0.5 + ROUNDING) * last


def _within(computed: Value, minimum: float, maximum: float, passed: bool | None) -> bool:
    if passed is None and (math.isinf(minimum) and math.isinf(maximum)):
        raise ValueError("a comparison needs a limit or passed=")
    if passed is not None:
        return passed
    return isinstance(computed, float | int) and minimum <= computed <= maximum
