"""To come."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def run(options: argparse.Namespace) -> int:
    """To come."""
    raise ValueError("not yet")
