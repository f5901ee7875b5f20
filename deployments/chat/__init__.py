"""Converts conversations to token ids and back, for every engine that takes token ids."""
