"""The directory of a run, on a filesystem or an object store, and who owns it."""
