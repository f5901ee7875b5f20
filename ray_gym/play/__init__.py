"""Drives an episode: a worker plays it, or a session carries out commands that come from outside."""
