"""One page about an unmixed recording: a player of all components in sync, and the pictures."""

from phinmf.report import plots as plots
