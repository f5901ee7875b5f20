"""Writes a run as one page that opens from disk: figures, plots, findings and the most telling episodes.

The page has no script, asks for nothing, and all that comes from data is text in it (`markup`). Its size and the memory
that it takes have bounds, whatever the run's size (`bounds`).
"""
