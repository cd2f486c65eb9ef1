"""Errors that say what was got, what is allowed and the line to write."""

from __future__ import annotations

from collections.abc import Callable, Iterable


class EagreError(Exception):
    """Base of every error that Eagre raises on purpose."""


class InputError(EagreError, ValueError):
    """A value, file or combination of options cannot be used.

    Parameters
    ----------
    what : str
        What was got, in words: ``"courant_number = 3.0"``.
    allowed : str, optional
        What is allowed: ``"a number in (0, 1]"``.
    fix : str, optional
        The line to write: ``"courant_number = 0.25"``.
    problem : str, optional
        A full sentence that says what is wrong: ``"The Courant number exceeds the stability limit."``
    """

    def __init__(self, what: str, *, allowed: str = "", fix: str = "", problem: str = "") -> None:
        self.what, self.allowed, self.fix, self.problem = what, allowed, fix, problem
        lines = [problem] if problem else []
        lines.append(f"got {what}")
        if allowed:
            lines.append(f"allowed: {allowed}")
        if fix:
            lines.append("write:   " + fix.replace("\n", "\n         "))
        super().__init__("\n".join(lines))


class DeviceError(EagreError, RuntimeError):
    """The device that was asked for is not there, or cannot do what was asked."""


class MemoryNeededError(EagreError, MemoryError):
    """The model does not fit the memory of the device."""

    def __init__(self, needed: int, free: int, device: str) -> None:
        self.needed, self.free, self.device = needed, free, device
        super().__init__(
            f"the model needs {needed / 2**30:.2f} GiB and {device} has {free / 2**30:.2f} GiB free\n"
            'write:   a coarser grid, precision = "single", or a device with more memory'
        )


class BlowUpError(EagreError, ArithmeticError):
    """The solution stopped being finite, or left what the water of the case can reach.

    Attributes
    ----------
    time : float
        Model time of the first bad step, s.
    cell : tuple of int
        (j, i), or (k, j, i), of the first bad cell.
    restart : str or None
        Path of the last good restart file, if one was written.
    advice : str
        What to try.
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
        message = f"the solution blew up at t = {time:.6g} s in cell ({indices}) = {cell}: {what}"
        if restart:
            message += f"\nthe last good state is in {restart}"
        message += f"\ntry:     {advice}"
        super().__init__(message)


class ConvergenceError(EagreError, ArithmeticError):
    """An iteration did not reach the norm that was wanted.

    Attributes
    ----------
    iterations : int
    norm : float
        After the last of them.
    wanted : float
    """

    def __init__(self, iterations: int, norm: float, wanted: float, advice: str | None = None) -> None:
        self.iterations, self.norm, self.wanted = iterations, norm, wanted
        advice = advice or "more iterations, a larger tolerance, or a shorter time step"
        super().__init__(
            f"a norm of {norm:.3g} after {iterations} iterations\nallowed: up to {wanted:.3g}\ntry:     {advice}"
        )


def do_all(actions: Iterable[Callable[[], object]]) -> None:
    """Do every action, also after one that raises an `OSError`: one lost file does not stop the others.

    Raises
    ------
    OSError
        The first one, with the messages of the others as notes.
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
