"""Calls of one process to one replica of a model, many of them in one call of Ray Serve; each answer comes as soon as it is there."""
