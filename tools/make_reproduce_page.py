"""Make docs/reference/reproduce.md from reports: python tools/make_reproduce_page.py FOLDER...

Each folder is the output of `eagre reproduce PAPER --output FOLDER`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "reproduce.md"
INTRODUCTION = """\
# Reproduced tables and figures

The models of Eagre follow five papers. `eagre reproduce` repeats their tables and figures on your machine and compares
the numbers. This page is the result of one run per paper on a CPU, with the default options:

```console
eagre reproduce bleichrodt2011 --output report
```

The column "outcome" has these values:

| outcome | meaning | failure |
|---|---|---|
| exact | a number that follows from formulas: equal after rounding to the printed digits | not equal |
| holds | an order, a ranking, a bound or a behaviour | outside the limits of the item |
| explained | a known difference, with its reason or a note that it is unknown | outside the limits of the item |
| compared | a time or a speed of other hardware; quotient: printed time divided by the time of Eagre | never |
| misprint | the paper contradicts itself; the corrected number is compared | not equal to the corrected number |
| not run | the item needs a GPU or more time; the note has the stored result of a GPU if available | never |

The machine had two cores. The runs took 1.2 to 3.1 min per paper, from an empty program cache.

The curves of the figures are not available as numbers. A figure is repeated where its text or caption states numbers.
"""


def section(markdown: str) -> str:
    """Return the Markdown of a paper as a section of the page, without pictures."""
    text = "\n".join(line for line in markdown.splitlines() if not line.startswith("!["))
    text = re.sub(r"^## ", "### ", text, flags=re.M)
    text = re.sub(r"^# Tables and figures of ", "## ", text, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def main() -> None:
    """Write the page from the folders of the command line."""
    papers = [(Path(folder) / "reproduce.md").read_text(encoding="utf-8") for folder in sys.argv[1:]]
    PAGE.write_text("\n".join([INTRODUCTION, *map(section, papers)]), encoding="utf-8")


if __name__ == "__main__":
    main()
