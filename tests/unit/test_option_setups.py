"""Every option of every model's constructor, and every value of its choices, has a set-up that GPU tests run."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import eagre
from option_setups import ALL, SETUPS, changing_fields, stepped

NOT_OPTIONS = {"grid", "bed_elevation", "levels", "device", "precision", "start_time"}
CHOICES = re.compile(r"^ *(\w+) : \{([^}]*)\}", re.MULTILINE)


SIGNATURES = {kind: inspect.signature(getattr(eagre, kind)) for kind in SETUPS}


def recorder(given, values, signature):
    """An `__init__` that adds the names of its arguments to `given`, all values by name to `values`, and stops."""

    def record(self, *arguments, **named):
        bound = signature.bind(*arguments, **named)
        given.update(bound.arguments)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            values.setdefault(name, set()).add(str(value))
        raise InterruptedError

    return record


@pytest.mark.parametrize("kind", SETUPS)
def test_every_option_has_a_setup(kind, monkeypatch):
    given, values, wanted = set(), {}, set(SIGNATURES[kind].parameters) - NOT_OPTIONS
    monkeypatch.setattr(getattr(eagre, kind), "__init__", recorder(given, values, SIGNATURES[kind]))
    for make in SETUPS[kind].values():
        with pytest.raises(InterruptedError):
            make("cpu", "double")
    assert wanted - given == set()
    for option, text in CHOICES.findall(getattr(eagre, kind).__doc__):
        if option not in NOT_OPTIONS:
            assert {choice.strip().strip('"') for choice in text.split(",")} - values[option] == set(), option


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name", "precision"), ALL)
def test_setups_step(kind, name, precision):
    fields = changing_fields(stepped(kind, name, "cpu", precision))
    assert all(np.isfinite(values).any() for values in fields.values())
