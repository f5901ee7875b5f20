"""Makes text that comes from data safe to print: it can neither command a terminal, nor reorder a line, nor be markup.

Models, tools, tasks and files may hold anything: escape sequences that write a terminal's title or its clipboard, marks
that turn the direction of a line (https://trojansource.codes), and rich's own markup.
"""

from __future__ import annotations

import base64
import html
import json
import re
from typing import Any
from urllib.parse import quote

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U0010fffe\U0010ffff]"
)
"""Control characters but tab and line feed, marks of direction, characters that Unicode calls ignorable by default but
joiners and the choice of an emoji's form, and lone surrogates. The viewer has the same (`viewer/src/parts/visible.ts`).
"""

_MARKUP = re.compile(r"(?P<backslashes>\\*)\[|(?P<last>\\+)\Z")
"""A bracket, and backslashes before one or at the end: rich may read them as markup, with the text behind them."""

_OF_WORDS = r"[!#-&(-+\-.-:<-Z\\-_a-z|}~]"
"""Characters of a word that may be a secret: ASCII but for spaces, quotes, and signs between the items of data."""
_CUT_WORD = re.compile(rf"(?<!{_OF_WORDS}){_OF_WORDS}+\Z")
_OF_WORD = re.compile(_OF_WORDS)
_HEADER = re.compile(r"\s*(?P<scheme>bearer|basic|token|key|apikey)\s+(?P<secret>\S.*)", re.IGNORECASE | re.DOTALL)
_LONGEST_WORD = 15
"""Most letters of a word of a language behind the scheme of a header ("basic algebra")."""
_SECRET_NAME = re.compile(
    r"(?:(?:api|access|secret)[ _-]?keys|key|token|secrets?|passwords?|passwd|passphrase|pwd|auth|authorization|credentials?"
    r"|cookies?)(?![a-z])|(?<![a-z])(?:(?:pass|pat|creds?|jwt|dsn)\Z|webhook(?![a-z]))",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
LONGEST_TOLD = 600
"""Most characters of a failure or a warning that is told among other lines, in `summary.json` and in logs."""
_OTHER_SPELLINGS = {" ": ("+",), "/": ("\\/",), "'": ("&apos;", "\\'")}
"""Spellings of characters in URLs, in PHP's JSON, in HTML, and beside other quotes in Python."""
_DEEPEST = 4
"""Largest number of texts of JSON within one another of which a secret is masked."""


def printable(text: str) -> str:
    r"""Returns a text with its control characters and marks of direction as escapes like \x1b. Tabs and line feeds
    stay.
    """
    return _UNSAFE.sub(_escaped, text)


def cut(text: str) -> str:
    """Returns a text as a line among others tells it: a long one's beginning, and how many characters it has."""
    return text if len(text) <= LONGEST_TOLD else f"{text[:LONGEST_TOLD]}... ({len(text):,} characters)"


def beginning(text: str, most: int) -> str:
    """Returns a text, or of one of more than `most` characters the beginning, with three dots. That ends before a word that
    would be cut, since nobody could find, and mask, a part of a secret. Text of other scripts has no spaces, and is cut.
    """
    if len(text) <= most:
        return text
    kept = text[:most]
    return f"{(_CUT_WORD.sub('', kept) if _OF_WORD.match(text, most) else kept) or kept}..."


def ending(text: str, most: int) -> str:
    """Returns a text, or of one of more than `most` characters the end, from a whole word on (see `beginning`)."""
    return text if len(text) <= most else f"...{beginning(text[::-1], most)[-4::-1]}"


def data(value: Any) -> str:
    """Returns a value as text that stands for itself in rich's markup, and is printable."""
    return _MARKUP.sub(_as_markup, printable(str(value)))


def data_line(value: Any) -> str:
    """Returns a value as `data` does, on one line: what a name or a reason has behind a line feed would stand for itself."""
    return data(str(value).replace("\n", "\\n"))


def _as_markup(found: re.Match[str]) -> str:
    """Returns markup of backslashes and a bracket. rich's own `escape` loses backslashes where no tag follows."""
    backslashes = found["backslashes"] or found["last"] or ""
    # Before a tag, rich takes two backslashes for one: so there are twice as many, and a tag without effect.
    kept = f"{backslashes * 2}[none][/none]" if backslashes else ""
    return kept if found["last"] else rf"{kept}\["


def masked(text: str, secret: str, shown: str = "***") -> str:
    """Returns a text with `shown` in the place of a secret, also where some of its characters are spelled as URLs, JSON
    (also within JSON), HTML or Python spell them.
    """
    return secret_pattern(secret).sub(lambda _: shown, text) if secret else text


def names_secret(name: str) -> bool:
    """Says whether the name of a header, a variable or a field is that of a secret: one of its words ends in `key`, `token`
    or the like. (`X-Author` and `MAX_TOKENS` are no such names.)
    """
    return _SECRET_NAME.search(_CAMEL.sub("_", name)) is not None


def without_scheme(value: str) -> str:
    """Returns the secret of a header without its scheme: that of `Bearer SECRET`; a value of another form as it is. Behind
    `Basic`, `Token` and `Key` stand words of a language, too, but no long ones, none with a digit, and no pair in base64.
    """
    found = _HEADER.fullmatch(value)
    if found is None or (found["scheme"].lower() != "bearer" and not _may_be_secret(found["secret"].rstrip())):
        return value
    return found["secret"]


def _may_be_secret(text: str) -> bool:
    if re.search(r"\s", text):
        return False
    return len(text) > _LONGEST_WORD or re.search("[0-9]", text) is not None or _is_pair(text)


def _is_pair(text: str) -> bool:
    """Says whether a text is a user and a password in base64 (RFC 7617)."""
    try:
        return ":" in base64.b64decode(text, validate=True).decode()
    except ValueError:
        return False


def secret_pattern(secret: str) -> re.Pattern[str]:
    """Returns a regular expression of a secret in all the spellings that `masked` knows. `secret` is not empty. White space
    at its ends, which programs strip, need not be there, and any other stands for that within it.
    """
    parts = re.split(r"(\s+)", secret.strip()) if secret.strip() else [secret]
    spelled = ["".join(map(_spellings, part)) for part in parts]
    return re.compile("".join(f"(?:{_SPACE}|{part})" if number % 2 else part for number, part in enumerate(spelled)))


def _spellings(letter: str) -> str:
    """Returns a regular expression of the spellings of one character."""
    percent = quote(letter.encode("utf-8", "surrogatepass"), safe="")
    coded = percent if percent != letter else f"%{ord(letter):02x}"
    forms = [letter, *_in_json(letter), repr(letter)[1:-1], html.escape(letter), *_OTHER_SPELLINGS.get(letter, ())]
    anyhow = [re.escape(coded), rf"&#0*{ord(letter)};", f"&#x0*{ord(letter):x};", rf"\\{{1,16}}u{ord(letter):04x}"]
    return "(?:" + "|".join([*map(re.escape, dict.fromkeys(forms)), f"(?i:{'|'.join(anyhow)})"]) + ")"


_SPACE = r"(?:\s|\\{1,16}[nrt]|(?i:%0[9ad]|%20)|\+|&nbsp;)+"
"""Regular expression of white space in all its spellings."""


def _in_json(letter: str) -> list[str]:
    """Returns a character as JSON spells it, in JSON that is a text in JSON, and so on, with the longest first."""
    forms = [letter]
    for _ in range(_DEEPEST):
        forms.append(json.dumps(forms[-1])[1:-1])
    return forms[:0:-1]


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
