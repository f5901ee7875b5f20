"""Describes packages that lay text out in lines."""

from __future__ import annotations

import random

from ray_gym.envs.code_repair.packages.blueprint import Blueprint, Names, Probe, joined, many, pick

WORDS = "a the river stone of tall quiet garden under many windows it was remembered"


def draw(rng: random.Random) -> dict[str, str]:
    return {
        "package": joined(rng, "plain narrow tidy paper", "lines column layout margin"),
        "width": str(rng.randint(16, 24)),
        "dots": rng.choice(("...", "..", "~")),
        "wrap": pick(rng, "wrap fold fill"),
        "shorten": pick(rng, "shorten clip cut_short"),
    }


FILES = {
    "__init__.py": '''
"""Lays text out in lines."""

from .columns import centred, table
from .lines import $shorten, $wrap, paragraphs

__all__ = ["$shorten", "$wrap", "centred", "paragraphs", "table"]
''',
    "lines.py": '''
"""Breaks text into lines."""

WIDTH = $width
DOTS = "$dots"


def $wrap(text, width=WIDTH):
    """Returns the lines of a text, none longer than `width` but for a word that is longer itself, which has a line of
    its own. A width below 1 is a ValueError.
    """
    if width < 1:
        raise ValueError("a line has at least one character")
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = ""
        line = line + " " + word if line else word
    if line:
        lines.append(line)
    return lines


def $shorten(text, width=WIDTH):
    """Returns a text that is at most `width` long: as it is, or cut, with "$dots" as its end. If not even that fits, it
    is just cut.
    """
    if len(text) <= width:
        return text
    if width <= len(DOTS):
        return text[:width]
    return text[:width - len(DOTS)] + DOTS


def paragraphs(text):
    """Returns the paragraphs of a text, each as its wrapped lines. Blank lines, however many, part paragraphs."""
    found, words = [], []
    for line in text.split("\\n"):
        if line.strip():
            words.append(line.strip())
        elif words:
            found.append($wrap(" ".join(words)))
            words = []
    if words:
        found.append($wrap(" ".join(words)))
    return found
''',
    "columns.py": '''
"""Puts text into columns."""


def centred(text, width):
    """Returns a text in the middle of `width` characters. Where the space is odd, one more is on the right."""
    space = width - len(text)
    if space <= 0:
        return text
    left = space // 2
    return " " * left + text + " " * (space - left)


def table(rows, gap=2):
    """Returns rows of texts as lines, with columns that are as wide as their longest text, and `gap` spaces between
    them. Rows may have different lengths; lines have no spaces at their ends.
    """
    if not rows:
        return []
    count = max(len(row) for row in rows)
    widths = [max(len(row[number]) for row in rows if number < len(row)) for number in range(count)]
    lines = []
    for row in rows:
        cells = [cell.ljust(widths[number]) for number, cell in enumerate(row)]
        lines.append((" " * gap).join(cells).rstrip())
    return lines
''',
}


def probe(rng: random.Random, names: Names) -> Probe:
    width = int(names["width"])
    text = " ".join(many(rng, WORDS, 9))
    kind = rng.randrange(5)
    if kind == 0:
        more = rng.choice(("", "", f", {rng.choice((0, 1, len(text.split()[0]), len(text), len(text) - 1))}"))
        return Probe((), f"{names['wrap']}({text!r}{more})")
    if kind == 1:
        least = len(names["dots"])
        wide = rng.choice((width, len(text), len(text) - 1, least, least + 1, 2))
        return Probe((), f"{names['shorten']}({text!r}, {wide})")
    if kind == 2:
        parts = [" ".join(many(rng, WORDS, 5)) for _ in range(rng.randint(1, 4))]
        return Probe((), f"paragraphs({rng.choice(chr(10) * 2 + chr(10)).join(parts) + rng.choice(('', chr(10)))!r})")
    if kind == 3:
        word = pick(rng, WORDS)
        return Probe((), f"centred({word!r}, {len(word) + rng.randint(-1, 5)})")
    rows = [many(rng, WORDS, 3) for _ in range(rng.randint(0, 3))]
    return Probe((), f"table({rows!r}{rng.choice(('', ', 1'))})")


WRAPPING = Blueprint(
    "wrapping", "It breaks text into lines, and puts it into columns.", draw, FILES,
    "from $package import $shorten, $wrap, centred, paragraphs, table", probe,
)  # fmt: skip
