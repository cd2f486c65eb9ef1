# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false
# pyright: reportMissingImports=false, reportIndexIssue=false
"""CUDA kernels in Numba's simulator: hand-tiled kernels run on a machine without a GPU, on tiny grids.

Set ``NUMBA_ENABLE_CUDASIM=1`` before anything imports Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eagre.backend.cuda import SIMULATED
from eagre.backend.device import HostArrays, HostCall, Launch
from eagre.errors import DeviceError


class SimulatedDevice(HostArrays):
    """A GPU in plain Python; arrays are NumPy arrays."""

    kind = "cuda"
    target = "simulator"
    name = "simulated cuda"

    def __init__(self) -> None:
        if not SIMULATED:
            raise DeviceError("the CUDA simulator is off\nwrite:   NUMBA_ENABLE_CUDASIM=1 before Python starts")

    def run(self, launches: Sequence[Launch | HostCall]) -> None:
        for launch in launches:
            if isinstance(launch, HostCall):
                launch.program(*launch.arguments)
                continue
            launch.program[launch.grid, launch.block, 0, launch.shared](*launch.arguments)

    def repeated(self, launches: Sequence[Launch | HostCall], times: int) -> Callable[[], None]:
        bound = list(launches)

        def go() -> None:
            for _ in range(times):
                self.run(bound)

        return go

    def free_memory(self) -> int:
        return 2**30
