"""Defines a small environment and a model that gives tokens, and plays them without Ray."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ray_gym import Environment, Message, Opening, Task, tool
from ray_gym.config.sections import (
    FanoutSection,
    GroupsSection,
    LimitsSection,
    LogSection,
    OutputSection,
    ParticipantSection,
    RunConfig,
)
from ray_gym.episode.participant import Participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.messages import ToolCall
from ray_gym.metrics.committing import RunMetrics
from ray_gym.metrics.recorder import Recorder
from ray_gym.models.base import Completion, CompletionRequest, VersionSpan
from ray_gym.run.directory.directory import create, plan_directory
from ray_gym.run.driver.commits import Commits
from ray_gym.run.driver.dispatcher import Dispatcher
from ray_gym.run.driver.fences import Fences
from ray_gym.run.driver.tally import Tally
from ray_gym.run.worker.report import Report
from ray_gym.run.worker.worker import Worker, WorkerSetup

LIMITS = LimitsSection(max_turns=1)
SPECS = [EpisodeSpec(f"e{number}", f"g{number}", "t", 0, number, "{}") for number in range(6)]


class Errand(Environment[Task, None]):
    """Offers one tool, which the policy calls once before it speaks."""

    def setup(self, task: Task, episode: Any) -> None:
        return None

    def opening(self, task: Task, state: None) -> Opening:
        return Opening(messages={"policy": "go"})

    @tool()
    def walk(self, state: None, caller: Participant) -> str:
        """Walk."""
        return "walked"

    def score(self, state: None, episode: Any) -> float:
        return 1.0


@dataclass
class Walker:
    """Answers with tokens of weights that are renewed while it is asked."""

    answers: int = 0

    def connect(self) -> Walker:
        return self

    async def complete(self, request: CompletionRequest) -> Completion:
        self.answers += 1
        calls = (ToolCall(f"c{self.answers}", "walk", "{}"),) if len(request.messages) < 2 else ()
        ids = np.arange(3, dtype=np.int32)
        return Completion(
            Message("assistant", "" if calls else "done", tool_calls=calls),
            prompt_ids=ids,
            token_ids=ids,
            logprobs=np.zeros(3, dtype=np.float32),
            versions=(VersionSpan(self.answers // 4, 0, 3),),
            prompt_tokens=10,
            generated_tokens=3,
            cached_tokens=4,
        )

    async def close(self) -> None:
        return None


def setup_of_errands(
    tmp_path: Path,
    export: Any,
    environment: Environment[Any, Any] | None = None,
    log: LogSection | None = None,
    **output: Any,
) -> tuple[WorkerSetup, Commits, Recorder]:
    config = RunConfig.model_validate(
        {
            "environment": {"id": "errand"},
            "tasks": {"generate": 1},
            "models": {"m": {"engine": "scripted"}},
            "participants": {"policy": {"model": "m"}},
            "output": {"dir": str(tmp_path), **output},
        }
    )
    directory = plan_directory(config, Path("mine.yaml"))
    create(directory)
    cast = {"policy": Participant.from_config("policy", ParticipantSection(model="m"), LIMITS)}
    sections = (LIMITS, GroupsSection(), FanoutSection(), OutputSection(**output))
    journal = directory.journal if directory.keeps_journal else None
    made = WorkerSetup(
        "run",
        "errand",
        environment or Errand(),
        cast,
        {"m": Walker()},
        *sections,
        directory.storage,
        journal,
        export=export,
        log=log,
    )
    recorder = Recorder()
    commits = Commits(
        directory,
        Dispatcher.of(SPECS),
        Fences(journal, "run"),
        Tally(len(SPECS)),
        lambda *_: None,
        metrics=RunMetrics(recorder, "errand"),
    )
    return made, commits, recorder


async def played(worker: Worker, commits: Commits, name: str, episodes: int) -> Report:
    report = await worker.exchange(commits.dispatcher.lease(name, episodes), [])
    while len(report.over) < episodes:
        more = await worker.exchange([], [])
        report.over += more.over
        report.finished += more.finished
    return report
