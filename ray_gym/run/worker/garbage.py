"""How often the processes of a run look for reference cycles, which holds their event loops up: seldom, as playing makes none."""

from __future__ import annotations

import gc

ALWAYS, AN_EPISODE, EPISODES = 50_000, 1_000, 500
"""A look takes as long as there are new objects. There are some 600 for each episode in flight, which come and go together where models
answer together, so with less than that it is those that are looked at, again and again: with 500 in flight and 50,000, for 30 to 95 ms."""
IN_ALL, OLDER = 1_000_000, 5
"""What an environment's author leaves behind in cycles is bounded by the product of these two, in objects."""


def overlook_what_is_there() -> None:
    """For a driver's own process: its modules and all planned episodes are never looked at again. One look at 10,000 took 70 to 170 ms."""
    gc.freeze()


def look_seldom(concurrency: int) -> None:
    """From now on, in a process that plays so many episodes at once; what is played is freed when it is let go."""
    new = ALWAYS + AN_EPISODE * min(concurrency, EPISODES)
    overlook_what_is_there()
    gc.set_threshold(new, max(1, IN_ALL // new), OLDER)
