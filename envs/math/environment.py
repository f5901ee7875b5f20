"""Asks mathematical problems. A library checks the answer first, and a judge checks it if it was not found equal."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from ray_gym import Environment, Episode, Message, Opening, Score
from ray_gym import Options as EnvironmentOptions
from ray_gym.envs.math.expected import why_unreadable
from ray_gym.envs.math.generator import problem
from ray_gym.envs.math.joined_boxes import with_boxes_joined
from ray_gym.envs.math.prompt import PROMPT
from ray_gym.graders import Equivalence, FirstThatPasses, Grader, Library, QuestionTask
from ray_gym.graders.equivalence import literal_judge
from ray_gym.graders.withdrawn import answer_instead, standing_box
from ray_gym.installed.extras import require
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player

INSTRUCTIONS = (
    "Solve the problem that you are given. Work it out step by step, "
    "then give the final answer, and nothing else, as \\boxed{...}."
)
VERIFIER = "ray_gym.envs.math.verification:verify_within"
GRACE_S = 2.0
"""Seconds that the verifier's process may live after it should have ended itself."""


class MathTask(QuestionTask):
    """A task is a problem and its answer, as LaTeX or as a plain expression."""


class Mathematics(Environment[MathTask, None]):
    """The policy solves a problem: math-verify checks the answer, and a judge checks one that was not found equal."""

    auxiliary: tuple[str, ...] = ("judge",)
    pattern = "single-step"
    scoring = "library, else a judge"

    class Options(EnvironmentOptions):
        """Holds the options of the environment."""

        judge: bool = True
        """True to ask a judge about answers that the library does not find equal. If false, there is no participant
        `judge`."""
        verification_deadline_s: Annotated[float, Field(gt=0)] = 5.0
        """Seconds for the library. After that the judge decides; without a judge the answer is wrong."""
        verification_memory_mb: Annotated[int, Field(ge=64)] = 512
        """Megabytes of memory for the library."""
        judged_characters: Annotated[int, Field(ge=1)] = 2000
        """Largest number of characters of the last box (without one, of all) that are judged; longer is not equal."""
        unlabelled: Literal["fail", "different"] = "fail"
        """fail: a judge that gives no label even when asked again has failed; different: it found a difference."""

    def __init__(self, options: BaseModel | None = None) -> None:
        """Makes the environment; without a judge if the option `judge` is false. Errors: NotInstalled if math-verify
        is missing.
        """
        super().__init__(options)
        require("math_verify", "envs", "environment.id: math")
        if not self.options.judge:
            self.auxiliary = ()

    def generate(self, rng: random.Random, index: int) -> MathTask:
        drawn = problem(rng)
        return MathTask(question=drawn.question, expected_answer=drawn.answer)

    def check(self, task: MathTask) -> None:
        """Refuses an expected answer that nothing could equal, if no judge is asked. Errors: ValueError."""
        if not self.options.judge and (wrong := why_unreadable(task.expected_answer)) is not None:
            raise ValueError(f"expected_answer: {wrong}")

    def setup(self, task: MathTask, episode: Episode) -> None:
        return None

    def opening(self, task: MathTask, state: None) -> Opening:
        return Opening(system={"policy": INSTRUCTIONS}, messages={"policy": task.asked})

    async def score(self, state: None, episode: Episode) -> Score:
        task, options, answer = episode.task, self.options, episode.answer.strip()
        if not answer:
            return Score(0.0)
        library = Library(
            VERIFIER,
            (options.verification_deadline_s, task.expected_answer, answer, task.asked),
            deadline_s=options.verification_deadline_s + GRACE_S,
            memory_mb=options.verification_memory_mb,
        )
        graders: list[Grader] = [library]
        if options.judge:
            is_replaced = answer_instead(answer, task.asked) is not None
            final = (None if is_replaced else standing_box(with_boxes_joined(answer), task.asked)) or answer
            graders.append(
                Equivalence(
                    PROMPT,
                    task.asked,
                    task.expected_answer,
                    final,
                    longest=options.judged_characters,
                    unlabelled=0.0 if options.unlabelled == "different" else None,
                )
            )
        return await FirstThatPasses(*graders, enough=0.5).score(episode)

    def perfect(self, task: MathTask) -> Mapping[str, Player]:
        def solves(request: CompletionRequest, rng: random.Random) -> Message:
            return Message("assistant", f"The answer is \\boxed{{{task.expected_answer}}}.")

        return {"policy": solves, "judge": literal_judge}
