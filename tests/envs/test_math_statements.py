r"""Checks statements of geometry: `AB \parallel CD`, `\triangle ABC \sim \triangle DEF`."""

from __future__ import annotations

import pytest

from ray_gym.envs.math.statements import are_same_statements
from ray_gym.envs.math.verification import verify_answer


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (
            r"AB \parallel CD",
            [
                r"AB\parallel CD",
                r"AB \| CD",
                "AB // CD",
                "AB ∥ CD",
                r"DC \parallel AB",
                r"\overline{AB} \parallel \overline{CD}",
            ],
            [r"AB\parallel EF", r"AB \perp CD", r"AC\parallel BD", "AB", r"AB \parallel CD \parallel EF", "AB = CD"],
        ),
        (
            r"AB\perp CD",
            [r"AB \perp CD", "AB ⊥ CD", r"\overleftrightarrow{AB}\perp\overleftrightarrow{CD}"],
            [r"AB \parallel CD"],
        ),
        (r"l\parallel m", [r"l \parallel m", r"m\parallel l"], [r"l \parallel n"]),
        (
            r"\triangle ABC \sim \triangle DEF",
            [
                r"\triangle ABC\sim\triangle DEF",
                r"\triangle DEF \sim \triangle ABC",
                r"\triangle BCA \sim \triangle EFD",
            ],
            [r"\triangle ABC \sim \triangle DFE", r"\triangle ABC \cong \triangle DEF", r"\triangle ABC"],
        ),
        (
            r"\angle AOB \cong \angle COD",
            [r"\angle BOA \cong \angle COD", r"\angle COD \cong \angle AOB"],
            [r"\angle OAB \cong \angle OCD", r"\angle AOC \cong \angle BOD"],
        ),
        (r"ABCD \cong EFGH", [r"BCDA \cong FGHE", r"DCBA \cong HGFE"], [r"ACBD \cong EGFH", r"ABCD \cong EFHG"]),
        (
            r"\angle A \cong \angle B",
            [r"\angle A\cong\angle B", r"\angle B \cong \angle A"],
            [r"\angle A \cong \angle C"],
        ),
        (r"AB \cong CD", [r"\overline{DC} \cong \overline{AB}"], [r"AC \cong BD"]),
    ],
)
def test_a_statement_is_the_same_in_any_spelling(expected: str, right: list[str], wrong: list[str]) -> None:
    given = {box: verify_answer(expected, rf"\boxed{{{box}}}")[0] for box in [*right, *wrong]}
    assert [box for box, reward in given.items() if reward] == right


@pytest.mark.parametrize(
    "expected",
    [
        "x = 2",
        r"X \sim N(0, 1)",
        r"\|x\|",
        "AB",
        r"3 \cong 5",
        r"\triangle ABC \sim DEF",
        r"a \| b",
        "x // y",
        r"a \sim",
    ],
)
def test_what_relates_no_two_figures_is_no_statement(expected: str) -> None:
    assert are_same_statements(expected, expected) is None
