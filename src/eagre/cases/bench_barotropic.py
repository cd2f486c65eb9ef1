"""How fast the barotropic model runs: the document's double gyre at its sizes, table B.1.

Steps are the document's: AB2, the advective Jacobian, free slip, fields resident. The answer is
verified first: against the CPU after the same steps in double precision, and the energy after the timed ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.backend.timing import times_of
from eagre.errors import EagreError

SIZES = {"cpu": (257, 1025), "cuda": (33, 65, 129, 257, 259, 513, 515, 769, 1025, 2049, 4097)}
DOCUMENT_GPU_MS = {
    **{33: 0.3235, 65: 0.3338, 129: 0.3883, 257: 0.7845, 259: 1.648, 513: 1.963, 515: 15.70, 769: 5.436},
    **{1025: 6.646, 2049: 26.33, 4097: 111.8},
}
"""Table B.1: ms a step of the Tesla M1060 in single precision, by points a side."""
VARIANTS = {
    "seed": {"jacobian": "advective", "scheme": "ab2"},
    "default": {},
}
WORDS = {"seed": 9, "default": 10}
"""Words a point that the three passes read and write: update 6 (7 with AB3), columns 2, back 1 + ... see the note."""
COMPARED_STEPS = 40
LARGEST_DIFFERENCE = {"single": 2e-5, "double": 1e-11}
CASE = "double-gyre"


def model_of(points: int, device: Device | str, precision: str, variant: str) -> Any:
    """The double gyre at rest, Re = 20.83, dt = 1e-7."""
    from eagre.models.barotropic.model import BarotropicVorticity

    return BarotropicVorticity.double_gyre(points, device=device, precision=precision, **VARIANTS[variant])


def difference_from_double(points: int, device: Device, precision: str, variant: str) -> float:
    """Relative L2 difference of psi after some steps from the CPU's in double precision.

    Raises
    ------
    EagreError
        If it is larger than rounding explains.
    """
    ours, theirs = model_of(points, device, precision, variant), model_of(points, "cpu", "double", variant)
    for model in (ours, theirs):
        model.advance(COMPARED_STEPS * model.time_step)
    expected = theirs.field("streamfunction")
    found = float(np.linalg.norm(ours.field("streamfunction") - expected) / np.linalg.norm(expected))
    if not found <= LARGEST_DIFFERENCE[precision]:
        raise EagreError(f"{points} points, {precision}, {variant}: {device} differs from the CPU by {found:.2g}")
    return found


def time_steps(model: Any, repeats: int, seconds: float) -> tuple[int, list[float]]:
    """Steps that were timed, and seconds per step of each repeat."""
    engine, device = model._engine, model.device
    engine.advance(8)
    chunk = 200 if device.graphs else 2
    once = min(times_of(device, lambda: engine.advance(chunk), repeats=3, warm_up=1))
    count = chunk * max(1, math.ceil(seconds / max(once, 1e-7)))
    taken = times_of(device, lambda: engine.advance(count), repeats=repeats, warm_up=1)
    found = model.diagnostics()
    if not (found["energy"] > 0.0 and math.isfinite(found["max_vorticity"])):
        raise EagreError(f"{model.device}: energy {found['energy']:.3g} after the timed steps")
    return count * repeats, [one / count for one in taken]


def measure(
    device: Device,
    precision: str,
    sizes: Sequence[int] | None,
    variants: Sequence[str],
    copies: dict[int, float],
    repeats: int,
    seconds: float,
) -> list[dict[str, Any]]:
    """Records of all sizes and variants, without commit, date and versions."""
    from eagre.cases.bench import CACHE_BYTES, device_name, threads_limited

    records = []
    for variant in variants:
        for points in sizes or SIZES[device.kind]:
            apart = difference_from_double(points, device, precision, variant) if points <= 1100 else math.nan
            model = model_of(points, device, precision, variant)
            size = np.dtype(model._engine.real).itemsize
            for threads, copy in copies.items():
                with threads_limited(device, threads):
                    steps, per_step = time_steps(model, repeats, seconds)
                speed = points**2 / median(per_step)
                moved = WORDS[variant] * size
                cached = 6 * size * points**2 < CACHE_BYTES[device.kind]
                verified = "energy" if math.isnan(apart) else f"psi {apart:.1e} from double precision on the CPU"
                records.append(
                    {
                        "model": "barotropic",
                        "case": CASE,
                        "variant": variant,
                        "precision": precision,
                        "device": device_name(device),
                        "threads": threads,
                        "shape": [points, points],
                        "steps": steps,
                        "ms_per_step": 1e3 * median(per_step),
                        "ms_best": 1e3 * min(per_step),
                        "cell_steps_per_s": speed,
                        "bytes_per_cell": moved,
                        "fraction_of_copy": None if cached else moved * speed / copy,
                        "copy_gb_per_s": copy / 1e9,
                        "error": f"{verified}{_against_document(points, per_step)}",
                    }
                )
    return records


def _against_document(points: int, per_step: Sequence[float]) -> str:
    if points not in DOCUMENT_GPU_MS:
        return ""
    return f"; document {DOCUMENT_GPU_MS[points]:g} ms, {DOCUMENT_GPU_MS[points] / (1e3 * median(per_step)):.1f}x"
