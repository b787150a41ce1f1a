"""One page about an unmixed recording: a player of all components in sync, and the pictures."""

from phinmf.report import plots as plots
from phinmf.report.contents import Component, ComponentGroup, Report
from phinmf.report.page import fragment, html, write

__all__ = ["Component", "ComponentGroup", "Report", "fragment", "html", "write"]
