"""Run the examples at full size and store their pictures in docs/gallery/images.

Usage: ``python tools/make_gallery.py [NAME ...]``; without names all examples that have a command for a picture.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_extensions"))

from gallery import Example, all_examples, read_cells  # noqa: E402

LARGEST = 300_000  # bytes of a picture


def eagre(*arguments: str) -> None:
    """Run a command of the program."""
    subprocess.run([sys.executable, "-m", "eagre", *arguments], cwd=ROOT, check=True)


def reduce_colours(picture: Path) -> None:
    """Reduce a picture to 256 colours, which also represent the rare colours of the colour bar."""
    from PIL import Image

    with Image.open(picture) as image:
        reduced = image.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    reduced.save(picture, optimize=True)


def run_notebook(notebook: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Run the code cells of a notebook in one namespace; yield number and namespace after each, with its figures open.

    The figures are closed before the next cell, as by Jupyter.
    """
    from matplotlib import pyplot as plt

    namespace: dict[str, Any] = {"__name__": "__main__"}
    codes = [text for kind, text in read_cells(notebook) if kind == "code"]
    for number, code in enumerate(codes, 1):
        exec(compile(code, f"{notebook.name}, code cell {number}", "exec"), namespace)
        yield number, namespace
        plt.close("all")


def draw_figures(example: Example) -> list[Path]:
    """Run a notebook and store the figure of each cell that draws one."""
    from matplotlib import pyplot as plt

    plt.switch_backend("agg")
    pictures = []
    for number, _ in run_notebook(example.source):
        if plt.get_fignums():
            pictures.append(example.figure(number))
            plt.savefig(pictures[-1], dpi=120)
    return pictures


def make_pictures(example: Example) -> None:
    """Run an example and store its pictures."""
    start = time.perf_counter()
    source = str(example.source.relative_to(ROOT))
    example.image.parent.mkdir(parents=True, exist_ok=True)
    pictures = [example.image]
    if example.source.suffix == ".toml":
        eagre("run", source, "--overwrite")
        eagre(*shlex.split(example.picture)[1:], "--output", str(example.image))
    elif example.source.suffix == ".ipynb":
        pictures = draw_figures(example)
    else:
        subprocess.run([sys.executable, source], cwd=ROOT, check=True)
        shutil.copy(ROOT / example.picture, example.image)
    print(f"{example.name}: {time.perf_counter() - start:.0f} s")
    for picture in pictures:
        if picture.stat().st_size > LARGEST:
            reduce_colours(picture)
        size = picture.stat().st_size
        if size > LARGEST:
            raise SystemExit(f"{picture} has {size} bytes; allowed: {LARGEST}; write: a smaller or simpler picture")


def main(arguments: list[str] | None = None) -> None:
    """Make the pictures of the named examples."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="folders of examples/, or notebooks")
    names = parser.parse_args(arguments).names
    for example in all_examples():
        if example.picture and (not names or example.name in names):
            make_pictures(example)


if __name__ == "__main__":
    main()
