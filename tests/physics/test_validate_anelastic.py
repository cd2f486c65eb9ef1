"""Validations of the anelastic model: every number that its page claims."""

from __future__ import annotations

import pytest

from eagre.laboratory.validation import validate
from eagre.laboratory.validation.registry import validations


@pytest.mark.slow
@pytest.mark.parametrize("name", validations("anelastic"))
def test_every_case_passes(name, tmp_path, device):
    failed = [r.row() for r in validate("anelastic", [name], tmp_path, device) if not r.passed]
    assert failed == []
