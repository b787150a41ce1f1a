"""Divide components into groups, and say which of them surely belong together."""
