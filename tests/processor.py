"""Says how slow the processor is at the moment: what a test may take is for one of a certain speed.

Virtual machines change theirs within minutes, by 1.7 times on some, so that a bound in seconds alone fails by chance.
"""

from __future__ import annotations

import json
import re
import time

ROWS = [{"id": number, "text": "a <word> of 5, " * 4, "list": [number, str(number), None]} for number in range(150)]
WORD = re.compile(r"\b\w+\b|<[^>]*>")
ROUNDS = 6
REFERENCE_S = 0.0185
"""Processor time of the fixed work on a Xeon of 2026 at its full speed, for which bounds are meant."""


def slowness() -> float:
    """Returns how many times longer a fixed work takes now than on the processor that bounds are meant for; at least 1."""
    began = time.process_time()
    for _ in range(ROUNDS):
        for row in ROWS:
            text = json.dumps(json.loads(json.dumps(row)))
            sum(len(found[0].lower()) for found in WORD.finditer(text))
    return max(1.0, (time.process_time() - began) / REFERENCE_S)
