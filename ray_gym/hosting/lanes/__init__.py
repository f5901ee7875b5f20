"""Calls of one process to one replica of a model, on a connection past Serve; each answer comes as soon as it is there."""
