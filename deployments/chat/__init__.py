"""Converts conversations to tokens and back, for every engine that is given token ids."""
