"""Judges: language models that are asked for a label, and what becomes of one that gives none."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

import pytest
from grading import Ends, Says, failure_of, graded, value, verdicts
from processor import slowness

from ray_gym import Message
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.graders import AllOf, FirstThatPasses, Judge, RewardModel, SwapCheck, Weighted
from ray_gym.graders.labels import clear_label, last_label
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player

LABELS = {"[[A=B]]": 1.0, "[[A!=B]]": 0.0}
ONE_WAY = Judge("A: x, B: y?", LABELS)
OTHER_WAY = Judge("A: y, B: x?", LABELS)


REASONED = "At first sight [[A=B]], but ... Final verdict: [[A!=B]]"


@pytest.mark.parametrize(
    ("text", "clear", "last"),
    [
        ("[[A=B]]", "[[A=B]]", "[[A=B]]"),
        ("They differ: [[A!=B]]", "[[A!=B]]", "[[A!=B]]"),
        ("[[A=B]]. Once more: [[A=B]]", "[[A=B]]", "[[A=B]]"),
        (REASONED, None, "[[A!=B]]"),
        ("[[A!=B]], though [[A=B]] was near", None, "[[A=B]]"),
        ("<think>[[A=B]]?</think>[[A!=B]]", "[[A!=B]]", "[[A!=B]]"),
        ("perhaps [[A=B]]</think>No: [[A!=B]]", "[[A!=B]]", "[[A!=B]]"),
        ("<think>[[A=B]]", None, None),
        ("Let me see. <think>maybe [[A=B]]", None, None),
        ("[[A=B]]\n<think>wait, no</think>\n[[A!=B]]", "[[A!=B]]", "[[A!=B]]"),
        ("[[A!=B]] <think>sure</think>\n", "[[A!=B]]", "[[A!=B]]"),
        ("[[A=B]] <think>sure</think> Done.", None, None),
        ("<think>I <think>x</think> say [[A=B]]</think> [[A!=B]]", "[[A!=B]]", "[[A!=B]]"),
        ("<thinking>[[A=B]]</thinking> Verdict: [[A!=B]]", "[[A!=B]]", "[[A!=B]]"),
        ("A=B", None, None),
        ("", None, None),
    ],
)
def test_the_label_of_an_answer(text: str, clear: str | None, last: str | None) -> None:
    assert (clear_label(text, LABELS), last_label(text, LABELS)) == (clear, last)


@pytest.mark.parametrize(
    ("text", "clear"),
    [
        ("very good", "very good"),
        ("It is good.", "good"),
        ("goods", None),
        ("a goodness", None),
        ("good, very good", None),
        ("_good_", "good"),
        ("__good__", "good"),
        ("**good**", "good"),
        ("good_by_me", None),
        ("all_good", None),
        ("no_good_", None),
    ],
)
def test_labels_are_whole_words_and_of_two_at_the_same_place_the_longer_counts(text: str, clear: str | None) -> None:
    assert clear_label(text, {"very": 0.5, "very good": 1.0, "good": 0.7}) == clear


@pytest.mark.parametrize(
    ("text", "clear"), [("1", "1"), ("1.", "1"), ("1.5", None), ("0,1", None), ("2, 1", None), ("Grade: 2.", "2")]
)
def test_a_label_is_no_part_of_a_number(text: str, clear: str | None) -> None:
    assert clear_label(text, ["1", "2"]) == clear


@pytest.mark.parametrize(
    ("text", "clear"),
    [
        ("最終判定はYESです", "YES"),
        ("คำตอบคือYESครับ", "YES"),
        ("最終判定は「はい」です", "はい"),
        ("判定:正です", "正"),
        ("これは不正です", None),
        ("写真", None),
        ("スコアは7点", "7"),
        ("スコアは17点", None),
        ("ÉYES", None),
    ],
)
def test_where_words_have_no_spaces_a_label_ends_with_its_script(text: str, clear: str | None) -> None:
    assert clear_label(text, ["YES", "はい", "正", "真", "7"]) == clear


NOT_SUPPORTED = ["**NOT** SUPPORTED", "NOT *SUPPORTED*", "**NOT SUPPORTED**", "NOT-SUPPORTED", "NOT\u2011SUPPORTED",
    "NOT  SUPPORTED", "NOT\nSUPPORTED", "NOT\u00a0SUPPORTED", "NOT_SUPPORTED", "Not SUPPORTED", "Verdict: `NOT` `SUPPORTED`."
]  # fmt: skip


@pytest.mark.parametrize("text", NOT_SUPPORTED)
def test_a_label_of_several_words_is_found_however_they_are_spaced(text: str) -> None:
    labels = {"SUPPORTED": 1.0, "NOT SUPPORTED": 0.0}
    assert clear_label(text, labels) == last_label(text, labels) == "NOT SUPPORTED"
    assert clear_label(text, ["SUPPORTED", "NOT_SUPPORTED"]) == "NOT_SUPPORTED"


@pytest.mark.parametrize(
    ("labels", "text", "clear", "last"),
    [
        (["CORRECT", "INCORRECT"], "NOT CORRECT", None, None),
        (["CORRECT", "INCORRECT"], "It is **not** CORRECT", None, None),
        (["CORRECT", "INCORRECT"], "It isn't fully CORRECT", None, None),
        (["CORRECT", "INCORRECT"], "This is not a CORRECT answer: INCORRECT", None, "INCORRECT"),
        (["CORRECT", "INCORRECT"], "I do not doubt it. CORRECT", "CORRECT", "CORRECT"),
        (["CORRECT", "INCORRECT"], "Knot CORRECT", "CORRECT", "CORRECT"),
        (["CORRECT", "INCORRECT"], "INCORRECT, not CORRECT", None, None),
        (["safe", "unsafe"], "not safe", None, None),
        (["safe", "unsafe"], "un-safe", None, None),
        (["correct", "incorrect"], "in-correct", None, None),
        (["correct", "incorrect"], "In\u2011correct", None, None),
        (["correct", "incorrect"], "so-correct", "correct", "correct"),
        (["[[A=B]]", "[[A!=B]]"], "It is not [[A=B]]", None, None),
        (["SUPPORTED", "NOT SUPPORTED"], "not NOT SUPPORTED", None, None),
        (["SUPPORTED", "NOT SUPPORTED"], "not supported", None, None),
        (["SUPPORTED", "NOT SUPPORTED"], "NOT. SUPPORTED", "SUPPORTED", "SUPPORTED"),
        (["SUPPORTED", "NOT SUPPORTED"], "NOT-SUPPORTED-YET", "NOT SUPPORTED", "NOT SUPPORTED"),
        (["Rating: 5", "Rating: 4"], "**Rating:** 5", "Rating: 5", "Rating: 5"),
        (["Rating: 5", "Rating: 4"], "Rating: -5", None, None),
        (["1 2", "12"], "1-2", None, None),
    ],
)
def test_a_negated_label_is_unclear(labels: list[str], text: str, clear: str | None, last: str | None) -> None:
    assert (clear_label(text, labels), last_label(text, labels)) == (clear, last)


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("Score: 7/10", "7"),
        ("Score: **7** / 10", "7"),
        ("7 out of 10", "7"),
        ("7 out of a possible 10", "7"),
        ("7 of 10.", "7"),
        ("Score: 10/10", "10"),
        ("Score: 7.5/10", None),
        ("Score: 17/10", None),
        ("On a scale of 0 to 10: 7", "7"),
        ("On the scale 1-10: 7", "7"),
        ("**Score:** -1", None),
        ("Score: \u22121", None),
        ("-1", None),
        ("Score: .5", None),
        (".5", None),
        ("So...5", "5"),
        ("Score: +5.", "5"),
    ],
)
def test_a_number_on_a_scale_is_the_label(text: str, last: str | None) -> None:
    assert last_label(text, [str(number) for number in range(11)]) == last


@pytest.mark.parametrize(
    "text",
    ["NOT " * 40_000, "NOT" + " " * 200_000, "7" * 200_000, "7/" * 60_000, "7 " * 60_000, "7 out of " * 20_000, "-" * 200_000,
     "not a " * 40_000, "n't" * 60_000, "in-" * 60_000, "7" + " " * 200_000, "NOT SUP" * 20_000],
)  # fmt: skip
@pytest.mark.clock
def test_labels_are_found_in_linear_time(text: str) -> None:
    began = time.process_time()
    clear_label(text, ["SUPPORTED", "NOT SUPPORTED", *map(str, range(11))])
    assert time.process_time() - began < 2 * slowness()


def test_a_blank_label_is_refused() -> None:
    with pytest.raises(ValueError, match="a label is blank"):
        Judge("Is it?", {"yes": 1.0, "": 0.0})


@pytest.mark.parametrize("several", ["unclear", "last"])
@pytest.mark.parametrize(
    "said",
    ["[[A=B]]\n<think>wait, no</think>\n[[A!=B]]", "[[A!=B]] <think>[[A=B]]?</think>", "[[A=B]]</think>[[A!=B]]"],
)
async def test_the_words_after_a_judges_last_thought_count(said: str, several: Any) -> None:
    judge = Says([said])
    assert await value(Judge("A: x, B: y?", LABELS, several=several), "y", judge=judge) == 0
    assert len(judge.requests) == 1


async def test_a_judge_that_weighs_both_is_asked_again_unless_its_last_word_counts() -> None:
    judge = Says([REASONED, "[[A!=B]]"])
    assert await value(ONE_WAY, "y", judge=judge) == 0 and len(judge.requests) == 2
    judge = Says([REASONED])
    assert await value(Judge("A: x, B: y?", LABELS, several="last"), "y", judge=judge) == 0 and len(judge.requests) == 1
    failure = failure_of(await graded(ONE_WAY, "y", judge=Says([REASONED])))
    assert "no clear label" in failure.message


@pytest.mark.parametrize(("said", "worth"), [("Yes: [[A=B]]", 1), ("[[A!=B]]", 0)])
async def test_a_label_is_worth_its_value(said: str, worth: float) -> None:
    judge = Says([said])
    played = await graded(ONE_WAY, "y", judge=judge)
    assert verdicts(played) == [(worth, f"Judge: judge said {said[-8:] if worth == 0 else '[[A=B]]'}")]
    assert [[message.content for message in request] for request in judge.requests] == [["A: x, B: y?"]]
    asked = [event for event in played.episode.events if event.kind == "judge"]
    assert [(event.role, event.content, event.thread) for event in asked] == [
        ("user", "A: x, B: y?", "judge/1"),
        ("assistant", said, "judge/1"),
    ]


async def test_without_a_label_it_is_asked_again_in_the_same_conversation() -> None:
    judge = Says(["Hm.", "Well.", "[[A=B]]"])
    assert await value(ONE_WAY, "y", judge=judge) == 1
    assert [len(request) for request in judge.requests] == [1, 3, 5]
    last = judge.requests[-1]
    assert [message.role for message in last] == ["user", "assistant", "user", "assistant", "user"]
    assert [last[1].content, last[3].content] == ["Hm.", "Well."]
    assert (
        last[2].content
        == last[4].content
        == ("Your answer does not have exactly one of the labels. Answer with exactly one of: [[A=B]], [[A!=B]]")
    )


async def test_garbage_all_the_way_is_the_judges_failure() -> None:
    judge = Says(["x" * 1000 + "Hm."])
    failure = failure_of(await graded(ONE_WAY, "y", judge=judge))
    assert (failure.kind, failure.where, len(judge.requests)) == (FailureKind.JUDGE, "judge", 3)
    assert failure.message.startswith("no clear label ([[A=B]], [[A!=B]]) in 3 answers; the last: 'xxx")
    assert failure.message.endswith("xHm.'") and len(failure.message) < 300


async def test_garbage_may_be_worth_something_instead() -> None:
    judge = Says(["Hm."])
    played = await graded(Judge("?", LABELS, retries=0, unlabelled=0.25), "y", judge=judge)
    assert verdicts(played) == [(0.25, "Judge: judge gave no label")] and len(judge.requests) == 1


FULL: tuple[str, Any] = ("", "context_full")


async def test_a_question_that_the_context_has_no_room_for_is_not_asked_again() -> None:
    judge = Ends([FULL])
    assert await value(Judge("?", LABELS, too_long=-1), "y", judge=judge) == -1 and len(judge.requests) == 1
    failure = failure_of(await graded(ONE_WAY, "y", judge=Ends([FULL])))
    assert failure.kind == FailureKind.JUDGE and "no room for the question" in failure.message
    assert await value(Judge("?", LABELS, unlabelled=0.25), "y", judge=Ends([FULL])) == 0.25
    cut = Ends([("[[A=B]] because", "context_full")])
    assert await value(Judge("?", LABELS, too_long=-1), "y", judge=cut) == 1, "a label counts where the rest was cut"


async def test_a_judge_that_talks_its_context_full_has_no_label() -> None:
    judge = Ends([("Hm.", "stop"), FULL])
    grader = Judge("?", LABELS, unlabelled=0.5, too_long=-1)
    assert await value(grader, "y", judge=judge) == 0.5 and len(judge.requests) == 2


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (("I think [[A=B]] or", "length"), "it was cut: raise participants.judge.sampling.max_tokens"),
        (("<think>I think", "length"), "it was cut in its thoughts: raise participants.judge.sampling.max_tokens"),
        (("", "content_filter"), "the model's endpoint withheld it (content_filter)"),
        (("<think>I think</think>", "stop"), "it is thoughts alone"),
        (("Hm.", "stop"), None),
    ],
)
async def test_why_a_judge_has_no_label_is_told(answer: tuple[str, Any], told: str | None) -> None:
    several = (answer[0].replace("[[A=B]] or", "[[A=B]] or [[A!=B]]"), answer[1])
    failure = failure_of(await graded(Judge("?", LABELS, retries=0), "y", judge=Ends([several])))
    assert failure.message.endswith(f"({told})") if told else failure.message.endswith("the last: 'Hm.'")
    played = await graded(Judge("?", LABELS, retries=0, unlabelled=0.25), "y", judge=Ends([several]))
    assert verdicts(played) == [(0.25, "Judge: judge gave no label" + (f" ({told})" if told else ""))]


@pytest.mark.parametrize("empty", ["", " \n"])
async def test_after_an_empty_answer_the_question_is_asked_afresh(empty: str) -> None:
    """An empty message in a conversation is refused by some templates."""
    judge = Says(["Hm.", empty, empty, "[[A=B]]"])
    assert await value(Judge("?", LABELS, retries=3), "y", judge=judge) == 1
    assert [[message.content for message in request] for request in judge.requests[2:]] == [["?"], ["?"]]


@pytest.mark.parametrize("grader", [ONE_WAY, RewardModel()], ids=["judge", "reward model"])
async def test_what_a_judges_template_refuses_is_the_judges_failure(grader: Any) -> None:
    def refusal() -> Ends:
        return Ends([EpisodeFailure(FailureKind.DATA, "chat template", "refused")])

    failure = failure_of(await graded(grader, "y", judge=refusal(), reward_model=refusal()))
    assert failure.kind == FailureKind.JUDGE and failure.message == "chat template: refused"


async def test_a_conversation_that_is_too_long_for_the_reward_model() -> None:
    assert await value(RewardModel(too_long=-5), "y", reward_model=Ends([FULL])) == -5
    failure = failure_of(await graded(RewardModel(), "y", reward_model=Ends([FULL])))
    assert failure.kind == FailureKind.JUDGE and "context_full" in failure.message and "too_long" in failure.message
    cut = Ends([("1.5", "length")])
    assert failure_of(await graded(RewardModel(too_long=0), "y", reward_model=cut)).kind == FailureKind.JUDGE


@pytest.mark.parametrize(
    ("said", "disagreement", "worth", "asked"),
    [
        (["[[A=B]]", "[[A=B]]"], 0.0, 1, 2),
        (["[[A=B]]", "[[A!=B]]"], 0.0, 0, 2),
        (["[[A=B]]", "[[A!=B]]"], -1.0, -1, 2),
        (["[[A!=B]]", "[[A=B]]"], -1.0, 0, 1),
    ],
)
async def test_both_orders_must_agree(said: list[str], disagreement: float, worth: float, asked: int) -> None:
    judge = Says(said)
    played = await graded(SwapCheck(ONE_WAY, OTHER_WAY, disagreement), "y", judge=judge)
    assert played.score is not None and played.score.reward == worth
    assert [request[0].content for request in judge.requests] == ["A: x, B: y?", "A: y, B: x?"][:asked]
    names = [text.partition(":")[0] for _, text in verdicts(played)]
    assert names == ["Judge", "Judge, swapped", "SwapCheck"] if asked == 2 else ["Judge", "SwapCheck"]


async def test_a_second_judge_is_another_participant() -> None:
    judge, second = Says(["[[A!=B]]"]), Says(["[[A=B]]"])
    grader = FirstThatPasses(ONE_WAY, Judge("Sure?", LABELS, judge="second"))
    assert await value(grader, "y", judge=judge, second=second) == 1
    assert second.requests[0][0].content == "Sure?"


async def test_judges_are_asked_at_the_same_time_and_each_verdict_is_in_the_record() -> None:
    waiting: list[str] = []
    all_there = asyncio.Event()

    async def together(request: CompletionRequest, rng: random.Random) -> Message:
        waiting.append(request.messages[0].content)
        if len(waiting) == 3:
            all_there.set()
        await all_there.wait()
        return Message("assistant", "[[A=B]]")

    questions = {name: Judge(name, LABELS, judge=judge) for name, judge in
                 (("polite", "judge"), ("right", "judge"), ("brief", "second"))}  # fmt: skip
    async with asyncio.timeout(5):
        played = await graded(AllOf(**questions), "y", judge=together, second=together)
    assert waiting == ["polite", "right", "brief"]
    assert sorted(text for _, text in verdicts(played)) == [
        "AllOf: all met",
        "brief: second said [[A=B]]",
        "polite: judge said [[A=B]]",
        "right: judge said [[A=B]]",
    ]


def breaks(kind: FailureKind) -> Player:
    def player(request: CompletionRequest, rng: random.Random) -> Message:
        raise ValueError("no such luck")

    async def infra(request: CompletionRequest, rng: random.Random) -> Message:
        raise EpisodeFailure(FailureKind.INFRA, "model", "gone")

    return infra if kind == FailureKind.INFRA else player


async def test_a_judge_that_breaks_is_at_fault_and_its_neighbours_are_not_waited_for() -> None:
    async def never(request: CompletionRequest, rng: random.Random) -> Message:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    grader = Weighted(bad=(1, ONE_WAY), slow=(1, Judge("?", LABELS, judge="second")))
    async with asyncio.timeout(5):
        failure = failure_of(await graded(grader, "y", judge=breaks(FailureKind.JUDGE), second=never))
    assert failure.kind == FailureKind.JUDGE and failure.where == "judge" and "no such luck" in failure.message


async def test_a_judge_that_is_too_late_is_at_fault() -> None:
    async def never(request: CompletionRequest, rng: random.Random) -> Message:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    failure = failure_of(await graded(AllOf(a=ONE_WAY), "y", judge=never, limits={"score_deadline_s": 0.05}))
    assert failure.kind == FailureKind.JUDGE and "score_deadline_s" in failure.message


@pytest.mark.parametrize(("said", "worth"), [("0.5", 0.5), (" -3.25\n", -3.25), ("1e2", 100)])
async def test_a_reward_model_answers_with_a_number(said: str, worth: float) -> None:
    model = Says([said])
    assert await value(RewardModel(), "Hello", reward_model=model) == worth
    assert [(message.role, message.content) for message in model.requests[0]] == [
        ("user", "Begin."),
        ("assistant", "Hello"),
    ]


@pytest.mark.parametrize("said", ["good", "", "nan", "inf", "1 2"])
async def test_a_reward_model_that_gives_no_number_is_at_fault(said: str) -> None:
    failure = failure_of(await graded(RewardModel([Message("user", "?")]), "Hello", reward_model=Says([said])))
    assert failure.kind == FailureKind.JUDGE and f"not with {said!r}" in failure.message


async def test_a_judge_that_is_not_declared_is_the_environments_mistake() -> None:
    failure: Any = failure_of(await graded(Judge("?", LABELS, judge="nobody"), "y"))
    assert failure.kind == FailureKind.ENVIRONMENT and "'nobody' is not in Graded.auxiliary" in failure.message
