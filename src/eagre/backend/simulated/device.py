"""Simulated CUDA device: CUDA kernels run as plain Python without a GPU, on tiny grids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from eagre.backend.device import HostArrays, HostCall, Launch


class SimulatedDevice(HostArrays):
    """Simulated GPU; arrays are NumPy arrays."""

    kind = "cuda"
    target = "simulator"
    name = "simulated cuda"

    def run(self, launches: Sequence[Launch | HostCall]) -> None:
        for launch in launches:
            if isinstance(launch, HostCall):
                launch.program(*launch.arguments)
                continue
            kernel: Any = launch.program
            kernel[launch.grid, launch.block, 0, launch.shared](*launch.arguments)

    def repeated(self, launches: Sequence[Launch | HostCall], times: int) -> Callable[[], None]:
        bound = list(launches)

        def go() -> None:
            for _ in range(times):
                self.run(bound)

        return go

    def free_memory(self) -> int:
        return 2**30
