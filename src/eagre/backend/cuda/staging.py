# pyright: reportMissingImports=false
"""Asynchronous copies of device arrays to the host: a copy on the device, then a transfer on a separate stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from eagre.backend.device import Device

TO_HOST = 2  # cudaMemcpyDeviceToHost
RESERVED_MEMORY = 256 << 20  # device memory that copies leave free, bytes


class StagingBuffer:
    """One copy buffer on the device and one in pinned host memory; without free device memory copies are synchronous.

    Parameters
    ----------
    device : CudaDevice
    """

    def __init__(self, device: Device) -> None:
        self._device: Any = device
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._buffers: dict[tuple[Any, ...], tuple[Any, np.ndarray]] = {}
        self._done: Any = None

    def begin(self, arrays: Sequence[Any]) -> Callable[[], list[np.ndarray]]:
        """See `eagre.backend.device.Device.begin_host`."""
        device = self._device
        device.use()
        buffers = self._buffers_of(arrays)
        if buffers is None:
            copies = [device.host(array) for array in arrays]
            return lambda: copies
        if self._done is not None:
            device.stream.wait_event(self._done)  # do not overwrite a transfer in progress
        for array, (staged, _) in zip(arrays, buffers, strict=True):
            device.copy(staged, array)
        ready, done = cupy.cuda.Event(disable_timing=True), cupy.cuda.Event(block=True, disable_timing=True)
        ready.record(device.stream)
        self._stream.wait_event(ready)
        for staged, pinned in buffers:
            address = pinned.ctypes.data
            cupy.cuda.runtime.memcpyAsync(address, staged.data.ptr, staged.nbytes, TO_HOST, self._stream.ptr)
        done.record(self._stream)
        self._done = done

        def wait() -> list[np.ndarray]:
            device.use()
            done.synchronize()
            return [pinned for _, pinned in buffers]

        return wait

    def _buffers_of(self, arrays: Sequence[Any]) -> list[tuple[Any, np.ndarray]] | None:
        """Return the copy targets of each array on the device and on the host; None without free device memory."""
        device = self._device
        keys = [(n, array.shape, array.dtype.str) for n, array in enumerate(arrays)]
        for key in [key for key in self._buffers if key not in keys]:
            del self._buffers[key]
        missing = [(key, array) for key, array in zip(keys, arrays, strict=True) if key not in self._buffers]
        if missing and device.free_memory() < sum(array.nbytes for _, array in missing) + RESERVED_MEMORY:
            self._buffers.clear()
            return None
        for key, array in missing:
            self._buffers[key] = device.zeros(array.shape, array.dtype), device.pinned(array.shape, array.dtype)
        return [self._buffers[key] for key in keys]
