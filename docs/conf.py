"""Configuration of the documentation site; ``make docs`` builds it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

import eagre  # noqa: E402

project = "Eagre"
copyright = "Eagre developers"
author = "Eagre developers"
version = release = eagre.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
    "gallery",
    "mathml",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]

autosummary_generate = True
autosummary_generate_overwrite = True
autodoc_typehints = "none"
autodoc_member_order = "alphabetical"
numpydoc_show_class_members = False
default_role = "literal"

html_theme = "pydata_sphinx_theme"
html_title = "Eagre"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["eagre.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 5,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": []}


def escape_bars(_app: Any, _kind: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Escape the bars of absolute values such as |u|, which reStructuredText takes for substitutions."""
    lines[:] = [line if line.lstrip().startswith(("| ", "+")) else re.sub(r"(?<!\\)\|", r"\|", line) for line in lines]


def setup(app: Any) -> None:
    """Connect the handlers of this configuration."""
    app.connect("autodoc-process-docstring", escape_bars)
