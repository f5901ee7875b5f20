"""Sessions that callers play."""
