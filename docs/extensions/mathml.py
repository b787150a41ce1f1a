"""Typeset equations as MathML, which browsers draw themselves: no script, no downloaded fonts."""

from __future__ import annotations

import re

from docutils import nodes
from latex2mathml.converter import convert

PRIME = re.compile(r"<msup>(<mi>[^<]*</mi>)<mi>(&#x0203[23];)</mi></msup>")
#: what is written for a hat: a character of ASCII, which some fonts stretch, and an accent
HAT, ACCENT = "<mo>&#x0005E;</mo></mover>", '<mo stretchy="false">&#x002C6;</mo></mover>'
FUNCTION = re.compile(r"(<mi>(?:log|det)</mi>)(?!<mo[ >]|<mspace)")


def mathml(node: nodes.Element, display: str) -> str:
    """Return the MathML of an equation.

    A prime is raised by its own shape, a hat is as wide as an accent, and a function is a little
    apart from its argument.
    """
    math = convert(node.astext(), display=display)
    math = PRIME.sub(r'<mrow>\1<mo lspace="0" rspace="0">\2</mo></mrow>', math)
    math = math.replace(HAT, ACCENT)
    return FUNCTION.sub(r'\1<mspace width="0.17em" />', math)


def visit_inline(self, node: nodes.math) -> None:
    """Write an equation in a line of text."""
    self.body.append(mathml(node, "inline"))
    raise nodes.SkipNode


def visit_displayed(self, node: nodes.math_block) -> None:
    """Write an equation on its own, which scrolls if it is wider than the page."""
    self.body.append(self.starttag(node, "div", CLASS="math-block"))
    self.body.append(f"{mathml(node, 'block')}</div>\n")
    raise nodes.SkipNode


def setup(app):
    """Register the renderer as ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
