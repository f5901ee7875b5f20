"""Adds to asyncio what it lacks here: clocks, deadlines and back-off that thousands of episodes share."""
