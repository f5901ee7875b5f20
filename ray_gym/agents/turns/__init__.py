"""Holds functions that take turns with other projects' packages. Each file is run by an interpreter that has its package,
and need not have this one.
"""
