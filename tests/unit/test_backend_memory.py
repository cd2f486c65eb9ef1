"""What memory is free, and models that do not fit it."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.backend import device
from eagre.errors import MemoryNeededError
from eagre.models.registry import load_case

HUGE = 'model = "shallow-water"\n[run]\nend_time = 1\ndevice = "cpu"\n[grid]\nnx = 400000\nny = 300000\ndx = 1.0\n'


@pytest.fixture
def meminfo(tmp_path, monkeypatch):
    path = tmp_path / "meminfo"
    path.write_text("MemTotal: 4000 kB\nMemFree: 100 kB\nMemAvailable:    3000 kB\nCached: 2900 kB\n")
    monkeypatch.setattr(device, "MEMINFO", path)
    monkeypatch.setattr(device, "CGROUP", tmp_path)
    return path


def test_what_the_kernel_would_give_up_is_free(meminfo):
    assert device.free_host_memory() == 3000 * 1024


@pytest.mark.parametrize(("limit", "free"), [("max", 3072000), ("2000000", 1500000), ("400000", 0)])
def test_a_container_has_its_own_limit(meminfo, tmp_path, limit, free):
    (tmp_path / "memory.max").write_text(limit + "\n")
    (tmp_path / "memory.current").write_text("500000\n")
    assert device.free_host_memory() == free


def test_systems_that_tell_less(tmp_path, monkeypatch):
    monkeypatch.setattr(device, "MEMINFO", tmp_path / "nothing")
    monkeypatch.setattr(device, "CGROUP", tmp_path)
    assert 0 < device.free_host_memory() <= device.UNKNOWN


@pytest.mark.parametrize("bed", ["value = 0.0", 'expression = "0.1 * x"'])
def test_case_that_does_not_fit_is_refused_before_its_arrays_are_made(tmp_path, bed):
    path = tmp_path / "case.toml"
    path.write_text(f"{HUGE}[bed]\n{bed}\n[initial]\ndepth = 1.0\n")
    words = r"needs 53\d\d\.\d\d GiB of memory, but this machine has \d+\.\d\d GiB free"
    with pytest.raises(MemoryNeededError, match=words):
        load_case(path).build()


def test_model_that_does_not_fit_says_what_it_needs_and_what_there_is(meminfo):
    """12 words of the run's precision and 6 of double precision a cell, with ghosts."""
    grid = eagre.Grid(300, 200, 1.0, 1.0)
    with pytest.raises(MemoryNeededError) as error:
        eagre.ShallowWater(grid, np.zeros((201, 301)), depth=1.0, device="cpu")
    assert (error.value.needed, error.value.free) == (305 * 205 * (12 * 4 + 6 * 8), 3000 * 1024)
    assert "coarser grid" in str(error.value)
