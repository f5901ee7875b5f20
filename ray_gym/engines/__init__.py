"""Implements the engines whose models this project does not load onto GPUs: endpoints of other servers, and Python
functions.
"""
