"""Checks how a generative reward model's answer is read, and which answers are compared."""

from __future__ import annotations

import itertools
import time
from collections import Counter

import pytest

from ray_gym.graders.comparison import FORM, REMINDER, Comparison, circle, every_pair, read_comparison


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("Scores: 4, 2\nRanking: 2", 4, 2),
        ("scores: 2,4\nRANKING: 5", 2, 4),
        ("Ranking: 2\nScores: 4, 2", 4, 2),
        ("Scores: <4>, <2>\nRanking: <2>", 4, 2),
        ("**Scores:** 4, 2\n**Ranking:** 2", 4, 2),
        ("Scores: **5** and **1**.\nRanking: **1**.", 5, 1),
        ("Scores: 4/5, 2/5\nRanking: 2/6", 4, 2),
        ("Scores:\n4, 2\n\nRanking:\n3\n\n2 of the 3 facts are wrong.", 4, 2),
        ("Scores:\n4, 2\n\nRanking:\n3\n\n1. Accuracy.\n2. Style.", 4, 2),
        ("Scores:\n4, 2\n\nRanking:\n2\n\n1. Accuracy: good\n2. Style: bad", 4, 2),
        ("Scores:\n4, 2\n\nRanking:\n2\n\n1st answer is better.", 4, 2),
        ("Scores:\n4, 2\n\nRanking:\n1\n\n2nd answer is wrong.", 4, 2),
        ("Scores:\n4, 2\n\nRanking:\n1\n\n**2 errors** were found.", 4, 2),
        ('{"scores": [4, 2], "ranking": 2}', 4, 2),
        ("Scores (1 to 5): 4, 2\nRanking (1 to 6): 2", 4, 2),
        ("Score 4 2\nranking 2", 4, 2),
        (
            "The second is wrong, the first is fine.\nScores: 4, 2. Ranking: 2, as the first is right.\nThat is all.",
            4,
            2,
        ),
        ("Scores: 1, 1\nRanking: 6\nNo, on second thoughts:\nScores: 4, 2\nRanking: 2", 4, 2),
        ("<think>Scores: 5, 1\nRanking: 1</think>Scores: 4, 2\nRanking: 2", 4, 2),
        ("Scores: 4, 2\nRanking: 2 <think>Scores: 1, 5\nRanking: 6", 4, 2),
        ("Scores: 4.0, 2.00\nRanking: 2.0.", 4, 2),
        ("Scores: 2, 4\nRanking: 1", 2, 4),  # it contradicts itself: the scores count
        (f"{FORM}\nScores: 4, 2\nRanking: 2", 4, 2),
        ("Score 1: 4\nScore 2: 3\nRanking: 2", 4, 3),
        ("- Score 1: 5\n- Score 2: 1\nRanking: 1", 5, 1),
        ("Score #1: 5\nScore #2: 1\nRanking: 1", 5, 1),
        ("**Score 1:** 4/5\n**Score 2:** 3/5\n**Ranking:** 2", 4, 3),
        ("| Score 1 | 4 |\n| Score 2 | 3 |\nRanking: 2", 4, 3),
        ('{"score_1": 4, "score_2": 3, "ranking": 2}', 4, 3),
        ("Score 2 (second): 3\nScore 1 (first): 4\nRanking: 2", 4, 3),
        (r"Scores: \boxed{4, 3}" "\n" r"Ranking: \boxed{2}", 4, 3),
        (r"**Scores:** $\boxed{4}$, $\boxed{3}$" "\n" r"**Ranking:** $\boxed{2}$", 4, 3),
        (r"Score 1: \boxed{4}" "\n" r"Score 2: \boxed{3}" "\n" r"Ranking: \boxed {2}", 4, 3),
        ("Scores: 4, 3 (score 1: 4, score 2: 3)\nRanking: 2", 4, 3),
    ],
)
def test_what_has_the_form_is_read(text: str, first: int, second: int) -> None:
    assert read_comparison(text) == Comparison(first, second)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Both are good.",
        "Both. <think>Scores: 4, 2\nRanking: 2",
        "Scores: 4, 2",
        "Ranking: 2",
        "4, 2, 2",
        FORM,
        REMINDER,
        "Scores:\n3, 3\nRanking:\n1\n2 - Response 2",
        "Scores:\n3, 3\nRanking:\n2\n1 A",
        "Scores:\n3, 3\nRanking:\n1)\n2) Response",
        "Scores: 0, 2\nRanking: 2",
        "Scores: 6, 2\nRanking: 2",
        "Scores: 10, 2\nRanking: 2",
        "Scores: 42\nRanking: 2",
        "Scores: -4, 2\nRanking: 2",
        "Scores: 4, 2\nRanking: 0",
        "Scores: 4, 2\nRanking: 7",
        "Scores: 4, 2\nRanking: 12",
        "Scores: 4, 2\nRanking: -2",
        "Scores: 4.5, 2\nRanking: 2",
        "Scores: 4, 2.5\nRanking: 2",
        "Scores: 4.05, 2\nRanking: 2",
        "Scores: 4.0.1, 2\nRanking: 2",
        "Scores: 4, 2\nRanking: 2.5",
        "Scores: 4/5\nRanking: 2",
        "Scores: 4, 2, 3\nRanking: 2",
        "Scores: 4, 2\nRanking: <1 to 6>",
        "Scores: 4, 2\nRanking: 1-6",
        "Scores: 4, 2\nRanking: 1, 2",
        "Scores: 4, 2\nRanking: 2 > 1",
        "Scores:\n1. 4\n2. 2\nRanking: 2",
        "Scores: first 4, second 2\nRanking: 2",
        "Scores: 4, 2\nRanking: 2\nOr rather:\nScores: 9, 2\nRanking: 2",
        f"Scores: {'9' * 5000}, 2\nRanking: 2",
        "Score 1: 4\nRanking: 2",
        "Score 1: 4.5\nScore 2: 3\nRanking: 2",
        "Score 1: 4 or 5\nScore 2: 3\nRanking: 2",
        "Score 1: 4\nScore 2: 3\nScores: 3, 4\nRanking: 2",
        "Score 1 4\nScore 2 3\nRanking: 2",
        "Scores 1: 4, 2: 3\nRanking: 2",
        "Scores: #1 4, #2 3\nRanking: 2",
        "Scores: (1) 4, (2) 3\nRanking: 2",
        "Scores 1 = 4, 2 = 3\nRanking: 2",
        r"Scores: \boxed{4, 3, 2}" "\n" r"Ranking: \boxed{2}",
        r"Scores: \boxed{4, 3}" "\n" r"Ranking: \boxed{2} or \boxed{3}",
        r"Scores: \boxed{4.5, 3}" "\n" r"Ranking: \boxed{2}",
        "Scores:\n1) 4\n2) 3\nRanking: 5",
        "Individual Scores:\n(1) 5\n(2) 2\nRanking Score: 1",
        "Scores: 3, 3\nRanking:\n1. Response 2\n2. Response 1",
        "Scores: 3, 3\nRanking:\n1st: Response 2",
        "Scores: 3, 3\nRanking:\n2 is better than 1",
    ],
)
def test_what_has_not_is_not(text: str) -> None:
    assert read_comparison(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "**Scores**\n3, 4\n\n**Ranking**\n5",
        "Scores:\n3, 4\nRanking:\n5",
        "## Scores\n\n**3/5 and 4/5**\n## Ranking\n(5)",
        "Scores:\n$3, 4$\nRanking: 5",
        "Scores:\n> 3, 4\nRanking:\n5 (second better)",
        "Scores:\n[3, 4]\nRanking: 5\n\n## Ranking\n1. Response 2 is better",
        "[The Begin of Analysis on Response 1]\nGood, 5 of 5.\n[The End of Analysis on Response 1]\n"
        "[The Begin of Individual Scores]\n\\boxed{3, 4} \n[The End of Individual Scores]\n\n"
        "[The Begin of Ranking Score]\n\\boxed{5} \n[The End of Ranking Score]",
    ],
)
def test_scores_below_their_titles(text: str) -> None:
    assert read_comparison(text) == Comparison(3, 4)


@pytest.mark.parametrize(
    ("score", "ranking", "first", "second"),
    [
        (3, 1, 3.5, 2.5),
        (3, 3, 3.1, 2.9),
        (3, 4, 2.9, 3.1),
        (3, 6, 2.5, 3.5),
        (5, 1, 5, 4.5),
        (1, 1, 1.5, 1),
        (1, 6, 1, 1.5),
    ],
)
def test_a_ranking_breaks_ties_and_stays_within_the_range(
    score: int, ranking: int, first: float, second: float
) -> None:
    compared = read_comparison(f"Scores: {score}, {score}\nRanking: {ranking}")
    assert compared is not None
    assert (compared.first, compared.second) == (pytest.approx(first), pytest.approx(second))


@pytest.mark.parametrize(
    "text",
    [
        "score " * 20_000,
        "score 1" * 20_000,
        "Scores: 4" + "," * 100_000,
        "ranking " * 20_000,
        "scores:" * 20_000,
        "\\boxed{" * 20_000,
    ],
)
def test_long_answers_are_read_at_once(text: str) -> None:
    began = time.monotonic()
    assert read_comparison(text) is None
    assert time.monotonic() - began < 1


def test_circles() -> None:
    assert circle(0) == circle(1) == []
    assert circle(2) == [(0, 1), (1, 0)]
    assert circle(3) == [(0, 1), (1, 2), (2, 0)]
    assert circle(5) == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]


@pytest.mark.parametrize("count", range(9))
def test_every_pair_is_there_once_and_places_are_shared(count: int) -> None:
    pairs = every_pair(count)
    assert sorted(tuple(sorted(pair)) for pair in pairs) == list(itertools.combinations(range(count), 2))
    first = Counter(pair[0] for pair in pairs)
    second = Counter(pair[1] for pair in pairs)
    assert all(abs(first[i] - second[i]) <= (count % 2 == 0) for i in range(count))


@pytest.mark.parametrize(
    "text",
    [
        "Scores: 3, 3\nRanking:\n1 (Response 2)\n2 (Response 1)",
        "Scores: 3, 3\nRanking:\n#1 (B)\n#2 (A)",
        "Scores: 3, 3\nRanking:\n2 (second response)\n1 (first response)",
        "Scores:\n#1 4\n#2 3\nRanking: 5",
    ],
)
def test_a_list_below_a_title_is_no_ranking_and_no_scores(text: str) -> None:
    assert read_comparison(text) is None
    assert read_comparison("Scores: 3, 3\nRanking:\n2 (1 is better)") == Comparison(3.3, 2.7)
    assert read_comparison("Scores:\n3, 4\nRanking:\n5\n1. First reason") == Comparison(3, 4)
    assert read_comparison("Scores:\n## 3, 4\nRanking:\n## 5") == Comparison(3, 4)


@pytest.mark.parametrize(
    "scores",
    [
        "Scores: Answer 1 = 4, Answer 2 = 3",
        "Scores: first: 4, second: 3",
        "**Scores:** A: 4, B: 3",
        "Scores: Response 1: 4/5 and Response 2: 3/5",
        "Scores: 4 (good), 3 (ok)",
    ],
)
def test_scores_may_have_names_and_remarks(scores: str) -> None:
    assert read_comparison(f"{scores}\nRanking: 2") == Comparison(4, 3)


@pytest.mark.parametrize(
    "scores", ["Scores: second: 4, first: 3", "Scores: Answer 1 = 4", "Scores: 1 (of 5), 2 (of 5), 3"]
)
def test_scores_with_names_in_another_order_are_asked_for_again(scores: str) -> None:
    assert read_comparison(f"{scores}\nRanking: 2") is None
