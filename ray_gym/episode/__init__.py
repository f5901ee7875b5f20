"""Holds the state of an episode, and the methods that drive it: threads with their tokens, calls, limits."""
