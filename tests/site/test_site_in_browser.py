"""The documentation site in a browser, as a reader sees it; `make test-browser` builds it first."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from urllib.parse import unquote

import pytest

pytestmark = pytest.mark.browser
SITE = Path(__file__).resolve().parents[2] / "build" / "docs"
WIDTHS = (1280, 390)  # a desktop and a telephone, CSS pixels
BROKEN = """() => [...document.images].filter(image => !image.complete || image.naturalWidth === 0).map(i => i.src)"""
LINKS = """() => [...document.querySelectorAll('a[href]')].map(link => link.href)"""
EQUATIONS = """() => [...document.querySelectorAll('article math')].map(m => m.getBoundingClientRect().width)"""


def pages() -> list[Path]:
    """Return the pages of the site."""
    folders = ("_static", "_sources", "_images", "_modules")
    return sorted(path for path in SITE.rglob("*.html") if not set(folders) & set(path.relative_to(SITE).parts))


@pytest.fixture(scope="module")
def browser():
    """Return a headless Chromium."""
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("needs Chromium; apt install chromium")
    if not (SITE / "index.html").exists():
        pytest.fail("there is no site; write: make docs")
    with playwright.sync_playwright() as running:
        arguments = ["--no-sandbox", "--allow-file-access-from-files"]
        started = running.chromium.launch(executable_path=chromium, args=arguments)
        yield started
        started.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_is_wider_than_its_window_and_all_pictures_show(browser, width):
    page, problems = browser.new_page(viewport={"width": width, "height": 900}), []
    for path in pages():
        page.goto(path.as_uri())
        wide = page.evaluate("() => document.documentElement.scrollWidth")
        problems += [f"{path.relative_to(SITE)}: {wide} pixels wide"] if wide > width else []
        problems += [f"{path.relative_to(SITE)}: no picture {source}" for source in page.evaluate(BROKEN)]
    assert not problems, "\n".join(problems)


def test_no_link_is_dead(browser):
    page, dead = browser.new_page(), []
    anchors: dict[Path, set[str]] = {}
    for path in pages():
        page.goto(path.as_uri())
        anchors[path] = set(page.evaluate("() => [...document.querySelectorAll('[id]')].map(one => one.id)"))
        for link in set(page.evaluate(LINKS)):
            if link.startswith("file:"):
                target, _, anchor = link.removeprefix("file://").partition("#")
                file = Path(unquote(target.partition("?")[0]))
                file = file / "index.html" if file.is_dir() else file
                if not file.exists():
                    dead.append(f"{path.relative_to(SITE)}: {link}")
                elif anchor and file in anchors and unquote(anchor) not in anchors[file]:
                    dead.append(f"{path.relative_to(SITE)}: no anchor {link}")
    assert not dead, "\n".join(dead)


@pytest.mark.parametrize("name", ["shallow-water", "shallow-water-adi", "barotropic", "potential-waves", "anelastic"])
def test_equations_of_model_pages_show(browser, name):
    page = browser.new_page()
    page.goto((SITE / "models" / f"{name}.html").as_uri())
    widths = page.evaluate(EQUATIONS)
    assert len(widths) >= 3 and min(widths) > 0.0
    assert "$" not in page.inner_text("article").replace("$OUT", "")


@pytest.mark.parametrize("word", ["Manning", "JONSWAP", "restart"])
def test_search_finds(browser, word):
    page = browser.new_page()
    page.goto((SITE / "search.html").as_uri() + f"?q={word}")
    page.wait_for_selector("#search-results ul.search li a", timeout=20_000)
    assert word.lower() in page.inner_text("#search-results").lower()
