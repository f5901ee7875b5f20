"""Carries out a run: one submission, from its config to a directory of episodes."""
