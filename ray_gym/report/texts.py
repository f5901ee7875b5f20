"""Shows texts that come from data: each as text, and of a long one the beginning with a word about the rest."""

from __future__ import annotations

import json

from ray_gym.report.bounds import LONGEST_TEXT, Allowance
from ray_gym.report.markup import Content, Markup, element

LONGEST_JSON = 20_000
"""Characters of JSON up to which it is laid out."""


def text_block(text: str, allowance: Allowance, class_: str = "") -> Markup:
    """Returns a text as a block, of which the allowance is taken."""
    most = max(0, min(LONGEST_TEXT, allowance.text))
    block = element("pre", text[:most], dir="auto", class_=f"text {class_}".rstrip())
    allowance.text -= len(block.html.encode())
    return block if len(text) <= most else element("div", block, cut_note(len(text) - most))


def cut_note(characters: int) -> Markup:
    """Returns the words about characters that are left out."""
    return element("p", f"{characters:,} more characters are left out", class_="cut")


def json_block(text: str | None, allowance: Allowance) -> Markup:
    """Returns JSON laid out in lines, and any other text as it is."""
    return text_block(laid_out(text or ""), allowance, "code")


def laid_out(text: str) -> str:
    """Returns JSON with its members in lines of their own if it is long; any other text as it is."""
    if len(text) > LONGEST_JSON:
        return text
    try:
        value = json.loads(text)
        flat = json.dumps(value, ensure_ascii=False)
        return flat if len(flat) <= 80 else json.dumps(value, ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text


def folded(summary: Content, *content: Content, class_: str | None = None, is_open: bool = False) -> Markup:
    """Returns content that opens when its summary is pressed."""
    return element("details", element("summary", summary), content, class_=class_, open=is_open)
