"""Scores of a separation against the true sources."""
