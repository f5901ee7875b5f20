"""Plays an episode: holds its threads and their tokens, its calls, and the commands that drive it."""
