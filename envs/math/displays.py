r"""Reads a display of lines (`align`, `gather`, ...) with which an answer ends: the last line is its end."""

from __future__ import annotations

import re

from ray_gym.envs.math.rows import with_plain_breaks

_AROUND = r"\$\$?|\\[\[\]()]|\s"
_OPENS = re.compile(rf"(?:\\begin\s?\{{equation\*?\}}|{_AROUND})*\Z")
_NAMES = (
    r"align(?:ed|at)?|gather(?:ed)?|split|mult[a-z]+|eqnarray|flalign|equation"
    r"|d?cases(?=\}[^&]*\\end)|array(?=\}.*?(?:[=<>]|\\[lg]e))"
)
"""Displays of lines: cases without a condition beside each line, and an array of equations, too."""
_DISPLAY = re.compile(
    rf"\\begin\s?\{{(?P<name>(?:{_NAMES})\*?)\}}(?:\{{[\dlcr|]{{1,9}}\}})?(?P<lines>.*?)\\end\s?\{{(?P=name)\}}"
    rf"(?:\\end\s?\{{equation\*?\}}|{_AROUND}|[.*])*\Z",
    re.DOTALL,
)
_NO_PART = re.compile(r"&|\\(?:nonumber|notag)(?![A-Za-z])|\\(?:tag|label)\*?\s?\{[^{}]*\}")
_NAMED = re.compile(r"(?P<name>\\?[A-Za-z]{1,9}(?:_(?:\w|\{[^{}]*\}))?)\s*=[^=<>]+")


def with_last_line(said: str) -> str:
    r"""Returns an answer that ends with a display of lines with the last of them in its place (`2x &= 10 \\ x &= 5` is
    `$x = 5$`), or with all of them if each names another variable (`$x = 3, y = 5$`). Other answers stay as they are.
    """
    start = said.rfind("\\begin")
    display = _DISPLAY.match(said, start) if start >= 0 else None
    if display is None or "$" in display["lines"]:
        return said
    lines = (_NO_PART.sub(" ", line).strip(" \n,;.") for line in with_plain_breaks(display["lines"]).split("\\\\"))
    filled = [re.sub(r"\s+", " ", line) for line in lines if line]
    named = [found["name"] for line in filled if (found := _NAMED.fullmatch(line)) is not None]
    is_list = 1 < len(filled) == len(set(named)) == len(named)
    end = ", ".join(filled) if is_list else "".join(filled[-1:])
    return f"{_OPENS.sub('', said[:start])}\n${end}$"
