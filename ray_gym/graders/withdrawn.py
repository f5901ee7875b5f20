"""Finds boxes that their author did not take back: struck through, denied or supposed before the box, or called wrong
behind it.
"""

from __future__ import annotations

import re

from ray_gym.graders.boxes import with_latex_boxes
from ray_gym.graders.denials import NOT, is_called_wrong, is_denied_below, without_struck
from ray_gym.graders.extract import split_at_last_box
from ray_gym.graders.replaced import replacement

_DENIED_BOX = re.compile(
    rf"({NOT}(?:\s(?:be|equal\sto|equal))?[\s$*_]{{0,9}}(?:\\[(\[]\s{{0,9}})?)\\(?:boxed|fbox)(?=\s*\{{)", re.IGNORECASE
)
_AROUND_A_BOX = re.compile(r"(?:[^\S\n]|[}$*_)]|\n?(?:\\[)\]]|\$\$))*+")
_BOX = re.compile(r"\\(?:boxed|fbox)(?=\s*\{)")
_REACH = 300
"""Number of characters before a box in which its sentence is looked for."""
_MOST_BOXES = 100
"""Number of boxes, the last ones, that are looked at."""
_SENTENCE_END = re.compile(r"[.;!?](?!\d)|(?<![:,])\s*\n")
_CONDITION = re.compile(r"\b(?:if|unless)\s|(?:\A|(?<=,))[\s*_>-]{0,9}(?:had|were)\s", re.IGNORECASE)
_CONTRARY = re.compile(
    r"(?:\b(?:[b-z]|it|this|that|he|she|(?:answer|value|number|result)(?:\s[b-z])?)\b[\s$)\\]{1,4}were"
    r"(?:n['\u2019]t)?\b(?!\sto\b)"
    r"|\A[\s*_>-]{0,9}(?:had|were)\b(?!\s(?:I|we)\sto\b)|\binstead\b)",
    re.IGNORECASE,
)
"""Condition that is not so: `If x were 2`, `Had x been 2`; `If there were 2` may be."""
_LIKELY = re.compile(
    r"\b(?:were|had)(?:n['\u2019]t)?\b(?!\sto\b).{0,300}\b(?:would|['\u2019]d)\b", re.IGNORECASE | re.DOTALL
)
"""Condition that is likely not so: `If there were 2, it would be`."""
_TURNS = re.compile(
    r"\b(?:but|however|yet|since|because|so|thus|hence|therefore|contradict\w*|impossible|actually|in\sfact|not)\b",
    re.IGNORECASE,
)
"""Words by which a sentence goes on to what is so."""


def split_at_standing_box(text: str, question: str | None = None) -> tuple[str, str | None, str]:
    r"""Returns what is before the last box that is neither struck through, nor denied (`not \boxed{12}`), nor supposed
    (`If x were 2: \boxed{12}`), its content, and what is behind it; "", None and "" without one. Whether the rest of its
    line takes the box back, `is_called_wrong` says. A `question` that supposes something itself has answers that do. If
    it is not given, a box that is the only one counts though it is supposed.
    """
    before, boxed, behind = _split(text, question)
    return before, boxed, _AROUND_A_BOX.sub("", behind, count=1)


def standing_box(text: str, question: str = "") -> str | None:
    """Returns the content of the last box that is not called wrong behind it, as an answer to a question; None without
    one. Whether another answer takes its place, `answer_instead` says.
    """
    _, boxed, behind = split_at_standing_box(text, question)
    said = boxed or ""
    return None if is_called_wrong(behind.partition("\n")[0], said) or is_denied_below(behind, said) else boxed


def answer_instead(text: str, question: str = "") -> str | None:
    """Returns the value that is given as the answer behind the last box that stands, if it is written otherwise than in
    the box (`Wait, it's 13.`); None without one. Without a box it is looked for behind the last `answer is`.
    """
    _, boxed, behind = _split(text, question)
    return replacement(boxed, without_struck(text) if boxed is None else behind)


def _split(text: str, question: str | None) -> tuple[str, str | None, str]:
    """Returns what `split_at_standing_box` does, with the marks behind the box."""
    kept = _DENIED_BOX.sub(r"\1", without_struck(with_latex_boxes(text)))
    is_asked_so = any(map(_is_contrary, _SENTENCE_END.split(question or "")))
    return split_at_last_box(kept if is_asked_so else _without_supposed(kept, question is None))


def _without_supposed(text: str, keeps_one: bool) -> str:
    """Returns a text without the commands of its boxes from the last one on that are only supposed. If that is only
    likely, or the text `keeps_one`, there has to be another box.
    """
    boxes = list(_BOX.finditer(text))[-_MOST_BOXES:]
    first = len(boxes)
    for number, box in reversed(list(enumerate(boxes))):
        sentence = _SENTENCE_END.split(text[max(0, box.start() - _REACH) : box.start()])[-1]
        if (keeps_one and number == 0) or not _is_contrary(sentence, is_likely_enough=number > 0):
            break
        first = number
    return text if first == len(boxes) else text[: boxes[first].start()] + _BOX.sub("", text[boxes[first].start() :])


def _is_contrary(sentence: str, is_likely_enough: bool = True) -> bool:
    """Says whether a sentence's last condition is contrary to fact, and nothing behind it says what is so."""
    starts = [found.start() for found in _CONDITION.finditer(sentence)]
    rest = sentence[starts[-1] :].lstrip(" ,") if starts else ""
    if _TURNS.search(rest):
        return False
    is_sure = _CONTRARY.search(re.split("[,:]", rest, maxsplit=1)[0]) is not None
    return is_sure or (is_likely_enough and _LIKELY.search(rest) is not None)
