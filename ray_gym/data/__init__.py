"""Reads files of task rows, reports all that is wrong with them, and prepares them for runs."""
