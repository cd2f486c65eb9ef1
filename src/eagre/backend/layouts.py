"""Layouts of GPU kernels: the table that is in use on a card, from a measured one, rules, and the user's own.

A card that was measured has a table in `eagre/layouts`. Another gets values by rules from what it has. A user's file
replaces single values: the one that ``EAGRE_LAYOUTS`` names, else the card's own in the user's data folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from eagre.errors import InputError
from eagre.layouts import table
from eagre.layouts.declared import PARAMETERS
from eagre.layouts.facts import Facts
from eagre.layouts.store import Measured, Use


class Shipped(NamedTuple):
    """What a stored table has for some runs only, and the table's name."""

    name: str = ""
    entries: tuple[Measured, ...] = ()

    def serving(self, use: Use) -> list[Measured]:
        """Entries for runs like this: of the same model, scheme, precision and class of size."""
        return [one for one in self.entries if one.serves(use)]


class Layouts:
    """Values of all parameters on one card.

    Attributes
    ----------
    facts : Facts
    values : dict
        By key, for all runs.
    source : str
        Where they are from.
    own : frozenset of str
        Keys that the user's table gives: nothing else changes them.
    shipped : Shipped
        What some runs take instead.
    """

    def __init__(
        self, facts: Facts, values: dict[str, Any], source: str, own: frozenset[str] = frozenset(),
        shipped: Shipped = Shipped(),  # noqa: B008 (it cannot be changed)
    ) -> None:  # fmt: skip
        self.facts, self.values, self.source, self.own, self.shipped = facts, values, source, own, shipped
        self._kernels: dict[str, SimpleNamespace] = {}

    def of(self, kernel: str) -> SimpleNamespace:
        """Parameters of a kernel, "solver:poisson.columns", as attributes."""
        if kernel not in self._kernels:
            start = f"{kernel}."
            keys = (key for key in self.values if key.rpartition(".")[0] == kernel)
            own = {key[len(start) :]: self.values[key] for key in keys}
            if not own:
                raise KeyError(kernel)
            self._kernels[kernel] = SimpleNamespace(**own)
        return self._kernels[kernel]

    def over(self, values: Mapping[str, Any], source: str) -> Layouts:
        """These with other values, but for those of the user's own table.

        Raises
        ------
        InputError
            For values that the card cannot have.
        """
        more = {key: value for key, value in values.items() if key not in self.own}
        _check_fits(more, self.facts, source)
        return Layouts(self.facts, {**self.values, **more}, source, self.own, self.shipped)


@cache
def reference() -> tuple[Facts, dict[str, Any]]:
    """The card whose measured values the rules start from, and these; with those of CPUs."""
    found = table.checked_table(table.stored(table.REFERENCE), table.REFERENCE)
    on_cpu = table.checked_table(table.stored(table.CPU), table.CPU)
    return table.facts_of(found.device), {**found.values, **on_cpu.values}


def usual_registers(precision: str) -> int:
    """Registers a thread of kernels that set no limit of their own, on the reference."""
    return reference()[1]["programs.registers"][precision]


def by_rules(card: Facts) -> dict[str, Any]:
    """Values for a card that nobody measured."""
    on, values = reference()
    return {key: PARAMETERS[key].rule(card, value, on) for key, value in values.items()}


def slug(name: str) -> str:
    """The name of a card as file names have it: NVIDIA H200, nvidia-h200."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def stored_for(card: Facts) -> str | None:
    """Name of the measured table of a card; a part of a card, and another card of the same name, have none."""
    for name in table.stored_names():
        device = table.checked_table(table.stored(name), name).device
        alike = (device["multiprocessors"], tuple(device["compute_capability"]))
        own = f"{slug(card.name)}-".startswith(f"{slug(device['name'])}-")
        if own and alike == (card.multiprocessors, card.compute_capability):
            return name
    return None


def user_file(card: Facts) -> Path | None:
    """The user's own table for a card, if there is one.

    Raises
    ------
    InputError
        If ``EAGRE_LAYOUTS`` names a file that is not there.
    """
    chosen = os.environ.get("EAGRE_LAYOUTS")
    if chosen:
        path = Path(chosen).expanduser()
        if not path.is_file():
            raise InputError(
                f"EAGRE_LAYOUTS={chosen}, which is not a file", allowed="a JSON table of launch parameters",
                problem="The file named by EAGRE_LAYOUTS does not exist.",
            )  # fmt: skip
        return path
    home = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    path = home / "eagre" / "layouts" / f"{slug(card.name)}.json"
    return path if path.is_file() else None


def layouts_of(card: Facts) -> Layouts:
    """The layouts in use on a card; files are read once, and again when they have changed."""
    path = user_file(card)
    return _layouts_of(card, path, path.stat().st_mtime_ns if path else 0)


@cache
def _layouts_of(card: Facts, path: Path | None, _changed: int) -> Layouts:
    name, values = stored_for(card), by_rules(card)
    own: dict[str, Any] = {}
    source, shipped = "rules, which give the values of the H200" if values == reference()[1] else "rules", Shipped()
    if name is not None:
        stored = table.checked_table(table.stored(name), name)
        shipped = Shipped(name, stored.by_use)
        values, source = {**values, **stored.values}, name if stored.values else source
    if path is not None:
        given = table.read_table(path)
        if slug(given.device.get("name", card.name)) == slug(card.name):
            own = given.values
            _check_fits(own, card, str(path))
            values, source = {**values, **own}, f"{path} ({len(own)} values), then {source}"
    return Layouts(card, values, source, frozenset(own), shipped)


def _check_fits(values: dict[str, Any], card: Facts, name: str) -> None:
    """Refuse values that the card cannot have."""
    for key, value in values.items():
        problem = PARAMETERS[key].fits(value, card)
        if problem:
            parts = f"{card.registers} registers and {card.shared_block} bytes of shared memory per block"
            raise InputError(
                f"{name}: {key}: {problem}", allowed=f"the limits of {card.name}: {parts}",
                problem="The launch parameters exceed the limits of the device.",
            )  # fmt: skip
