"""Estimates what a run shows, with intervals that know that episodes of one task are alike. It reads no files."""
