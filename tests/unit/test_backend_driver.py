"""The driver's version decides which GPU libraries are advised."""

from __future__ import annotations

import ctypes

import pytest

from eagre.backend.cuda import driver
from eagre.cli.info import _driver


class Library:
    def __init__(self, number, failed=0):
        self.number, self.failed = number, failed

    def cuDriverGetVersion(self, place):
        place._obj.value = self.number
        return self.failed

    def cuInit(self, flags):
        return self.failed

    cuDeviceGetCount = cuDriverGetVersion


@pytest.mark.parametrize(
    ("number", "version", "extra", "words"),
    [
        (13010, (13, 1), "cuda", "CUDA 13.1: pip install 'eagre[cuda]'"),
        (14000, (14, 0), "cuda", "pip install 'eagre[cuda]'"),
        (12080, (12, 8), "cuda12", "CUDA 12.8: pip install 'eagre[cuda12]'"),
        (11040, (11, 4), None, "CUDA 11.4: too old"),
        (0, None, None, "no NVIDIA driver"),
    ],
)
def test_the_extra_that_a_driver_can_use(monkeypatch, number, version, extra, words):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library(number))
    assert driver.driver_version() == version and driver.extra_for(version) == extra
    assert words in _driver(version)


def test_no_driver(monkeypatch):
    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert driver.driver_version() is None and driver.device_count() == 0
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library(13000, failed=1))
    assert driver.driver_version() is None and driver.device_count() == 0


def test_the_number_of_gpus(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library(3))
    assert driver.device_count() == 3
