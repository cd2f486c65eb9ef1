"""The cache of compiled programs: what others could have put there is not run, what is cut is made again."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from eagre.backend.cache_folder import own_folder, stored
from eagre.errors import EagreError

unix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners and modes of Unix")

USE = """
import os, sys
import numpy as np
from numba import njit
from numba.core import event
from eagre.backend.select import select
from kernels.programs import shifted
device = select("cpu")
x = np.ones((2, 3))
if os.environ.get("AS_NOBODY") and os.getuid() == 0:
    device.run([device.over(device.loop(shifted, "double", {"SHIFT": 9.0}), x.shape, (x, x))])
    njit(lambda x: x + 1)(1)  # imports everything: a start from the cache leaves out what only compiling needs
    os.setuid(65534)
    x[:] = 1.0
with event.install_recorder("numba:compile") as recorder:
    device.run([device.over(device.loop(shifted, "double", {"SHIFT": 3.0}), x.shape, (x, x))])
assert (x == 4.0).all()
print(len(recorder.buffer) > 0)
"""


def compiles(folder, **more):
    """Run a small program in a process of its own; tell whether it was compiled."""
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    environment = {**os.environ, "EAGRE_CACHE": str(folder), "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "", **more}
    done = subprocess.run([sys.executable, "-c", USE], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip() == "True"


@pytest.fixture
def no_home(monkeypatch, tmp_path):
    """A user's folder that cannot be, and a folder of temporary files."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("EAGRE_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@unix
def test_the_temporary_folder_belongs_to_the_user_alone(no_home):
    path = stored("a.py", "x = 1")
    assert path.read_text() == "x = 1" and path.parent == own_folder()
    assert path.parent.stat().st_mode & 0o777 == 0o700


@unix
@pytest.mark.parametrize("harm", ["open to others", "of another user", "a link", "a file"])
def test_a_folder_that_others_could_write_is_refused(no_home, monkeypatch, harm):
    folder = no_home / f"eagre-cache-{os.getuid()}"
    if harm == "a link":
        (no_home / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to("elsewhere")
    elif harm == "a file":
        folder.touch(mode=0o600)
    else:
        folder.mkdir(mode=0o700)
        (folder / "a.py").write_text("planted")
    if harm == "open to others":
        folder.chmod(0o770)
    if harm == "of another user":
        user = os.getuid() + 1
        monkeypatch.setattr(os, "getuid", lambda: user)
        folder.rename(no_home / f"eagre-cache-{user}")
    with pytest.raises(EagreError, match="export EAGRE_CACHE="):
        stored("a.py", "x = 1")


@pytest.mark.parametrize("text", ["", "x = 2", "x ="])
def test_a_program_with_another_text_is_written_anew(monkeypatch, tmp_path, text):
    monkeypatch.setenv("EAGRE_CACHE", str(tmp_path))
    (tmp_path / "a.py").write_text(text)
    assert stored("a.py", "x = 1").read_text() == "x = 1"


def test_what_was_cut_is_made_again(tmp_path):
    assert compiles(tmp_path)
    for ending, part in ((".nbi", 0.0), (".nbi", 0.5), (".nbc", 0.0), (".nbc", 0.5), (".pyc", 0.0), (".pyc", 0.5)):
        cut = list(tmp_path.rglob(f"*{ending}"))
        assert cut
        for path in cut:
            os.truncate(path, int(part * path.stat().st_size))
        assert compiles(tmp_path) == ending.startswith(".nb"), (ending, part)
    assert not compiles(tmp_path)


@unix
def test_a_warm_cache_that_is_read_only_is_used(tmp_path):
    folder, temporary = tmp_path / "cache", tmp_path / "temporary"
    temporary.mkdir()
    compiles(folder)
    if os.getuid() == 0:
        compiles(folder, AS_NOBODY="1", TMPDIR=str(temporary))
        temporary.chmod(0o777)
        for path in (tmp_path, *tmp_path.parents):
            if path == Path(tempfile.gettempdir()):
                break
            path.chmod(0o755)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    reader = {"AS_NOBODY": "1", "TMPDIR": str(temporary), "HOME": "/nowhere"}
    assert not compiles(folder, **reader)
    assert not list(temporary.iterdir())
    folder.chmod(0o755)
    for path in folder.rglob("*.py"):
        path.unlink()  # not warm any more
    folder.chmod(0o555)
    assert compiles(folder, **reader)
    [own] = temporary.iterdir()
    assert own.name.startswith("eagre-cache") and not compiles(folder, **reader)
    folder.chmod(0o755)
