"""Tells which words behind a number only name what it counts. Others may make another number of it, or deny it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ray_gym.envs.math.number_words import NUMBER_WORDS
from ray_gym.envs.math.scripts import is_named_in
from ray_gym.envs.math.unit_table import powers_of

_WORD = re.compile(r"[A-Za-z]+(?:['\u2019][A-Za-z]+)?")
_LETTERS = re.compile("[A-Za-z]+")
_PLAIN_WORDS = re.compile(r"(?:[A-Za-z ,./'()\u2019-]|(?<=[A-Za-z])!)*")
_PER = re.compile(r"^\s*(?:/|per\b)")
_TEXT = re.compile(r"\\text\{([^{}]*)\}")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_COUNTED = re.compile(r"(?i:how\s+many|number\s+of)\s+([A-Za-z-]+)(?:\s+([A-Za-z-]+))?")
_COMPARED = re.compile(r"how\s+(?:many|much)\s+(more|less|fewer)\b", re.IGNORECASE)
_ASKS_FOR_MOLARITY = re.compile(r"(?i:\bmol(?:ar|arity|es?)?\b|\bconcentration\b)")
"""Words of a question to which M is mol per litre, and no million."""
_NAMES_NOTHING = frozenset(
    {"is", "are", "not", "no", "wrong", "negative", "minus", "below", "squared", "cubed", "factorial", "more", "less"}
)
"""Words that name nothing, though they may stand behind `how many`."""
_ORDINARY = frozenset(
    {"old", "left", "remaining", "each", "total", "altogether", "all", "apiece", "per", "away"}
) | frozenset({"of", "a", "an", "the", "in", "and", "or", "different", "distinct", "possible", "such"})
"""Words of ordinary endings, which need not be in the question."""
_WHOLE = frozenset({"full", "whole", "complete", "entire"})
"""Words that may stand before what a question counts, if it has `_ASKS_FOR_WHOLE` and not `_NOT_WHOLE`."""
_ASKS_FOR_WHOLE = re.compile(
    r"(?i:\b(?:fill(?:s|ed)?|fits?|packs?|packed|needs?|needed|buy|makes?|made|complete[sd]?)\b)"
)
_NOT_WHOLE = re.compile(
    r"(?i:\b(?:not|empty|half|partial\w*|partly|broken|remain\w*|left|still|to be|un\w+|incomplete)\b|n['\u2019]t\b)"
)
_FROM = re.compile(r"(?i:(?<=[a-z])\s{1,3}(?:away\s{1,3})?(from\s[a-z'\u2019 ]{1,60}?)\s?(\})?\Z)")
_GOES_ON = "is|are|was|were|will|would|did|does|do|can|could|has|have|had|now|after|before|when|if|at|in"
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_ASKS_FOR_WAYS = re.compile(r"\b(?:how\s+many|number\s+of)\b[^.?!]{0,40}\bways\b", re.IGNORECASE)
_WAYS = frozenset({"way", "combination", "possibility", "arrangement", "choice", "selection"})
"""Words, in the singular, of which each names what a question for ways counts."""
_JOINS = frozenset({"of", "and", "or"})
"""Words that no ending begins with."""
_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety half halve third quarter fourth fifth sixth"
    " seventh eighth ninth eleventh twelfth gross score couple pair double triple quadruple twice thrice time fold"
    " percent percentage cent-per mille quadrillion quintillion googol"
)
_OPERATIONS = (
    "squared cubed square cube factorial negative positive plus minus over under divided multiplied by to through till until"
    " mod modulo modulus log ln sin cos tan cot sec csc sinh cosh tanh arcsin arccos arctan sqrt root pi exp choose base power"
    " raised inverse reciprocal opposite max min gcd lcm det lim degree radian remainder decimal digit repeating recurring"
    " binary ternary octal hexadecimal"
)
_RELATIONS = (
    "more less fewer than above below beneath underground behind short down loss lost lose debt owed deficit at least most"
    " between from about approximately nearly almost exactly maximum minimum greater smaller larger equal equals bc bce"
)
_SAYS = (
    "is are was were be been being am isn aren has have had do does did can cannot could may might must shall should will"
    " would not no none never neither nor without except but only if unless then so because since when where which that this"
    " these those it its he she they we you i there instead rather too also however maybe perhaps possibly probably wrong"
    " incorrect false invalid impossible right correct true answer answers solution what who why how many much"
)
_DENIED = frozenset(f"{_NUMBERS} {_OPERATIONS} {_RELATIONS} {_SAYS}".split()) | NUMBER_WORDS
"""Words, in the singular, that may make another number of the one before them, compare it, or say something of it."""
_DENIED_ENDINGS = re.compile(r".*(?:n['\u2019]t|illion(?:th)?|teen(?:th)?|tie(?:th))")
_MARKS = str.maketrans(dict.fromkeys("?.,;:", " "))
_SINGULAR = {
    **{"men": "man", "women": "woman", "children": "child", "people": "person", "feet": "foot", "mice": "mouse"},
    **{"geese": "goose", "teeth": "tooth", "oxen": "ox", "dice": "die", "lives": "life", "knives": "knife"},
    **{"wives": "wife", "halves": "half"},
}
_ENDINGS = [("ies", "y"), ("ves", "f"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"), ("xes", "x"), ("oes", "o")]


def counted_in(question: str) -> frozenset[str]:
    """Returns the words behind `how many` and `number of` in a question, in lower case: they name what it counts."""
    words = frozenset(word.lower() for found in _COUNTED.findall(question) for word in found if word)
    return words - _NAMES_NOTHING


def is_ending(words: str, expected: str, question: str, is_last: bool = True) -> bool:
    """Says whether words behind a number leave it as it is: a unit, `and`, `or`, words of the expected answer, and what
    the question counts. At the end of an answer these may also be words of the question and of ordinary endings
    (`years old`, `marbles left`), if none of them makes another number, compares or denies.

    `is_last`: whether nothing stands behind the words. An expected answer with words of its own allows no others.
    """
    if powers_of(_PER.sub("", words)) is not None or words in {text.strip() for text in _TEXT.findall(expected)}:
        return True
    if not _PLAIN_WORDS.fullmatch(words):
        return is_last and is_named_in(words, expected, question)
    own = {word.lower() for word in _LETTERS.findall(expected)}
    counted = counted_in(question)
    if {word.lower() for word in _LETTERS.findall(words)} <= {*own, *counted, "and", "or"}:
        return True
    if not is_last or _is_of_another_kind(_WORD.findall(words.lower()), question):
        return False
    named = [word.lower() for word in _LETTERS.findall(_COMMAND.sub(" ", expected)) if len(word) > 1]
    known = {*counted, *named} if named else {word.lower() for word in _WORD.findall(question)}
    if not named and _counts_whole(words, counted, question):
        known |= _WHOLE
    known |= _WAYS if not named and _ASKS_FOR_WAYS.search(question) else frozenset()
    return (not named and _is_a_phrase(words, question)) or _names_what_is_known(
        _WORD.findall(words.lower()), set(_singular(known)), _COMPARED.search(question), has_units=not named
    )


def _counts_whole(words: str, counted: frozenset[str], question: str) -> bool:
    """Says whether words behind a number begin with `full` or the like and what is counted, and the question may mean that."""
    first, name, *_ = [*_singular(_WORD.findall(words.lower())), "", ""]
    is_asked = _ASKS_FOR_WHOLE.search(question) and not _NOT_WHOLE.search(question)
    return first in _WHOLE and name in set(_singular(counted)) and bool(is_asked)


def without_place(expression: str, question: str) -> str:
    r"""Returns a bare expression without `from` and a place behind the words at its end, if the question's sentence that
    asks has these, too: `45\text{ miles from home}`, of `How far is he from home?`.
    """
    found = _FROM.search(expression)
    if found is None:
        return expression
    sentences = _SENTENCE.split(question.strip())
    asking = next((one for one in reversed(sentences) if one.endswith("?")), sentences[-1])
    place = re.escape(" ".join(found[1].lower().split()))
    is_asked = re.search(rf"\b{place}(?=[?.,;!]|\s(?:{_GOES_ON})\b|\Z)", " ".join(asking.lower().split()))
    return f"{expression[: found.start()]}{found[2] or ''}" if is_asked else expression


def asks_for_molarity(question: str) -> bool:
    """Says whether M is mol per litre in an answer to a question, and no million."""
    return _ASKS_FOR_MOLARITY.search(question) is not None


def may_name(words: str) -> bool:
    """Says whether words behind a number may name what it counts: none makes another number of it, compares or denies."""
    found = _WORD.findall(words.lower())
    return bool(found) and found[0] not in _JOINS and not any(map(_is_denied, found))


def _is_of_another_kind(words: list[str], question: str) -> bool:
    """Says whether words name another kind of what a question counts: `blue marbles`, of how many red marbles there are."""
    singular = list(_singular(words))
    for kind, counted in _COUNTED.findall(question.lower()):
        name = next(iter(_singular([counted])))
        place = singular.index(name) if name in singular else 0
        if place and kind not in {*words, *_NAMES_NOTHING} and singular[place - 1] not in _ORDINARY:
            return True
    return False


def _is_a_phrase(words: str, question: str) -> bool:
    """Says whether the question asks how many of just these words there are, as of `negative integers`."""
    parts = words.lower().split()
    asked = " ".join(question.lower().split())
    phrase = " ".join(parts)
    return (
        len(parts) > 1
        and not _is_denied(parts[-1])
        and parts[0] not in _SAYS.split()
        and any(f"{ask} {phrase} " in f"{asked.translate(_MARKS)} " for ask in ("how many", "number of"))
    )


def _names_what_is_known(words: list[str], known: set[str], compared: re.Match[str] | None, has_units: bool) -> bool:
    """Says whether words of an ending are known, in the singular, and harmless. `compared`: `how many more` or the like
    in the question, whose last word may then come first. `has_units`: whether units are known.
    """
    if compared is not None and words[:1] == [compared[1].lower()]:
        words = words[1:]
    if words and words[0] in _JOINS:
        return False
    if any(_is_denied(one) for one in words):
        return False
    return all(
        (len(one) > 1 and one in known)
        or one in _ORDINARY
        or (has_units and len(one) > 2 and powers_of(one) is not None)
        for one in _singular(words)
    )


def _is_denied(word: str) -> bool:
    return any(one in _DENIED or _DENIED_ENDINGS.fullmatch(one) for one in [word, *_singular([word])])


def _singular(words: Iterable[str]) -> Iterable[str]:
    for word in words:
        bare = re.sub(r"['\u2019]s$", "", word)
        ending = next(((long, short) for long, short in _ENDINGS if bare.endswith(long) and len(bare) > 4), ("s", ""))
        if bare in _SINGULAR or len(bare) < 4 or bare.endswith(("ss", "us")) or not bare.endswith(ending[0]):
            yield _SINGULAR.get(bare, bare)
        else:
            yield bare.removesuffix(ending[0]) + ending[1]
