"""Holds sets of labels that judges are asked for."""

from __future__ import annotations

CORRECT = ("CORRECT", "INCORRECT")
YES = ("[[YES]]", "[[NO]]")
BARE = ("YES", "NO")
BETTER = ("[[A]]", "[[B]]", "[[C]]")
SAME = ("[[A=B]]", "[[A!=B]]")
SCORES = tuple(str(number) for number in range(11))
MARKED_SCORES = tuple(f"[[{number}]]" for number in range(11))
PASS = ("PASS", "FAIL")
SUPPORTED = ("SUPPORTED", "NOT SUPPORTED")
MANNER = ("[[GOOD]]", "[[FAIR]]", "[[POOR]]")
SAFE = ("SAFE", "UNSAFE")
ROLE = ("[[TRUE TO ROLE]]", "[[OUT OF ROLE]]")
GOOD = ("GOOD", "POOR")
ACCEPT = ("ACCEPT", "REJECT")
RIGHT = ("RIGHT", "WRONG")
BAD = ("GOOD", "BAD")
