"""Reads files of task rows as they come, reports all that is wrong with them, and makes them ready for runs."""
