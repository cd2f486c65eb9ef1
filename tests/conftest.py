"""What all tests share: which of them can run here, and a seeded generator."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1") if hasattr(signal, name)]
ROOT = Path(__file__).resolve().parents[1]
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
os.environ.setdefault("NUMBA_NUM_THREADS", str(max(2, CORES)))
"""Two threads where there is one core: tests are of threads too. Before Numba is there."""


def count_gpus() -> int:
    """Number of NVIDIA GPUs that the driver shows; 0 where there is no driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a GPU where there is none."""
    no_gpu = pytest.mark.skip(reason="no NVIDIA GPU")
    has_gpu = any(item.get_closest_marker("gpu") for item in items) and count_gpus() > 0
    for item in items:
        if item.get_closest_marker("gpu") and not has_gpu:
            item.add_marker(no_gpu)


@pytest.fixture(autouse=True)
def restored_signals() -> Iterator[None]:
    """Restore the handlers of signals: after ``eagre run`` in this process they would be ignored."""
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def load_script(path: Path) -> ModuleType:
    """Import a script that is no part of a package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def own_layout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Path]:
    """Puts a user's table of layouts in use: its sections by name."""

    def use(**sections: Any) -> Path:
        count = len(list(tmp_path.glob("layout*.json")))
        path = tmp_path / f"layout{count}.json"
        path.write_text(json.dumps(sections))
        monkeypatch.setenv("EAGRE_LAYOUTS", str(path))
        return path

    return use


@pytest.fixture
def root() -> Path:
    """Folder of the repository."""
    return ROOT


@pytest.fixture
def script() -> Callable[[str], ModuleType]:
    """Imports a script by its path from the repository's root."""
    return lambda path: load_script(ROOT / path)


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers that are the same in every run."""
    return np.random.default_rng(20260101)
