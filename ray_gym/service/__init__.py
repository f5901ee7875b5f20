"""Runs the service behind the gateway: rollouts that callers submit, and sessions that they drive from outside.

Nothing in it depends on HTTP.
"""
