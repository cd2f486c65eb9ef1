"""Exit codes, and reports of errors.

====  ==============================================================
code  meaning
====  ==============================================================
0     ok
1     an internal error (a bug), or a benchmark, a validation or a member of a sweep failed
2     wrong usage or input
3     the solution blew up
4     the requested device is not available
5     the model does not fit the memory
6     output cannot be written (permission, full disk)
129   ended by SIGHUP (a closed terminal); same as 130
130   interrupted; a restart file was written if the run had begun
138   ended by SIGUSR1, which schedulers send before a time limit; same as 130
143   ended by SIGTERM, as sent by schedulers; same as 130
====  ==============================================================
"""

from __future__ import annotations

import signal
import traceback

from eagre.errors import BlowUpError, DeviceError, EagreError, InputError

OK, INTERNAL, BAD_INPUT, BLOW_UP, NO_DEVICE, NO_MEMORY, NO_OUTPUT, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 130
TERMINATED = 143
SIGNALLED = 128  # plus the number of a signal, as shells report it

EPILOG = (
    "Exit codes: 0 ok, 1 internal error or failed check, 2 wrong usage or input, 3 blow-up, 4 device missing, "
    "5 out of memory, 6 output cannot be written, 130 interrupted (restart file written); after "
    "other signals, also with a restart file: 129 SIGHUP, 138 SIGUSR1, 143 SIGTERM."
)


class OutputError(EagreError, OSError):
    """Output cannot be written to the requested path."""


class Terminated(KeyboardInterrupt):
    """The process received a signal that ends it, such as SIGTERM.

    Parameters
    ----------
    message : str
    number : int
        The signal.
    """

    def __init__(self, message: str = "", number: int = signal.SIGTERM) -> None:
        super().__init__(message)
        self.number = number


def code_of(error: BaseException) -> int:
    """Return the exit code of an error."""
    if isinstance(error, Terminated):
        return SIGNALLED + error.number
    for kind, code in (
        (KeyboardInterrupt, INTERRUPTED),
        (InputError, BAD_INPUT),
        (BlowUpError, BLOW_UP),
        (DeviceError, NO_DEVICE),
        (MemoryError, NO_MEMORY),
        (OSError, NO_OUTPUT),
    ):
        if isinstance(error, kind):
            return code
    return INTERNAL


def report(error: BaseException, *, debug: bool = False) -> int:
    """Print an error on standard error, with a traceback if `debug`, and return its exit code."""
    code = code_of(error)
    if debug:
        traceback.print_exception(error)
    from eagre.cli.support.console import error_console, highlighted

    console = error_console()
    text = _text(error, code)
    head = "interrupted" if isinstance(error, KeyboardInterrupt) else "error"
    head += f" by {signal.Signals(error.number).name}" if isinstance(error, Terminated) else ""
    console.print(highlighted(f"{head}: {text}" if text else head), soft_wrap=True)
    if code == INTERNAL and not debug and not isinstance(error, EagreError):  # a failed check is not a bug
        console.print(
            "This is a bug: run the command again with --debug and report the output.", style="dim", soft_wrap=True
        )
    return code


def is_usage(error: BaseException) -> bool:
    """Return whether an exception belongs to the command-line library (usage errors, exits)."""
    return type(error).__module__.partition(".")[0] in ("typer", "click")


def _text(error: BaseException, code: int) -> str:
    if isinstance(error, KeyboardInterrupt):
        return str(error)
    if isinstance(error, EagreError):
        return "\n".join([str(error), *getattr(error, "__notes__", ())])
    if code == NO_MEMORY:
        return f"out of memory {error}".strip() + '\nwrite:   a coarser grid, or precision = "single"'
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return "\n".join([f"{where}{error.strerror or error}", *getattr(error, "__notes__", ())])
    return f"{type(error).__name__}: {error}"
