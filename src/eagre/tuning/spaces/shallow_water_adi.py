"""Search spaces of the ADI shallow-water model: its two sweeps, and thresholds between line-coupling methods."""

from __future__ import annotations

from eagre.tuning.space import Axis, Space, always, by_precision, registers
from eagre.tuning.spaces.common import on_cpu

MODEL = "shallow-water-adi"
LIMITS_X, LIMITS_Y = registers({"single": 80, "double": 96}, 168), registers({"single": 64, "double": 80}, 128)
LARGE = ("cache", "memory", "large")
_BLOCKS = by_precision([(8, 8), (8, 16), (10, 10), (6, 16)], [(10, 10), (8, 12), (8, 16), (12, 8), (6, 16)])


def _blocks(value: tuple[int, int], precision: str) -> list[dict[str, int]]:
    """Blocks of the sweep along y: this one first, then the tallest that is measured."""
    rows, threads = value
    one = {"rows": rows, "threads": threads}
    return [one] if rows * threads >= 128 else [one, {"rows": 8, "threads": 16}]


def _heavy(value: tuple[int, int], precision: str) -> dict[str, int]:
    return {"rows": value[0], "threads": value[1]}


X = Space(
    f"{MODEL}.x", MODEL, "default",
    (
        Axis("registers", (f"{MODEL}.x.registers#{{precision}}",), registers({"single": 64, "double": 96}, 168)),
        Axis("rows", (f"{MODEL}.run.usual",), always(8, 16, 24, 32)),
        Axis("least gain", (f"{MODEL}.run.gain",), always(0.05, 1.0)),
        Axis(
            "alone", (f"{MODEL}.x.waiting#alone",), always(0.25, 0.5, 1.0, 2.0)
        ),  # selects the number of warps per block
    ),
    sizes=LARGE, checked=4096,
)  # fmt: skip
Y = Space(
    f"{MODEL}.y", MODEL, "mike21",
    (
        Axis("block", (f"{MODEL}.y.blocks#{{precision}}",), _BLOCKS, _blocks),
        Axis("registers", (f"{MODEL}.y.registers#{{precision}}",), registers({"single": 64, "double": 80}, 128)),
        Axis("kept", (f"{MODEL}.y.kept#{{precision}}",), always(3, 4)),
        Axis("prefetch", (f"{MODEL}.y.prefetch#{{precision}}",), always(False, True)),
    ),
    sizes=LARGE, checked=4096,
)  # fmt: skip
HEAVY = Space(
    f"{MODEL}.y.heavy", MODEL, "default",
    (
        Axis("block", (f"{MODEL}.y.heavy#block",), always((8, 16), (10, 10), (8, 12)), _heavy),
        Axis("registers", (f"{MODEL}.y.heavy#registers",), registers({"single": 96, "double": 96}, 168)),
    ),
    sizes=LARGE, checked=4096, excluded=lambda choice, device, precision: "" if precision == "double" else "of double",
)  # fmt: skip
SMALL_GRIDS = Space(
    f"{MODEL}.small", MODEL, "default",
    (
        Axis("cells", (f"{MODEL}.small.cells",), always(0, 65536, 2**20)),  # threshold for small blocks
        Axis("registers x", (f"{MODEL}.small.registers#{{precision}}.x",), LIMITS_X),
        Axis("registers y", (f"{MODEL}.small.registers#{{precision}}.y",), LIMITS_Y),
        Axis("rows", (f"{MODEL}.small.joined#rows",), always(2, 3, 4)),
    ),
    sizes=("small",), checked=512,
)  # fmt: skip
SPACES = (X, Y, HEAVY, SMALL_GRIDS, on_cpu(MODEL, "default"))
