"""What compilers make of programs: of all that a model asks a GPU to run (which runs nothing), and of one on a CPU."""

from __future__ import annotations

import inspect
import re

from eagre.backend.device import HostArrays, HostCall

ARITHMETIC = re.compile(r"\b(?:add|sub|mul|div|fma|sqrt|rcp|rsqrt|max|min|ex2|lg2)[\w.]*\.f64")


class RecordingDevice(HostArrays):
    """Arrays are NumPy arrays; `found` has a signature by program, which is generated for CUDA.

    facts : what the card has; without them it is an H200.
    """

    kind = "cuda"
    target = "cuda"
    name = "recording cuda"

    def __init__(self, facts=None):
        self.found = {}
        self._facts = facts or super().properties
        self.multiprocessors = self._facts.multiprocessors

    @property
    def properties(self):
        return self._facts

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
    from eagre.backend.cuda.compiler import ptx

    text = ptx(program, signature)
    return len(ARITHMETIC.findall(text)), ".local" in text


def ir_of(launch):
    """Optimised LLVM IR of a CPU program for the arguments of a launch; compiled anew, which runs it once."""
    program = launch.program
    fresh = type(program)(program.py_func, targetoptions=dict(program.targetoptions))
    fresh(*launch.arguments)
    return "\n".join(fresh.inspect_llvm().values())


def vectors_of(text, operation):
    """How many operations, fmul or fadd, are on four or more numbers of single precision at once."""
    return len(re.findall(rf"= {operation} (?:\w+ )*<(?:4|8|16) x float>", text))


def scattered_of(text):
    """How many gathers and scatters: vectors whose numbers do not lie side by side for all that the compiler knows."""
    return len(re.findall(r"call[^\n]*@llvm\.masked\.(?:gather|scatter)", text))


def loops_of(text):
    """(products of vectors, gathers and scatters) of every block of code that has such products."""
    blocks = re.split(r"\n(?=[A-Za-z.0-9_]+:)", text)
    return [(vectors_of(block, "fmul"), scattered_of(block)) for block in blocks if vectors_of(block, "fmul")]
