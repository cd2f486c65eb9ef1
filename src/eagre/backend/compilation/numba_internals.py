"""Internal names of Numba and numba-cuda that Eagre uses, in one module.

These names are not public and may change with any release. They were tested with numba 0.62.0 and 0.68.1 and with
numba-cuda 0.30.4 (`make test-lowest` runs the lower bounds of pyproject.toml). If a name is missing, the code that uses
it falls back to Numba's own behaviour where that affects only speed (`rtsys`). `eagre.backend.cpu.compiler` also uses
the option `_nrt` of `njit`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from numba.core import caching, cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.errors import RequireLiteralValue
from numba.np.ufunc import parallel

try:
    from numba.core.runtime.nrt import rtsys
except ImportError:
    rtsys = None

__all__ = ["Compiler", "JITCodeLibrary", "RequireLiteralValue", "caching", "cgutils", "parallel", "rtsys"]

_CUDA = {
    "CUDACache": "numba.cuda.dispatcher",
    "CUDACodeLibrary": "numba.cuda.codegen",
    "cuda_cgutils": "numba.cuda.cgutils",
    "cuda_dispatcher": "numba.cuda.dispatcher",
}
"""Modules of the names of numba-cuda, which is optional."""


def __getattr__(name: str) -> Any:
    """Return a name of numba-cuda, imported at first use."""
    if name not in _CUDA:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_CUDA[name])
    return module if name.startswith("cuda_") else getattr(module, name)
