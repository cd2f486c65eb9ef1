"""Options that are declared once: constructors have the declared arguments and check them by the declaration."""

from __future__ import annotations

import inspect
import math
from dataclasses import fields, is_dataclass
from typing import Annotated, Literal

import pytest
from pydantic import Field

import eagre
from eagre.config.options import Range, attributes, checked, declaration, declared
from eagre.config.problems import Problems
from eagre.config.section import Section, case_key, check, elements_of
from eagre.config.values.types import PositiveSeconds
from eagre.errors import InputError
from eagre.models.barotropic import options as barotropic
from eagre.models.shallow_water import options as shallow_water
from eagre.models.shallow_water_adi import options as shallow_water_adi

DECLARATIONS = {
    "BarotropicVorticity": (barotropic.Boundaries, barotropic.Numerics, barotropic.Physics),
    "ShallowWater": (shallow_water.Numerics,),
    "ShallowWaterADI": (shallow_water_adi.Numerics,),
}


def plain_types(hint):
    """Types without metadata; a choice is a string."""
    return {one if isinstance(one, type) else str for one in elements_of(hint) if isinstance(one, str | type)}


def differences(signature, kinds):
    """Names of the options whose argument is missing, or has another default or type."""
    defaults = {field.name: field.default for kind in kinds for field in fields(kind)}
    for name, hint in declared(*kinds).items():
        argument = signature.parameters.get(name)
        required = argument is not None and argument.default is inspect.Parameter.empty
        if argument is None or required != (repr(defaults[name]).startswith("<dataclasses._MISSING")):
            yield name
        elif not required and argument.default != defaults[name]:
            yield name
        elif not plain_types(eval(argument.annotation)) >= plain_types(hint):
            yield name


@pytest.mark.parametrize("kind", DECLARATIONS)
def test_the_constructor_has_the_declared_arguments(kind):
    assert list(differences(inspect.signature(getattr(eagre, kind)), DECLARATIONS[kind])) == []


def test_every_declaration_is_compared():
    """All declarations that modules of models contain."""
    modules = (barotropic, shallow_water, shallow_water_adi)
    values = [(module, value) for module in modules for value in vars(module).values()]
    found = [value for module, value in values if is_dataclass(value) and value.__module__ == module.__name__]
    assert {*found} == {one for kinds in DECLARATIONS.values() for one in kinds}


@declaration
class Scheme:
    time_step: Annotated[PositiveSeconds, case_key("the time step", "20 s"), Range(1e-9, 1e9)]
    kind: Annotated[Literal["fast", "slow"], case_key("fast or slow")] = "fast"
    radius: Annotated[Annotated[float, Field(gt=0.0)] | None, case_key("radius", 3.0)] = None
    friction: Annotated[float, case_key("friction", 0.1, ge=0.0)] = 0.0
    slope: float = 0.0
    count: Annotated[int, case_key("count", 3, ge=1, le=9)] = 2
    flag: bool = False


class SchemeSection(Section, Scheme):
    """A scheme."""


GOOD = {"time_step": 1.0, "kind": "slow", "radius": None, "friction": 0.0, "slope": -1.0, "count": 2, "flag": True}


def test_differences_are_noticed():
    def wrong(time_step: float = 1.0, kind: str = "slow", friction: str = 0.0, *, slope: float = 0.0): ...  # type: ignore[assignment]

    signature = inspect.signature(wrong)
    assert list(differences(signature, (Scheme,))) == ["time_step", "kind", "radius", "friction", "count", "flag"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time_step": 0.0}, "got time_step = 0.0\nallowed: a number from 1e-09 to 1e+09"),
        ({"time_step": None}, "got time_step = None\nallowed: a number from 1e-09 to 1e+09"),
        ({"kind": "fas"}, "got kind = 'fas'\nallowed: 'fast', 'slow'\nwrite:   kind = \"fast\""),
        ({"radius": 0.0}, "got radius = 0.0\nallowed: a finite number > 0"),
        ({"friction": -1.0}, "got friction = -1.0\nallowed: a finite number >= 0"),
        ({"slope": math.inf}, "got slope = inf\nallowed: a finite number"),
        ({"slope": "steep"}, "got slope = 'steep'\nallowed: a finite number"),
        ({"count": 10}, "got count = 10\nallowed: an integer from 1 to 9"),
    ],
)
def test_messages_of_a_constructor(change, message):
    assert checked(GOOD | {"grid": None}, Scheme) == GOOD
    with pytest.raises(InputError) as caught:
        checked(GOOD | change, Scheme)
    name = next(iter(change))
    assert str(caught.value) == f"The value of {name} is not allowed.\n{message}"


def test_a_section_has_the_options_as_keys():
    section = check(SchemeSection, {"time_step": "20 s", "radius": 2.0})
    assert section.model_dump() == {
        **GOOD,
        "time_step": 20.0,
        "kind": "fast",
        "radius": 2.0,
        "slope": 0.0,
        "flag": False,
    }
    with pytest.raises(Problems) as caught:
        check(SchemeSection, {"time_step": 0.0, "radius": -1.0, "kind": "slaw", "friktion": 1.0})
    found = {one.key[0]: (one.allowed, one.fix) for one in caught.value.problems}
    assert found["time_step"] == ("greater than 0 (the time step)", 'time_step = "20 s"')
    assert found["radius"] == ("greater than 0 (radius)", "radius = 3.0")
    assert found["kind"] == ("fast, slow", 'kind = "slow"')
    assert found["friktion"][1] == "friction = 1.0"


def test_attributes_are_numbers_and_strings():
    assert attributes(Scheme(time_step=1.0, flag=True), Scheme) == {
        **{"time_step": 1.0, "kind": "fast", "friction": 0.0, "slope": 0.0, "count": 2, "flag": 1},
    }
