"""Puts a report together: one document with one style, whose policy allows that style by its digest and nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files

from ray_gym.report.markup import Content, Markup, element, text_of

STYLE = "style.css"
"""File with the style of a report, beside this one."""


@cache
def style() -> str:
    """Returns the style of a report."""
    return files(__package__).joinpath(STYLE).read_text("utf-8")


def policy() -> str:
    """Returns the Content-Security-Policy of a report, which lets its own style in, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def document(title: str, sections: Iterable[tuple[str, str, Content]], head: Content) -> Iterator[str]:
    """Yields a document, section by section. `sections`: id, heading and content of each; `head`: what stands
    above them.
    """
    named = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy()),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", Markup(style())),
    ]
    yield f'<!doctype html>\n<html lang="en">\n{text_of(element("head", named))}\n<body>\n'
    yield f"{text_of(element('header', head))}\n<main>\n"
    for name, heading, content in sections:
        yield f'<section id="{name}" aria-labelledby="{name}-name">'
        yield f"{text_of(element('h2', heading, id=f'{name}-name'))}\n"
        yield from _lines(content)
        yield "</section>\n"
    yield "</main>\n</body>\n</html>\n"


def _lines(content: Content) -> Iterator[str]:
    """Yields content piece by piece, so that no more than one episode is held at once."""
    if content is None or isinstance(content, Markup | str):
        yield f"{text_of(content)}\n"
    else:
        for one in content:
            yield from _lines(one)
