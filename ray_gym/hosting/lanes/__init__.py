"""Carries the calls of one process to the replicas of a model, on TCP connections that bypass Serve.

Calls of one turn of the event loop are sent as one batch. Each answer comes as soon as the replica has it.
"""
