"""Engines whose models are not ours to host: endpoints and Python functions."""
