"""One page about a recording taken apart: a player of all parts in sync, and the pictures."""

from phinmf.views.report.contents import Part, Report
from phinmf.views.report.page import fragment, html, write

__all__ = ["Part", "Report", "fragment", "html", "write"]
