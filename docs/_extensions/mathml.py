"""Write equations as MathML, which browsers draw without scripts and without a network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def visit_math(writer: Any, node: nodes.math) -> None:
    """Write an equation in the text."""
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_math_block(writer: Any, node: nodes.math_block) -> None:
    """Write an equation on a line of its own, with its number if it has one."""
    writer.body.append(f'<div class="equation" id="{"".join(node["ids"][:1])}">')
    writer.body.append(convert(node.astext(), display="block"))
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
