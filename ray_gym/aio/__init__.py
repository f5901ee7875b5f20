"""Adds helpers to asyncio: clocks of episodes, deadlines that share timers, back-off, and limits for each turn of the
event loop.
"""
