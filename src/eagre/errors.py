"""Exceptions of Eagre. Every message starts with a sentence that names the problem."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

_NAME_AND_VALUE = re.compile(r"(?P<name>[A-Za-z_][\w.]*(?:\[[^\]\n]*\][\w.]*)*) = ")
"""Start of a description such as ``courant_number = 3.0`` or ``output[1].file = "x"``."""


class EagreError(Exception):
    """Base class of all exceptions that Eagre raises deliberately."""


class InputError(EagreError, ValueError):
    """Invalid value, file or combination of options.

    Parameters
    ----------
    what : str
        Value or input that was got: ``"courant_number = 3.0"``.
    allowed : str, optional
        Description of the allowed values: ``"a number in (0, 1]"``.
    fix : str, optional
        Example of a valid line: ``"courant_number = 0.25"``.
    problem : str, optional
        Full sentence that states the problem: ``"The Courant number exceeds the stability limit."``
        The default is ``"The value of NAME is not allowed."`` if `what` has the form ``NAME = VALUE``.
    """

    def __init__(self, what: str, *, allowed: str = "", fix: str = "", problem: str = "") -> None:
        problem = problem or _default_problem(what)
        self.what, self.allowed, self.fix, self.problem = what, allowed, fix, problem
        lines = [problem] if problem else []
        lines.append(f"got {what}")
        if allowed:
            lines.append(f"allowed: {allowed}")
        if fix:
            lines.append("write:   " + fix.replace("\n", "\n         "))
        super().__init__("\n".join(lines))


def _default_problem(what: str) -> str:
    """Return a sentence that names the argument of ``NAME = VALUE``, or an empty string for another description."""
    match = _NAME_AND_VALUE.match(what)
    return f"The value of {match['name']} is not allowed." if match else ""


class DeviceError(EagreError, RuntimeError):
    """The requested device is not available or does not support the requested operation."""


class MemoryNeededError(EagreError, MemoryError):
    """The model does not fit into the memory of the device.

    Parameters
    ----------
    needed, free : int
        Required and free memory, bytes.
    device : str
        Name of the device.
    """

    def __init__(self, needed: int, free: int, device: str) -> None:
        self.needed, self.free, self.device = needed, free, device
        super().__init__(
            f"The model needs {needed / 2**30:.2f} GiB of memory, but {device} has {free / 2**30:.2f} GiB free.\n"
            'try:     a coarser grid, precision = "single", or a device with more memory'
        )


class BlowUpError(EagreError, ArithmeticError):
    """The solution contains NaN or infinity, or exceeds the plausible range of the case.

    Attributes
    ----------
    time : float
        Model time of the first invalid step, s.
    cell : tuple of int
        Index (j, i) or (k, j, i) of the first invalid cell.
    what : str
        Description of the invalid value.
    restart : str or None
        Path of the restart file with the last valid state, if one was written.
    advice : str
        Possible remedies.
    """

    def __init__(
        self,
        time: float,
        cell: tuple[int, ...],
        what: str,
        restart: str | None = None,
        advice: str = "a smaller courant_number, a check of the bed and the boundary values near that cell",
    ) -> None:
        self.time, self.cell, self.what, self.restart, self.advice = time, cell, what, restart, advice
        indices = ", ".join(("k", "j", "i")[-len(cell) :])
        message = f"The solution blew up at t = {time:.6g} s in cell ({indices}) = {cell}: {what}."
        if restart:
            message += f"\nlast valid state: {restart}"
        message += f"\ntry:     {advice}"
        super().__init__(message)


class ConvergenceError(EagreError, ArithmeticError):
    """An iterative solver did not converge to the tolerance.

    Attributes
    ----------
    iterations : int
        Number of completed iterations.
    norm : float
        Norm after the last iteration.
    wanted : float
        Tolerance of the norm.
    """

    def __init__(self, iterations: int, norm: float, wanted: float, advice: str | None = None) -> None:
        self.iterations, self.norm, self.wanted = iterations, norm, wanted
        advice = advice or "more iterations, a larger tolerance, or a shorter time step"
        super().__init__(
            f"The iteration did not converge: the norm is {norm:.3g} after {iterations} iterations.\n"
            f"allowed: up to {wanted:.3g}\ntry:     {advice}"
        )


def do_all(actions: Iterable[Callable[[], object]]) -> None:
    """Call every action, including the actions after one that raises `OSError`.

    Raises
    ------
    OSError
        First exception; the messages of later exceptions are added as notes.
    """
    first: OSError | None = None
    for action in actions:
        try:
            action()
        except OSError as error:
            if first is None:
                first = error
            else:
                first.add_note(str(error))
    if first is not None:
        raise first
