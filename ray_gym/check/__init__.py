"""Implements `ray-gym check-env`, which plays an environment in process, with players that behave and players that
don't, and reports its faults.
"""
