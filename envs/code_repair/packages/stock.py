"""Describes packages that count what lies in a store."""

from __future__ import annotations

import random

from ray_gym.envs.code_repair.packages.blueprint import Blueprint, Names, Probe, joined, many, pick

ITEMS = "bolt nut cable lamp hinge screw"


def draw(rng: random.Random) -> dict[str, str]:
    return {
        "package": joined(rng, "corner harbour garage attic mill", "store stock depot shelf"),
        "Store": pick(rng, "Store Depot Warehouse Shelf"),
        "low": str(rng.randint(3, 6)),
        "box": str(rng.randint(4, 9)),
    }


FILES = {
    "__init__.py": '''
"""Counts what lies in a store."""

from .boxes import boxes_for, in_boxes
from .store import $Store

__all__ = ["$Store", "boxes_for", "in_boxes"]
''',
    "boxes.py": '''
"""Packs items into boxes of equal size."""

BOX = $box


def boxes_for(count, size=BOX):
    """Returns the number of boxes that `count` items need. No items need no box; a size below 1 is a ValueError."""
    if size < 1:
        raise ValueError("a box holds at least one item")
    return (count + size - 1) // size


def in_boxes(count, size=BOX):
    """Returns the number of items in each box: all are full but the last, which has the rest."""
    full, rest = divmod(count, size)
    boxes = [size] * full
    if rest > 0:
        boxes.append(rest)
    return boxes
''',
    "store.py": '''
"""Holds the store itself."""

from .boxes import boxes_for


class $Store:
    """Holds items by name, and counts them."""

    def __init__(self, counts=None):
        """Begins with a copy of `counts`, or with nothing."""
        if counts is None:
            counts = {}
        self.counts = dict(counts)

    def add(self, item, count=1):
        """Adds items. A count below 1 is a ValueError."""
        if count < 1:
            raise ValueError("add at least one")
        self.counts[item] = self.counts.get(item, 0) + count

    def take(self, item, count=1):
        """Takes as many of the items as there are, at most `count`, and returns their number. An item of which nothing
        is left is forgotten.
        """
        taken = min(count, self.counts.get(item, 0))
        if taken == 0:
            return 0
        self.counts[item] = self.counts[item] - taken
        if self.counts[item] <= 0:
            del self.counts[item]
        return taken

    def low(self, below=$low):
        """Returns the names of the items of which there are fewer than `below`, sorted."""
        return sorted(item for item, count in self.counts.items() if count < below)

    def move(self, item, count, other):
        """Moves items to another store, as many as there are, and returns their number."""
        moved = self.take(item, count)
        if moved > 0:
            other.add(item, moved)
        return moved

    def boxes(self):
        """Returns the number of boxes for all items; different items never share one."""
        return sum(boxes_for(count) for count in self.counts.values())

    def listing(self):
        """Returns a copy of the counts, which may be changed without changing the store."""
        return dict(self.counts)
''',
}


def probe(rng: random.Random, names: Names) -> Probe:
    store, box, low = names["Store"], int(names["box"]), int(names["low"])
    kind = rng.randrange(5)
    if kind == 0:
        count = box * rng.randint(0, 3) + rng.choice((0, 0, 1, -1))
        size = rng.choice(("", f", {rng.randint(0, 4)}"))
        return Probe(
            (),
            f"{rng.choice(('boxes_for', 'in_boxes'))}({max(count, 0)}{size or ''})"
            if size != ", 0"
            else f"boxes_for({count}, 0)",
        )
    lines = [f"here = {store}()"]
    for item in many(rng, ITEMS, 5):
        lines.append(f"here.add({item!r}, {rng.choice((1, low - 1, low, low + 1, box))})")
    if kind == 1:
        return Probe(tuple(lines), rng.choice(("here.low()", f"here.low({rng.randint(1, 9)})", "here.boxes()")))
    item = pick(rng, ITEMS)
    if kind == 2:
        lines.append(f"taken = here.take({item!r}{rng.choice(('', f', {rng.randint(1, 9)}'))})")
        return Probe(tuple(lines), "[taken, here.listing()]")
    if kind == 3:
        lines += [
            f"other = {store}({{'lamp': {rng.randint(1, 5)}}})",
            f"moved = here.move({item!r}, {rng.randint(1, 9)}, other)",
        ]
        return Probe(tuple(lines), "[moved, here.listing(), other.listing()]")
    start = f"start = {{{item!r}: {rng.randint(1, 4)}}}"
    change = rng.choice((f"again.add('tape', {rng.randint(0, 2)})", "again.listing().clear()"))
    return Probe((start, f"again = {store}(start)", change), "[start, again.listing()]")


STOCK = Blueprint(
    "stock", "It counts what lies in a store, and packs it into boxes.", draw, FILES,
    "from $package import $Store, boxes_for, in_boxes", probe,
)  # fmt: skip
