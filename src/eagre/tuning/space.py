"""Search spaces: axes, constraints and pruning; launch parameters of the kernels of all models, and threads of a CPU.

A choice sets values of some axes of a space; all other axes keep the shipped values, so ``{}`` is the untuned default.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from eagre.layouts.declared import PARAMETERS
from eagre.layouts.gpu_properties import MAX_REGISTERS, MAX_THREADS, GpuProperties
from eagre.layouts.solvers import SECTOR
from eagre.layouts.store import SIZES

Choice = Mapping[str, Any]
Values = dict[str, Any]
LARGE = ("cache", "memory", "large")


class DeviceInfo(NamedTuple):
    """Device on which a space is searched."""

    kind: str  # "cuda" or "cpu"
    properties: GpuProperties
    threads: int  # number of CPU threads; 0 for a GPU


def as_it_is(value: Any, precision: str) -> Any:
    """Return the value."""
    return value


def nothing_excluded(choice: Choice, device: DeviceInfo, precision: str) -> str:
    """Allow every choice."""
    return ""


@dataclass(frozen=True)
class Axis:
    """Axis of a search space.

    Attributes
    ----------
    name : str
        Description: "registers of the first stage".
    paths : tuple of str
        Location of the value in a table, "shallow-water.march.registers#{precision}.first": key, and after # the path
        within its value (list items by index).
    values : callable (device, precision)
        Values to try.
    entry_of : callable (value, precision)
        Converts a value to a table entry; the value itself by default.
    """

    name: str
    paths: tuple[str, ...]
    values: Callable[[DeviceInfo, str], Sequence[Any]]
    entry_of: Callable[[Any, str], Any] = as_it_is


@dataclass(frozen=True)
class Space:
    """Search space: axes that affect the same kernels and are searched together.

    Attributes
    ----------
    name : str
        Name of the space: "shallow-water.march".
    model : str
        Model whose steps are timed.
    variant : str
        Variant of the model's benchmark (`eagre.laboratory.bench`).
    axes : tuple of Axis
    scheme : str
        Scheme of the result, if schemes of the model have separate kernels; "" for all.
    kinds, sizes : tuple of str
        Device kinds and size classes that use the kernels.
    excluded : callable (choice, device, precision)
        Reason for skipping a choice (constraint or pruning rule), or "".
    checked : int
        Maximum number of cells or points per side of the grid on which variants are compiled and verified.
    covering : callable (choice), optional
        Whether a choice belongs to a set that contains all programs of the space; these are compiled before the search.
        Without it the next choices are compiled in parallel.
    """

    name: str
    model: str
    variant: str
    axes: tuple[Axis, ...]
    scheme: str = ""
    kinds: tuple[str, ...] = ("cuda",)
    sizes: tuple[str, ...] = SIZES
    excluded: Callable[[Choice, DeviceInfo, str], str] = nothing_excluded
    checked: int = 1024
    covering: Callable[[Choice], bool] | None = None

    def values(self, choice: Choice, shipped: Mapping[str, Any], precision: str) -> Values:
        """Return launch parameters by key: the shipped values with the values of a choice."""
        values: Values = {}
        for axis in self.axes:
            if axis.name in choice:
                for path in axis.paths:
                    key, _, way = path.partition("#")
                    steps = [step.format(precision=precision) for step in way.split(".") if step]
                    whole = values.setdefault(key, copy.deepcopy(shipped[key]))
                    values[key] = _put(whole, steps, axis.entry_of(choice[axis.name], precision))
        return {key: value for key, value in values.items() if value != shipped[key]}

    def problem(self, choice: Choice, values: Values, device: DeviceInfo, precision: str) -> str:
        """Return the reason why a choice with these launch parameters is not tried, or ""."""
        for key, value in values.items():
            problem = PARAMETERS[key].kind.problem(value, key)
            if problem is not None:
                return f"{problem.key}: {problem.allowed}"
            if misfit := PARAMETERS[key].fits(value, device.properties):
                return f"{key}: {misfit}"
        return self.excluded(choice, device, precision)

    def count(self, device: DeviceInfo, precision: str) -> int:
        """Return the number of choices before exclusions."""
        return prod(1 + len(axis.values(device, precision)) for axis in self.axes)

    def choices(self, shipped: Mapping[str, Any], device: DeviceInfo, precision: str) -> list[Choice]:
        """Return all choices worth a trial, the untuned one first; one choice per set of launch parameters."""
        unique: dict[str, Choice] = {identity({}): {}}
        lists = [[None, *axis.values(device, precision)] for axis in self.axes]
        for chosen in itertools.product(*lists):
            names = (axis.name for axis in self.axes)
            choice = {name: value for name, value in zip(names, chosen, strict=True) if value is not None}
            values = self.values(choice, shipped, precision)
            if (key := identity(values)) not in unique and not self.problem(choice, values, device, precision):
                unique[key] = choice
        return list(unique.values())


def identity(values: Mapping[str, Any]) -> str:
    """Return launch parameters in a canonical form."""
    return json.dumps(values, sort_keys=True)


def describe(choice: Choice) -> str:
    """Return a description of a choice."""
    return ", ".join(f"{name} {_short(value)}" for name, value in choice.items()) or "as shipped"


def always(*values: Any) -> Callable[[DeviceInfo, str], Sequence[Any]]:
    """Return a function that gives the same values on all devices."""
    return lambda device, precision: values


def by_precision(single: Sequence[Any], double: Sequence[Any]) -> Callable[[DeviceInfo, str], Sequence[Any]]:
    """Return a function that gives values by precision."""
    return lambda device, precision: single if precision == "single" else double


def registers(low: Mapping[str, int], high: int = MAX_REGISTERS) -> Callable[[DeviceInfo, str], Sequence[int]]:
    """Return register limits per thread worth a trial: the maximum for each occupancy.

    Registers are allocated per warp; a limit that does not increase the occupancy only causes spills. `low` : minimum
    by precision.
    """

    def values(device: DeviceInfo, precision: str) -> Sequence[int]:
        per_lane = device.properties.registers_per_lane
        upper = min(high, MAX_REGISTERS) // 8 * 8
        return [r for r in range(low[precision], upper + 1, 8) if r + 8 > upper or per_lane // (r + 8) < per_lane // r]

    return values


def _put(whole: Any, way: Sequence[str], value: Any) -> Any:
    """Return a value with one nested item replaced."""
    if not way:
        return value
    key: Any = int(way[0]) if isinstance(whole, list) else way[0]
    whole[key] = _put(whole[key], way[1:], value)
    return whole


def _short(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return "x".join(map(str, value))
    return "/".join(map(str, value.values())) if isinstance(value, dict) else str(value)


def _limits(key: str, single: int, double: int, high: int, name: str = "registers") -> Axis:
    """Return the axis of a register limit of a kernel: smallest values by precision, and the largest."""
    return Axis(name, (key,), registers({"single": single, "double": double}, high))


def _threads(device: DeviceInfo, precision: str) -> Sequence[int]:
    """Return all, three quarters and half of the threads: with shared memory bandwidth fewer threads may be faster."""
    return sorted({max(1, device.threads * quarters // 4) for quarters in (2, 3)} - {device.threads})


THREADS = Axis("threads", ("cpu.programs.threads",), _threads)


def on_cpu(model: str, variant: str, *axes: Axis) -> Space:
    """Return the space of a CPU: threads, and axes of the model."""
    return Space(f"{model}: cpu", model, variant, (THREADS, *axes), kinds=("cpu",))


# -- explicit shallow-water model: by scheme, as schemes can have separate kernels -----------------------------------

SCHEMES = ("rk2", "srk2", "ds2")
"""Second-order schemes with similar accuracy: `scheme = "auto"` selects the fastest."""


def _stage_limits(device: DeviceInfo, precision: str) -> Sequence[int]:
    low, high = (64, 128) if precision == "single" else (112, 248)
    return registers({precision: low}, high)(device, precision)


MARCH, SWEEPS, TILES = (f"shallow-water.{name}" for name in ("march", "sweeps", "tiles"))
ROWS = Axis("rows", (f"{MARCH}.longest", f"{MARCH}.shortest"), always(8, 16, 32, 64, 128))
FIRST = Axis("registers", (f"{MARCH}.registers#{{precision}}.first",), _stage_limits)
SECOND = Axis("registers 2", (f"{MARCH}.registers#{{precision}}.second",), _stage_limits)
EARLY = Axis(
    "early", (f"{MARCH}.early_cells",), always(False, True), lambda value, precision: 2**40 if value else 0
)  # fmt: skip


def _unequal_limits(choice: Choice, device: DeviceInfo, precision: str) -> str:
    """Return a reason unless the register limits of both stages, with the same fluxes, are equal or adjacent."""
    first, second = choice.get("registers"), choice.get("registers 2")
    if first is None or second is None:
        return ""
    tried = list(FIRST.values(device, precision))
    return "stages with unlike registers" if abs(tried.index(first) - tried.index(second)) > 1 else ""


def row_streaming(scheme: str, *axes: Axis) -> Space:
    """Return the space of the row-streaming kernels: all grids except the smallest.

    The program of a stage depends on rows and its own registers.
    """

    def covering(choice: Choice) -> bool:
        return "early" not in choice and (SECOND not in axes or choice.get("registers") == choice.get("registers 2"))

    return Space(MARCH, "shallow-water", scheme, axes, scheme, excluded=_unequal_limits, checked=512, covering=covering)


def sweeps(scheme: str) -> Space:
    """Return the space of the separate kernels for stages along x and along y.

    The program of a direction depends on rows and its own registers.
    """
    axes = (
        Axis("rows", (f"{SWEEPS}.longest", f"{SWEEPS}.shortest"), always(4, 8, 16, 32, 64)),
        *(_limits(f"{SWEEPS}.registers#{{precision}}.{one}", 48, 80, 168, f"registers {one}") for one in "xy"),
    )

    def covering(choice: Choice) -> bool:
        return choice.get("registers x") == choice.get("registers y")

    return Space(SWEEPS, "shallow-water", scheme, axes, scheme, checked=512, covering=covering)


SHALLOW_WATER = (
    row_streaming("rk2", ROWS, FIRST, SECOND, EARLY),
    row_streaming("euler", ROWS, FIRST, EARLY),
    Space(
        TILES, "shallow-water", "rk2",
        (
            Axis("tiles", (f"{TILES}.most",), always(0, 1, 2, 4)),
            _limits(f"{TILES}.registers#{{precision}}", 48, 64, 128),
            Axis("warps", (f"{TILES}.enough_warps",), always(6, 9, 12, 16)),
        ),
        "rk2", sizes=("small",), checked=512,
    ),
    Space(
        "shallow-water.boundary", "shallow-water", "rk2",
        (Axis("threads", ("shallow-water.boundary.threads",), always(32, 64, 128, 256)),),
        sizes=("small",),
    ),
    sweeps("ds2"),
    sweeps("srk2"),
    on_cpu("shallow-water", "rk2", Axis("rows", ("cpu.shallow-water.rows",), always(16, 32, 128, 256))),
)  # fmt: skip

# -- ADI shallow-water model: its two sweeps, and thresholds between line-coupling methods ----------------------------

ADI = "shallow-water-adi"


def _blocks(value: tuple[int, int], precision: str) -> list[dict[str, int]]:
    """Return the blocks of the sweep along y: this one first, then the tallest that is measured."""
    one = _block(value, precision)
    return [one] if one["rows"] * one["threads"] >= 128 else [one, {"rows": 8, "threads": 16}]


def _block(value: tuple[int, int], precision: str) -> dict[str, int]:
    return {"rows": value[0], "threads": value[1]}


SHALLOW_WATER_ADI = (
    Space(
        f"{ADI}.x", ADI, "default",
        (
            _limits(f"{ADI}.x.registers#{{precision}}", 64, 96, 168),
            Axis("rows", (f"{ADI}.run.usual",), always(8, 16, 24, 32)),
            Axis("least gain", (f"{ADI}.run.gain",), always(0.05, 1.0)),
            Axis("alone", (f"{ADI}.x.waiting#alone",), always(0.25, 0.5, 1.0, 2.0)),  # selects the warps per block
        ),
        sizes=LARGE, checked=4096,
    ),
    Space(
        f"{ADI}.y", ADI, "mike21",
        (
            Axis(
                "block", (f"{ADI}.y.blocks#{{precision}}",),
                by_precision([(8, 8), (8, 16), (10, 10), (6, 16)], [(10, 10), (8, 12), (8, 16), (12, 8), (6, 16)]),
                _blocks,
            ),
            _limits(f"{ADI}.y.registers#{{precision}}", 64, 80, 128),
            Axis("kept", (f"{ADI}.y.kept#{{precision}}",), always(3, 4)),
            Axis("prefetch", (f"{ADI}.y.prefetch#{{precision}}",), always(False, True)),
        ),
        sizes=LARGE, checked=4096,
    ),
    Space(
        f"{ADI}.y.heavy", ADI, "default",
        (
            Axis("block", (f"{ADI}.y.heavy#block",), always((8, 16), (10, 10), (8, 12)), _block),
            _limits(f"{ADI}.y.heavy#registers", 96, 96, 168),
        ),
        sizes=LARGE, checked=4096,
        excluded=lambda choice, device, precision: "" if precision == "double" else "of double",
    ),
    Space(
        f"{ADI}.small", ADI, "default",
        (
            Axis("cells", (f"{ADI}.small.cells",), always(0, 65536, 2**20)),  # threshold for small blocks
            _limits(f"{ADI}.small.registers#{{precision}}.x", 80, 96, 168, "registers x"),
            _limits(f"{ADI}.small.registers#{{precision}}.y", 64, 80, 128, "registers y"),
            Axis("rows", (f"{ADI}.small.joined#rows",), always(2, 3, 4)),
        ),
        sizes=("small",), checked=512,
    ),
    on_cpu(ADI, "default"),
)  # fmt: skip

# -- barotropic model: row transforms, columns and tiles of its Poisson solver ----------------------------------------

POISSON = "solver:poisson"
REGISTER_FILE = 65536  # registers per block, on all GPUs since 2014
UNLIMITED = 2**20  # longer than any row: one limit for all lengths


def _one_row(value: int, precision: str) -> list[dict[str, int]]:
    return [{"up_to": UNLIMITED, "registers": value}]


def _partition(value: tuple[int, int], precision: str) -> list[dict[str, Any]]:
    """Return the column partition: tallest block for these registers per thread; larger columns use the last."""
    (rows, limit), tallest = value, {"up_to": 4096, "own": 64 if precision == "single" else 32, "registers": 128}
    threads = min(MAX_THREADS, REGISTER_FILE // limit)
    one = {"up_to": rows * threads // SECTOR[precision] // 2 * 2, "own": rows, "registers": limit}
    return [one, tallest] if one["up_to"] < 4096 else [{**one, "up_to": 4096}]


BAROTROPIC = (
    Space(
        f"{POISSON}.transform", "barotropic", "default",
        (
            *(
                Axis(
                    name, (f"{POISSON}.transform.{key}#{{precision}}",), registers({"single": 64, "double": 80}, 128),
                    _one_row,
                )
                for name, key in (("registers", "registers"), ("registers of update", "registers_of_update"))
            ),
            Axis("wide tiles from", (f"{POISSON}.tiles.wide_from",), always(2, 1024, UNLIMITED)),
            Axis("side by side", (f"{POISSON}.tiles.side_by_side",), always(1, 2)),
            Axis("early", (f"{POISSON}.overlap.release",), always(1, 2)),
        ),
        checked=4097,
    ),
    Space(
        f"{POISSON}.columns", "barotropic", "default",
        (
            Axis(
                "rows x registers", (f"{POISSON}.columns.cuts#{{precision}}",),
                always((8, 64), (16, 64), (16, 96), (32, 96), (32, 128), (64, 128)), _partition,
            ),
        ),
        checked=4097,
    ),
    on_cpu("barotropic", "default", Axis("pieces", ("cpu.barotropic.pieces",), always(8, 16, 32, 128))),
)  # fmt: skip

# -- potential-flow waves: residual columns and streaming kernels of the multigrid smoother ---------------------------

MULTIGRID = "solver:multigrid.march"
POTENTIAL_WAVES = (
    Space(
        "potential-waves.columns", "potential-waves", "whalin",
        (_limits("potential-waves.columns.registers#{precision}", 40, 64, 168),),
        checked=257,
    ),
    Space(
        MULTIGRID, "potential-waves", "whalin",
        (
            Axis("warps", (f"{MULTIGRID}.warps",), always(1, 2, 4, 8)),
            Axis("rows", (f"{MULTIGRID}.rows",), always([128, 64, 32, 16], [64, 32, 16, 8], [32, 16], [16, 8])),
            Axis("busy", (f"{MULTIGRID}.busy",), always(8, 16, 32)),
            _limits(f"{MULTIGRID}.registers#{{precision}}", 48, 96, 168),
        ),
        checked=257,
    ),
    on_cpu("potential-waves", "whalin"),
)  # fmt: skip

# -- anelastic model: tiles of its pressure solver and forces, and the MPDATA streaming kernel ------------------------

GCR, MPDATA = "solver:gcr", "solver:mpdata.march.blocks#{precision}.0"  # first block of MPDATA: one field at a time
ANELASTIC = (
    Space(
        GCR, "anelastic", "stratified",
        (
            Axis("levels", (f"{GCR}.levels",), always(4, 8, 16, 32)),
            Axis("busy", (f"{GCR}.busy",), always(1, 2, 4, 8)),
            Axis("points", (f"{GCR}.points#{{precision}}",), by_precision((1, 2, 4), (1, 2))),
            _limits(f"{GCR}.registers#{{precision}}", 64, 64, 128),
        ),
        checked=128,
    ),
    Space(
        f"{GCR}.faces", "anelastic", "stratified", (_limits(f"{GCR}.faces#{{precision}}", 48, 96, 168),), checked=128
    ),
    Space(
        "solver:mpdata.march", "anelastic", "stratified",
        (
            Axis("warps", (f"{MPDATA}.warps",), always(8, 12, 16, 20)),
            Axis("registers", (f"{MPDATA}.registers",), always(96, 128, 168, 255)),
            Axis("rows", (f"{MPDATA}.rows",), always(1, 2)),
            Axis("ahead", (f"{MPDATA}.ahead",), always(1, 2)),
            Axis("turns", (f"{MPDATA}.turns",), always(1, 2, 3)),
        ),
        checked=128,
    ),
    Space(
        "anelastic: programs.loop", "anelastic", "stratified",
        (
            Axis(
                "block", ("programs.loop.volume",),
                always([32, 2, 2], [32, 8, 1], [64, 2, 1], [64, 4, 1], [128, 1, 1]),
            ),
        ),
    ),
    on_cpu("anelastic", "stratified"),
)  # fmt: skip

SPACES: tuple[Space, ...] = (*SHALLOW_WATER, *SHALLOW_WATER_ADI, *BAROTROPIC, *POTENTIAL_WAVES, *ANELASTIC)


def spaces_of(model: str, kind: str, size: str) -> list[Space]:
    """Return the spaces of a model on a kind of device ("cpu", "cuda") for a size class."""
    return [space for space in SPACES if space.model == model and kind in space.kinds and size in space.sizes]
