"""The cache of compiled programs: what others could have put there is not run, what is cut is made again."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from eagre.backend.compilation.code_cache import stored, temporary_folder
from eagre.errors import EagreError, InputError

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
    assert path.read_text() == "x = 1" and path.parent == temporary_folder()
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


PLACES = ("folder", "program", "bytecode folder", "bytecode", "index", "code")


@pytest.fixture(scope="module")
def warm_cache(tmp_path_factory):
    """A cache of one program that was compiled with a umask that leaves the group its rights."""
    folder = tmp_path_factory.mktemp("warm") / "cache"
    mask = os.umask(0o002)
    try:
        assert compiles(folder)
    finally:
        os.umask(mask)
    return folder


def place_of(folder, place):
    """The path of a part of a cache."""
    [program] = folder.glob("eagre_program_*.py")
    if place in ("folder", "program"):
        return folder if place == "folder" else program
    if place == "bytecode folder":
        return folder / "__pycache__"
    ending = {"bytecode": ".pyc", "index": ".nbi", "code": ".nbc"}[place]
    [path] = (folder / "__pycache__").glob(f"{program.stem}.*{ending}")
    return path


def refusal(folder):
    """The message of a process that refuses to use a cache."""
    with pytest.raises(AssertionError) as caught:
        compiles(folder)
    assert "eagre.errors.InputError" in str(caught.value)
    return str(caught.value)


@unix
def test_a_new_cache_is_private_whatever_the_umask_is(warm_cache):
    assert not compiles(warm_cache)
    for path in (warm_cache, warm_cache / "__pycache__"):
        assert path.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o022 == 0 for path in warm_cache.rglob("*"))


@unix
@pytest.mark.parametrize(("place", "others"), [*((place, 0o002) for place in PLACES), ("folder", 0o020)])
def test_code_that_others_can_write_is_not_executed(warm_cache, place, others):
    path = place_of(warm_cache, place)
    modes = {one: one.stat().st_mode for one in (warm_cache, warm_cache / "__pycache__", path)}
    for one in (warm_cache, warm_cache / "__pycache__"):
        one.chmod(0o755)
    path.chmod(modes[path] | others)
    try:
        said = refusal(warm_cache)
    finally:
        for one, mode in modes.items():
            one.chmod(mode)
    assert "Other users can write a" in said and f"chmod -R go-w {path}" in said
    assert not compiles(warm_cache)


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives files to other users")
@pytest.mark.parametrize("place", PLACES)
def test_code_of_another_user_is_not_executed(warm_cache, place):
    path = place_of(warm_cache, place)
    os.chown(path, 65534, -1)
    try:
        said = refusal(warm_cache)
    finally:
        os.chown(path, 0, -1)
    assert f"{path}, which belongs to the user with ID 65534" in said
    assert not compiles(warm_cache)


@unix
def test_the_folder_of_another_user_is_refused_before_anything_is_written(monkeypatch, tmp_path):
    """Without root's rights: this process takes itself for another user."""
    folder = tmp_path / "cache"
    folder.mkdir()
    monkeypatch.setenv("EAGRE_CACHE", str(folder))
    user = (os.getuid() or 1000) + 1
    if os.getuid() == 0:
        os.chown(folder, 1000, -1)
    monkeypatch.setattr(os, "getuid", lambda: user)
    with pytest.raises(InputError, match="belongs to another user") as caught:
        stored("a.py", "x = 1")
    assert caught.value.fix == "export EAGRE_CACHE=/path/to/a/private/folder" and not list(folder.iterdir())


@unix
def test_a_link_to_a_folder_that_others_can_write_is_refused(monkeypatch, tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to("open")
    monkeypatch.setenv("EAGRE_CACHE", str(tmp_path / "link"))
    with pytest.raises(InputError, match="mode 0777"):
        stored("a.py", "x = 1")


@unix
def test_the_usual_folder_follows_the_folder_of_caches(monkeypatch, tmp_path):
    monkeypatch.delenv("EAGRE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    path = stored("a.py", "x = 1")
    assert path == tmp_path / "caches" / "eagre" / "programs" / "a.py"
    assert path.parent.stat().st_mode & 0o777 == 0o700


@unix
def test_kernels_of_a_gpu_have_the_same_checks(monkeypatch, tmp_path):
    """Numba-CUDA's index and data are pickles, too; no GPU is needed to find that they are not read."""
    pytest.importorskip("numba_cuda")
    from eagre.backend.compilation.program import imported

    program = tmp_path / "eagre_program_kernels.py"
    program.write_text(
        "from eagre.backend.cuda.compiler import double_driver, limited_driver, single_driver\n"
        + "\n".join(
            f"@{driver}\ndef kernel_{n}(x):\n    x[0] = 1\n"
            for n, driver in enumerate(("single_driver", "double_driver", "limited_driver(64)"))
        )
    )
    module = imported(program.stem, program)
    folder = tmp_path / "__pycache__"
    folder.chmod(0o755)
    for n in range(3):
        cache = getattr(module, f"kernel_{n}")._cache
        assert cache.cache_path == str(folder)
        index = folder / f"{cache._impl.filename_base}.nbi"
        index.write_bytes(b"planted")
        index.chmod(0o666)
        with pytest.raises(InputError, match="Other users can write a file"):
            cache.load_overload((), None)
        index.unlink()
    folder.chmod(0o777)
    with pytest.raises(InputError, match="Other users can write a folder"):
        module.kernel_0._cache.load_overload((), None)


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
