"""Scores recorded episodes again: it plays each by its own record, and asks no model but judges.

recorded    reads an episode's row: its events, its models' answers, its judges' verdicts
record_log  answers the calls of an episode that is played again from its record, and compares what happens
replay      plays a recorded episode again, up to its scoring
group       scores the episodes of a group again
rows        makes the new rows: what was played stays as it is
changes     says which keys of a config may change
rescore     does all that for a run, file by file, and writes a new run
"""
