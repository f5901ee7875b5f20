"""Implements `ray-gym check-env`. It plays an environment in its own process and reports the environment's faults.

The players are scripted: some behave well, and others don't.
"""
