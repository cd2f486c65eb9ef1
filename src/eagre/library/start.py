"""Start of the Python side of the C library, called by the generated C source."""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from pathlib import Path

from eagre.errors import InputError


def libpython() -> Path:
    """Return the path of the shared library of this interpreter.

    Raises
    ------
    InputError
        If the interpreter is linked statically and has no shared library.
    """
    version = sysconfig.get_config_var("LDVERSION") or f"{sys.version_info[0]}.{sys.version_info[1]}"
    folders = (sysconfig.get_config_var("LIBDIR") or "", f"{sys.base_prefix}/lib")
    for folder in map(Path, folders):
        if libraries := sorted(folder.glob(f"libpython{version}.so*")):
            return libraries[-1]
    raise InputError(
        f"{sys.executable}, without libpython{version}.so in {' or '.join(folders)}",
        allowed="a Python built with --enable-shared; "
        f"Debian: apt install libpython{version}; pyenv: PYTHON_CONFIGURE_OPTS=--enable-shared",
        fix="EAGRE_PYTHON=/usr/bin/python3",
        problem="The Python interpreter has no shared library.",
    )


def fill(table: int, known: int) -> None:
    """Write the addresses of the functions into the table of a C library with the digest `known` of its declarations.

    Raises
    ------
    InputError
        If the declarations of this version of Eagre differ.
    """
    from eagre.library.calls import functions
    from eagre.library.signatures import digest

    if known != digest():
        raise InputError(
            "a libeagre.so of another version of Eagre", allowed="the library that this version writes",
            fix="eagre library FOLDER --overwrite", problem="The C library and the Python package do not match.",
        )  # fmt: skip
    addresses = [ctypes.cast(one, ctypes.c_void_p).value for one in functions()]
    (ctypes.c_void_p * len(addresses)).from_address(table)[:] = addresses


def serve(table: int, known: int, ready: int, wait: int) -> None:
    """Fill the table, call the C function `ready`, and then `wait`, which returns when the library stops."""
    fill(table, known)
    for address in (ready, wait):
        ctypes.CFUNCTYPE(None)(address)()
