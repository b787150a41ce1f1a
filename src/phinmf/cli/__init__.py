"""The command line: it parses, calls the library and says what happened."""

from phinmf.cli.main import main

__all__ = ["main"]
