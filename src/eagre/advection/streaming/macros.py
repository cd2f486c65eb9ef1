"""Macros of the MPDATA streaming kernel source: neighbours, published rows, copied data.

==================================== ======================================================================
west(q[f, r, c]), east               q of the adjacent point: from the same lane, or by a shuffle
south(q[f, r, c], Q), north          q of the adjacent row: from the same thread, or from the warp below or above,
                                     which has published its last or first row as Q
above(Q)                             the first row of the warp above
publish(Q, value), publish_once      publish this warp's row as Q, for a field or for all fields; ``Q + turn`` while
                                     ``Q + before`` is still read
own(Q), own_once                     the value that the thread has published as Q
bring(N, address)                    copy a part of array N from an address
arrived(N), arrived_below, _above    a copied value; that of the row below the thread's first, above its last
arrived_beside(N)                    the same for the flux along x, whose rows are longer
clear(q), clear_columns              0 for q of all points, of each field or of all fields
==================================== ========================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from textwrap import indent

# Offsets of copied data: of plane t, of the previous plane.
SLOTS = {"TURN": "now", "PAST": "past", "IN_PLACE": ""}
DEPTH = 2  # nesting depth of parts
PLACE = r"((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)"
POINT = r"(\w+)\[((?:f, )?)r, c\]"


def _moving(where: str, operand: str) -> tuple[str, str]:
    """Return the index of a thread including the plane offset, and the name, for ``NAME`` or ``NAME + turning``."""
    name, _, turning = operand.partition(" + ")
    return f"np.uint32({where} + {turning})" if turning else where, name


def _edge(fields: str, operand: str, rows: str) -> str:
    """Return the offset of a published row: of this warp, of the warp below or of the warp above."""
    where, name = _moving("at", operand)
    return f"s, {where}, ({'f' if fields else 'FIELDS'} * OWN + {name}) * PLANE + {rows}LANES * c"


def _all_points(match: re.Match[str]) -> str:
    """Return source lines that set all points of a thread to zero, for each field or for columns."""
    fields, text = not match[2], "for r in range(ROWS):\n    for c in range(COLUMNS):\n"
    text += "        for f in range(FIELDS):\n" if fields else ""
    space, index = (12, "f, r, c") if fields else (8, "r, c")
    text += "".join(f"{' ' * space}{name}[{index}] = real(0.0)\n" for name in match[3].split(", "))
    return indent(text, match[1])


def _west(m: re.Match[str]) -> str:
    return f"({m[1]}[{m[2]}r, c - 1] if c > 0 else from_lane_below({m[1]}[{m[2]}r, COLUMNS - 1], 1))"


def _east(m: re.Match[str]) -> str:
    return f"({m[1]}[{m[2]}r, c + 1] if c < COLUMNS - 1 else from_lane_above({m[1]}[{m[2]}r, 0], 1))"


def _south(m: re.Match[str]) -> str:
    return f"({m[1]}[{m[2]}r - 1, c] if r > 0 else flat_load({_edge(m[2], m[3], '')}))"


def _bring(m: re.Match[str]) -> str:
    copy = f"(s, (new + to[n]) + (BEHIND + {m[1]} * RAW), {m[2]})"
    return f"copy_16_bytes_async{copy} if SEVERAL > 1 else copy_element_async{copy}"


def _arrived(where: str, rows: str) -> Callable[[re.Match[str]], str]:
    def load(m: re.Match[str]) -> str:
        turning, name = _moving(where, m[1].replace("PAST", SLOTS["PAST"]))
        return f"flat_load(s, {turning}, BEHIND + {name} * RAW + {rows})"

    return load


LONGER: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (r"^( *)clear(_columns)?\((.*)\)\n", _all_points),
    (rf"\bwest\({POINT}\)", _west),
    (rf"\beast\({POINT}\)", _east),
    (rf"\bsouth\({POINT}, {PLACE}\)", _south),
    (rf"\bnorth\({POINT}, (\w+)\)", lambda m: f"({m[1]}[{m[2]}r + 1, c] if r < ROWS - 1 else above({m[3]}))"),
    (r"\babove\((\w+)\)", lambda m: f"flat_load({_edge('f', m[1], '2 * WIDTH + ')})"),
    (rf"\bown\({PLACE}\)", lambda m: f"flat_load({_edge('f', m[1], 'WIDTH + ')})"),
    (rf"\bown_once\({PLACE}\)", lambda m: f"flat_load({_edge('', m[1], 'WIDTH + ')})"),
    (
        r"\bpublish(_once)?\(([\w +]+), ",
        lambda m: f"flat_store({_edge('' if m[1] else 'f', m[2], 'WIDTH + ')}, ",
    ),
    (r"\bbring\((\w+), (.*)\)$", _bring),
    (rf"\barrived\({PLACE}\)", _arrived("rx[c]", "(r + 1) * PITCH")),
    (rf"\barrived_beside\({PLACE}\)", _arrived("r1[r, c]", "(r + 1) * PITCH")),
    (rf"\barrived_above\({PLACE}\)", _arrived("rx[c]", "(ROWS + 1) * PITCH")),
    (rf"\barrived_below\({PLACE}\)", _arrived("rx[c]", "0")),
)
"""Macros: neighbours, published rows, copied data."""


def in_full(text: str, sections: Mapping[str, str]) -> str:
    """Return the source with all parts and macros expanded.

    ``NAME_TURN`` and so on, on a separate line, is the part NAME with SLOT as in `SLOTS`.
    """

    def section(match: re.Match[str]) -> str:
        return indent(sections[match[2]].replace("SLOT", SLOTS[match[3]]), match[1])

    for _ in range(DEPTH):
        text = re.sub(rf"^( *)({'|'.join(sections)})_({'|'.join(SLOTS)})$", section, text, flags=re.MULTILINE)
    for pattern, longer in LONGER:
        text = re.sub(pattern, longer, text, flags=re.MULTILINE)
    return text
