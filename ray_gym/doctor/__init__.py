"""Implements `ray-gym doctor`, which looks at every node of a cluster, says whether it is fit for a config, and what to
mend.
"""
