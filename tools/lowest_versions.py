"""Print constraints that pin every direct dependency of pyproject.toml to its lower bound.

Usage: ``python tools/lowest_versions.py [EXTRA ...] > lowest.txt``, then ``pip install -c lowest.txt '.[EXTRA,...]'``.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*>=\s*(?P<lowest>[0-9][^,;\s]*)")


def lowest_versions(pyproject: str, extras: list[str]) -> list[str]:
    """Return a line ``name==version`` per direct dependency, those of the extras included.

    Raises
    ------
    ValueError
        If a requirement has no lower bound or an extra does not exist.
    """
    project = tomllib.loads(pyproject)["project"]
    optional = project["optional-dependencies"]
    if unknown := set(extras) - set(optional):
        raise ValueError(f"unknown extras {sorted(unknown)}; allowed: {sorted(optional)}")
    requirements = [*project["dependencies"], *(one for extra in extras for one in optional[extra])]
    matches = [(requirement, REQUIREMENT.fullmatch(requirement)) for requirement in requirements]
    if without := [requirement for requirement, match in matches if match is None]:
        raise ValueError(f"no lower bound in {without}")
    return [f"{match['name']}=={match['lowest']}" for _, match in matches if match]


if __name__ == "__main__":
    print("\n".join(lowest_versions(Path("pyproject.toml").read_text(encoding="utf-8"), sys.argv[1:])))
