"""Scores of a separation against the true sources."""

from phinmf.scores import grouping as grouping
from phinmf.scores import measures as measures
from phinmf.scores import table as table
