"""Runs sessions, which are episodes that callers drive command by command."""
