"""A few quick benchmarks that asv runs on one commit after the other: ``make history``.

They show which commit made something slower; the numbers of the documentation come from the
scripts in the folder above. They use public names where they can, so that old commits have them.
"""
