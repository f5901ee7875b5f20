"""Reads the letter that an answer chose. Readers return None unless the answer certainly chose exactly one option."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal

from ray_gym.envs.mcqa.dress import normalised, plain_text
from ray_gym.envs.mcqa.joined_boxes import boxes_joined_to
from ray_gym.envs.mcqa.replaced import answers_behind
from ray_gym.envs.mcqa.retraction import LETTER_ALONE, RULED_OUT, begins_with_text_of, is_taken_back
from ray_gym.graders import folded
from ray_gym.graders.denials import is_called_wrong, is_denied_below, is_disowned, says_the_same, without_struck
from ray_gym.graders.withdrawn import split_at_standing_box

Grading = Literal["strict_boxed", "lenient_boxed", "answer_colon", "answer_colon_markdown"]
"""Ways in which the letter is read from an answer."""
OptionsByLetter = Mapping[str, str]
"""Texts of the options, by letter."""
Reader = Callable[[str, OptionsByLetter], str | None]
"""Function that returns the letter that a text chose."""

_ONLY_A_LETTER = re.compile(r"""(?:[\s(\["'\u201c\u2018<{$]|\\\{)*([A-Za-z])(?:[\s)\].:,;!"'\u201d\u2019>}*$]|\\\})*""")
_LETTER_AND_TEXT = re.compile(
    r"""[(\[$"'\u201c\u2018<]?([A-Za-z])(?!\w|['\u2019]\w)[)\]$"'\u201d\u2019>]*\s*(.+)""", re.DOTALL
)
_LETTER_TWICE = re.compile(r"[(\[]?([A-Za-z])[)\]]?\s*/\s*[(\[]?\1[)\]]?\.?")
_ALPHABETS = str.maketrans("\u0623\u0628\u062c\u062f\u0985\u09ac\u09a1\u09a2", "ABCDABCD")
"""Letters of the first four options in Arabic and Bengali."""
_LETTER_AT_END = re.compile(r"[(\[]([A-Za-z])[)\]]\.?\Z")
_SEPARATOR = re.compile(r"(?:->|=>|[.:,;=|/→⇒–—-]|\\(?:to|mid|colon|implies|(?:long)?[rR]ightarrow)(?![A-Za-z]))\s*")  # noqa: RUF001
_MOST_SEPARATORS = 8
_NAMED = re.compile(
    r"(?:the\s+)?(?:(?:correct|final|best)\s+){0,2}(?:option|choice|answer|letter)(?:\s+is\b)?\s*[:=]?\s*",
    re.IGNORECASE,
)
"""Words before a letter that name no option."""
_AFFIRMED = re.compile(
    r"(?:(?<![^\W_])[(\[]?(?:is\s+)?(?:the\s+)?(?:correct|right|true)(?:\s+(?:option|choice|answer|one))?[)\]]?"
    r"|(?<![^\W_])is\s+the\s+answer|[✓✔✅]\ufe0f?|\\checkmark)[.!]?$",
    re.IGNORECASE,
)
"""End of a text that calls the letter before it right."""
_TICK = re.compile(r"(?<!\s)\s*+(?:[✓✔✅]\ufe0f?|\\checkmark)[.!]?$")
_QUOTED = re.compile(r"""(?:["“”«»]|``)(.*)(?:["“”«»]|'')|['\u2018](.*)['\u2019]|\((.*)\)|\[(.*)\]""", re.DOTALL)
_TAGS = r"(?:b|strong|em|i|u)"
_COLON = rf"[:\uff1a](?:[ \t]?</{_TAGS}>)?(?:[ \t]*<{_TAGS}>(?=[ \t]*[^\s.]))?"
_ANSWER = re.compile(rf"(?<![A-Za-z])answer(?:[ \t]+is)?(?:</{_TAGS}>)?[ \t*_]*{_COLON}", re.IGNORECASE)
_MARKDOWN_ANSWER = re.compile(rf"(?<![A-Za-z])answer(?:[ \t]+is)?(?:</{_TAGS}>)?[ \t*_`]*{_COLON}", re.IGNORECASE)
_ONLY_POINT = re.compile(
    r"[*_`]*[ \t\r]*\n[\s>]*+[-+\u2022][ \t]+(?=[*_`$(\[]{0,4}[A-Za-z](?![A-Za-z]))(?![^\n]*\n\s*+[-+\u2022*][ \t])"
)
"""Mark of the only point of a list below `Answer:`, before a letter: what is before a number may be its sign."""
_MARKS = re.compile(r"[*_`$]")
_REASON = r"(?:because|since|as(?! well))\b"
_NOT = r"(?:\bnot|n['’]t|\bunlike|\brather than|\binstead of)\b"  # noqa: RUF001
_LETTER_FIRST = re.compile(
    r"[(\[]?([A-Z])(?:[ \t]+is[ \t]+(?:the[ \t]+)?(?:correct|right|best)(?:[ \t]+(?:answer|option|choice|one))?(?![^\W_]))?"
    rf"(?:[ \t]*[)\].:,;–—-]+|[ \t]*/(?=[ \t]*\1(?!\w))|[ \t]+(?={_REASON}|[(\[]?{_NOT}))(.*)"  # noqa: RUF001
)
_REASONED = re.compile(rf"[(\[]?([A-Z])[)\]]?(?:[ \t]*+/[ \t]*+\1)?[ \t]*+,?[ \t]*+[(\[]?(?:{_REASON}|{_NOT})")
"""Letter with a reason, or the letter that it is not, behind it."""
_CLAIM = r"(?:statement|option|answer|choice|claim|assertion|sentence|one)"
_WRONG_ONE = r"(?:incorrect|false|wrong|untrue|invalid|not\s(?:true|correct|valid))"
_SEEKS_A_WRONG_ONE = re.compile(
    rf"\b(?:{_WRONG_ONE}\s{_CLAIM}|{_CLAIM}\s(?:that|which)\sis\s{_WRONG_ONE})\sis\b[^.!?\n]{{0,20}}\Z", re.IGNORECASE
)
"""Words before a box that give the option which is wrong, as it is asked for: they are called so behind it, too."""
_GIVES_A_REASON = re.compile(rf"[ \t]*{_REASON}")
_ALTERNATIVE = re.compile(r"(?:\b(?:or|maybe|perhaps|possibly)\b|/)[ \t,]*[(\[]?([A-Z])(?![A-Za-z'’])")  # noqa: RUF001
_PRONOUN = re.compile(
    r"\bI(?=[ \t]+(?!(?:or|and|also|as|too|is|are|was|were|may|might|could|would|seems|instead)\b)[a-z])"
)


def strict_boxed(text: str, options: OptionsByLetter) -> str | None:
    r"""Returns the letter in the last `\boxed{}` if it is an option's, a capital and stands alone or before the text of
    that option, else None. Fonts, brackets, a full stop and a tick make no difference.
    """
    return _boxed(text, options, _capital)


def lenient_boxed(text: str, options: OptionsByLetter) -> str | None:
    r"""Returns the letter of the option in the last `\boxed{}`, as `letter_or_text` reads it; None if there is none."""
    return _boxed(text, options, letter_or_text)


def answer_colon(text: str, options: OptionsByLetter) -> str | None:
    """Returns the letter of the option behind the last `Answer:` or `answer is:`, up to the end of the line, as
    `letter_or_text` reads it, also without Markdown's marks around it, or with a reason behind it (`E because ...`, `E,
    not A`); None if there is none, or if the next words call it wrong. `Wrong answer:` and `Student's answer:` are
    none.
    """
    behind = _behind_last(_ANSWER, text)
    if behind is None:
        return None
    line, _, below = behind.partition("\n")
    bare = line.strip(" \t\r*_`.")
    found = letter_or_text(line, options) or letter_or_text(bare, options)
    unmarked = _MARKS.sub("", bare)
    if found is None and _REASONED.match(unmarked):
        found = _first_letter(unmarked, options)
    return _standing(found, below, options)


def answer_colon_markdown(text: str, options: OptionsByLetter) -> str | None:
    """Returns the letter of the option behind the last `Answer:`, on the same line or the next, also as the only point
    of a list; None if there is none.

    Markdown's marks are ignored. Words may follow the letter, unless they name another option or call the letter wrong, on
    the next line too.
    `Wrong answer:` and `Student's answer:` are none.
    """
    behind = _behind_last(_MARKDOWN_ANSWER, text)
    if behind is None:
        return None
    point = _ONLY_POINT.match(behind)
    line, _, below = _MARKS.sub("", behind[point.end() if point else 0 :]).lstrip(" \t\r\n#>").partition("\n")
    line = line.strip()
    found = letter_or_text(line, options)
    return _standing(found if found is not None else _first_letter(line, options), below, options)


def _standing(letter: str | None, below: str, options: OptionsByLetter) -> str | None:
    """Returns a letter unless the words below its line call it wrong (`That is wrong.`, `B is wrong.`), or give another one
    (`Wait, it is C.`).
    """
    if letter is None or _other_behind(letter, below, options):
        return None
    if begins_with_text_of(letter, below, options):
        return letter
    named = re.match(rf"[\s*_#>(\[]*+{letter}[)\].:*_]{{0,4}}\s", below)
    return None if is_denied_below(below[named.end() :] if named else below, options[letter]) else letter


def _other_behind(letter: str, behind: str, options: OptionsByLetter) -> bool:
    """Says whether the last option that is given as the answer behind a letter is another one."""
    given = [letter_or_text(found, options) for found in answers_behind(behind)]
    return next((other for other in reversed(given) if other is not None), letter) != letter


READERS: Mapping[Grading, Reader] = {
    "strict_boxed": strict_boxed,
    "lenient_boxed": lenient_boxed,
    "answer_colon": answer_colon,
    "answer_colon_markdown": answer_colon_markdown,
}


def letter_or_text(found: str, options: OptionsByLetter) -> str | None:
    """Returns the option's letter that a text is (also small, in brackets or with a full stop, twice with a slash between,
    behind a word such as `Option`, before the text of that option, or before `is correct` or a tick), or the letter of the
    only option with this text; None if there is neither, or if both are there and differ. Fonts, colours and spaces of
    LaTeX make no difference, nor do spellings of the text (`one_spelling`).
    """
    found = plain_text(found)
    dressed = _ONLY_A_LETTER.fullmatch(found)
    if dressed is not None and dressed[1].upper() in options:
        return dressed[1].upper()
    texts = {letter: normalised(option) for letter, option in options.items()}
    twice = _LETTER_TWICE.fullmatch(found)
    alone = twice[1] if twice is not None else found.translate(_ALPHABETS)
    meant = _letters_of(found, texts) | _affirmed_letter(found, texts) | _lone_letter(alone, texts)
    named = _NAMED.match(found)
    if named is not None:
        bare = found[named.end() :]
        meant |= _letters_of(bare, texts) | _lone_letter(bare, texts) | _affirmed_letter(bare, texts)
    return meant.pop() if len(meant) == 1 else None


def _lone_letter(found: str, texts: OptionsByLetter) -> set[str]:
    """Returns the option's letter that a text is, also in brackets and the like; an empty set if it is none."""
    dressed = _ONLY_A_LETTER.fullmatch(found)
    return {dressed[1].upper()} & texts.keys() if dressed is not None else set()


def _affirmed_letter(found: str, texts: OptionsByLetter) -> set[str]:
    """Returns the option's letter that a text calls right: C in `C is correct` and `C (correct)`; an empty set if there
    is none, or if the words that do so hold an option's text.
    """
    affirmed = _AFFIRMED.search(found)
    if affirmed is None or any(text in folded(affirmed[0]) for text in texts.values() if text):
        return set()
    return _lone_letter(found[: affirmed.start()], texts)


def _letters_of(found: str, texts: OptionsByLetter) -> set[str]:
    """Returns the letters of all options with a text, and the letter before the text of its own option.

    `texts`: normalised texts of the options.
    """
    meant = _having(found, texts)
    behind = _LETTER_AT_END.search(found)
    if behind is not None and (before := found[: behind.start()].rstrip()):
        meant |= {behind[1].upper()} & _having(before, texts)
    both = _LETTER_AND_TEXT.fullmatch(found)
    if both is None or both[1].upper() not in texts:
        return meant
    rest = both[2]
    for _ in range(_MOST_SEPARATORS):
        having = _having(rest, texts)  # the longest rest that is an option's text counts: -5 is not 5 behind a dash
        separator = _SEPARATOR.match(rest)
        if having or separator is None:
            return meant | ({both[1].upper()} & having)
        rest = rest[separator.end() :]
    return meant


def _having(found: str, texts: OptionsByLetter) -> set[str]:
    """Returns the letters of the options with a text; if there are none, of those with the text without quotes, brackets
    and marks around it.
    """
    normal = normalised(found)
    letters = {letter for letter, text in texts.items() if text == normal}
    if letters:
        return letters
    bare = found.strip().rstrip(".,;")
    quoted = _QUOTED.fullmatch(bare)
    bare = bare if quoted is None else next(part for part in quoted.groups() if part is not None)
    normal = normal if bare == found else normalised(bare)
    return {letter for letter, text in texts.items() if text == normal}


def _boxed(text: str, options: OptionsByLetter, read: Reader) -> str | None:
    """Returns the letter that `read` finds in the last box that is not struck through or denied; None if it finds none, or
    the words behind the box call it wrong or give another one, or the box is one of several (`or`). The text of the
    letter's own option (`False`, `No`) does not call it wrong.
    """
    before, boxed, behind = split_at_standing_box(text)
    letter = read(boxed, options) if boxed else None
    if letter is None or _other_behind(letter, behind, options):
        return None
    if any(letter_or_text(other, options) not in (letter, None) for other in boxes_joined_to(before)):
        return None
    said = options[letter]
    is_wrong = is_called_wrong(behind.partition("\n")[0], said) or is_denied_below(behind, said)
    is_sought = _SEEKS_A_WRONG_ONE.search(before) is not None and says_the_same(behind)
    return None if is_wrong and not is_sought and not begins_with_text_of(letter, behind, options) else letter


def _capital(boxed: str, options: OptionsByLetter) -> str | None:
    found = _TICK.sub("", plain_text(boxed))
    dressed = _ONLY_A_LETTER.fullmatch(found)
    if dressed is not None:
        return dressed[1] if dressed[1] in options else None
    both = _LETTER_AND_TEXT.fullmatch(found)
    texts = {letter: normalised(option) for letter, option in options.items()}
    return both[1] if both is not None and _letters_of(found, texts) == {both[1]} else None


def _behind_last(pattern: re.Pattern[str], text: str) -> str | None:
    """Returns the text behind the last place of a pattern that no words before it call wrong; None if there is none."""
    text = without_struck(text)
    for found in reversed(list(pattern.finditer(text))):
        if not is_disowned(text, found.start()):
            return text[found.end() :]
    return None


def _first_letter(line: str, options: OptionsByLetter) -> str | None:
    """Returns the option's letter with which a line begins, if the words after it name no other option: B in `B) 12 km`
    and `B, since ...`. Returns None otherwise, as for `A or B` and `A, perhaps B`.
    """
    found = _LETTER_FIRST.fullmatch(line)
    if found is None or found[1] not in options:
        return None
    letter, rest = found[1], found[2]
    if is_taken_back(letter, line[found.end(1) :], options):
        return None
    behind = _behind_text(rest, options[letter])
    rivals = [other for other in _letters_in(behind) if other in options and other != letter]
    return letter if not rivals or normalised(rest) == normalised(options[letter]) else None


def _behind_text(rest: str, text: str) -> str:
    """Returns the rest of a line behind the text of an option with which it begins; all of it if it begins otherwise."""
    bare, own = rest.strip(), text.strip()
    return (
        bare[len(own) :].lstrip(" \t.,;\u2013\u2014-") if own and bare.casefold().startswith(own.casefold()) else rest
    )


def _letters_in(rest: str) -> list[str]:
    """Returns the letters in the rest of a line that may be chosen too, which letters that are called wrong are not. In
    a reason only letters after `or`, `maybe` and the like count.
    """
    pattern = _ALTERNATIVE if _GIVES_A_REASON.match(rest) else LETTER_ALONE
    return pattern.findall(RULED_OUT.sub("", _PRONOUN.sub("", rest)))
