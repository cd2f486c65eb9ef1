"""The tool that pins the states of tests/regression."""

from __future__ import annotations

import json

import pytest

import launch_record


def test_some_setups_are_not_pinned_on_another_machine(tmp_path, monkeypatch):
    """The machine of a file applies to all of its hashes."""
    pinned = tmp_path / "states.json"
    pinned.write_text(json.dumps({"machine": {"cpu": "another"}, "setups": {"other: default, double": {}}}))
    text = pinned.read_text()
    monkeypatch.setattr(launch_record, "PINNED", pinned)
    monkeypatch.setattr(launch_record, "small_setups", dict)
    with pytest.raises(SystemExit, match="another machine"):
        launch_record.pin("Barotropic")
    assert pinned.read_text() == text
