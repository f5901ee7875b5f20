"""Runs models that are not ours to host: endpoints and Python functions."""
