"""Compile worker (see `parallel`): compiles jobs and prints the name of each completed program."""

from __future__ import annotations

import pickle
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from eagre.backend.compilation.program import imported


def serve() -> None:
    """Compile the jobs of standard input in order, until it is closed."""
    with suppress(ImportError):  # before the first job: it takes a second
        import_module("eagre.backend.cuda.compiler")
    with suppress(EOFError):
        while True:
            for job in pickle.load(sys.stdin.buffer):
                getattr(imported(job.module, Path(job.path)), job.function).compile(job.types)
                print(job.module, flush=True)


if __name__ == "__main__":
    serve()
