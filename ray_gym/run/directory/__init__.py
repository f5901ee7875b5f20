"""Holds the directory of a run, on a filesystem or an object store, and makes sure that only one driver writes it."""
