"""Compare the ADI model on a GPU with states that the CPU wrote: ``check_adi.py write FILE``, then ``read FILE``."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from eagre import Absorbing, Boundaries, Discharge, Grid, Part, ShallowWaterADI, Stage

CASES: dict[str, dict[str, Any]] = {
    "walls": {"nx": 300, "ny": 290},
    "seed": {"nx": 1500, "ny": 170, "dissipation": "none", "drying": "off"},
    "open": {"nx": 200, "ny": 371, "boundaries": Boundaries(
        west=Stage(0.3), east=Absorbing(0.1), south=Discharge(50.0), north=[Part(0, 900.0, Stage(0.1))]
    )},
}  # fmt: skip


def state_of(name: str, precision: str, device: str) -> tuple[Any, dict[str, np.ndarray]]:
    options = dict(CASES[name])
    grid = Grid(options.pop("nx"), options.pop("ny"), 100.0, 70.0)
    (xc, yc), (x, y) = grid.mesh("corner"), grid.mesh()
    model = ShallowWaterADI(
        grid, -40.0 + 3.0 * np.sin(xc / 900.0) * np.cos(yc / 700.0), 20.0,
        surface_elevation=0.5 * np.sin(x / 800.0) * np.cos(y / 1000.0), velocity_x=0.1 * np.sin(x / 500.0),
        velocity_y=0.1 * np.cos(y / 600.0), manning=1 / 32, device=device, precision=precision, **options,
    )  # fmt: skip
    model.advance(60.0)
    return model, model.state()


def main() -> None:
    if sys.argv[1] == "write":
        states = {f"{c}-{k}": v for c in CASES for k, v in state_of(c, "double", "cpu")[1].items()}
        np.savez_compressed(sys.argv[2], **states)  # type: ignore[arg-type]
        return
    wanted = np.load(sys.argv[2])
    for precision in sys.argv[3:] or ("single", "double"):
        for name in CASES:
            model, found = state_of(name, precision, "cuda")
            errors = [
                float(np.abs(found[k] - wanted[f"{name}-{k}"]).max() / np.abs(wanted[f"{name}-{k}"]).max())
                for k in ("z", "p", "q_before", "q_after")
            ]
            print(precision, name, *(f"{e:.1e}" for e in errors), f"guard {model._engine.lost():.1e}", flush=True)


if __name__ == "__main__":
    main()
