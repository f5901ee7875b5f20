"""Holds the config: its sections, the file they are read from, and what a value may refer to."""
