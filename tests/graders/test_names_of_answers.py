"""Checks that the name of one of two answers (`Response B`) is a verdict where it is chosen, and not where it is spoken of."""

from __future__ import annotations

import pytest

from ray_gym.graders.labels import clear_label, last_label

NAMES = (["A", "B"], ["1", "2", "Tie"], ["a", "b"])
NOUNS = ("Response", "Assistant", "Answer", "Output", "Solution", "Agent")
CHOSEN = [
    "{noun} {x}",
    "{noun} {x}.",
    "{noun} {x} is better.",
    "{noun} {x} wins.",
    "The better one is {noun} {x}.",
    "Final verdict: {noun} {x}.",
    "The winner is {noun} {x}.",
    "Therefore, {noun} {x}.",
    "I prefer {noun} {x}.",
    "I choose {noun} {x}.",
    "Overall, I would go with {noun} {x}.",
    "I vote for {noun} {x}.",
    "I lean towards {noun} {x}.",
    "Both are fine, but {noun} {x}.",
    "My verdict goes to {noun} {x}.",
    r"\boxed{{{noun} {x}}}",
    "I think {noun} {x} is better.",
    "The verdict is that {noun} {x} is better.",
    "My preference is for {noun} {x}.",
    "It should be {noun} {x}.",
    "The best answer is given by {noun} {x}.",
    "The best answer comes from {noun} {x}.",
    "I recommend {noun} {x}.",
    "I'd give it to {noun} {x}.",
    "I side with {noun} {x}.",
    "Slight edge to {noun} {x}.",
    "The evidence favors {noun} {x}.",
    "In my view {noun} {x}.",
    "I compared both and {noun} {x} is better.",
    "Both are fine and {noun} {x} wins.",
    "I clearly prefer {noun} {x}.",
    "I still prefer {noun} {x}.",
    "I'd go with **{noun} {x}**.",
    "The edge goes to **{noun} {x}**.",
    "So I'd have to go with {noun} {x}.",
    "I would have to choose {noun} {x}.",
    "I'd give the edge to {noun} {x}.",
    "My pick goes to {noun} {x}.",
    "I am inclined to choose {noun} {x}.",
    "This leads me to prefer {noun} {x}.",
    "I decided to go with {noun} {x}.",
    "I compared both and chose {noun} {x}.",
    "It was hard to decide, but I prefer {noun} {x}.",
    "Both are nearly identical, but I prefer {noun} {x}.",
    "Instead of padding, it gives facts, so I prefer {noun} {x}.",
    "While both are good, I prefer {noun} {x}.",
    "In this case, {noun} {x} is better.",
    "In all respects, {noun} {x} is better.",
    "On closer inspection, {noun} {x} is better.",
    "In terms of overall quality, {noun} {x} is better.",
    "As an impartial judge, I prefer {noun} {x}.",
    "The best response to this problem is {noun} {x}.",
    "While the other is well written, I chose {noun} {x}.",
    "As a result, {noun} {x} is better.",
    "For these reasons, I rate {noun} {x} as better.",
    "Slight advantage to {noun} {x}.",
    "When I look at the facts, {noun} {x} is better.",
    "The more accurate answer comes from {noun} {x}.",
    "The most helpful answer is provided by {noun} {x}.",
    "The better response is the one provided by {noun} {x}.",
]
SPOKEN_OF = [
    "Verdict: {x}\n\nI found three errors in {noun} {y}.",
    "{x}\n\nReason: {noun} {x} is more detailed than {noun} {y}.",
    "{noun} {x} is more detailed than {noun} {y}.",
    "It is more detailed than {noun} {y}.",
    "There are errors in {noun} {y}.",
    "It is compared to {noun} {y}.",
    "I compare it to {noun} {y}.",
    "I had trouble following {noun} {y}.",
    "The reference contradicts {noun} {y}.",
    "There is a gap between this and {noun} {y}.",
    "I think {noun} {y} is worse.",
    "The error comes from {noun} {y}.",
    "The quote is from {noun} {y}.",
    "The code is written by {noun} {y}.",
    "Initially I favored {noun} {y}.",
    "I was inclined towards {noun} {y}.",
    "I almost chose {noun} {y}.",
    "It is tempting to pick {noun} {y}.",
    "I hesitate to recommend {noun} {y}.",
    "It was hard to choose {noun} {y}.",
    "Side by side with {noun} {y}, it is better.",
    "The reference sides with {noun} {y}.",
    "The user picked {noun} {y}.",
    "I would have chosen {noun} {y}.",
    "At first glance I preferred {noun} {y}.",
    "I first thought {noun} {y} was better.",
    "I would improve {noun} {y}.",
    "I had to reread {noun} {y}.",
    "My colleague recommended {noun} {y}.",
    "I would pick {noun} {x} over {noun} {y}.",
    "{noun} {x} beats {noun} {y}.",
    "It outperforms {noun} {y}.",
    "I penalized {noun} {y}.",
    "This hurts {noun} {y}.",
    "The factual error disqualifies {noun} {y}.",
    "My main complaint concerns {noun} {y}.",
    "I also appreciate {noun} {y}.",
    "It would be a mistake to choose {noun} {y}.",
    "It is hard to justify choosing {noun} {y}.",
    "I understand why some prefer {noun} {y}.",
    "Style points go to {noun} {y}.",
    "I gave fewer points to {noun} {y}.",
    "The most serious error was made by {noun} {y}.",
    "The more verbose answer comes from {noun} {y}.",
    "I partly agree with {noun} {y}.",
    "I nearly went with {noun} {y}.",
    "I was going to pick {noun} {y}.",
    "My first instinct was to choose {noun} {y}.",
    "The problem is with {noun} {y}.",
    "Let me now evaluate {noun} {y}.",
    "The structure of {noun} {y} is better.",
    "In terms of style, {noun} {y} is better.",
    "For beginners, {noun} {y} is better.",
    "Before running it, I preferred {noun} {y}.",
    "It contains an instruction: pick {noun} {y}.",
    "It mentions that {noun} {y} is better.",
    "I would've chosen {noun} {y}.",
    "The tone gives the advantage to {noun} {y}.",
    "Judging by length alone, I would pick {noun} {y}.",
    "The weaker one is clearly {noun} {y}.",
    "This brings us to {noun} {y}.",
    "On the other hand, {noun} {y}.",
    "It seems that {noun} {y} is better because it is longer, but it is wrong.",
    "I need to analyze {noun} {y}.",
    "{x}\n\n### Reason: {noun} {x} is more detailed than {noun} {y}.\n\n### Reference: none",
]


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("text", CHOSEN)
def test_a_name_that_is_chosen_is_a_verdict(text: str, names: list[str]) -> None:
    for noun in NOUNS:
        said = text.format(noun=noun, x=names[0])
        assert clear_label(said, names) == last_label(said, names) == names[0], said


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("text", SPOKEN_OF)
def test_a_name_that_is_spoken_of_is_none(text: str, names: list[str]) -> None:
    for noun in NOUNS:
        said = text.format(noun=noun, x=names[0], y=names[1])
        assert clear_label(said, names) is last_label(said, names) is None, said


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize(
    "before",
    ["It is clear that ", "In sum ", "It seems ", "I would argue ", "This shows that ", "There is no doubt that "],
)
def test_a_name_that_is_called_better_is_a_verdict_whatever_stands_before(before: str, names: list[str]) -> None:
    for noun in NOUNS:
        said = f"{before}{noun} {names[0]} is better."
        assert clear_label(said, names) == last_label(said, names) == names[0], said
    for other in ("The user thinks that ", "I do not see that ", "Unless "):
        assert clear_label(f"{other}{noun} {names[0]} is better.", names) is None


def test_answers_that_are_gone_through_one_by_one_are_no_verdict() -> None:
    text = "Evaluating Response A:\n- clear and correct\n\nEvaluating Response B:\n- wrong date\n- too long"
    assert last_label(text, ["A", "B"]) is None


@pytest.mark.parametrize("labels", [("Yes", "No"), ("yes", "no"), ("1", "2", "3", "4", "5"), ("OK", "KO")])
def test_answer_and_output_are_verbs_too(labels: tuple[str, ...]) -> None:
    for text in (
        "I answer {x}.",
        "I would answer {x}.",
        "Therefore I answer {x}.",
        "I output {x}.",
        "We get the answer {x}.",
    ):
        for label in labels:
            assert clear_label(text.format(x=label), labels) == label, text
    assert clear_label("I answer A.", ["A", "B"]) == "A"


@pytest.mark.parametrize(
    "remark",
    [
        "The student arrives at the answer {y}.",
        "There are errors in Response {y}.",
        "It is compared to answer {y}.",
        "The program prints the output {y}.",
        "The model arrives at the solution {y}.",
        "The reference contradicts response {y}.",
        "It ends with answer {y}.",
        "The function returns output {y}.",
        "The response states the answer {y}.",
        "The solution yields the answer {y}.",
        "The model predicted the answer {y}.",
        "It confirms the answer {y}.",
        "I rate the clarity of this response {y}.",
        "It takes the root, which gives us the answer {y}.",
        "The student gives the answer {y}.",
        "An error in step 3 leads to the answer {y}.",
    ],
)
@pytest.mark.parametrize(
    ("title", "labels"),
    [
        ("Score", ["1", "2", "3", "4", "5"]),
        ("Verdict", ["Yes", "No"]),
        ("Verdict", ["yes", "no"]),
        ("Winner", ["A", "B"]),
    ],
)
def test_a_short_label_behind_a_noun_is_no_verdict(remark: str, title: str, labels: list[str]) -> None:
    remark = remark.format(y=labels[-2])
    assert last_label(f"{title}: {labels[-1]}\n\n{remark}", labels) in (labels[-1], None)
    assert last_label(remark, labels) is None


@pytest.mark.parametrize(
    "text",
    [
        "I rate the quality of this response {x}.",
        "I would rate the helpfulness of the response {x}.",
        "I'm giving this answer {x}.",
        "I have rated the answer {x}.",
        "I decided to give the answer {x}.",
        "My rating for the response {x}.",
        "Score for this response {x}",
        "We arrive at the answer {x}.",
        "I'd have to answer {x}.",
        "This points to answer {x}.",
        "That leaves answer {x}.",
        "I'd rate the student's answer {x}.",
        "As an impartial judge, I rate this response {x}.",
        "I hereby answer {x}.",
    ],
)
def test_a_short_label_behind_a_noun_that_is_given_is_a_verdict(text: str) -> None:
    for labels in (["1", "2", "3", "4", "5"], ["Yes", "No"]):
        said = text.format(x=labels[-1])
        assert clear_label(said, labels) == last_label(said, labels) == labels[-1]
