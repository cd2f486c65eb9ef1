"""Spaces of the anelastic model: tiles of its pressure solver and its forces, and MPDATA's march."""

from __future__ import annotations

from typing import Any

from eagre.tuning.space import Axis, Space, always, by_precision, registers
from eagre.tuning.spaces.common import VOLUMES, loops, on_cpu

MODEL, VARIANT = "anelastic", "stratified"
GCR = Space(
    "solver:gcr", MODEL, VARIANT,
    (
        Axis("levels", ("solver:gcr.levels",), always(4, 8, 16, 32)),
        Axis("busy", ("solver:gcr.busy",), always(1, 2, 4, 8)),
        Axis("points", ("solver:gcr.points#{precision}",), by_precision((1, 2, 4), (1, 2))),
        Axis("registers", ("solver:gcr.registers#{precision}",), registers({"single": 64, "double": 64}, 128)),
    ),
    checked=128,
)  # fmt: skip
FACES = Space(
    "solver:gcr.faces", MODEL, VARIANT,
    (Axis("registers", ("solver:gcr.faces#{precision}",), registers({"single": 48, "double": 96}, 168)),),
    checked=128,
)  # fmt: skip


def _march(value: tuple[int, int, int, int], precision: str) -> list[dict[str, Any]]:
    warps, rows, ahead, most = value
    return [{"fields": 1, "warps": warps, "rows": rows, "columns": 1, "ahead": ahead, "registers": most, "blocks": 1}]


MARCH = Space(
    "solver:mpdata.march", MODEL, VARIANT,
    (
        Axis(
            "warps x rows x ahead x registers", ("solver:mpdata.march.blocks#{precision}",),
            by_precision(
                [(w, r, a, m) for r, a in ((1, 1), (2, 1), (2, 2)) for w, m in ((8, 255), (12, 168), (16, 128))],
                [(w, 1, a, m) for a in (1, 2) for w, m in ((12, 168), (16, 128), (20, 96))],
            ),
            _march,
        ),
    ),
    checked=128,
)  # fmt: skip
SPACES = (GCR, FACES, MARCH, loops(MODEL, VARIANT, VOLUMES), on_cpu(MODEL, VARIANT))
