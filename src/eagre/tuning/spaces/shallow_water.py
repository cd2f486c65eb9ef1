"""Search spaces of the explicit shallow-water model, by scheme, as schemes can have separate kernels."""

from __future__ import annotations

from collections.abc import Sequence

from eagre.tuning.space import Axis, Choice, DeviceInfo, Space, always, registers
from eagre.tuning.spaces.common import on_cpu

MODEL = "shallow-water"


def _limits(device: DeviceInfo, precision: str) -> Sequence[int]:
    low, high = (64, 128) if precision == "single" else (112, 248)
    return registers({precision: low}, high)(device, precision)


ROWS = Axis("rows", (f"{MODEL}.march.longest", f"{MODEL}.march.shortest"), always(8, 16, 32, 64, 128))
SWEEP_ROWS = Axis("rows", (f"{MODEL}.sweeps.longest", f"{MODEL}.sweeps.shortest"), always(4, 8, 16, 32, 64))
FIRST = Axis("registers", ("shallow-water.march.registers#{precision}.first",), _limits)
SECOND = Axis("registers 2", ("shallow-water.march.registers#{precision}.second",), _limits)
EARLY = Axis(
    "early", ("shallow-water.march.early_cells",), always(False, True), lambda value, precision: 2**40 if value else 0
)
MAX_TILES = Axis("tiles", ("shallow-water.tiles.most",), always(0, 1, 2, 4))
TILES = Axis("registers", ("shallow-water.tiles.registers#{precision}",), registers({"single": 48, "double": 64}, 128))
WARPS = Axis("warps", ("shallow-water.tiles.enough_warps",), always(6, 9, 12, 16))
BOUNDARY = Axis("threads", ("shallow-water.boundary.threads",), always(32, 64, 128, 256))
_SWEEPS = registers({"single": 48, "double": 80}, 168)
SWEEP_X = Axis("registers x", (f"{MODEL}.sweeps.registers#{{precision}}.x",), _SWEEPS)
SWEEP_Y = Axis("registers y", (f"{MODEL}.sweeps.registers#{{precision}}.y",), _SWEEPS)
TALL = Axis("rows", ("cpu.shallow-water.rows",), always(16, 32, 128, 256))


def _unequal_limits(choice: Choice, device: DeviceInfo, precision: str) -> str:
    """Return a reason unless the register limits of both stages, with the same fluxes, are equal or adjacent."""
    first, second = choice.get("registers"), choice.get("registers 2")
    if first is None or second is None:
        return ""
    tried = list(FIRST.values(device, precision))
    return "stages with unlike registers" if abs(tried.index(first) - tried.index(second)) > 1 else ""


def streaming(scheme: str, *axes: Axis) -> Space:
    """Return the space of the row-streaming kernels: all grids except the smallest."""
    covering = _one_limit if SECOND in axes else _first_only
    return Space(
        f"{MODEL}.march", MODEL, scheme, axes, scheme, excluded=_unequal_limits, checked=512, covering=covering
    )  # fmt: skip


def sweeps(scheme: str) -> Space:
    """Return the space of the separate kernels for stages along x and along y."""
    axes = (SWEEP_ROWS, SWEEP_X, SWEEP_Y)
    return Space(f"{MODEL}.sweeps", MODEL, scheme, axes, scheme, checked=512, covering=_one_limit_of_both)


def _one_limit_of_both(choice: Choice) -> bool:
    """The program of a direction depends on rows and its own registers."""
    return choice.get("registers x") == choice.get("registers y")


def _one_limit(choice: Choice) -> bool:
    """The program of a stage depends on rows and its own registers."""
    return "early" not in choice and choice.get("registers") == choice.get("registers 2")


def _first_only(choice: Choice) -> bool:
    """Forward Euler has one stage."""
    return "early" not in choice


SPACES = (
    streaming("rk2", ROWS, FIRST, SECOND, EARLY),
    streaming("euler", ROWS, FIRST, EARLY),
    Space(f"{MODEL}.tiles", MODEL, "rk2", (MAX_TILES, TILES, WARPS), "rk2", sizes=("small",), checked=512),
    Space(f"{MODEL}.boundary", MODEL, "rk2", (BOUNDARY,), sizes=("small",)),
    sweeps("ds2"),
    sweeps("srk2"),
    on_cpu(MODEL, "rk2", TALL),
)
SCHEMES = ("rk2", "srk2", "ds2")
"""Second-order schemes with similar accuracy: `scheme = "auto"` selects the fastest."""
