"""Paths and disks: the errors name the file and what to do."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from eagre.errors import EagreError, InputError
from eagre.io import WriteError
from eagre.io.files import (
    RESERVED_BYTES,
    check_space,
    choose,
    input_file,
    listing,
    nearest_file,
    output_file,
    writing,
)

Usage = namedtuple("Usage", "total used free")


def test_listing_is_cut():
    assert listing(["a", "b", "c"], 2) == "a, b and 1 more"


def test_choose_names_the_nearest():
    choose("speed", ["speed"], "variable")
    with pytest.raises(InputError) as error:
        choose("sped", ["speed", "depth"], "variable", 'variables = ["{}"]')
    assert error.value.allowed == "speed, depth"
    assert error.value.fix == 'variables = ["speed"]'


def test_missing_input_names_full_path_and_nearest(tmp_path, monkeypatch):
    (tmp_path / "dem_north.tif").write_text("x")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as error:
        input_file("dem_nort.tif", "DEM")
    assert str(tmp_path / "dem_nort.tif") in error.value.what
    assert "no such file" in error.value.what
    assert error.value.fix == 'file = "dem_north.tif"'
    assert "dem_north.tif" in error.value.allowed


@pytest.mark.parametrize(
    ("name", "expected"),
    [("tide.csv", None), ("dee.csv", "de.csv"), ("DE.CSV", "de.csv"), ("rainfal.csv", "rainfall.csv"), ("x.csv", None),
     ("bed.tiff", "bed.tif"), ("bad.tif", "bed.tif"), ("rainfall.nc", "rainfall.csv"), ("rainfal.nc", None)],
)  # fmt: skip
def test_only_other_spellings_are_suggested(name, expected):
    assert nearest_file(name, ["bed.tif", "de.csv", "rainfall.csv"]) == expected


def test_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match=r"the folder .*nowhere does not exist"):
        input_file(tmp_path / "nowhere" / "deep" / "a.tif")


def test_folder_is_no_input(tmp_path):
    with pytest.raises(InputError, match="a folder"):
        input_file(tmp_path)


def test_input_in_home_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.csv").write_text("x")
    assert input_file("~/a.csv") == tmp_path / "a.csv"


def test_unreadable_input(tmp_path, monkeypatch):
    path = tmp_path / "a.tif"
    path.write_text("x")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="no permission to read"):
        input_file(path)


def test_existing_output_is_kept_unless_asked(tmp_path):
    path = tmp_path / "out.nc"
    path.write_text("precious")
    with pytest.raises(InputError, match="exists already") as error:
        output_file(path, suffixes=(".nc",))
    assert "overwrite = true" in error.value.fix
    assert output_file(path, suffixes=(".nc",), overwrite=True) == path
    assert path.read_text() == "precious"


@pytest.mark.parametrize("name", ["out", "out.tif"])
def test_output_ending(tmp_path, name):
    with pytest.raises(InputError, match=r"ends in .nc") as error:
        output_file(tmp_path / name, suffixes=(".nc",))
    assert error.value.fix.endswith('out.nc"')


def test_output_folder_missing(tmp_path):
    with pytest.raises(InputError, match="does not exist") as error:
        output_file(tmp_path / "new" / "out.nc", suffixes=(".nc",))
    assert error.value.fix == f"mkdir -p {tmp_path / 'new'}"


def test_output_below_a_file(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        output_file(tmp_path / "file" / "out.nc", suffixes=(".nc",))


def test_output_is_a_folder(tmp_path):
    (tmp_path / "out.nc").mkdir()
    with pytest.raises(InputError, match="a folder"):
        output_file(tmp_path / "out.nc", suffixes=(".nc",), overwrite=True)


def test_unwritable_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="no permission to write in"):
        output_file(tmp_path / "out.nc", suffixes=(".nc",))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_folder_for_real(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(InputError, match="no permission to write in"):
            output_file(tmp_path / "out.nc", suffixes=(".nc",))
    finally:
        tmp_path.chmod(0o700)


def test_writing_words_the_disk_errors():
    with pytest.raises(WriteError) as error, writing(Path("out.nc"), safe="two records", fix="free space"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert isinstance(error.value, EagreError) and isinstance(error.value, OSError)
    assert str(error.value) == (
        "cannot write out.nc: no space left on the disk\nsafe:    two records\nwrite:   free space"
    )


def test_what_is_no_matter_of_space_gets_another_advice():
    with pytest.raises(WriteError) as error, writing(Path("out.csv"), fix="free space"):
        raise PermissionError(errno.EACCES, "Permission denied")
    assert str(error.value) == "cannot write out.csv: permission denied\nwrite:   a folder that can be written"


def test_writing_finds_the_number_in_what_hdf5_says():
    with pytest.raises(WriteError, match="no space left on the disk"), writing(Path("out.nc")):
        raise RuntimeError("file write failed: time = now, errno = 28, error message = 'No space left', buf = 0x1")


def test_writing_lets_our_errors_through():
    with pytest.raises(InputError, match="as it was"), writing(Path("out.nc")):
        raise InputError("as it was")


def test_no_room_on_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(100, 100, RESERVED_BYTES + 10))
    check_space(tmp_path / "out.nc", 10)
    with pytest.raises(WriteError, match="no space left on the disk") as error:
        check_space(tmp_path / "out.nc", 11, safe="three records")
    assert error.value.safe == "three records"


def test_room_is_probed_without_changing_the_file(tmp_path):
    path = tmp_path / "out.nc"
    path.write_bytes(b"12345")
    check_space(path, 1000)
    assert path.read_bytes() == b"12345"


def test_a_limit_of_the_file_size_is_met_before_it_hurts(tmp_path):
    resource = pytest.importorskip("resource")
    path = tmp_path / "out.nc"
    path.write_bytes(b"12345")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (RESERVED_BYTES + 100, hard))
    try:
        check_space(path, 10)
        with pytest.raises(WriteError, match="larger than the system allows"):
            check_space(path, 200)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == b"12345"


def test_a_disk_that_cannot_reserve_is_trusted(tmp_path, monkeypatch):
    path = tmp_path / "out.nc"
    path.write_bytes(b"12345")

    def refuse(*_):
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr(os, "posix_fallocate", refuse, raising=False)
    check_space(path, 10)


def test_import_is_light():
    code = (
        "import sys, eagre.io\n"
        "heavy = {'h5py', 'h5netcdf', 'xarray', 'rasterio', 'pandas', 'numba', 'scipy', 'matplotlib', 'cupy'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
