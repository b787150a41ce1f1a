"""One page about a recording taken apart: a player of all parts in sync, and the pictures."""

from phinmf.report.contents import Part, Report
from phinmf.report.page import fragment, html, write

__all__ = ["Part", "Report", "fragment", "html", "write"]
