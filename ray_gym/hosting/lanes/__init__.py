"""Carries the calls of one process to the replicas of a model, on TCP connections past Serve.

Calls of one turn of the event loop are sent as one batch; each answer comes as soon as the replica has it.
"""
