"""Holds the directory of a run, on a filesystem or an object store, and the claim to be its one writer."""
