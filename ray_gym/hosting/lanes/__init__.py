"""Carries calls of one process to the replicas of a model, on connections past Serve; each answer comes as soon as it
is there.
"""
