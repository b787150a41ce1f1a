"""The command line: it parses, calls the library and prints what happened."""

from phinmf.cli.main import main

__all__ = ["main"]
