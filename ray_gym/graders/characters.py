"""Holds the classes of characters by which words are told apart in a judge's answer."""

from __future__ import annotations

UNSPACED = (
    "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",  # Han
    "\u3041-\u309f",  # Hiragana
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f",  # Katakana
    "\u0e01-\u0e5b",  # Thai
    "\u0e81-\u0edf",  # Lao
    "\u1000-\u109f",  # Burmese
    "\u1780-\u17e9",  # Khmer
)
"""Letters by script, of the scripts that put no space between words: there a word ends where the script changes."""
SPACES = r"\s*_`~\u00ad\u200b-\u200d\u2060\ufeff"
"""White space and marks of Markdown, for a class of characters."""
DASHES = "\u2010-\u2013\u2212-"
"""Hyphens, short dashes and a minus, for a class of characters."""
GAP = rf"[{SPACES}{DASHES}]++"
"""Regular expression of what may be between two words."""
MARKS = (
    rf"[{SPACES}\"'\u2018\u2019\u201c\u201d\u300c\u300d\uff08\uff09\u3010\u3011\u2b50\u2605\u2606\ufe0f()\[\]{{}}<>$\\]"
)
"""Regular expression of a sign that may be around a label: white space, Markdown, a quote, a bracket, a star."""
CROSSES = "\u274c\u2717\u2718\u2716\u274e\U0001f44e\U0001f6ab\u26d4"
"""Crosses and other signs of a no, for a class of characters."""
