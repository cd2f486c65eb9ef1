"""The tour of the source names files, folders, functions and classes that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOUR = (ROOT / "docs" / "development" / "tour.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([a-z_0-9]+(?:/[a-z_0-9]+)*(?:/[a-z_0-9]+\.py)(?:::\w+)?)`", TOUR)))


@pytest.mark.parametrize("place", NAMED)
def test_the_tour_names_what_exists(place):
    path, _, name = place.partition("::")
    source = (ROOT / "src" / "eagre" / path).read_text(encoding="utf-8")
    assert not name or re.search(rf"^(def|class) {name}\b", source, re.MULTILINE)


def test_the_tour_names_every_folder():
    folders = {path.parent.name for path in (ROOT / "src" / "eagre").glob("*/__init__.py")}
    assert folders - set(re.findall(r"`(\w+)`", TOUR)) == set()
    assert len(NAMED) > 25
