"""The driver of a run: it hands out episodes and commits their rows."""
