"""Write the pages of docs/reference from the declarations in the source.

Usage: ``python tools/make_reference.py`` writes the pages; ``--check`` only compares, and exits with 1 if one is stale.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import reference_case
import reference_cli
import reference_layouts
import reference_python

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
PAGES = {
    "case-file.md": reference_case.page,
    "command-line.md": reference_cli.page,
    "layouts.md": reference_layouts.page,
    "python.md": reference_python.page,
}


def is_current(name: str) -> bool:
    """Tell whether the page in the repository is what the source gives."""
    path = FOLDER / name
    return path.exists() and path.read_text(encoding="utf-8") == PAGES[name]()


def main(arguments: list[str] | None = None) -> int:
    """Write the pages, or compare them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare; exit code 1 if a page is stale")
    if parser.parse_args(arguments).check:
        stale = [name for name in PAGES if not is_current(name)]
        print(f"stale: {', '.join(stale)}; write: make reference" if stale else "the reference is current")
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
        print(f"wrote {FOLDER / name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
