"""Asks multiple-choice questions with one right letter: the smallest single-step environment."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Annotated, Any

from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from ray_gym import Environment, Episode, Message, Opening, Score, Task
from ray_gym import Options as EnvironmentOptions
from ray_gym.envs.mcqa.grader import ChosenLetter
from ray_gym.envs.mcqa.majority import ballots_of, majority_at
from ray_gym.envs.mcqa.reading import Grading
from ray_gym.envs.mcqa.subjects import SUBJECTS, Subject
from ray_gym.graders import RegularExpression
from ray_gym.graders.regex import regexes_of_template
from ray_gym.messages import is_blank
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player
from ray_gym.task import Words

FEWEST, MOST = 4, 10
"""Fewest and most options of a generated question."""
INSTRUCTIONS: Mapping[Grading, str] = {
    "strict_boxed": r"Think it over, then put the letter of the right option, and nothing else, into \boxed{}.",
    "lenient_boxed": r"Think it over, then put the right option into \boxed{}.",
    "answer_colon": "Think it over, then write a last line of the form `Answer: X`, where X is the right option's letter.",
    "answer_colon_markdown": "Think it over, then finish with **Answer: X**, where X is the letter of the right option.",
}
"""Last sentence of a prompt, by the way in which the letter is read."""
NEMO_GYM_GRADING: Mapping[str, Grading] = {
    "strict_single_letter_boxed": "strict_boxed",
    "lenient_answer_colon": "answer_colon",
    "lenient_answer_colon_md": "answer_colon_markdown",
}
"""Our name for each of NeMo Gym's `grading_mode`."""


def _by_letter(given: Any) -> Any:
    """Returns a list of options as texts by letter, and data of another form unchanged. Errors: ValueError for a letter
    that occurs twice, more options than letters, or objects beside something else.

    Rows write options as {"A": ...}, as [{"A": ...}, ...], or as plain texts in order.
    """
    if not isinstance(given, Sequence) or isinstance(given, str):
        return given
    if all(isinstance(option, Mapping) and len(option) == 1 for option in given):
        letters = [letter for option in given for letter in option]
        if len(set(letters)) < len(letters):
            raise ValueError(f"a letter is there twice: {', '.join(map(str, letters))}")
        return {letter: text for option in given for letter, text in option.items()}
    if any(isinstance(option, Mapping) for option in given):
        raise ValueError("each has to be a text, or each an object of one letter with its text")
    if len(given) > len(ascii_uppercase):
        raise ValueError(f"there are {len(given)}, but only {len(ascii_uppercase)} letters for them")
    return dict(zip(ascii_uppercase, given, strict=False))


def _translate_grading(grading: Any) -> Any:
    return NEMO_GYM_GRADING.get(grading, grading) if isinstance(grading, str) else grading


def _several(pattern: Any) -> Any:
    """Returns the only pattern as a list of one, and an empty list for None."""
    return [] if pattern is None else [pattern] if not isinstance(pattern, list | tuple) else list(pattern)


Letter = Annotated[str, Field(pattern=r"^[A-Z]$")]
OutputRegexes = Annotated[tuple[RegularExpression, ...], BeforeValidator(_several)]
OptionTexts = Annotated[dict[Letter, str], BeforeValidator(_by_letter), Field(min_length=2)]


class MultipleChoiceTask(Task):
    """A task is a question with lettered options, one of which is right.

    `grading` wins over the config's. `output_regex` is tried first, if there is one; `instruction` tells the policy the
    form of the answer. Rows with `messages` ask their question there: NeMo Gym's rows do, and have words of their own
    for `grading`.
    """

    question: Words | None = None
    options: OptionTexts
    expected_answer: Letter
    grading: Annotated[
        Grading | None,
        BeforeValidator(_translate_grading),
        Field(validation_alias=AliasChoices("grading", "grading_mode")),
    ] = None
    output_regex: OutputRegexes = ()
    instruction: str | None = None
    subject: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _apply_template(cls, given: Any) -> Any:
        """Takes `output_regex`, one or several, out of `template_metadata`, where NeMo Gym's rows have it, and drops that
        field.

        The expressions ignore letter case. An `output_regex` of the row itself wins.
        """
        if not isinstance(given, Mapping) or not isinstance(given.get("template_metadata"), Mapping):
            return given
        patterns = regexes_of_template(given, "output_regex", "(?i)")
        row = {name: value for name, value in given.items() if name != "template_metadata"}
        return {**row, "output_regex": patterns} if patterns else row

    @model_validator(mode="after")
    def _check_answer(self) -> MultipleChoiceTask:
        if self.question is None and not self.messages:
            raise ValueError("question: missing, and there are no messages that ask it")
        asked = [message.content for message in self.messages if message.role == "user"]
        if self.question is None and asked and all(map(is_blank, asked)):
            raise ValueError("question: missing, and all that the user says in messages is blank")
        letters_of: dict[str, str] = {}
        for letter, text in self.options.items():
            if is_blank(text):
                raise ValueError(f"options: {letter} has no text")
            if (other := letters_of.setdefault(" ".join(text.split()), letter)) != letter:
                raise ValueError(f"options: {other} and {letter} have the same text, so that either may be right")
        if self.expected_answer not in self.options:
            letters = ", ".join(self.options)
            raise ValueError(f"expected_answer: {self.expected_answer} is none of the options, which are {letters}")
        return self


class MultipleChoice(Environment[MultipleChoiceTask, None]):
    """The policy answers one question with lettered options, once."""

    pattern = "single-step"
    scoring = "exact match of the letter"

    metrics_columns = ("group_id", "repeat", "status", "task", "events")

    class Options(EnvironmentOptions):
        """Holds the options of the environment."""

        grading: Grading = "strict_boxed"
        """Way in which the letter is read, for tasks that don't set it."""
        subjects: Annotated[tuple[Subject, ...], Field(min_length=1)] = tuple(SUBJECTS)
        """Subjects that generated questions are about."""

    @classmethod
    def metrics(cls, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
        return majority_at(ballots_of(rows))

    def generate(self, rng: random.Random, index: int) -> MultipleChoiceTask:
        subject: Subject = rng.choice(self.options.subjects)
        asked = SUBJECTS[subject](rng)
        count = min(rng.randint(FEWEST, MOST), len(asked.wrong) + 1)
        texts = [asked.answer, *rng.sample(asked.wrong, count - 1)]
        rng.shuffle(texts)
        return MultipleChoiceTask(
            question=asked.text,
            options=dict(zip(ascii_uppercase, texts, strict=False)),
            expected_answer=ascii_uppercase[texts.index(asked.answer)],
            subject=subject,
        )

    def setup(self, task: MultipleChoiceTask, episode: Episode) -> None:
        """Makes no state, because an episode is only one answer."""

    def opening(self, task: MultipleChoiceTask, state: None) -> Opening:
        if task.question is None:
            return Opening()
        options = "\n".join(f"{letter}. {text}" for letter, text in task.options.items())
        instruction = task.instruction or INSTRUCTIONS[self._grading_of(task)]
        return Opening(messages={"policy": f"{task.question}\n\n{options}\n\n{instruction}"})

    async def score(self, state: None, episode: Episode) -> Score:
        task: MultipleChoiceTask = episode.task
        grader = ChosenLetter(task.expected_answer, task.options, self._grading_of(task), task.output_regex)
        return await grader.score(episode)

    def perfect(self, task: MultipleChoiceTask) -> Mapping[str, Player]:
        form = r"\boxed{{{}}}" if self._grading_of(task) in ("strict_boxed", "lenient_boxed") else "Answer: {}"

        def player(request: CompletionRequest, rng: random.Random) -> Message:
            return Message("assistant", form.format(task.expected_answer))

        return {"policy": player}

    def _grading_of(self, task: MultipleChoiceTask) -> Grading:
        grading: Grading = task.grading or self.options.grading
        return grading
