"""Defines the interfaces to language models: a `Model` completes conversations; an `Engine` starts a model that the
config names, and connects processes to it.
"""
