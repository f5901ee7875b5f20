"""The worker of a run: it plays the episodes that it is given."""
