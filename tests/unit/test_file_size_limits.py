"""A limit of the file size (`ulimit -f`): a `WriteError`, earlier files and records stay, and no crash.

Each limit has a process of its own, because HDF5 can crash after failed writes, and at the end of the process.
"""

from __future__ import annotations

import pytest

pytest.importorskip("resource")
from file_size_limits import AT_ONCE, GROWING, check_at_once, check_growing, in_a_process

LIMITS = [0, 512, 8192, 20_000, 300_000, 1_000_000]


@pytest.mark.parametrize("before", [0, 2], ids=["at the start", "during the run"])
@pytest.mark.parametrize("name", GROWING)
def test_records(tmp_path, name, before):
    if name.endswith(".zarr"):
        pytest.importorskip("zarr", reason="pip install 'eagre[zarr]'")
    for limit in LIMITS:
        folder = tmp_path / str(limit)
        folder.mkdir()
        in_a_process(check_growing, folder / name, limit, before)


@pytest.mark.parametrize("older", [False, True], ids=["new file", "older file"])
@pytest.mark.parametrize("name", AT_ONCE)
def test_files_written_at_once(tmp_path, name, older):
    AT_ONCE[name](tmp_path / name)  # imports, and the cache of fonts
    for limit in LIMITS:
        folder = tmp_path / str(limit)
        folder.mkdir()
        in_a_process(check_at_once, folder / name, limit, older)
