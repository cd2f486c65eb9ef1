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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_extensions"))

from gallery import Example, all_examples  # noqa: E402

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


def make_picture(example: Example) -> None:
    """Run an example and store its picture."""
    start = time.perf_counter()
    source = str(example.source.relative_to(ROOT))
    example.image.parent.mkdir(parents=True, exist_ok=True)
    if example.source.suffix == ".toml":
        eagre("run", source, "--overwrite")
        print(f"{example.name}: {time.perf_counter() - start:.0f} s")
        eagre(*shlex.split(example.picture)[1:], "--output", str(example.image))
    else:
        subprocess.run([sys.executable, source], cwd=ROOT, check=True)
        print(f"{example.name}: {time.perf_counter() - start:.0f} s")
        shutil.copy(ROOT / example.picture, example.image)
    if example.image.stat().st_size > LARGEST:
        reduce_colours(example.image)
    size = example.image.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{example.image} has {size} bytes; allowed: {LARGEST}; write: a smaller or simpler picture")


def main(arguments: list[str] | None = None) -> None:
    """Make the pictures of the named examples."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="folders of examples/")
    names = parser.parse_args(arguments).names
    for example in all_examples():
        if example.picture and (not names or example.name in names):
            make_picture(example)


if __name__ == "__main__":
    main()
