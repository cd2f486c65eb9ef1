"""Performance model of GPU kernels: memory transactions, occupancy, kernel fusion, block sizes and rooflines.

After K. A. Rojek et al., Adaptation of fluid model EULAG to graphics processing unit architecture, Concurrency and
Computation: Practice and Experience (2014), "the paper" in these modules, extended to current GPUs.
"""

from __future__ import annotations

from eagre.tuning.block_size import HOPPER, KEPLER, Limits, Tile, choose_block, choose_march, moved, tiles
from eagre.tuning.roofline import Routine, bandwidths, operations_of, report
from eagre.tuning.scenarios import MPDATA, Stage, best_groups, fused

__all__ = [
    "HOPPER",
    "KEPLER",
    "MPDATA",
    "Limits",
    "Routine",
    "Stage",
    "Tile",
    "bandwidths",
    "best_groups",
    "choose_block",
    "choose_march",
    "fused",
    "moved",
    "operations_of",
    "report",
    "tiles",
]
