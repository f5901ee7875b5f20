"""Records runs without Ray: scripted players of different skill play each task, and rows are written as workers write them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import ray_gym
from ray_gym import Environment
from ray_gym.check.casts import cast_of, casts_for
from ray_gym.config.sections import RunConfig
from ray_gym.engines.scripted_model import ScriptedModel
from ray_gym.episode.participant import Participant
from ray_gym.episode.stage import Stage
from ray_gym.models.base import Completion, CompletionRequest, Model, VersionSpan
from ray_gym.models.player import Player
from ray_gym.play.play import Played, fail_episode, finish_played, play, score_group
from ray_gym.plugins import find_environment
from ray_gym.record.rows import row_of
from ray_gym.record.schema import SCHEMA, as_table
from ray_gym.rescoring.changes import Change
from ray_gym.rescoring.places import NewRun, score_run
from ray_gym.rescoring.rescore import OpenModels
from ray_gym.run.directory.directory import create, plan_directory
from ray_gym.run.fingerprint import Fingerprint
from ray_gym.run.plan import Plan, tasks_of
from ray_gym.run.worker.group import settle
from ray_gym.tools.runner import ToolRunner

Tokens = Literal["ids", "counts"]
LIMITS = {
    "max_turns": 6,
    "max_steps_per_turn": 6,
    "retries": {"user": 0, "judge": 0, "infra": 0, "environment": 0, "nondeterminism": 0},
}


@dataclass
class WithTokens:
    """Gives a model token ids (the bytes of the prompt's new messages and of its answer), or only their number."""

    inner: Model
    ids: bool

    async def complete(self, request: CompletionRequest) -> Completion:
        completion = await self.inner.complete(request)
        said = repr(completion.message).encode()
        completion.generated_tokens = len(said)
        if not self.ids:
            return completion
        shown = [repr(message).encode() for message in request.messages[request.known :]]
        completion.prompt_ids = np.frombuffer(b"".join([*shown, b">"]), dtype=np.uint8).astype(np.int32)
        completion.prompt_lengths = tuple(map(len, shown))
        completion.token_ids = np.frombuffer(said, dtype=np.uint8).astype(np.int32)
        completion.logprobs = -np.arange(1, len(said) + 1, dtype=np.float32) / 64
        completion.versions = (VersionSpan(3, 0, len(said)),)
        return completion

    async def close(self) -> None:
        return None


def config_of(folder: Path, id: str, options: Mapping[str, Any] = {}, **sections: Any) -> RunConfig:
    """Returns the config of a run whose models can't be called: scoring it again needs none of them."""
    environment_class = find_environment(id)
    environment = environment_class(environment_class.Options.model_validate(options))
    names = (*environment.participants, *environment.auxiliary)
    return RunConfig.model_validate(
        {
            "run": {"name": "run", "seed": 5},
            "environment": {"id": id, **json.loads(json.dumps(options))},
            "tasks": {"generate": 2},
            "models": {name: {"engine": "scripted", "player": "nowhere:nobody"} for name in names},
            "participants": {name: {"model": name} for name in names},
            "limits": LIMITS,
            "output": {"dir": str(folder), "durability": "off"},
            **sections,
        }
    )


async def record(
    config: RunConfig, casts: Sequence[str | Mapping[str, Player]] | None = None, tokens: Tokens = "ids"
) -> Path:
    """Plays a run: an episode of each task for each cast, which is the name of one of `check-env`'s, or gives players by
    participant (perfect ones play the others). By default all of `check-env`'s play. Returns the run's directory.
    """
    file = Path(config.output.dir) / "mine.yaml"
    bare = Plan.of(config, str(file), tasks=tasks_of(config, file.parent), engines=lambda name: None)  # type: ignore[arg-type, return-value]
    casts = casts or casts_for(bare.environment)
    config = config.model_copy(update={"tasks": config.tasks.model_copy(update={"repeats": len(casts)})})
    plan = Plan.of(config, str(file), tasks=tasks_of(config, file.parent), engines=lambda name: None)  # type: ignore[arg-type, return-value]
    directory, runner = plan_directory(config, file), ToolRunner()
    supply = plan.crew.sandboxes(None) if plan.crew is not None else None
    create(directory)
    directory.write_config(config)
    directory.write_fingerprint(Fingerprint.of(plan))
    for number in range(0, len(plan.specs), len(casts)):
        group = []
        for spec, cast in zip(plan.specs[number : number + len(casts)], casts, strict=True):
            stage = _stage(plan, _players(plan.environment, spec.task, cast), runner, tokens)
            group.append(await play(spec, replace(stage, sandboxes=supply)))
        if plan.environment.scores_groups():
            group = await _score_together(group, stage)
        settle(group, config.groups)
        rows = [row_of(one, "run", config.environment.id) for one in group]
        directory.commit(directory.storage.stage(f"part-w-{number:05d}.parquet", as_table(rows)))
    await runner.close()
    if supply is not None:
        await supply.close()
    directory.write_summary({"interrupted": False, "mean_reward": None, "command": []})
    directory.close()
    return Path(directory.location)


def _players(environment: Environment[Any, Any], row: str, cast: str | Mapping[str, Player]) -> Mapping[str, Player]:
    task = environment.task_type.model_validate_json(row)
    return cast_of(cast, environment, task) if isinstance(cast, str) else {**environment.perfect(task), **cast}


def _stage(plan: Plan, players: Mapping[str, Player], runner: ToolRunner, tokens: Tokens) -> Stage:
    models: dict[str, Model] = {}
    participants: dict[str, Participant] = dict(plan.participants)
    for name, one in participants.items():
        model = ScriptedModel(players[name], {}, 0)
        models[one.model] = WithTokens(model, tokens == "ids")
    return Stage(plan.environment, participants, models, plan.config.limits, runner)


async def _score_together(group: list[Played], stage: Stage) -> list[Played]:
    failure = await score_group(group, stage)
    done = [finish_played(one) if one.status == "completed" else one for one in group]
    if failure is None:
        return done
    return [fail_episode(one.episode, failure) if one.status == "completed" else one for one in done]


def rows_of(run: Path | str) -> list[dict[str, Any]]:
    """Returns the rows of a run, sorted by the episode's id."""
    return sorted(ray_gym.load(run).episodes.to_pylist(), key=lambda row: str(row["episode_id"]))


def rewrite(run: Path, change: Any) -> None:
    """Rewrites the rows of a run by a function that changes a row."""
    for file in sorted((run / "episodes").iterdir()):
        rows = pq.read_table(file).to_pylist()
        for row in rows:
            change(row)
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), file)


def without_rewards(row: dict[str, Any]) -> None:
    """Takes all rewards out of a row."""
    row["reward"], row["rewards"] = None, []
    for sample in row["samples"]:
        sample["reward"] = None
    for event in row["events"]:
        event["reward"] = None


def comparable(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a row without what two scorings of an episode may differ in: the run's name, and times of the scoring."""
    events = [{**event, "started_at": 0, "duration_s": 0} for event in row["events"]]
    return {**row, "run_id": "", "events": events}


def again(run: Path, name: str = "again", *overrides: str, models: Mapping[str, Player] = {}, **options: Any) -> NewRun:
    """Scores a run again. `models`: players of judges that may be asked live, by participant; a test fails if others are
    asked.
    """

    def open_models(change: Change, run_name: str) -> OpenModels:
        @contextmanager
        def opened() -> Any:
            assert models, "a model was asked"
            yield {change.participants[name].model: ScriptedModel(player, {}, 0) for name, player in models.items()}

        return opened

    return score_run(str(run), str(run.parent / name), overrides, open_models, **options)
