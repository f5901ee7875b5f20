"""Describes packages that remember some values."""

from __future__ import annotations

import random

from ray_gym.envs.code_repair.packages.blueprint import Blueprint, Names, Probe, joined, pick


def draw(rng: random.Random) -> dict[str, str]:
    return {
        "package": joined(rng, "quick warm near little", "cache memory shelf keeper"),
        "Cache": pick(rng, "Cache Memory Keeper Recent"),
        "size": str(rng.randint(2, 4)),
        "lasts": str(rng.choice((10, 20, 30))),
        "limit": str(rng.randint(2, 4)),
    }


FILES = {
    "__init__.py": '''
"""Remembers values for a while. Times are whole seconds, which callers give."""

from .cache import $Cache
from .gate import Gate

__all__ = ["$Cache", "Gate"]
''',
    "cache.py": '''
"""Keeps the values that were used last."""

SIZE = $size
LASTS = $lasts


class $Cache:
    """Keeps at most `size` values. The one that was not used for longest makes room for a new one."""

    def __init__(self, size=SIZE, lasts=LASTS):
        """`lasts`: seconds for which a value is kept after it was put. A size below 1 is a ValueError."""
        if size < 1:
            raise ValueError("a cache holds at least one value")
        self.size = size
        self.lasts = lasts
        self.hits = 0
        self.entries = {}

    def put(self, key, value, now):
        """Keeps a value, in the place of an older one of the key."""
        self.entries.pop(key, None)
        self.entries[key] = (value, now)
        while len(self.entries) > self.size:
            del self.entries[next(iter(self.entries))]

    def get(self, key, now, otherwise=None):
        """Returns a value, which counts as used now; `otherwise` if there is none, or it was put more than `lasts`
        seconds ago.
        """
        if key not in self.entries:
            return otherwise
        value, since = self.entries.pop(key)
        if now - since > self.lasts:
            return otherwise
        self.entries[key] = (value, since)
        self.hits = self.hits + 1
        return value

    def keys(self):
        """Returns the keys in the order of their use, the one that was not used for longest first."""
        return list(self.entries)

    def expire(self, now):
        """Forgets all values that were put more than `lasts` seconds ago, and returns how many these were."""
        old = [key for key, (value, since) in self.entries.items() if now - since > self.lasts]
        for key in old:
            del self.entries[key]
        return len(old)
''',
    "gate.py": '''
"""Limits how often something is done."""


class Gate:
    """Lets at most `limit` calls through in any `window` seconds."""

    def __init__(self, limit=$limit, window=10):
        self.limit = limit
        self.window = window
        self.times = []

    def passes(self, now):
        """Says whether a call may be made now, and counts it if so. A call that was let through `window` or more seconds
        ago counts no more.
        """
        self.times = [time for time in self.times if time > now - self.window]
        if len(self.times) >= self.limit:
            return False
        self.times.append(now)
        return True

    def wait(self, now):
        """Returns the seconds until a call may be made; 0 if it may be made now."""
        recent = [time for time in self.times if time > now - self.window]
        if len(recent) < self.limit:
            return 0
        return recent[len(recent) - self.limit] + self.window - now
''',
}


def probe(rng: random.Random, names: Names) -> Probe:
    cache, lasts, size = names["Cache"], int(names["lasts"]), int(names["size"])
    if rng.random() < 0.35:
        lines = [f"gate = Gate({rng.choice(('', '1', '2', '3, 5'))})"]
        now, calls = 0, []
        for _ in range(rng.randint(2, 7)):
            now += rng.choice((0, 1, 2, 3, 5, 10))
            calls.append(f"gate.passes({now})")
        lines.append(f"passed = [{', '.join(calls)}]")
        return Probe(tuple(lines), f"[passed, gate.wait({now + rng.randint(0, 10)})]")
    if rng.random() < 0.1:
        return Probe((), f"{cache}({rng.choice((0, 1, -1))}).keys()")
    lines, now, got = [f"cache = {cache}({rng.choice(('', '', str(size + 1), '2, 5', '1'))})", "got = []"], 0, 0
    for number in range(rng.randint(2, 8)):
        now += rng.choice((0, 1, 5, lasts, lasts + 1)) if rng.random() < 0.5 else 1
        key = pick(rng, "a b c d")
        if rng.random() < 0.55:
            lines.append(f"cache.put({key!r}, {number}, {now})")
        else:
            got += 1
            lines.append(f"got.append(cache.get({key!r}, {now}{rng.choice(('', ', -1'))}))")
    asks = rng.choice(
        (
            "cache.keys()",
            "cache.keys()",
            "cache.hits",
            f"[cache.expire({now + rng.choice((1, 5, lasts))}), cache.keys()]",
        )
    )
    return Probe(tuple(lines), f"[got, {asks}]")


CACHING = Blueprint(
    "caching", "It keeps the values that were used last, and limits how often something is done.", draw, FILES,
    "from $package import $Cache, Gate", probe,
)  # fmt: skip
