"""Papers and their items: tables, figures and sections that Eagre repeats, or the reason why not; comparisons.

One function per kind of comparison compares one number of a paper with the result of Eagre:

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
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from eagre.errors import InputError
from eagre.laboratory.papers import Number, Paper
from eagre.names import nearest

Value = float | str | None
TIMES = ("s", "ms", "us", "ns", "min", "minutes", "h")
"""Units of times; the first word of the unit counts, as in ``s for 100 steps``."""
NOT_RUN = "not run"
ROUNDING = 1e-9  # relative to one unit of the last printed digit
COUNTERS = "profiler counters of a GPU of 2011; Eagre has no profiler"


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


class Source(NamedTuple):
    """Paper with the model that follows it."""

    kind: str
    reference: str


SOURCES = {
    "mike21": Source("shallow-water-adi", "Aackermann and Dinesen Pedersen (2012), GPU-accelerated MIKE 21 solver"),
    "amundsen2014": Source("shallow-water", "Amundsen (2014), Auto-tuning shallow water simulations on GPUs"),
    "rojek2015": Source("anelastic", "Rojek et al. (2015), Adaptation of fluid model EULAG to GPU architecture"),
    "madsen2010": Source("potential-waves", "Madsen (2010), Acceleration of a non-linear water wave model using a GPU"),
    "bleichrodt2011": Source("barotropic", "Bleichrodt (2011), Accelerating finite differences for a barotropic model"),
}
"""Papers by name."""


@dataclass
class Run:
    """Settings of one item of a paper, given to its functions.

    Parameters
    ----------
    paper : Paper
        Numbers of the paper.
    item : str
        Name of the item.
    device : str
        Device of the models.
    precision : str, optional
        ``"single"`` or ``"double"`` if the user requested one.
    max_seconds : float, s
        Time allowed for the item.
    data : dict
        Values that `Item.lines` stores for `Item.draw`.
    closing : contextlib.ExitStack
        Resources of the item, released after its picture.
    """

    paper: Paper
    item: str
    device: Any = "auto"
    precision: str | None = None
    max_seconds: float = 60.0
    data: dict[str, Any] = field(default_factory=dict)
    closing: ExitStack = field(default_factory=ExitStack)

    def number(self, row: object, column: object) -> Number:
        """Return a number of the item."""
        return self.paper.number(self.item, str(row), str(column))

    def numbers(self, row: object = None, column: object = None) -> list[Number]:
        """Return the numbers of the item; `row` and `column` restrict the selection."""
        return self.paper.select(self.item, *(None if one is None else str(one) for one in (row, column)))

    def derived(self, row: str, column: str, text: str, unit: str = "1", note: str = "") -> Number:
        """Return a number of the item that is computed from printed numbers, with the digits of `text`."""
        return Number(self.item, row, column, text, unit, note)

    @property
    def on_gpu(self) -> bool:
        """True if the models run on a GPU."""
        from eagre.backend.select import select

        return select(self.device).kind == "cuda"


@dataclass(frozen=True)
class Item:
    """Table, figure or section of a paper.

    Parameters
    ----------
    name : str
        As in the file of numbers: ``"table-B.1"``.
    title : str
    lines : callable(run), optional
        Yields a `Line` per number; None if the item cannot be repeated, then `reason` is required.
    seconds : float, s
        Duration on one core.
    gpu_seconds : float, s, optional
        Duration on a GPU; `seconds` by default.
    needs : tuple of str
        Requirements: ``"gpu"``.
    draw : callable(path, run, lines), optional
        Writes the picture; by default a chart of printed and computed numbers.
    reason : str
        Reason why the item cannot be repeated.
    """

    name: str
    title: str
    lines: Callable[[Run], Iterable[Line]] | None = None
    seconds: float = 0.0
    gpu_seconds: float | None = None
    needs: tuple[str, ...] = ()
    draw: Callable[[Path, Run, Sequence[Line]], None] | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        if (self.lines is None) != bool(self.reason):
            raise ValueError(f"{self.name} needs either lines or a reason")


def without_lines(reason: str, titles: Mapping[str, str]) -> tuple[Item, ...]:
    """Return items, by name and title, that cannot be repeated for the same reason."""
    return tuple(Item(name, title, reason=reason) for name, title in titles.items())


def items_of(name: str) -> dict[str, Item]:
    """Return the items of a paper by name, in the order of the paper."""
    items = import_module(f"eagre.laboratory.reproduce.items.{name}").ITEMS
    by_name = {item.name: item for item in items}
    if len(by_name) != len(items):
        raise ValueError(f"two items of {name} have the same name")
    return by_name


def source_named(name: str) -> str:
    """Return the paper with a given name or model; raise `InputError` for an unknown one."""
    kinds = {source.kind: key for key, source in SOURCES.items()}
    if name in SOURCES or name in kinds:
        return kinds.get(name, name)
    near = nearest(name, [*SOURCES, *kinds]) or next(iter(SOURCES))
    raise InputError(
        f'"{name}"', allowed=", ".join([*SOURCES, *kinds]), fix=f"eagre reproduce {near}",
        problem=f'Unknown paper or model "{name}".',
    )  # fmt: skip


def items_named(name: str, names: Sequence[str] | None) -> list[Item]:
    """Return the requested items of a paper, by default all; raise `InputError` for an unknown item."""
    known = items_of(name)
    for item in names or ():
        if item not in known:
            near = nearest(item, known) or next(iter(known))
            raise InputError(
                f'"{item}"', allowed=", ".join(known), fix=f"eagre reproduce {name} {near}",
                problem=f'{name} has no item "{item}".',
            )  # fmt: skip
    return list(known.values()) if not names else [known[item] for item in dict.fromkeys(names)]
