"""Validation cases with a reference, and their report: `eagre validate` on the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from eagre.errors import InputError
from eagre.laboratory.validation.result import PRECISIONS, Result, Setting, Validation, write_report


def validations(kind: str) -> dict[str, Validation]:
    """Return the validations of a model by name, in the order of execution.

    Raises
    ------
    InputError
        If there are none for `kind`.
    """
    if kind == "shallow-water":
        from eagre.laboratory.validation.shallow_water import FLOWS, WAVES

        return {**FLOWS, **WAVES}
    if kind == "shallow-water-adi":
        from eagre.laboratory.validation.shallow_water_adi import BESIDE, IMPLICIT, ROTATION

        return {**IMPLICIT, **ROTATION, **BESIDE}
    if kind == "barotropic":
        from eagre.laboratory.validation.barotropic import BAROTROPIC

        return dict(BAROTROPIC)
    if kind == "potential-waves":
        from eagre.laboratory.validation.potential_waves import BEDS, REGULAR, STANDING

        return {**STANDING, **REGULAR, **BEDS}
    if kind == "anelastic":
        from eagre.laboratory.validation.anelastic import ANELASTIC

        return dict(ANELASTIC)
    allowed = '"shallow-water", "shallow-water-adi", "barotropic", "potential-waves", "anelastic"'
    problem = "There is no validation of this model."
    raise InputError(f"validation of {kind!r}", allowed=allowed, fix="eagre validate shallow-water", problem=problem)


def validate(
    kind: str,
    names: Sequence[str] | None = None,
    output_dir: str | Path | None = None,
    device: Any = "auto",
    precision: str | None = None,
    on_result: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Run validation cases and write a report.

    Parameters
    ----------
    kind : str
        Model: ``"shallow-water"``, ``"shallow-water-adi"``, ``"barotropic"``, ``"potential-waves"`` or ``"anelastic"``.
    names : sequence of str, optional
        Names of `validations`; all by default.
    output_dir : path, optional
        Folder for ``validation.csv``, ``validation.md`` and the pictures; without it no files are written.
    device : str
        Device of the model.
    precision : str, optional
        ``"single"`` or ``"double"``; both by default.
    on_result : callable, optional
        Called with each `Result` when it is available.

    Returns
    -------
    list of Result
        Check ``all(result.passed for result in results)``.

    Raises
    ------
    InputError
        For unknown models, names and precisions, and if the data of a named case are not found; without names such a
        case is reported as not run.
    """
    known = validations(kind)
    chosen = list(known) if names is None else list(names)
    for name in chosen:
        if name not in known:
            first = next(iter(known))
            fix = f"eagre validate {kind} --case {first}"
            problem = "The validation case does not exist."
            raise InputError(f"validation case {name!r}", allowed=", ".join(known), fix=fix, problem=problem)
    if precision is not None and precision not in PRECISIONS:
        raise InputError(f"precision = {precision!r}", allowed=", ".join(PRECISIONS), fix='precision = "double"')
    folder = None if output_dir is None else Path(output_dir)
    setting = Setting(device, PRECISIONS if precision is None else (precision,), folder, names is not None)
    results: list[Result] = []
    for name in chosen:
        for result in known[name].results(name, setting):
            results.append(result)
            if on_result is not None:
                on_result(result)
    if folder is not None:
        write_report(folder, results, f"Validation of {kind} on {device}", setting.pictures)
    return results
