"""Finished runs of scripted players, made without Ray: planned, played and written by the same code that a run's workers use."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import ray_gym
from ray_gym import Environment, Episode, Message, Opening, Participant, Task
from ray_gym.config.sections import RunConfig
from ray_gym.episode.stage import Stage
from ray_gym.messages import ToolSchema, tool_call_message
from ray_gym.models.base import Completion, CompletionRequest, Model, VersionSpan
from ray_gym.play.play import play
from ray_gym.record.rows import row_of
from ray_gym.record.schema import as_table
from ray_gym.run.directory.directory import create, plan_directory
from ray_gym.run.fingerprint import Fingerprint
from ray_gym.run.plan import Plan, make_plan
from ray_gym.run.worker.group import settle
from ray_gym.tools.tool import Tool, tool_by_schema

GAMES = {
    "environment": {"id": "tic_tac_toe"},
    "tasks": {"generate": 6, "repeats": 4},
    "models": {"random": {"engine": "scripted", "player": "ray_gym.envs.tic_tac_toe.players:random_player"}},
    "participants": {
        "policy": {"model": "random", "tool_choice": "required"},
        "user": {"model": "random", "tool_choice": "required"},
    },
    "limits": {"max_turns": 5, "max_steps_per_turn": 1},
}
QUESTIONS = {
    "environment": {"id": "mcqa", "grading": "strict_boxed"},
    "tasks": {"generate": 6, "repeats": 4},
    "models": {"guesser": {"engine": "scripted", "player": "small_runs:guesser"}},
    "participants": {"policy": {"model": "guesser"}},
}
LIBRARY = {
    "environment": {"id": "small_runs:Library"},
    "tasks": {"generate": 3, "repeats": 2},
    "models": {"reader": {"engine": "scripted", "player": "small_runs:reader"}},
    "participants": {"policy": {"model": "reader"}},
    "limits": {"max_steps_per_turn": 2},
}
FAR_LIBRARY = {**LIBRARY, "environment": {"id": "small_runs:FarLibrary"}}


def guesser(request: CompletionRequest, rng: random.Random) -> Message:
    return Message("assistant", f"\\boxed{{{rng.choice('ABCD')}}}", reasoning="I guess.")


def reader(request: CompletionRequest, rng: random.Random) -> Message:
    """Calls the tool that the task brought; half of the time with arguments that nobody can read."""
    if request.messages[-1].role == "tool":
        return Message("assistant", "Read.")
    (schema,) = request.tools
    return tool_call_message(schema.name, rng.choice(['{"page": 1}', "{page"]))


class Book(Task):
    title: str


class Library(Environment[Book, None]):
    """The tool's name is the task's."""

    def generate(self, rng: random.Random, index: int) -> Book:
        return Book(title=f"book_{index}")

    def setup(self, task: Book, episode: Episode) -> None: ...

    def opening(self, task: Book, state: None) -> Opening:
        return Opening(messages={"policy": f"Read {task.title}."})

    def tools_for(self, task: Book, state: None) -> list[Tool]:
        page = {"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]}
        return [tool_by_schema(ToolSchema(task.title, "A book.", page), self.read)]

    def read(self, state: None, caller: Participant, name: str, arguments: dict[str, Any]) -> str:
        return f"page {arguments['page']} of {name}"

    def score(self, state: None, episode: Episode) -> float:
        return float(episode.usage.tool_errors == 0)


class FarLibrary(Library):
    """Opens something outside of the process."""

    opens_outside = True


@dataclass
class WithTokens:
    """Gives a scripted model token ids: the bytes of a plain template's text, so that tests can read them."""

    inner: Model
    forks_at: int | None = None
    """The call of a thread that begins a sample anew."""

    async def complete(self, request: CompletionRequest) -> Completion:
        completion = await self.inner.complete(request)
        call = sum(message.role == "assistant" for message in request.messages)
        forks = call == self.forks_at
        shown = [rendered(message) for message in request.messages[0 if forks else request.known :]]
        generated = said(completion.message).encode()
        prompt = "".join([*shown, "<assistant>"]).encode()
        completion.prompt_ids = np.frombuffer(prompt, dtype=np.uint8).astype(np.int32)
        completion.prompt_lengths = tuple(len(text.encode()) for text in shown)
        completion.token_ids = np.frombuffer(generated, dtype=np.uint8).astype(np.int32)
        completion.logprobs = -np.arange(1, len(generated) + 1, dtype=np.float32) / 64
        completion.versions = (VersionSpan(call, 0, len(generated)),)
        completion.fork_reason = "template_rewrote_history" if forks else None
        return completion

    async def close(self) -> None:
        return None


def said(message: Message) -> str:
    calls = "".join(f"[{call.name} {call.arguments}]" for call in message.tool_calls)
    return f"{message.content}{calls}</>"


def rendered(message: Message) -> str:
    return f"<{message.role}>{said(message)}"


async def played_run(
    folder: Path,
    config: dict[str, Any],
    *,
    tokens: bool = True,
    forks_at: int | None = None,
    episodes: int | None = None,
    name: str = "run",
) -> Path:
    """Plays a run and commits it. `episodes`: play only so many of those that are planned."""
    full = {**config, "run": {"name": name}, "output": {"dir": str(folder), "durability": "off"}}
    read = RunConfig.model_validate(json.loads(json.dumps(full)))
    plan = make_plan(read, folder / "mine.yaml")
    directory = plan_directory(read, folder / "mine.yaml")
    create(directory)
    directory.write_config(read)
    directory.write_fingerprint(Fingerprint.of(plan))
    rows = [row async for row in _rows(plan, tokens, forks_at, name)][:episodes]
    for number, part in enumerate(batched(rows, 10)):
        directory.commit(directory.storage.stage(f"part-w-{number:05d}.parquet", as_table(list(part))))
    directory.close()
    return folder / name


async def _rows(plan: Plan, tokens: bool, forks_at: int | None, name: str) -> AsyncIterator[dict[str, Any]]:
    models: dict[str, Model] = {key: engine.connect() for key, engine in plan.engines.items()}
    if tokens:
        models = {key: WithTokens(model, forks_at) for key, model in models.items()}
    stage = Stage(plan.environment, plan.participants, models, plan.config.limits)
    for specs in batched(plan.specs, plan.config.tasks.repeats):
        group = [await play(spec, stage) for spec in specs]
        settle(group, plan.config.groups)
        for one in group:
            yield row_of(one, name, plan.config.environment.id)
    await stage.tool_runner.close()


def as_version_1(run: Path) -> None:
    """Rewrite its files as those of before 0.2, which say no version and have no column for the tools."""
    for file in (run / "episodes").iterdir():
        table = pq.read_table(file).drop_columns(["tools_shown"])
        pq.write_table(table.replace_schema_metadata(None), file)


def batched(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def texts(ids: list[int]) -> str:
    return bytes(ids).decode()


def rows_of(run: Path) -> Iterator[dict[str, Any]]:
    yield from ray_gym.load(run).episodes.to_pylist()
