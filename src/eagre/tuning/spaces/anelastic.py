"""Search spaces of the anelastic model: tiles of its pressure solver and forces, and the MPDATA streaming kernel."""

from __future__ import annotations

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


ONE_FIELD = "solver:mpdata.march.blocks#{precision}.0"  # first block: one field at a time
MARCH = Space(
    "solver:mpdata.march", MODEL, VARIANT,
    (
        Axis("warps", (f"{ONE_FIELD}.warps",), always(8, 12, 16, 20)),
        Axis("registers", (f"{ONE_FIELD}.registers",), always(96, 128, 168, 255)),
        Axis("rows", (f"{ONE_FIELD}.rows",), always(1, 2)),
        Axis("ahead", (f"{ONE_FIELD}.ahead",), always(1, 2)),
        Axis("turns", (f"{ONE_FIELD}.turns",), always(1, 2, 3)),
    ),
    checked=128,
)  # fmt: skip
SPACES = (GCR, FACES, MARCH, loops(MODEL, VARIANT, VOLUMES), on_cpu(MODEL, VARIANT))
