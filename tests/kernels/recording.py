"""A GPU that runs nothing and remembers what it was asked to run: every program of a model, with the types it gets."""

from __future__ import annotations

import inspect
import re

from eagre.backend.device import HostArrays, HostCall

ARITHMETIC = re.compile(r"\b(?:add|sub|mul|div|fma|sqrt|rcp|rsqrt|max|min|ex2|lg2)[\w.]*\.f64")


class RecordingDevice(HostArrays):
    """Arrays are NumPy arrays; `found` has a signature by program, which is generated for CUDA."""

    kind = "cuda"
    target = "cuda"
    name = "recording cuda"
    multiprocessors = 132

    def __init__(self):
        self.found = {}

    def run(self, launches):
        from numba import typeof

        for launch in launches:
            if not isinstance(launch, HostCall):
                self.found.setdefault(launch.program, tuple(typeof(value) for value in launch.arguments))

    def repeated(self, launches, times):
        self.run(launches)
        return lambda: None

    def free_memory(self):
        return 2**37


def name_of(program):
    """Name of the entry, or of the cell that a generated loop runs."""
    function = program.py_func
    if function.__name__ != "run":
        return function.__name__
    return re.findall(r"^ +(\w+)\(", inspect.getsource(function), re.MULTILINE)[-1]


def doubles_of(program, signature):
    """Double operations in the PTX of a program, and whether it keeps anything in local memory."""
    from eagre.backend.cuda import ptx

    text = ptx(program, signature)
    return len(ARITHMETIC.findall(text)), ".local" in text
