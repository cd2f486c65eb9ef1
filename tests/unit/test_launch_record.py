"""The tool that pins the states of tests/regression."""

from __future__ import annotations

import json

import launch_record


def test_a_pinned_setup_has_the_machine_of_its_hashes(tmp_path, monkeypatch):
    """Hashes of set-ups that are not pinned again stay those of the other machine."""
    other = {"machine": 0, "hashes": "of the other machine", "launches": "old"}
    pinned = tmp_path / "states.json"
    pinned.write_text(json.dumps({"machines": [{"cpu": "another"}], "setups": {"kept": other, "again": other}}))
    monkeypatch.setattr(launch_record, "PINNED", pinned)
    monkeypatch.setattr(launch_record, "small_setups", lambda: {"kept": None, "again": None, "new again": None})
    monkeypatch.setattr(launch_record, "shapes_record", lambda make: "new")
    monkeypatch.setattr(launch_record, "_pinned", lambda make: {"hashes": "of this machine", "launches": "new"})

    launch_record.pin("again", only_launches=True)
    found = json.loads(pinned.read_text())
    of_this = {"machine": 1, "hashes": "of this machine", "launches": "new"}
    assert found["setups"] == {"kept": other, "again": {**other, "launches": "new"}, "new again": of_this}
    assert found["machines"] == [{"cpu": "another"}, launch_record.machine()]

    launch_record.pin("again")
    assert json.loads(pinned.read_text())["setups"] == {"kept": other, "again": of_this, "new again": of_this}
    launch_record.pin("")
    found = json.loads(pinned.read_text())
    assert found["machines"] == [launch_record.machine()]
    assert {one["machine"] for one in found["setups"].values()} == {0}
