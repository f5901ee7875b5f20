"""Takes off what only dresses a letter or an option's text: fonts, colours, spaces and struck-through text."""

from __future__ import annotations

import re

from ray_gym.envs.mcqa.spelling import one_spelling
from ray_gym.graders.denials import without_struck

_COLOURED = r"\\(?:textcolor|colorbox)\s*+\{[^{}]*+\}\s*+"
_FONT = re.compile(
    rf"(?:{_COLOURED}|\\(?:text\w*+|math\w++|[mhf]box|ce|emph|operatorname\*?+|boldsymbol|bm|pmb|underline|boxed|rm|bf|sf|it)\s*+)"
    r"\{([^{}]*+)\}|\{\s*+\\(?:rm|bf|sf|it)\s([^{}]*+)\}|\*\*([^*]++)\*\*"
)
_FONT_OF_ONE = re.compile(r"\\(?:text(?:bf|rm|it|sf|tt)?|math\w++|boldsymbol|bm|pmb)\s++([A-Za-z\d])(?!\w)")
"""Font of one letter, which needs no braces."""
_MARKED = re.compile(r"(?<![\w)*])\*([^*\s][^*]*)\*(?![\w*])|(?<!`)`([^`]+)`(?!`)|(?<![\w\\)}])_([A-Za-z])_(?!\w)")
"""Text in Markdown's italics or code."""
_GROUP = re.compile(r"\{(?<![\\\w\])}^]\{)([^{}\\]*+(?:\\[^{}][^{}\\]*+)*+)\}")
"""Braces that are no command's."""
_DEEPEST = 20
"""Largest number of fonts and braces within one another that are read."""
_ACCENT = re.compile(r"\\(?:([~'`^\"])\s?(?:\{([A-Za-z])\}|([A-Za-z])(?!\\?[\"'`]))|c\s?\{([A-Za-z])\})")
_ACCENTS = {"~": "\u0303", "'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "c": "\u0327"}
"""Combining characters by LaTeX's commands for accents."""
_SPACE = re.compile(
    r"~|\\color\s*+\{[^{}]*+\}|\\\\|\\[,;:! ]|\\(?:q?quad|(?:thin|med|thick)space|enspace|space|newline|left|right)(?![A-Za-z])|\\[()\[\]]"
    r"|\\(?:rm|bf|sf|it|tt|displaystyle|textstyle|[lL]arge|LARGE|[hH]uge)(?=\s)|[\u200b-\u200d\u2060\ufeff]"
)
_GROUPED = re.compile(r"(?<=\d)(?:~|\\[,;:! ]|\\thinspace\s|[\u00a0\u2009\u202f])(?=\d{3}(?!\d))")
"""Space of LaTeX or of Unicode between groups of three digits."""
_WIDE = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)} | dict(
    zip(map(ord, "【】。、\u2212"), "[].,-", strict=True)
)
"""Plain characters, by the code of their full width; a hyphen for a minus."""
_END_TOKENS = re.compile(r"(?:\s{0,9}(?:<\|\w{1,30}\|>|</[A-Za-z_]{1,20}>|<eos>|<end_of_turn>)){1,9}\s*\Z")
"""Tokens with which a model ends its answer, where an engine shows them, and tags that close."""
_SET = re.compile(r"(?<![\\\w])\{([^{}]*,[^{}]*)\}")


def plain_text(text: str) -> str:
    """Returns a text without LaTeX's fonts, colours and lone braces, and without what is struck through, with letters for
    LaTeX's accents, with plain spaces and widths, and without dollar signs and spaces around it.
    """
    text = _ACCENT.sub(_accented, _END_TOKENS.sub("", without_struck(text)))
    if not re.search(r"[\\$^_]", text):  # no LaTeX, so that braces around a list are those of a set
        text = _SET.sub(r"\\{\1\\}", text)
    plain = _FONT_OF_ONE.sub(r"\1", _SPACE.sub(" ", _GROUPED.sub("", text.translate(_WIDE))))
    for _ in range(_DEEPEST):
        bare = _FONT.sub(lambda found: found[1] or found[2] or found[3] or "", plain)
        bare = _GROUP.sub(r"\1", bare)
        if bare == plain:
            break
        plain = bare
    plain = _MARKED.sub(lambda found: found[1] or found[2] or found[3], plain)
    return plain.strip().strip("$").strip()


def _accented(found: re.Match[str]) -> str:
    return f"{found[2] or found[3] or found[4]}{_ACCENTS[found[1] or 'c']}"


def normalised(text: str) -> str:
    """Returns a text in the spelling in which options are compared."""
    return one_spelling(plain_text(text))
