"""Checks multiple choice: how a letter is read, task rows, and the vote of a group."""

from __future__ import annotations

import io
import json
import re
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from playing_tasks import generated, play_task, reward_of, says
from processor import slowness
from pydantic import ValidationError
from rich.console import Console

from ray_gym.cli.show import show_run
from ray_gym.config.sections import TasksSection
from ray_gym.data import checking
from ray_gym.data.rows import FileRow
from ray_gym.data.tasks import read_tasks
from ray_gym.envs.mcqa import MultipleChoice
from ray_gym.envs.mcqa.environment import MultipleChoiceTask
from ray_gym.envs.mcqa.grader import recorded_letter
from ray_gym.envs.mcqa.majority import Ballot, ballots_of, majority, majority_at
from ray_gym.envs.mcqa.reading import READERS, Grading
from ray_gym.load import load
from ray_gym.play.play import Played
from ray_gym.record.rows import row_of
from ray_gym.record.schema import as_table
from ray_gym.tools.runner import ToolRunner

EXAMPLES = Path(__file__).parents[2] / "envs" / "mcqa" / "example.jsonl"
OPTIONS = {"A": "12 km", "B": "15 km", "C": "Vitamin C", "D": "a tie", "E": "a tie", "I": "none of these"}


def task_of(**changed: Any) -> MultipleChoiceTask:
    options = {**OPTIONS, "E": "another tie"}
    fields = {"question": "How far?", "options": options, "expected_answer": "B", **changed}
    return MultipleChoiceTask.model_validate(fields)


def read(grading: Grading, text: str) -> str | None:
    return READERS[grading](text, OPTIONS)


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        (r"It is \boxed{B}.", "B"),
        (r"\boxed{A}? No: \boxed{ B }", "B"),
        (r"\boxed{\text{B}}", "B"),
        (r"\boxed{\text{ \text{B} }}", "B"),
        (r"\boxed{B} or else \boxed{A", "B"),
        (r"\boxed{b}", None),
        (r"\boxed{(B)}", "B"),
        (r"\boxed{B.}", "B"),
        (r"\boxed{\textbf{B}}", "B"),
        (r"\boxed{\mathrm{B}}", "B"),
        (r"\boxed{\mathbf{B}}", "B"),
        (r"\boxed{{B}}", "B"),
        (r"\boxed{~B}", "B"),
        (r"\boxed{**B**}", "B"),
        (r"\boxed{$B$}", "B"),
        (r"\boxed{(b)}", None),
        (r"\boxed{\text{b}}", None),
        (r"\boxed{BC}", None),
        (r"\boxed{B is correct}", None),
        (r"\boxed{B, C}", None),
        (r"\boxed{15 km}", None),
        (r"\boxed{E: a tie}", "E"),
        (r"\[ \boxed{E: \text{a tie}} \]", "E"),
        (r"\boxed{\text{(C) Vitamin C. \checkmark}}", "C"),
        (r"\boxed{B - 15 km}", "B"),
        (r"\boxed{B: 12 km}", None),
        (r"\boxed{b: 15 km}", None),
        (r"\boxed{15 km (B)}", None),
        (r"\boxed{Option B: 15 km}", None),
        (r"\boxed{A tie}", None),
        (r"\boxed{B: 15 km} is wrong", None),
        (r"\boxed{F}", None),
        (r"\boxed{}", None),
        (r"\boxed{B} and then \boxed{{A} or {B}}", None),
        ("Answer: B", None),
        ("B", None),
        ("", None),
    ],
)
def test_strict_boxed(text: str, letter: str | None) -> None:
    assert read("strict_boxed", text) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        (r"\boxed{B}", "B"),
        (r"\boxed{(b).}", "B"),
        (r"\boxed{15 km}", "B"),
        (r"\boxed{\text{15  KM.}}", "B"),
        (r"\boxed{vitamin c}", "C"),
        (r"\boxed{a tie}", None),
        (r"\boxed{B) 15 km}", "B"),
        (r"\boxed{E: a tie}", "E"),
        (r"\boxed{\text{E: a tie}}", "E"),
        (r"\boxed{\text{D:} a tie.}", "D"),
        (r"\boxed{(C) Vitamin C}", "C"),
        (r"\boxed{E:a tie}", "E"),
        (r"\boxed{E:\text{a tie}}", "E"),
        (r"\boxed{E - a tie}", "E"),
        (r"\boxed{\rm E}", "E"),
        (r"\boxed{{\bf E}}", "E"),
        (r"\boxed{\displaystyle E}", "E"),
        (r"\boxed{\Large E}", "E"),
        (r"\boxed{\(E\)}", "E"),
        (r"\boxed{E*}", "E"),
        (r"\boxed{E\colon a tie}", "E"),
        (r"\boxed{E\newline a tie}", "E"),
        (r"\boxed{E / a tie}", "E"),
        (r"\boxed{E / D}", None),
        (r"\boxed{E — a tie}", "E"),
        (r"\boxed{\text{E}: \text{a tie}}", "E"),
        (r"\boxed{E:~a tie}", "E"),
        (r"\boxed{E:\ a tie}", "E"),
        (r"\boxed{E\quad\text{a tie}}", "E"),
        (r"\boxed{E a tie}", "E"),
        (r"\boxed{e: a tie}", "E"),
        (r"\boxed{\textbf{E}}", "E"),
        (r"\boxed{\mathbf{E}}", "E"),
        (r"\boxed{\mathrm{E}}", "E"),
        (r"\boxed{{\rm E}}", "E"),
        (r"\boxed{$E$}", "E"),
        (r"\boxed{\textbf{\text{E}: a tie}}", "E"),
        (r"\boxed{\boldsymbol{E}}", "E"),
        (r"\boxed{\bm{E}}", "E"),
        (r"\boxed{\underline{\text{E}}}", "E"),
        (r"\boxed{\textcolor{red}{E}}", "E"),
        (r"\boxed{{\color{red}E}}", "E"),
        (r"\boxed{\color{red}{E}}", "E"),
        (r"\boxed{\color{red}E}", "E"),
        (r"\boxed{\mathbf E}", "E"),
        (r"\boxed{\text E.}", "E"),
        (r"\boxed{\mathbf EA}", None),
        (r"\boxed{E: ``a tie''}", "E"),
        (r'\boxed{E: "a tie"}', "E"),
        (r"\boxed{E: “a tie.”}", "E"),
        (r'\boxed{"15 km"}', "B"),
        (r"\boxed{E (a tie)}", "E"),
        (r"\boxed{(E) (a tie).}", "E"),
        (r"\boxed{Option E}", "E"),
        (r"\boxed{\text{Option }\mathbf{E}}", "E"),
        (r"\boxed{option (e): a tie}", "E"),
        (r"\boxed{Answer: E}", "E"),
        (r"\boxed{The correct answer is E.}", "E"),
        ("\\boxed{\uff08E\uff09}", "E"),
        ("\\boxed{\uff25\uff1a a tie}", "E"),
        (r"\boxed{【E】}", "E"),
        (r"\boxed{{E}}", "E"),
        (r"\boxed{{{E}}: {a tie}}", "E"),
        (r"\boxed{\{E\}}", "E"),
        (r"\boxed{\left(E\right)}", "E"),
        (r"\boxed{**E**}", "E"),
        (r"\boxed{**E**: a tie}", "E"),
        (r"\boxed{E | a tie}", "E"),
        (r"\boxed{E → a tie}", "E"),
        (r"\boxed{E \to \text{a tie}}", "E"),
        (r"\boxed{E -> a tie}", "E"),
        (r"\boxed{E: a tie;}", "E"),
        (r"\boxed{E\\ \text{a tie}}", "E"),
        (r"\boxed{E\ }", "E"),
        ("\\boxed{E\u200b}", "E"),
        (r"\boxed{B: 12 km}", None),
        (r"\boxed{B (12 km)}", None),
        (r'\boxed{B | "12 km"}', None),
        (r"\boxed{Option B: 12 km}", None),
        (r"\boxed{Option A or B}", None),
        (r"\boxed{Options A, B}", None),
        (r"\boxed{A | B}", None),
        (r"\boxed{A → B}", None),
        (r"\boxed{(A) (B)}", None),
        (r"\boxed{{A}{B}}", None),
        (r"\boxed{\bm{A}\bm{B}}", None),
        (r"\boxed{A\\B}", None),
        (r"\boxed{Option F}", None),
        (r"\boxed{Not option E}", None),
        (r"\boxed{Ea tie}", None),
        (r"\boxed{E or a tie}", None),
        (r"\boxed{Z: a tie}", None),
        (r"\boxed{AB}", None),
        (r"\boxed{C is correct}", "C"),
        (r"\boxed{C (correct)}", "C"),
        (r"\boxed{(C) is the right answer.}", "C"),
        (r"\boxed{Option C is correct}", "C"),
        (r"\boxed{C\checkmark}", "C"),
        (r"\boxed{C!}", "C"),
        (r"\boxed{C is the answer}", "C"),
        (r"\boxed{C is not the answer}", None),
        (r"\boxed{\text{C}\ ✓}", "C"),
        (r"\boxed{C is incorrect}", None),
        (r"\boxed{C is not correct}", None),
        (r"\boxed{C (incorrect)}", None),
        (r"\boxed{A, C is correct}", None),
        (r"\boxed{F is correct}", None),
        (r"\boxed{16 km}", None),
        ("15 km", None),
    ],
)
def test_lenient_boxed(text: str, letter: str | None) -> None:
    assert read("lenient_boxed", text) == letter


@pytest.mark.parametrize(
    ("options", "text", "letter"),
    [
        ({"A": "tie", "B": "a tie"}, "a tie", None),
        ({"C": "E. coli", "E": "yeast"}, "E. coli", "C"),
        ({"A": "5", "B": "-5"}, "A: -5", None),
        ({"A": "5", "B": "-5"}, "B: -5", "B"),
        ({"A": "5", "B": "-5"}, "A:-5", None),
        ({"A": "5", "B": "-5"}, "A -5", None),
        ({"A": "5", "B": "-5"}, "A - 5", "A"),
        ({"A": "(1, 2)", "B": "1, 2"}, "A: (1, 2)", "A"),
        ({"A": "(1, 2)", "B": "1, 2"}, "B: (1, 2)", None),
        ({"A": "(1, 2)", "B": "1, 2"}, "(1, 2)", "A"),
        ({"A": "Option B", "B": "neither"}, "Option B", None),
        ({"A": "tie", "B": "a tie"}, "Answer: a tie", None),
        ({"A": "> 5", "B": "5"}, "B > 5", None),
        ({"A": "5", "B": "-5"}, "B) \u22125", "B"),
        ({"A": "5", "B": "-5"}, "\u22125", "B"),
        ({"A": "5", "B": "\u22125"}, "B: -5", "B"),
        ({"A": "5", "B": "-5"}, "A \u22125", None),
        ({"A": "C is correct", "C": "no"}, "C is correct", None),
        ({"A": "correct", "B": "incorrect"}, "B (correct)", None),
        ({"A": "$x^2$"}, r"A: x^2", "A"),
        ({"A": "$\\frac{1}{2}$", "B": "12"}, r"A: \frac{1}{2}", "A"),
        ({"A": "$\\{1, 2\\}$", "B": "1, 2"}, r"\{1, 2\}", "A"),
    ],
)
def test_a_letter_and_a_text_that_differ_choose_nothing(options: dict[str, str], text: str, letter: str | None) -> None:
    assert READERS["lenient_boxed"](rf"\boxed{{{text}}}", options) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Answer: B", "B"),
        ("answer: (b)", "B"),
        ("Answer: A\nNo.\nThe final answer : B.\nThat is all.", "B"),
        ("Answer: A. No, answer: B", "B"),
        ("Answer: 15 km", "B"),
        ("Answer: E: a tie", "E"),
        ("Answer: E. a tie", "E"),
        ("Answer: B 15 km", "B"),
        ("Answer: B: 12 km", None),
        ("Answer: a tie", None),
        ("Answer: A or B", None),
        ("Answer:\nB", None),
        ("**Answer:** B", "B"),
        ("**Answer**: B", "B"),
        ("**Answer: B**", "B"),
        ("*Answer:* **B**", "B"),
        ("Answer\uff1a B", "B"),
        ("Answer: `B`", "B"),
        ("Answer: `B`.", "B"),
        ("**Answer:** A or B", None),
        ("Answer: B because it is near", "B"),
        ("Answer: E because A is wrong", "E"),
        ("Answer: **E**, not A.", "E"),
        ("Answer: (E), since A and B are too far", "E"),
        ("Answer: E not A", "E"),
        ("Answer: E because A or B is right", None),
        ("Answer: E, perhaps A", None),
        ("Answer: <B>", "B"),
        ("Answer: <I>.", "I"),
        ("<b>Answer: </b><B>", "B"),
        ("Answer: <b>B</b>", "B"),
        (r"Answer: \[B\]", "B"),
        ("Answer: B!", "B"),
        ("Answer: B is the answer", "B"),
        ("Answer: \u0628", "B"),
        ("Answer: (\u09ac)", "B"),
        ("Answer: \u0628 or \u0623", None),
        ("Answer: B/B", "B"),
        ("Answer: (B) / (B).", "B"),
        ("**Answer:** b/b", "B"),
        ("Answer: B/B, not A", "B"),
        ("Answer: A/B", None),
        ("Answer: B/B or A", None),
        ("Answer: not E", None),
        ("The answer is B", None),
    ],
)
def test_answer_colon(text: str, letter: str | None) -> None:
    assert read("answer_colon", text) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("**Answer: B**", "B"),
        ("**Answer:** B", "B"),
        ("__Answer__: `B`", "B"),
        ("### Answer:\n\n**(B)**", "B"),
        ("Answer: $B$", "B"),
        ("**Answer:** B) 15 km", "B"),
        ("**Answer:** B, since it's nearer", "B"),
        ("**Answer:** C. Vitamin C", "C"),
        ("**Answer:** *15 km*", "B"),
        ("**Answer:** A\n\n**Answer:** B", "B"),
        ("**Answer:** B. I'm sure", "B"),
        ("Answer: B, since I computed it", "B"),
        ("Answer: B. I computed it", "B"),
        ("Answer: (B) because A is wrong", "B"),
        ("**Answer: B** \u2013 15 km, because A is too few.", "B"),
        ("**Answer: B** \u2013 15 km, or A.", None),
        ("Answer: B because A and C are wrong", "B"),
        ("**Answer: C**. Options A and B are wrong.", "C"),
        ("**Answer: C**. A, B and D are not possible.", "C"),
        ("Answer: C. It can't be A.", "C"),
        ("Answer: C (not A)", "C"),
        ("Answer: C, not A", "C"),
        ("Answer: C rather than option A or B", "C"),
        ("Answer\uff1a **C**", "C"),
        ("Answer: C. Options A and B are not wrong.", None),
        ("Answer: C, not A but B", None),
        ("Answer: C (not A) or B", None),
        ("Answer: C, not only A", None),
        ("Answer: C. A is wrong, B", None),
        ("Answer: C not sure, maybe A", None),
        ("Answer: A, because it is near, or B", None),
        ("Answer: A, as well as B", None),
        ("Answer: A. I or B", None),
        ("Answer: B, I", None),
        ("Answer: B, or I think C", None),
        ("**Answer:** A or B", None),
        ("**Answer:** A, B", None),
        ("**Answer: A/B**", None),
        ("Answer: B/B", "B"),
        ("Answer: B/B or A", None),
        ("**Answer:** (A) or (B)", None),
        ("**Answer:** A and B", None),
        ("**Answer:** A, perhaps B", None),
        ("**Answer:** A good question", None),
        ("**Answer:**", None),
        ("**B**", None),
    ],
)
def test_answer_colon_in_markdown(text: str, letter: str | None) -> None:
    assert read("answer_colon_markdown", text) == letter


@pytest.mark.parametrize("grading", READERS)
@pytest.mark.parametrize("part", ["answer", " ", "*", "Answer: C ", "not A ", "A and B ", " correct", "~~ ~~"])
@pytest.mark.clock
def test_no_answer_takes_long_to_read(grading: Grading, part: str) -> None:
    began = time.process_time()
    for text in (f"Answer: C. {part * 10_000}x", f"answer{part * 10_000}x", rf"\boxed{{C{part * 10_000}x}}"):
        read(grading, text)
    assert time.process_time() - began < 2 * slowness()


async def test_the_perfect_player_is_right_on_every_generated_task() -> None:
    environment = MultipleChoice()
    for index in range(200):
        task = generated(environment, index)
        played = await play_task(environment, task)
        assert reward_of(played) == 1 and recorded_letter(row_of(played, "run", "mcqa")) == task.expected_answer
        if index < 20:
            other = next(letter for letter in task.options if letter != task.expected_answer)
            for wrong in (rf"\boxed{{{other}}}", task.expected_answer, ""):
                assert reward_of(await play_task(environment, task, {"policy": says(wrong)}, seed=1)) == 0


async def test_the_prompt_shows_the_options_and_asks_for_what_is_graded() -> None:
    for grading, form in [("strict_boxed", r"\boxed{}"), ("answer_colon", "`Answer: X`")]:
        played = await play_task(MultipleChoice(MultipleChoice.Options(grading=grading)), task_of())
        (prompt,) = [event.content for event in played.episode.events if event.kind == "opening"]
        assert prompt.startswith("How far?\n\nA. 12 km\nB. 15 km\n") and form in prompt and reward_of(played) == 1
    played = await play_task(MultipleChoice(), task_of(instruction="Sing it."))
    assert played.episode.events[0].content.endswith("I. none of these\n\nSing it.")
    overruled = await play_task(MultipleChoice(), task_of(grading="answer_colon"), {"policy": says("Answer: B")})
    assert reward_of(overruled) == 1


async def test_a_tasks_regex_comes_first_and_can_not_hang() -> None:
    environment, runner = MultipleChoice(), ToolRunner()

    async def chosen(pattern: str, text: str) -> tuple[str | None, str]:
        task = task_of(output_regex=pattern)
        played = await play_task(environment, task, {"policy": says(text)}, runner=runner)
        assert reward_of(played) in (0, 1)
        row = row_of(played, "run", "mcqa")
        return recorded_letter(row), row["events"][-1]["content"][0]["text"]

    try:
        assert await chosen(r"pick (\w)", r"pick A, pick B; \boxed{C}") == ("B", "ChosenLetter: chose B; expected B")
        assert (await chosen(r"pick (.+)", "pick 15 km"))[0] == "B", "an option's text"
        assert (await chosen(r"[A-E]$", "A then B"))[0] == "B", "without groups it is the whole match"
        assert (await chosen(r"pick (\w)", r"\boxed{C}"))[0] == "C", "where it finds nothing the task's grading reads"
        assert (await chosen(r"pick (\w)", r"pick Z \boxed{C}"))[0] == "C", "or no option"
        began = time.monotonic()
        letter, why = await chosen(r"(a+)+$", "a" * 60 + r"! \boxed{B}")
        assert letter == "B" and "output_regex was left out" in why and "within 2 s" in why
        assert time.monotonic() - began < 20
    finally:
        await runner.close()


def test_options_are_read_in_three_spellings() -> None:
    by_letter = {"A": "one", "B": "two"}
    for given in (by_letter, [{"A": "one"}, {"B": "two"}], ["one", "two"]):
        assert task_of(options=given).options == by_letter


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"expected_answer": "Z"}, "expected_answer: Z is none of the options, which are A, B, C"),
        ({"expected_answer": "b"}, "String should match pattern"),
        ({"options": {"A": "one"}}, "at least 2 items"),
        ({"options": {"A": "one", "BB": "two"}}, "String should match pattern"),
        ({"options": [{"A": "one"}, {"A": "two"}, {"B": "three"}]}, "a letter is there twice: A, A, B"),
        ({"options": "A, B"}, "valid dictionary"),
        ({"options": [1, 2]}, "options.A\n  Input should be a valid string"),
        ({"options": ["one", None]}, "options.B\n  Input should be a valid string"),
        ({"options": ["one", "two", ["three"]]}, "options.C\n  Input should be a valid string"),
        ({"options": ["one", {"B": "two"}]}, "each has to be a text, or each an object of one letter with its text"),
        ({"options": [{"A": "one"}, {"B": "two", "C": "three"}]}, "or each an object of one letter with its text"),
        ({"options": [f"{number}" for number in range(27)]}, "there are 27, but only 26 letters for them"),
        ({"question": ""}, "at least 1 character"),
        ({"question": " \n"}, "question\n  Value error, it is blank"),
        (
            {"question": None, "messages": [{"role": "user", "content": ""}]},
            "all that the user says in messages is blank",
        ),
        ({"question": None, "messages": "\u200b "}, "all that the user says in messages is blank"),
        (
            {"question": None, "messages": [{"role": "system", "content": "Hi"}, {"role": "user", "content": None}]},
            "question: missing, and all that the user says in messages is blank",
        ),
        ({"options": {"A": "one", "B": " "}}, "options: B has no text"),
        ({"options": {"A": "one", "B": "two", "C": "one "}}, "options: A and C have the same text"),
        ({"grading": "guess"}, "'strict_boxed', 'lenient_boxed'"),
        ({"output_regex": "pick (A"}, "'pick (A' is no regular expression: missing ), unterminated subpattern"),
        ({"output_regex": "a{99999999999}"}, "is no regular expression: the repetition number is too large"),
        ({"output_regex": "a" * 1001}, "at most 1000 characters"),
        ({"answer": "B"}, "Extra inputs are not permitted"),
    ],
)
def test_bad_rows_are_refused(changed: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(complaint)):
        task_of(**changed)


async def test_the_example_rows_are_played() -> None:
    environment, runner = MultipleChoice(), ToolRunner()
    try:
        rows = read_tasks(TasksSection(path=str(EXAMPLES)), environment, 0, Path())
        assert [row.task_id for row in rows] == [f"mcqa-{index}" for index in range(5)]
        for row in rows:
            task = MultipleChoiceTask.model_validate_json(row.task)
            assert reward_of(await play_task(environment, task, runner=runner)) == 1
        chosen = await play_task(environment, task, {"policy": says("I choose (c)")}, runner=runner)
        assert task.output_regex and reward_of(chosen) == 1
    finally:
        await runner.close()


def test_a_majority_is_what_most_chose() -> None:
    assert majority(["A", "B", "B"], "B") == 1 and majority(["A", "B", "B"], "A") == 0
    assert majority(["A", "B"], "A") == 0.5 and majority(["A", "B", "C"], "C") == pytest.approx(1 / 3)
    assert majority([None, None, "A"], "A") == 1, "who chose nothing does not vote"
    assert majority([None, None], "A") == 0 and majority([], "A") == 0
    ballots = [Ballot(("A", "B", "B", "B", "A"), "B"), Ballot(("C", None, "D", "C", "C"), "C"), Ballot(("A",), "D")]
    assert majority_at(ballots) == {
        "majority@1": pytest.approx(1 / 3),
        "majority@2": 0.75,
        "majority@4": 1.0,
        "majority@5": 1.0,
    }
    assert majority_at([]) == {}


async def test_majority_is_worked_out_from_the_record_and_shown(tmp_path: Path) -> None:
    environment, rows = MultipleChoice(), []

    async def add(group: str, repeat: int, text: str) -> dict[str, Any]:
        played: Played = await play_task(environment, task_of(), {"policy": says(text)}, seed=repeat)
        row = row_of(played, "run", "mcqa") | {"group_id": group, "repeat": repeat, "episode_id": f"{group}{repeat}"}
        rows.append(row)
        return row

    for repeat, text in [(2, r"\boxed{B}"), (0, r"\boxed{A}"), (1, r"ChosenLetter: chose A; \boxed{B}"), (3, "B")]:
        await add("one", repeat, text)
    for repeat, text in enumerate([r"\boxed{A}", "well", r"\boxed{A}"]):
        await add("two", repeat, text)
    (await add("two", 3, r"\boxed{B}"))["status"] = "failed"
    (await add("three", 0, r"\boxed{B}"))["status"] = "failed"
    assert set(ballots_of(rows)) == {Ballot(("A", "B", "B", None), "B"), Ballot(("A", None, "A"), "B")}
    (tmp_path / "episodes").mkdir()
    pq.write_table(as_table(rows), tmp_path / "episodes" / "a.parquet")
    run = load(tmp_path)
    expected = {"majority@1": 0.0, "majority@2": 0.25, "majority@4": 1.0}
    assert MultipleChoice.metrics(run.episodes.to_pylist()) == expected
    out = io.StringIO()
    show_run(Console(file=out, width=160), run)
    assert "metrics: majority@1 0.000  majority@2 0.250  majority@4 1.000" in out.getvalue()
    assert json.loads(run.episodes.column("task")[0].as_py())["expected_answer"] == "B"


async def test_a_row_of_nemo_gym_with_a_template_says_what_an_answer_looks_like() -> None:
    fields = {
        "responses_create_params": {"input": [{"role": "user", "content": "Which?\nA: Yes\nB: No"}]},
        "expected_answer": "B",
        "options": [{"A": "Yes"}, {"B": "No"}],
        "reward_profiles": [{"pass_rate": 0.5}],
        "template_metadata": {"template_id": "t", "output_regex": r"ANSWER IS\s*([A-Za-z])", "weight": 0.5},
    }
    task = checking.task_of(FileRow("row", 0, fields), MultipleChoice())
    for said, reward in (("The answer is b.", 1), ("Answer is A", 0), ("No idea", 0)):
        assert reward_of(await play_task(MultipleChoice(), task, {"policy": says(said)})) == reward


@pytest.mark.parametrize("pattern", ["(?i)answer: ([A-D])", "(?s)(?i)Answer: ([A-D])", "(?x) ANSWER:\\ ([A-D])"])
async def test_an_expression_of_nemo_gym_may_begin_with_flags(pattern: str) -> None:
    fields = {
        "question": "Which?",
        "options": {"A": "Yes", "B": "No"},
        "expected_answer": "B",
        "template_metadata": {"output_regex": pattern},
    }
    task = checking.task_of(FileRow("row", 0, fields), MultipleChoice())
    assert reward_of(await play_task(MultipleChoice(), task, {"policy": says("ANSWER: b")})) == 1


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("(", r"template_metadata\.output_regex: '\(' is no regular expression: .* at position 0"),
        (["a", "b)"], r"template_metadata\.output_regex: 'b\)' is no regular expression"),
        (5, r"template_metadata\.output_regex: 5 is no text of a regular expression"),
        ("", r"template_metadata\.output_regex: '' is no text"),
        ("a" * 997, r"template_metadata\.output_regex: 997 characters, of which at most 996 may be there"),
    ],
)
def test_a_wrong_expression_of_nemo_gym_is_told_as_the_row_has_it(pattern: object, told: str) -> None:
    fields = {"question": "Which?", "options": {"A": "Yes", "B": "No"}, "expected_answer": "B"}
    with pytest.raises(checking.BadRow, match=told):
        checking.task_of(
            FileRow("row", 0, {**fields, "template_metadata": {"output_regex": pattern}}), MultipleChoice()
        )
    own = {**fields, "output_regex": "a", "template_metadata": {"output_regex": pattern}}
    assert MultipleChoiceTask.model_validate(own).output_regex == ("a",)


async def test_of_several_expressions_the_first_that_finds_an_option_counts() -> None:
    fields = {
        "question": "Which?",
        "options": {"A": "Yes", "B": "No"},
        "expected_answer": "B",
        "template_metadata": {"output_regex": ["answer: (\\w)", "الجواب: (.)", "([A-D])"]},
    }
    task = checking.task_of(FileRow("row", 0, fields), MultipleChoice())
    for said, reward in (("A? Answer: b", 1), ("Answer: x, B", 1), ("A. الجواب: ب", 1), ("B, الجواب: أ", 0)):
        assert reward_of(await play_task(MultipleChoice(), task, {"policy": says(said)})) == reward, said


@pytest.mark.usefixtures("own_garbage")
@pytest.mark.parametrize(
    "text",
    [r"\text{" * 20_000 + "}" * 20_000, "{" * 50_000 + "}" * 50_000, "E" + ":" * 100_000, "E: " + '"' * 100_000 + "x"],
)
def test_no_box_takes_long(text: str) -> None:
    began = time.process_time()
    read("lenient_boxed", rf"\boxed{{{text}}}")
    assert time.process_time() - began < slowness()


@pytest.mark.usefixtures("own_garbage")
@pytest.mark.parametrize("space", [" " * 50_000, "\t" * 50_000, " " * 20_000 + "/" + " " * 20_000 + "B" + " " * 20_000])
def test_no_line_takes_long(space: str) -> None:
    began = time.process_time()
    read("answer_colon", f"Answer: B{space}x")
    assert time.process_time() - began < 2 * slowness()
