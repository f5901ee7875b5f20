"""How often a worker's process looks for reference cycles: seldom, as playing makes none (what is played is freed when it is let go)."""

from __future__ import annotations

import gc

ALWAYS, AN_EPISODE, EPISODES = 50_000, 1_000, 500
"""A look takes as long as there are new objects. There are some 600 for each episode in flight, which come and go together where models
answer together, so with less than that it is those that are looked at, again and again: with 500 in flight and 50,000, for 30 to 95 ms."""
IN_ALL, OLDER = 1_000_000, 5
"""What an environment's author leaves behind in cycles is bounded by the product of these two, in objects."""


def look_seldom(concurrency: int) -> None:
    """From now on, in a process that plays so many episodes at once. What is there already (code, mostly) is never looked at again."""
    new = ALWAYS + AN_EPISODE * min(concurrency, EPISODES)
    gc.freeze()
    gc.set_threshold(new, max(1, IN_ALL // new), OLDER)
