"""Defines language models as the rest of ray_gym sees them: a `Model` completes; an `Engine` is how a named model comes
up.
"""
