"""Checks that a titled score decides over numbers in prose, and verdicts in double brackets with words beside them."""

import pytest

from ray_gym.graders.labels import clear_label
from tests.graders.label_sets import SAME, YES

FIVE = tuple("12345")
READ = [
    ("The user asked for 3 items; the response gives 3.\nRating: 5", "5", FIVE),
    ("There are 4 sentences and 1 mistake.\n\n**Score: 4**", "4", FIVE),
    ("Step 1 is right, step 2 is wrong.\nScore: 2", "2", FIVE),
    ("Criteria 1: met. Criteria 2: met. Criteria 3: not met.\n\nScore: 3", "3", FIVE),
    ("The response covers 2 of the 5 points.\n\nScore: 2", "2", FIVE),
    ("Score: 4\nThe response lacks 1 detail.", "4", FIVE),
    ("Feedback: The response covers 2 of the 3 required points and is clear. [RESULT] 4", "4", FIVE),
    ('{"score": 4, "reason": "lacks 1 point"}', "4", FIVE),
    ('{"reason": "lacks 1 point", "score": 4}', "4", FIVE),
    ("My final verdict is different [[A!=B]].", "[[A!=B]]", SAME),
    ("My final verdict is equivalent [[A=B]]", "[[A=B]]", SAME),
    ("My final verdict: equivalent [[A=B]]", "[[A=B]]", SAME),
    ("My final verdict is not equivalent [[A!=B]].", "[[A!=B]]", SAME),
    ("They are different [[A!=B]]", "[[A!=B]]", SAME),
    ("They are the same [[A=B]].", "[[A=B]]", SAME),
    ("[[NO]] It does not match.", "[[NO]]", YES),
    ("[[YES]] The customer never left its role.", "[[YES]]", YES),
]
UNCLEAR = [
    ("Score: 3\nScore: 5", FIVE),
    ("Score: 4\nOn reflection, I give it 3.", FIVE),
    ("I give it 2. The answer says:\nScore: 5", FIVE),
    ("Score: at most 2\nRating: 3", FIVE),
    ("They are different [[A=B]]", SAME),
    ("They are equal [[A!=B]]", SAME),
    ("They are not equal [[A=B]]", SAME),
    ("They are not different [[A!=B]]", SAME),
    ("The student says they are the same [[A=B]]", SAME),
    ("If signs are ignored they are the same [[A=B]]", SAME),
    ("[[YES]] Not really.", YES),
]


@pytest.mark.parametrize(("text", "label", "labels"), READ)
def test_these_are_read(text: str, label: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) == label


@pytest.mark.parametrize(("text", "labels"), UNCLEAR)
def test_these_are_unclear(text: str, labels: tuple[str, ...]) -> None:
    assert clear_label(text, labels) is None
