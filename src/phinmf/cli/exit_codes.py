"""Exit codes of the commands; argparse, too, uses 2 for what it does not understand."""

OK, FAILED, USAGE = 0, 1, 2
