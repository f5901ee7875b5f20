"""Checks arguments of LaTeX's commands that have no braces: `\\frac\\pi4`, `\\sqrt[3]4`, `\\bar z`."""

from __future__ import annotations

import time

import pytest
from processor import slowness

from ray_gym.envs.math.arguments import with_braces
from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            r"\frac{\pi}{4}",
            [r"\frac\pi4", r"\frac\pi{4}", r"\dfrac\pi4", r"\frac \pi 4", r"\frac π4"],
            [r"\frac\pi2", r"\frac4\pi", r"\frac\theta4", r"\frac\pi{12}"],
        ),
        (r"\frac\pi4", [r"\frac{\pi}{4}", r"\frac\pi4", r"\pi/4"], [r"\frac{\pi}{2}", "4"]),
        (r"\frac{1}{\pi}", [r"\frac1\pi"], [r"\frac2\pi"]),
        (r"\frac{\frac{x}{2}}{y}", [r"\frac{\frac x2}y"], [r"\frac{\frac x3}y"]),
        (r"\sqrt{\pi}", [r"\sqrt\pi", r"\sqrt \pi"], [r"\pi", r"\sqrt\theta"]),
        (r"\frac{x}{2}", [r"\frac x2", r"\frac x 2"], [r"\frac 2 x", r"\frac x 3"]),
        (r"\frac{x}{y}", [r"\frac xy", r"\frac x y"], [r"\frac yx", "xy"]),
        (r"\sin\frac{\pi}{3}", [r"\sin\frac\pi3"], [r"\sin\frac\pi6"]),
        (r"2\sqrt[3]{5}", [r"2\sqrt[3]5"], [r"2\sqrt5", r"2\sqrt[3]4", r"2\sqrt[4]5"]),
        (r"\sqrt[n]{2}", [r"\sqrt[n]2"], [r"\sqrt[n]3", r"\sqrt2"]),
        (r"\bar{z}", [r"\bar z"], ["z", r"\bar w"]),
        (r"\binom{5}{2}", [r"\binom52"], [r"\binom54"]),
        ("10", [], [r"\binom52"]),
        (r"\mathbb{R}", [r"\mathbb R"], [r"\mathbb Z"]),
        (r"\left(3, \frac{\pi}{2}\right)", [r"(3,\frac\pi2)"], [r"(3,\frac\pi4)"]),
        (r"\frac{1}{3}", [r"0.\bar3", r"0.\overline 3"], [r"\frac1 2"]),
    ],
)
def test_an_argument_needs_no_braces(expected: str, right: list[str], wrong: list[str]) -> None:
    verdicts = {answer: verify_answer(expected, rf"\boxed{{{answer}}}") for answer in [*right, *wrong]}
    assert [answer for answer, verdict in verdicts.items() if verdict[0] == 1] == right, verdicts


@pytest.mark.parametrize(
    "text", [r"\frac123", r"\frac\pi12", r"\sqrt[3]12", r"\frac\sqrt32", r"\sqrt2", r"\fraction ab"]
)
def test_what_is_no_single_token_stays(text: str) -> None:
    assert with_braces(text) == text


@pytest.mark.parametrize(
    "part", ["\\frac", "\\frac{", "\\frac{a}", "\\frac\\pi{", "\\sqrt[", "\\bar ", "\\frac{{{a}}}"]
)
def test_braces_do_not_take_long(part: str) -> None:
    began = time.process_time()
    with_braces(part * 10_000)
    assert time.process_time() - began < slowness()
