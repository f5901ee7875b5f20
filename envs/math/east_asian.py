"""Reads what stands around a number in Chinese and Japanese, whose words have no spaces between them."""

# ruff: noqa: RUF001

from __future__ import annotations

import re

from ray_gym.envs.math.scripts import CHANGING

_LETTERS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_MARKS = str.maketrans({"。": ". ", "，": ", ", "、": ", ", "：": ": ", "；": "; ", "？": "? ", "！": "! "})
_WORDS = [
    (re.compile(r"(?:答案|答え|答)\s?(?:\*{2})?\s?(?:应该是|應該是|应为|是|为|為|は|:)(?!不|否)"), " answer: "),
    (re.compile("而(?:不是|非)|ではなく"), " not "),
    (re.compile(r"不(?:对|對)?(?=\s{0,3}(?:[,.!?]|\Z))|いいえ"), " no"),
    (re.compile("不(?:是|为|為|等于|等於)|并非|並非"), " is not "),
    (
        re.compile(
            "(?:では|じゃ)(?:ない|ありません)|(?:が|이|가)?\\s?아(?:니다|닙니다)|是错(?:的|误的)?|は(?:間違い|誤り)"
        ),
        " is wrong ",
    ),
    (re.compile("或者?|または|もしくは"), " or "),
    (re.compile("(?:至少|最少|少なくとも)[是为為]?"), " at least "),
    (re.compile("(?:至多|最多|多くとも)[是为為]?"), " at most "),
    (re.compile("(?:大于|大於|超过|超過)[是为為]?"), " more than "),
    (re.compile("(?:小于|小於|不到)[是为為]?"), " less than "),
]
"""Words around an answer, and the ones of English that are read."""
_BEFORE = re.compile(rf"(?<=[{_LETTERS}])(?=[-+\u2212\d.$\\*])")
_BEHIND = re.compile(rf"(?<=[\d%)}}$*])(?=[{_LETTERS}])")
_CHANGED = re.compile(
    rf"(?:[{CHANGING}之第]|(?:可能|也许|也許|或许|或許|大概)[是为為]?)\s?[-+$]?\d[\d.,/]*[^\d]{{0,40}}\Z"
    rf"|\d\s?[{CHANGING}至吗][^\d]{{0,40}}\Z"
)
"""Last number of a text, which another word makes another one, or doubts."""


def with_spaces(text: str) -> str:
    """Returns a text with spaces between numbers and the letters of Chinese and Japanese, with English words for those that
    announce, deny or bound an answer, and with usual marks for wide ones. Other texts stay as they are.
    """
    if not re.search(f"[{_LETTERS}\uac00-\ud7a3]", text):
        return text
    text = text.translate(_MARKS)
    for word, english in _WORDS:
        text = word.sub(english, text)
    return _BEHIND.sub(" ", _BEFORE.sub(" ", text))


def is_changed(text: str) -> bool:
    """Says whether a word of Chinese, Japanese or Korean makes another number of the last one in a text: 12万, 负12."""
    return _CHANGED.search(text.rstrip()[-200:]) is not None
