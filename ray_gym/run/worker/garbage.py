"""Makes the garbage collector look for reference cycles seldom, since a look blocks the event loop, and playing makes
no cycles.
"""

from __future__ import annotations

import gc

ALWAYS, AN_EPISODE, EPISODES = 50_000, 1_000, 500
"""Parts of the threshold of the youngest generation: ALWAYS + AN_EPISODE * min(episodes in flight, EPISODES) new
objects.

A look takes longer the more new objects there are. Each episode in flight has some 600, which come and go together
where models answer together. A lower threshold would look at them again and again: with 500 in flight and a threshold
of 50,000, a look takes 30 to 95 ms."""
IN_ALL, OLDER = 1_000_000, 5
"""Number of new objects between two looks at the middle generation, and number of such looks between two full looks.
Their product bounds the garbage in cycles that an environment can leave behind."""


def freeze_objects() -> None:
    """Freezes all objects of this process (modules, planned episodes): later looks for reference cycles leave them out.
    One look at 10,000 planned episodes took 70 to 170 ms.
    """
    gc.freeze()


def collect_seldom(concurrency: int) -> None:
    """Freezes this process's objects, and sets the garbage collector's thresholds for `concurrency` episodes at once.
    Objects of episodes are freed by their reference counts.
    """
    new = ALWAYS + AN_EPISODE * min(concurrency, EPISODES)
    freeze_objects()
    gc.set_threshold(new, max(1, IN_ALL // new), OLDER)
