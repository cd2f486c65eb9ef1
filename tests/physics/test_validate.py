"""`validate` runs models and writes its report."""

from __future__ import annotations

import pytest

from eagre.laboratory.validation import validate
from eagre.laboratory.validation.registry import validations
from physics.test_monai import needs_monai_data


def test_a_few_cases_pass_and_are_written(tmp_path, device):
    results = validate("shallow-water", ["lake-bump", "ritter"], tmp_path, device, "double")
    assert [r.row() for r in results if not r.passed] == []
    assert {p.name for p in tmp_path.iterdir()} == {"validation.csv", "validation.md", "ritter-double.png"}
    assert all(r.precision == "double" for r in results)


@pytest.mark.slow
@pytest.mark.parametrize("name", validations("shallow-water"))
def test_every_case_passes(name, tmp_path, device):
    if name == "monai":
        needs_monai_data()
    failed = [r.row() for r in validate("shallow-water", [name], tmp_path, device) if not r.passed]
    assert failed == []
