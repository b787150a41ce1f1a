"""Typeset equations as MathML, which browsers draw themselves: no script, no fonts."""

from __future__ import annotations

from docutils import nodes
from latex2mathml.converter import convert


def visit_inline(self, node: nodes.math) -> None:
    """Write an equation in a line of text."""
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_displayed(self, node: nodes.math_block) -> None:
    """Write an equation on its own, which scrolls if it is wider than the page."""
    self.body.append(self.starttag(node, "div", CLASS="math-block"))
    self.body.append(convert(node.astext(), display="block"))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    """Register the renderer as ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
