"""Sets how often the processes of a run look for reference cycles, which holds up their event loops: seldom, as playing
makes none.
"""

from __future__ import annotations

import gc

ALWAYS, AN_EPISODE, EPISODES = 50_000, 1_000, 500
"""Thresholds of new objects: at least so many, more for each episode in flight, counting at most so many episodes.

A look takes as long as there are new objects. There are some 600 for each episode in flight, which come and go together
where models answer together; a lower threshold would look at those again and again: with 500 in flight and 50,000, for
30 to 95 ms.
"""
IN_ALL, OLDER = 1_000_000, 5
"""Objects that may come, and looks at older objects, between two full looks: the product of the two bounds what an
environment's author leaves behind in cycles."""


def freeze_objects() -> None:
    """Exempts all objects of a driver's own process from later looks: its modules and all planned episodes. One look at
    10,000 took 70 to 170 ms.
    """
    gc.freeze()


def collect_seldom(concurrency: int) -> None:
    """Sets the thresholds of a process that plays `concurrency` episodes at once; objects of episodes are freed when
    they are let go.
    """
    new = ALWAYS + AN_EPISODE * min(concurrency, EPISODES)
    freeze_objects()
    gc.set_threshold(new, max(1, IN_ALL // new), OLDER)
