"""``eagre library``: files, messages and errors."""

from __future__ import annotations

import pytest

from eagre.library import start


@pytest.fixture(autouse=True)
def no_compiler(monkeypatch, tmp_path):
    """An interpreter with a shared library, on a machine without a C compiler."""
    monkeypatch.setattr(start, "libpython", lambda: tmp_path / "libpython.so")
    monkeypatch.setenv("PATH", str(tmp_path))


def test_files_and_the_line_to_compile(eagre, tmp_path):
    folder = tmp_path / "new" / "library"
    done = eagre("library", folder)
    assert done.code == 0, done.err
    assert sorted(path.name for path in folder.iterdir()) == ["eagre.c", "eagre.f90", "eagre.h"]
    assert f"wrote {folder}/eagre.h" in done.out
    assert f"Compile with: cc -O2 -shared -fPIC -o {folder}/libeagre.so {folder}/eagre.c" in done.out
    assert f"-L{folder} -leagre" in done.out


def test_existing_files_are_kept(eagre, tmp_path):
    (tmp_path / "eagre.c").write_text("own")
    done = eagre("library", tmp_path)
    assert done.code == 2 and "eagre.c" in done.err and "--overwrite" in done.err
    assert (tmp_path / "eagre.c").read_text() == "own" and not (tmp_path / "eagre.h").exists()
    assert eagre("library", tmp_path, "--overwrite").code == 0
    assert "eagre_stop" in (tmp_path / "eagre.c").read_text()


def test_failing_compiler_is_an_error(eagre, tmp_path, monkeypatch):
    compiler = tmp_path / "broken"
    compiler.write_text("#!/bin/sh\necho no headers >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    done = eagre("library", tmp_path / "library")
    assert done.code == 2 and "The C compiler failed." in done.err and "no headers" in done.err


def test_folder_that_is_a_file(eagre, tmp_path):
    (tmp_path / "file").write_text("")
    assert eagre("library", tmp_path / "file").code in (2, 6)
