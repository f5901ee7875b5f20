"""Makes documents of the pictures that an environment gave of its state, from which all that acts is left out.

The page shows each in a frame without any right (`sandbox=""`). The document has a policy of its own, which allows nothing
but the style below: no script, no address, no form.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode

from ray_gym.viewer.episode_page import NoSuchEpisode, row_of
from ray_gym.viewer.run_index import RunIndex

TAGS = {
    *("p", "br", "hr", "div", "span", "pre", "code", "kbd", "samp", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6"),
    *("b", "strong", "i", "em", "u", "s", "del", "ins", "sub", "sup", "small", "mark"),
    *("ul", "ol", "li", "dl", "dt", "dd", "figure", "figcaption", "details", "summary"),
    *("table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td"),
}
"""Elements that stay. Of others only the text does, and of scripts and styles nothing."""
ATTRIBUTES = {"td": {"colspan", "rowspan"}, "th": {"colspan", "rowspan", "scope"}}
CLASSES = {"table": {"board"}}
"""Classes that stay, by element. A table of class `board` has square cells."""
STYLE = """
:root { color-scheme: light; } :root[class="dark"] { color-scheme: dark; }
body { margin: 8px; font: 13px/20px system-ui, sans-serif; overflow-wrap: anywhere; background: #fff; color: #1d2126; }
[class="dark"] body { background: #1b1e23; color: #e3e6e9; }
p, pre, ul, ol, dl, table, h1, h2, h3, h4, h5, h6 { margin: 0 0 8px; font-size: 13px; }
pre, code { font: 12px/18px ui-monospace, monospace; white-space: pre-wrap; }
table { border-collapse: collapse; } th, td { border: 1px solid currentcolor; padding: 2px 8px; text-align: left; }
.board { border: 0; } .board td { width: 32px; height: 32px; padding: 0; text-align: center; font-size: 18px; }
small { opacity: 0.75; font-size: 11px; } mark { background: #fff1d6; color: #1d2126; padding: 2px 6px; border-radius: 4px; }
[class="dark"] mark { background: #ffcf87; }
"""
_HASH = b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; sandbox"
)
"""Content-Security-Policy of a picture."""


def document_of(index: RunIndex, episode_id: str, number: int, *, dark: bool) -> str:
    """Returns the document of an episode's picture. number: its place in the episode's `renderings`. Errors:
    NoSuchEpisode, also for an episode without this picture; UserError for a damaged file.
    """
    renderings = row_of(index, episode_id)["renderings"] or ()
    if not 0 <= number < len(renderings):
        raise NoSuchEpisode(f"episode {episode_id} has {len(renderings)} pictures, and none with the number {number}")
    one = renderings[number]
    body = harmless(one["text"] if one["kind"] == "html" else _from_markdown(one["text"]))
    theme = "dark" if dark else "light"
    return (
        f'<!doctype html><html lang="en" class="{theme}"><head><meta charset="utf-8"><title>picture</title>'
        f"<style>{STYLE}</style></head><body>{body}</body></html>"
    )


def harmless(html: str) -> str:
    """Returns a piece of HTML with the elements, attributes and classes of the lists above, and nothing else."""
    import nh3  # of the extra `view`

    return str(
        nh3.clean(
            html,
            tags=TAGS,
            attributes=ATTRIBUTES,
            allowed_classes=CLASSES,
            url_schemes=set(),
            generic_attribute_prefixes=set(),
            link_rel=None,
        )
    )


def _from_markdown(text: str) -> str:
    from markdown_it import MarkdownIt  # of the extra `view`

    return str(MarkdownIt("commonmark", {"html": False}).enable("table").render(text))
