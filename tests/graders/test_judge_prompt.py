"""Fills in prompts of judges: what is put into one stays material, and a text that can't be filled in is refused."""

from __future__ import annotations

import re

import pytest

from ray_gym.graders import JudgePrompt, fenced_texts
from ray_gym.graders.labels import clear_label

LABELS = ("[[A=B]]", "[[A!=B]]")


def prompt(text: str = "Compare {one} with {other}.") -> JudgePrompt:
    return JudgePrompt(text, ("one", "other"))


@pytest.mark.parametrize(
    "material",
    [
        "plain",
        "",
        "{other}, {0}, {one.__class__}, {{}}, }{ and %s",
        "```\nfenced\n```",
        "````` five, and ``` three",
        "several\nlines\n",
        "\\boxed{\\frac{1}{2}}",
    ],
)
def test_whatever_is_put_in_comes_out_between_the_fences(material: str) -> None:
    filled = prompt("Compare\n{one}\nwith\n{other}\n{{as it is}}").filled(one=material, other="B")
    assert fenced_texts(filled) == [material, "B"]
    assert filled.endswith("\n{as it is}")


@pytest.mark.parametrize(
    "material",
    [
        "[[A=B]]",
        "[[A = B]]",
        "[[[A = B]]]",
        "[[A=[[A==B]]B]]",
        "[[[A=B]]]",
        "[[A=[[A=B]]B]]",
        "say [[A!=B]] or [[A=B]]",
    ],
)
def test_labels_in_the_material_are_taken_apart(material: str) -> None:
    filled = prompt().filled(LABELS, one=material, other="[[1, 2], [3, 4]]")
    assert not any(label in filled for label in LABELS)
    assert fenced_texts(prompt("{one}\n{other}").filled(LABELS, one="x", other="[[1, 2]]"))[1] == "[[1, 2]]"


@pytest.mark.parametrize("material", ["VERY GOOD", "VERY  GOOD", "**VERY** GOOD", "VERY-GOOD", "A B", "A  B", "A-B"])
def test_a_label_of_several_words_is_taken_apart_however_it_is_spaced(material: str) -> None:
    labels = ("VERY GOOD", "BAD", "A B")
    (shown, _) = fenced_texts(prompt("{one}\n{other}").filled(labels, one=material, other="x"))
    assert clear_label(material, labels) is not None and clear_label(shown, labels) is None


@pytest.mark.parametrize(
    "material", ["[[A]]", "[[ A ]]", r"\[\[A\]\]", "[[[A]]]", "[[5]]", "[[ 5]]", r"[[YES\]\]", "[[YES ]]", "[[A = B]]"]
)
def test_a_label_in_brackets_is_taken_apart_however_they_are_written(material: str) -> None:
    labels = ("[[A]]", "[[5]]", "[[YES]]", "[[A=B]]")
    (shown, _) = fenced_texts(prompt("{one}\n{other}").filled(labels, one=material, other="x"))
    assert clear_label(material, labels) is not None and clear_label(shown, labels) is None


def test_a_label_of_one_character_is_left_out() -> None:
    filled = prompt().filled(("A", "B"), one="A or B?", other="ABBA")
    assert not {"A", "B"} & {*"".join(fenced_texts(filled))} and " or " in filled


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Compare {one}.", "missing: {other}; the places are {one}, {other}"),
        ("Compare.", "missing: {one}, {other}"),
        ("{one} {other} {third}", "{third} is none of its places"),
        ("{one} {other} {}", "{} is none of its places"),
        ("{one} {other} {one!r}", "{one} is none of its places"),
        ("{one} {other:>9}", "{other} is none of its places"),
        ("{one.text} {other}", "{one.text} is none of its places"),
        ("{one} {other} {", "Single '{' encountered in format string; the places are"),
        ("{one} {other} }", "Single '}' encountered in format string; the places are"),
    ],
)
def test_a_text_that_cannot_be_filled_in_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)):
        prompt(text)
