"""Finds what is suspicious in a run that is finished: `ray-gym health`, and a line after each run.

`checks` looks at batches of rows, `tally` counts what it finds, and `findings` says which counts are more than chance or a
good run would give, each with the reason for its threshold.
"""
