"""Checks that multiple choice knows an option's text in other spellings."""

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.envs.mcqa.reading import READERS, Grading
from ray_gym.envs.mcqa.spelling import one_spelling

SAME = [
    ("x^2", ["$x^{2}$", "x²", "$x^2$", "x^{2}"]),
    ("10^{-5}", ["10⁻⁵", "10^{-5}", "$10^{-5}$"]),
    ("x^{n+1}", ["x^(n+1)", "xⁿ⁺¹"]),
    ("H2O", ["H₂O", "$H_2O$", "H_{2}O", "\\text{H}_2\\text{O}", "\\mathrm{H_2O}"]),
    ("Fe³⁺", ["Fe^{3+}", "Fe3+", "$\\mathrm{Fe}^{3+}$"]),
    ("Na+", ["Na⁺", "Na^+"]),
    ("½", ["\\frac12", "\\frac{1}{2}", "\\dfrac{1}{2}", "1/2", "1\u20442", "$\\tfrac{1}{2}$"]),
    ("1½", ["1 1/2", "1\\frac12", "1 \\frac{1}{2}"]),
    ("\\frac{x+1}{2}", ["(x+1)/2", "(x + 1)/2"]),
    ("√2", ["\\sqrt{2}", "\\sqrt 2", "√(2)", "$\\sqrt2$"]),
    ("\\frac{\\sqrt{3}}{2}", ["√3/2", "\\dfrac{\\sqrt3}{2}"]),
    ("π/2", ["\\frac{\\pi}{2}", "\\pi / 2"]),
    ("2πr", ["2\\pi r", "2π r"]),
    ("90°", ["90^\\circ", "90^{\\circ}", "$90\\degree$"]),
    ("3 × 4", ["3 \\times 4", "3×4"]),  # noqa: RUF001
    ("≤ 5", ["\\le 5", "\\leq5", "≤5"]),
    ("25%", ["25\\%", "$25\\%$"]),
    ("$5", ["\\$5", "5"]),
    ("it's", ["it’s"]),  # noqa: RUF001
    ("Schrödinger", ["Schro\u0308dinger"]),
    ("Schrödinger", ['Schr\\"odinger', 'Schr\\"{o}dinger']),
    ("São Paulo", ["S\\~ao Paulo", "S\\~{a}o Paulo"]),
    ("CO2", ["\\ce{CO2}", "$\\ce{CO_2}$"]),
    ("0.5", [".5", "$.5$"]),
    ("fish", ["\ufb01sh"]),
    ("x + y = 3", ["x+y=3", "$x + y = 3$"]),
]
"""Texts of options, and other spellings of each."""


@pytest.mark.parametrize(("option", "others"), SAME)
def test_a_letter_stands_before_its_options_text_in_any_spelling(option: str, others: list[str]) -> None:
    for here, there in [(option, other) for other in others] + [(other, option) for other in others]:
        options = {"A": "another one", "H": here, "J": "no"}
        for text, letter in [(f"H) {there}", "H"), (f"H: {there}", "H"), (there, "H"), (f"J: {there}", None)]:
            assert READERS["lenient_boxed"](rf"\boxed{{{text}}}", options) == letter, (here, text)
            assert READERS["answer_colon"](f"Answer: {text}", options) == letter, (here, text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x^2", "x2"),
        ("x^{n+1}", "x^n+1"),
        ("\\{1, 2\\}", "1, 2"),
        ("1½", "11/2"),
        ("-5", "5"),
        ("\\frac{x+1}{2}", "x+1/2"),
        ("\\sqrt{x}+1", "\\sqrt{x+1}"),
        ("2 3", "23"),
        ("10^{-5}", "10^5"),
        ("my_name", "myname"),
        ("5 m", "5 m^2"),
    ],
)
def test_texts_that_differ_keep_differing(one: str, other: str) -> None:
    assert one_spelling(one) != one_spelling(other)
    assert READERS["lenient_boxed"](rf"\boxed{{A: {other}}}", {"A": one, "B": "no"}) is None


@pytest.mark.parametrize(
    "part", ["\\frac", "\\frac{", "\\frac1", "\\sqrt", "^{", "_{", "½", "√(", " ", "- ", "x_", "\\a"]
)
def test_no_text_takes_long_to_spell(part: str) -> None:
    began = time.process_time()
    one_spelling(part * 20_000), one_spelling("x" + part * 20_000 + "}")
    assert time.process_time() - began < 2 * slowness()


DRESSED = {"A": "(3, 4)", "B": "x, y", "C": "1000", "D": "{1, 2}", "E": "A polygenic risk score", "F": "3"}


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("(3,4)", "A"),
        ("x,y", "B"),
        ("1{,}000", "C"),
        ("1,000", "C"),
        ("\\{1, 2\\}", "D"),
        ("{1,2}", "D"),
        ("1, 2", None),
        ("[3, 4]", None),
        ("$E$: A polygenic risk score", "E"),
        ("E: 'A polygenic risk score'", "E"),
        ("'E'", "E"),
        ("A polygenic risk score (E)", "E"),
        ("A polygenic risk score [e].", "E"),
        ("A polygenic risk score (A)", None),
        ("'A' polygenic", None),
    ],
)
def test_a_box_is_read_however_it_is_spelled(text: str, letter: str | None) -> None:
    assert READERS["lenient_boxed"](rf"\boxed{{{text}}}", DRESSED) == letter


@pytest.mark.parametrize(
    "said", ["'E'", "<E>", "E <|im_end|>", "E<|eot_id|>", "E</s>", "\u2018E\u2019", "E.<end_of_turn>"]
)
def test_quotes_and_tokens_at_the_end_do_not_hide_a_letter(said: str) -> None:
    for reader in ("answer_colon", "answer_colon_markdown"):
        assert READERS[reader](f"Answer: {said}", DRESSED) == "E"


@pytest.mark.parametrize("reader", ["answer_colon", "answer_colon_markdown"])
@pytest.mark.parametrize(
    ("said", "letter"),
    [
        ("Answer: E</answer>", "E"),
        ("<answer>Answer: E</answer>", "E"),
        ("<answer>Answer: **E**</answer>", "E"),
        ("<answer>\nAnswer: E\n</answer>", "E"),
        ("Answer: E </final_answer><|im_end|>", "E"),
        ("Answer: A polygenic risk score</answer>", "E"),
        ("Answer: A or E</answer>", None),
        ("Answer: ~~E~~</answer>", None),
    ],
)
def test_a_tag_that_closes_does_not_hide_a_letter(reader: str, said: str, letter: str | None) -> None:
    assert READERS[reader](said, DRESSED) == letter  # type: ignore[index]


@pytest.mark.parametrize("part", ["<|a|>", "</a>", "</", "{1,", "{1,2}", "1,000", "a (", " ,", "'", "</s>"])
def test_no_text_takes_long_to_be_spelled(part: str) -> None:
    began = time.process_time()
    READERS["lenient_boxed"](rf"\boxed{{{part * 3000}}}", DRESSED)
    READERS["answer_colon"](f"Answer: {part * 3000}!", DRESSED)
    assert time.process_time() - began < 2 * slowness()


@pytest.mark.parametrize(
    "said", [r"1\,000", r"A: 1\,000", "1~000", r"A. 1\;000", r"1\ 000", "1\u202f000", "1{,}000", r"1\,000\text{ }"]
)
def test_a_space_of_latex_may_group_digits(said: str) -> None:
    options = {"A": "1,000", "B": "2,000", "C": "1"}
    assert READERS["lenient_boxed"](rf"\boxed{{{said}}}", options) == "A"


@pytest.mark.parametrize(
    ("reader", "text", "letter"),
    [
        ("answer_colon", "The answer is: E", "E"),
        ("answer_colon", "The wrong answer is: E", None),
        ("answer_colon", "The answer is not: E", None),
        ("answer_colon", "The answer is: E or F", None),
        ("answer_colon_markdown", "The answer is: **E**", "E"),
        ("answer_colon_markdown", "**Answer:**\n- E", "E"),
        ("answer_colon_markdown", "**Answer:**\n\n\u2022 **(E)** A polygenic risk score", "E"),
        ("answer_colon_markdown", "Answer:\n- E\n- F", None),
        ("answer_colon_markdown", "Answer:\n- E\n* F", None),
        ("answer_colon_markdown", "Answer:\n- 3", None),
        ("strict_boxed", r"\boxed{E\checkmark}", "E"),
        ("strict_boxed", "\\boxed{E \u2705}", "E"),
        ("strict_boxed", r"\boxed{e\checkmark}", None),
        ("strict_boxed", r"\boxed{\checkmark}", None),
    ],
)
def test_a_letter_below_its_title_or_before_a_tick(reader: Grading, text: str, letter: str | None) -> None:
    assert READERS[reader](text, DRESSED) == letter


@pytest.mark.parametrize("reader", ["answer_colon", "answer_colon_markdown"])
@pytest.mark.parametrize(
    "title", ["<b>Answer:</b> ", "<b>Answer</b>: ", "<strong>Answer: </strong>", "<b>Answer:</b> <b>"]
)
def test_a_title_may_be_in_tags(reader: Grading, title: str) -> None:
    read = READERS[reader]
    assert read(f"{title}B", {"A": "x", "B": "y"}) == "B"
    assert read(f"{title}B or A", {"A": "x", "B": "y"}) is None
    assert read(f"<b>Wrong answer:</b> B, {title.replace('Answer', 'Wrong answer')}B", {"A": "x", "B": "y"}) is None


def test_a_quote_with_a_backslash_is_no_accent() -> None:
    assert READERS["lenient_boxed"](r"\boxed{\"A\"}", {"A": "x", "B": "Ä"}) is None
