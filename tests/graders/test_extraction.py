"""Finds the answer in what was said."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from processor import slowness

from ray_gym.graders import Extract, answer_line, by_regex, first_of, last_boxed, tagged, whole


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (r"so \boxed{42}.", "42"),
        (r"\boxed{1} or \boxed{2}", "2"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{ {{}} }", "{{}}"),
        (r"\boxed {7} and \fbox{8}", "8"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{a \\} b}", r"a \\"),
        (r"\boxed{12\ }", "12"),
        (r"\boxed{12 \ \ }", "12"),
        (r"\boxed{12\\ }", r"12\\"),
        (r"\boxed{1} and \boxed{never closed", "1"),
        (r"a } too many, { too few, \boxed{3}", "3"),
        (r"\boxed{outer \boxed{inner}}", "inner"),
        (r"\boxed{1} \boxed{ }", "1"),
        ("\\boxed{1} \\boxed{\u200b}", "1"),
        (r"\boxed{4}, and use the `\boxed{}` form", "4"),
        (r"\boxed{ } \boxed{\ }", None),
        ("\\boxed{two\nlines}", "two\nlines"),
        (r"boxed{1} \boxed 2", "2"),
        (r"so $\boxed E$.", "E"),
        (r"\boxed{1}, no, \boxed -5.", "-5"),
        (r"\boxed 1, no, \boxed{2}", "2"),
        (r"in \boxed\n{}", None),
        (r"\boxed{\}", None),
        ("", None),
    ],
)
def test_the_last_box_that_is_closed(text: str, found: str | None) -> None:
    assert last_boxed(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Answer: 42", "42"),
        ("answer = 42 \nbye", "42"),
        ("The ANSWER is: B", "B"),
        ("Answer: 1\nAnswer: 2", "2"),
        ("Answer: the final answer: 5", "5"),
        ("Answer: 1\nAnswer:\nnext line", "1"),
        ("**Answer:** 42", "42"),
        ("**Answer**: 42", "42"),
        ("**Answer: 42**", "42"),
        ("***Answer:*** 42", "42"),
        ("*Answer:* 42", "42"),
        ("*Answer*: 42", "42"),
        ("*Answer: 42*", "42"),
        ("__Answer:__ 42", "42"),
        ("_Answer_: 42", "42"),
        ("__The answer: 42__", "42"),
        ("`Answer: 42`", "42"),
        ("Answer: **42**", "42"),
        ("**Answer:** **42**.", "42"),
        ("Answer: *42*", "42"),
        ("Answer: `42`", "42"),
        ("Answer: **`42`**", "42"),
        ("Answer: ***42***", "42"),
        ("Answer:**42**", "42"),
        ("Answer\uff1a42", "42"),
        ("**Answer\uff1a** 42", "42"),
        ("Answer: 2 * 3", "2 * 3"),
        ("Answer: 2**3", "2**3"),
        ("Answer: **2** and **3**", "**2** and **3**"),
        ("Answer: `a` and `b`", "`a` and `b`"),
        ("Answer: __init__", "__init__"),
        ("Answer: x_", "x_"),
        ("Answer: 42<|im_end|>", "42"),
        ("Answer: 42 </answer>", "42"),
        ("Answer: 42<end_of_turn>", "42"),
        ("Answer: 42<\uff5cend\u2581of\u2581sentence\uff5c>", "42"),
        ("<b>Answer:</b> 42", "42"),
        ("**Answer: 42**<|eot_id|>\n</s>  ", "42"),
        ("Answer: <|im_end|>", None),
        ("Answer: a<|b|>c", "a<|b|>c"),
        ("Answer: x <| y |>", "x <| y |>"),
        ("Answer: C*", "C*"),
        ("my_answer: 3", None),
        ("Answer: **", None),
        ("the answer is 42", None),
        ("reanswer: 3", None),
        ("Answer:", None),
        ("Answer: \u200b", None),
        ("Answer:   \n42", "42"),
        ("Answer:\n\n42\n", "42"),
        ("**Answer:**\n\n**42**", "42"),
        ("Answer:\n42\nWait, that's wrong.", None),
        ("Wrong answer:\n42", None),
        ("Answer:\n \n", None),
        ("Answer:\n$$\n5\n$$", "5"),
        ("Answer:\n\\[\n5\n\\]", "5"),
        ("Answer:\n```\n5\n```", "5"),
        ("Answer:\n---\n5", "5"),
        ("Answer:\n1. 5", "5"),
        ("Answer:\n> 5", "5"),
        ("The final answer:\n\n### 5", "5"),
        ("**Answer:\n5**", "5"),
        ("Answer:\n- Paris", "Paris"),
        ("Answer:\n-5", "-5"),
        ("Answer:\n- 5", None),
        ("Answer:\n---", None),
        ("Answer:\n$$", None),
        ("Answer:\n- \\frac{1}{2}", None),
        ("Answer:\n- x + 3", None),
        ("Answer:\n- (x + 3)", None),
        ("Answer:\n$$\n- \\frac{1}{2}\n$$", "- \\frac{1}{2}"),
        ("Answer:\n\\[\n- 5\n\\]", "- 5"),
        ("Answer:\n$$\n5\n$$\nWait, that's wrong.", None),
        ("Answer:\n- $5$", "$5$"),
        ("Answer:\n- (B)", "(B)"),
        ("Answer:\n- (2, 3)", "(2, 3)"),
        ("Answer:\n- a) Paris", "a) Paris"),
        ("Answer:\n- a cat", "a cat"),
        ("Answer:\n- b", "b"),
        ("Answer:\n- x = 5", "x = 5"),
        ("Answer:\n- (ii) x", "(ii) x"),
        ("Answer:\n- x", None),
        ("Answer:\n- x^2", None),
        ("Answer:\n- - -\n5", "5"),
        ("Answer:\n~~~\n5\n~~~", "5"),
        ("Answer:\n$\n5\n$", "5"),
        ("Answer:\n|---|\n|5|", "|5|"),
        ("Answer:\n\U0001f600\n\nExplanation: joy.", "\U0001f600"),
        ("Answer:\n\u2713\nThis is right.", "\u2713"),
        ("Answer:\n\u2705\n5", "5"),
        ("Answer:\n\U0001f389\n5", "5"),
        ("Answer:\n\u2705", "\u2705"),
        ("Answer:\n+---+---+\n| 5 |", "| 5 |"),
        ("Answer:\n- x**2", None),
        ("Answer:\n- (width + 2)", None),
        ("Answer:\n+++--", "+++--"),
        ("Answer:\n|||", "|||"),
        ("Answer:\n``` python\n5\n```", "5"),
        ("Answer:\n- b - Paris", "b - Paris"),
        ("Answer:\n- x-axis", "x-axis"),
        ("Answer:\n- x-1", None),
        ("Answer:\n- b - sqrt(2)", None),
        ("Answer:\n---|---\n5", "5"),
        ("Answer:\n- c++", "c++"),
        ("Answer:\n- (2)(3)", None),
        ("Answer:\n- (see 2/3) Paris", "(see 2/3) Paris"),
        ("Answer:\n- (sin x + 1)", None),
        ("Answer:\n\U0001f44d", "\U0001f44d"),
        ("Answer:\n* 5", "5"),
        ("Answer:\n+ 5", "5"),
        ("Answer:\n\u2212 5", "\u2212 5"),
        ("Answer:\n-\u221e\nThe series diverges.", "-\u221e"),
        ("Answer:\n\u2205", "\u2205"),
        ("Answer:\n[]", "[]"),
    ],
)
def test_what_stands_behind_the_last_answer(text: str, found: str | None) -> None:
    assert answer_line(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<a>1</a> <a> 2 </a>", "2"),
        ("<a>1</a> <a>2", "1"),
        ("<a>1 <a>2</a>", "2"),
        ("<a>1</a></a>", "1"),
        ("<a>two\nlines</a>", "two\nlines"),
        ("<a></a>", None),
        ("<a>1</a> (in <a></a>)", "1"),
        ("<A>1</A>", "1"),
        ("<a >1</a >", "1"),
        ("<ab>1</ab>", None),
        ("</a>1<a>", None),
        ("<b>1</b>", None),
    ],
)
def test_what_stands_between_tags(text: str, found: str | None) -> None:
    assert tagged("a")(text) == found


def test_a_tag_is_no_pattern() -> None:
    assert tagged("a.b")("<a.b>1</a.b> <axb>2</axb>") == "1"


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"\d+", "1 22 333", "333"),
        (r"x=(\d+)|y=(\d+)", "x=1 y=2", "2"),
        (r"x=(\d*)", "x=1 x=", None),
        (r"\d", "none", None),
        (r"(\d)?x", "x", None),
    ],
)
def test_the_last_match_of_a_pattern(pattern: str, text: str, found: str | None) -> None:
    assert by_regex(pattern)(text) == found


def test_a_pattern_takes_flags_and_must_be_one() -> None:
    assert by_regex("a(.)", re.IGNORECASE)("Ab") == "b"
    with pytest.raises(re.error):
        by_regex("(")


def test_the_first_that_finds_anything() -> None:
    either = first_of(last_boxed, answer_line, whole)
    assert [either(text) for text in (r"\boxed{1} Answer: 2", "Answer: 2", " 3 ", "")] == ["1", "2", "3", None]
    assert first_of()("text") is None


LONG = 1_000_000
LONG_TEXTS = [
    "x" * LONG,
    " " * LONG,
    "\\boxed{" * (LONG // 7),
    "\\boxed{}" * (LONG // 8),
    "<|begin_of_box|>" * (LONG // 16),
    "\\boxed" + " " * LONG,
    "{" * LONG,
    "\\" * LONG,
    "answer" + " " * LONG,
    "answer " * (LONG // 7),
    "answer:" * (LONG // 7),
    "Answer:\n" * (LONG // 8),
    "Answer:**" * (LONG // 9),
    "Answer: " + "*" * LONG,
    "answer" + "_" * LONG,
    "answer is" + " " * LONG,
    "<a>" * (LONG // 3),
    "</a>" * (LONG // 4),
    "<a>" + "x" * LONG,
    "<a></a>" * (LONG // 7),
    "</s> " * (LONG // 5),
    " " * LONG + "</s>",
    "<a>" * (LONG // 6) + "</a>" * (LONG // 8),
]


@pytest.mark.parametrize("before", ["Wrong answer", "The student's answer", "**Incorrect** answer", "Not the answer"])
def test_an_answer_line_that_is_called_wrong_or_somebody_elses_is_none(before: str) -> None:
    assert answer_line(f"{before}: C") is None
    assert answer_line(f"Answer: B\n{before}: C") == "B"


@pytest.mark.parametrize("below", ["That is wrong.", "\n**No, wait, that's incorrect.**", "Wait, no."])
def test_an_answer_line_that_the_next_line_calls_wrong_is_none(below: str) -> None:
    assert answer_line(f"Answer: B\n{below}") is None
    assert answer_line(f"Answer: B\n{below} Answer: C") == "C"
    assert answer_line("Answer: ~~B~~") is None
    assert answer_line("Answer: B\nIncorrect: C") == "B"


@pytest.mark.parametrize("extract", [whole, last_boxed, answer_line, tagged("a")])
@pytest.mark.clock
def test_a_megabyte_of_anything_is_quick(extract: Extract) -> None:
    for text in LONG_TEXTS:
        began = time.process_time()
        extract(text)
        assert time.process_time() - began < 10 * slowness(), text[:20]


def slow_last_boxed(text: str) -> str | None:
    """Finds the last closed box that is not blank, and in which no other is, by the definition: it counts the braces of
    every box.
    """
    boxes = []
    for begin in [match.end() for match in re.finditer(r"\\(?:boxed|fbox)\s*\{", text)]:
        depth, position = 1, begin
        while position < len(text):
            if text[position] == "\\":
                position += 1
            elif text[position] in "{}":
                depth += 1 if text[position] == "{" else -1
                if depth == 0:
                    boxes.append((begin, position))
                    break
            position += 1
    innermost = [box for box in boxes if not any(box[0] < begin < box[1] for begin, _ in boxes)]
    return next(filter(None, (without_space_at_ends(text[slice(*box)]) for box in reversed(innermost))), None)


def without_space_at_ends(content: str) -> str | None:
    """Reads the content of a box piece by piece; a backslash and what it escapes are one, and one of white space is
    white space.
    """
    pieces = re.findall(r"\\.|.", content, re.DOTALL)
    while pieces and not pieces[-1].removeprefix("\\").strip():
        pieces.pop()
    return "".join(pieces).strip() or None


@given(st.lists(st.sampled_from(["\\boxed{", "\\fbox {", "{", "}", "\\", "\\{", "a", " ", "\n"]), max_size=14))
def test_boxes_are_counted_as_defined(parts: list[str]) -> None:
    text = "".join(parts)
    assert last_boxed(text) == slow_last_boxed(text)


@given(st.text(alphabet="<a>/ answer:={}\\boxed\n*"))
def test_what_is_found_is_in_the_text(text: str) -> None:
    for extract in (whole, last_boxed, answer_line, tagged("a"), by_regex("a(.*)")):
        found = extract(text)
        assert found is None or (found in text and found == found.strip() and found)
