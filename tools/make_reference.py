"""Generate the pages of docs/reference, and the stubs of lazy packages, from the declarations in the source.

Usage: ``python tools/make_reference.py`` writes the files; ``--check`` only compares, and exits with 1 if one is stale.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

import reference_case
import reference_cli
import reference_layouts
import reference_python
import reference_stubs

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "docs/reference/case-file.md": reference_case.page,
    **{f"docs/reference/case-{name}.md": partial(reference_case.model_page, name) for name in reference_case.KINDS},
    "docs/reference/command-line.md": reference_cli.page,
    "docs/development/layouts.md": reference_layouts.page,
    "docs/reference/python.rst": reference_python.page,
    **{place: partial(reference_stubs.stub, package) for place, package in reference_stubs.PLACES.items()},
}


def is_current(name: str) -> bool:
    """Return whether a file in the repository is up to date."""
    path = ROOT / name
    return path.exists() and path.read_text(encoding="utf-8") == PAGES[name]()


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or check them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare; exit code 1 if a file is stale")
    if parser.parse_args(arguments).check:
        stale = [name for name in PAGES if not is_current(name)]
        print(f"stale: {', '.join(stale)}; write: make reference" if stale else "the reference is current")
        return 1 if stale else 0
    for name, page in PAGES.items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(), encoding="utf-8")
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
