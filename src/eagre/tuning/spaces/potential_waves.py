"""Search spaces of the potential-flow wave model: residual columns and streaming kernels of the multigrid smoother."""

from __future__ import annotations

from eagre.tuning.space import Axis, Space, always, registers
from eagre.tuning.spaces.common import on_cpu

MODEL, VARIANT = "potential-waves", "whalin"
MARCH = "solver:multigrid.march"
SPACES = (
    Space(
        "potential-waves.columns", MODEL, VARIANT,
        (
            Axis(
                "registers", ("potential-waves.columns.registers#{precision}",),
                registers({"single": 40, "double": 64}, 168),
            ),
        ),
        checked=257,
    ),
    Space(
        MARCH, MODEL, VARIANT,
        (
            Axis("warps", (f"{MARCH}.warps",), always(1, 2, 4, 8)),
            Axis("rows", (f"{MARCH}.rows",), always([128, 64, 32, 16], [64, 32, 16, 8], [32, 16], [16, 8])),
            Axis("busy", (f"{MARCH}.busy",), always(8, 16, 32)),
            Axis("registers", (f"{MARCH}.registers#{{precision}}",), registers({"single": 48, "double": 96}, 168)),
        ),
        checked=257,
    ),
    on_cpu(MODEL, VARIANT),
)  # fmt: skip
