"""Implements `ray-gym doctor`, which checks whether every node of a cluster is fit for a config, and says how to mend
it.
"""
