"""Exit codes of the commands; argparse uses 2 for a command that it does not understand."""

OK, FAILED = 0, 1
