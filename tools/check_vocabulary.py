"""Count private terms in pages, messages, docstrings, comments and names, and let the counts only fall.

``tools/vocabulary.toml`` lists the terms and the standard terms to write. Two rules hold:

- Text for users (pages and messages) has fewer than `GOAL` private terms per 1,000 words.
- The counts of docstrings, comments and names of each folder stay at or below ``tools/vocabulary_counts.json``.

Usage: ``python tools/check_vocabulary.py`` checks, ``--list PATH ...`` prints each term with its replacement, and
``--update`` stores counts that have fallen. Code, tests and lines with ``vocabulary: ok`` are not searched.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TERMS = ROOT / "tools" / "vocabulary.toml"
COUNTS = ROOT / "tools" / "vocabulary_counts.json"
USER_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs", "examples")
SEARCHED = (*USER_PAGES, "benchmarks", "src", "tools")
GOAL = 1.0  # private terms per 1,000 words of text for users
FEWEST_WORDS = 3  # shorter strings are keys and names, not messages
WORD = re.compile("[A-Za-z]{2,}")
PAGE_CODE = re.compile(r"^ *```.*?^ *```|^ *\$\$.*?\$\$|<!--.*?-->|`[^`\n]+`|\]\([^)\s]*\)", re.DOTALL | re.MULTILINE)
DOCSTRING_CODE = re.compile(r"^\s*(?:>>>|\.\.\. ).*$|``[^`\n]+``|`[^`\n]+`", re.MULTILINE)


@dataclass(frozen=True)
class Passage:
    """A passage of text or a name, with its kind and the line where it begins."""

    kind: str
    text: str
    line: int


@dataclass(frozen=True)
class Entry:
    """A term to avoid, the terms to write, and the expressions that find it."""

    avoid: str
    write: str
    kinds: frozenset[str]
    text: re.Pattern[str] | None
    names: re.Pattern[str] | None

    def matches(self, passage: Passage) -> Iterator[re.Match[str]]:
        """Yield the occurrences of the term in a passage."""
        if self.kinds and passage.kind not in self.kinds:
            return
        if passage.kind == "name":
            match = self.names and self.names.fullmatch(passage.text)
            yield from [match] if match else []
        elif self.text is not None:
            yield from self.text.finditer(passage.text)


@dataclass(frozen=True)
class Hit:
    """An occurrence of a term."""

    path: Path
    line: int
    kind: str
    text: str
    write: str

    def __str__(self) -> str:
        return f'{self.path}:{self.line}: {self.kind} has "{self.text}"; write: {self.write}'


@cache
def entries() -> list[Entry]:
    """Read the terms of ``vocabulary.toml``."""
    result = []
    for row in tomllib.loads(TERMS.read_text(encoding="utf-8"))["entry"]:
        text, names = row.get("text"), row.get("names")
        prose = re.compile(text.replace(" ", r"\s+"), re.IGNORECASE | re.MULTILINE) if text else None
        identifiers = re.compile("|".join(names)) if names else None
        result.append(Entry(row["avoid"], row["write"], frozenset(row.get("kinds", ())), prose, identifiers))
    return result


def blank(pattern: re.Pattern[str], text: str) -> str:
    """Replace code by a letter, and keep the number of lines."""
    return pattern.sub(lambda match: "\n" * match[0].count("\n") or "X", text)


def name_of(node: ast.AST) -> str | None:
    """Return the name that a node defines, or None."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) else None


def python_passages(source: str) -> Iterator[Passage]:
    """Yield the docstrings, messages, names and comments of a module."""
    docstrings = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.add(node.value)
            yield Passage("docstring", blank(DOCSTRING_CODE, node.value.value), node.lineno)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            if " " in node.value and len(WORD.findall(node.value)) >= FEWEST_WORDS:
                yield Passage("message", node.value, node.lineno)
        elif name := name_of(node):
            yield Passage("name", name, getattr(node, "lineno", 1))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Passage("comment", blank(DOCSTRING_CODE, token.string), token.start[0])


def passages(path: Path) -> Iterator[Passage]:
    """Yield the passages of a page or a module."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield Passage("page", blank(PAGE_CODE, source), 1)
    else:
        yield Passage("name", path.stem, 1)
        yield from python_passages(source)


def hits_of(path: Path) -> tuple[Counter[str], list[Hit]]:
    """Return the number of words (names: of names) by kind and the occurrences of terms in a file."""
    size, hits = Counter[str](), []
    allowed = {n for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if "vocabulary: ok" in line}
    for passage in passages(path):
        size[passage.kind] += 1 if passage.kind == "name" else len(WORD.findall(passage.text))
        for entry in entries():
            for match in entry.matches(passage):
                line = passage.line + passage.text.count("\n", 0, match.start())
                if line not in allowed:
                    text = " ".join(match[0].split())
                    hits.append(Hit(path.relative_to(ROOT), line, passage.kind, text, entry.write))
    return size, hits


def files_of(paths: Iterable[Path]) -> list[Path]:
    """Return the pages and modules among and below `paths`, sorted, without tests."""
    found = {file for path in paths for file in ([path] if path.is_file() else path.rglob("*"))}
    return sorted(file for file in found if file.suffix in (".md", ".py") and "__pycache__" not in file.parts)


def group_of(hit: Hit) -> str:
    """Return the name of the count that an occurrence belongs to."""
    if hit.kind == "page":
        return "pages" if hit.path.parts[0] in USER_PAGES else f"{hit.path.parent}: pages"
    if hit.kind == "message" and hit.path.parts[0] == "src":
        return "messages"
    return f"{hit.path.parent}: {hit.kind}s"


def check(size: dict[str, int], hits: list[Hit], stored: dict[str, int]) -> list[str]:
    """Return one line per rule that is broken."""
    counts, broken = Counter(group_of(hit) for hit in hits), []
    for group, words in size.items():
        rate = 1000.0 * counts[group] / max(1, words)
        if rate >= GOAL:
            broken.append(f"{group}: {rate:.2f} private terms per 1,000 words; allowed: below {GOAL:g}")
    for group, count in sorted(counts.items()):
        if group not in size and count > stored.get(group, 0):
            broken.append(f"{group}: {count} private terms; allowed: {stored.get(group, 0)}")
            broken.extend(f"  {hit}" for hit in hits if group_of(hit) == group)
    return broken


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return 1 if a rule is broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", nargs="+", type=Path, metavar="PATH", help="print every occurrence in these paths")
    parser.add_argument("--update", action="store_true", help="store counts that have fallen")
    options = parser.parse_args(arguments)
    if options.list:
        for path in files_of(entry.resolve() for entry in options.list):
            for hit in hits_of(path)[1]:
                print(hit)
        return 0
    size, hits = {"pages": 0, "messages": 0}, []
    for path in files_of(ROOT / name for name in SEARCHED):
        words, some = hits_of(path)
        size["pages"] += words["page"] if path.relative_to(ROOT).parts[0] in USER_PAGES else 0
        size["messages"] += words["message"] if path.relative_to(ROOT).parts[0] == "src" else 0
        hits += some
    stored = json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else {}
    counts = Counter(group_of(hit) for hit in hits)
    if options.update:
        lower = {g: min(n, stored.get(g, n)) for g, n in sorted(counts.items()) if g not in size}
        COUNTS.write_text(json.dumps(lower, indent=1) + "\n", encoding="utf-8")
    broken = check(size, hits, stored)
    print(*broken, sep="\n", end="\n" if broken else "")
    rates = ", ".join(f"{1000.0 * counts[g] / max(1, n):.2f} in {g}" for g, n in size.items())
    print(f"vocabulary: private terms per 1,000 words: {rates}; {len(hits)} in all")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
