"""Has groups played by a service (`ray-gym serve`), for trainers whose processes have no Ray, or another one.

A trainer's worker asks for the groups that it needs by `ray_gym.Client` and gets them over HTTP: it says which tasks and
how many episodes, the service's config says the rest. Nothing is played ahead, so tokens are as old as the trainer's own
schedule makes them, and each says the version of its weights.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ray_gym.client import AsyncClient, Client, RolloutRequest, ServiceError
from ray_gym.errors import RunFailed, UserError
from ray_gym.record.schema import as_table
from ray_gym.service.api import GroupDone, JsonObject, RolloutStatus
from ray_gym.stream import Group
from ray_gym.trainers.compatibility import check_digest


def request_for(
    repeats: int,
    seed: int,
    tasks: Sequence[JsonObject] | None = None,
    generate: int = 1,
    environment: str | None = None,
) -> RolloutRequest:
    """Returns the request for groups of `repeats` episodes.

    `tasks`: one for each group, with the fields of the environment's `task_schema`; None has the environment generate
    `generate` of them. `seed`: that of what is generated and drawn; the same seed plays with the same chances again.
    `environment`: its name; None means the service's own. Errors: UserError for groups of one.
    """
    check_repeats(repeats)
    given: dict[str, Any] = {"generate": generate} if tasks is None else {"tasks": list(tasks)}
    if environment is not None:
        given["environment"] = environment
    return RolloutRequest(repeats=repeats, seed=seed, **given)


def check_repeats(repeats: int) -> None:
    """Checks that groups have at least two episodes. Errors: UserError."""
    if repeats < 2:
        raise UserError(
            f"repeats: {repeats}; an episode that is alone in its group has the advantage 0, so nothing would be "
            "learned; give at least 2"
        )


def play(client: Client, request: RolloutRequest, *, key: str | None = None) -> list[Group]:
    """Has groups played, and returns them in the order in which they were finished, numbered from 0.

    `key`: idempotency key; the same call after a crash has the same groups under it, with nothing played twice. Errors:
    RunFailed if the rollout was not played to its end; ServiceError, ConnectionError and TimeoutError of the client.
    """
    run = client.submit(request, key=key)
    groups = [group_of(done, number) for number, (_, done) in enumerate(client.groups(run.id, samples=True))]
    check_ended(client.rollout(run.id))
    return groups


async def play_group(client: AsyncClient, request: RolloutRequest) -> Group:
    """Has one group played, and returns it; the rollout is cancelled if this call is. Errors: those of `play`."""
    run = await client.submit(request)
    try:
        groups = [group_of(done) async for _, done in client.groups(run.id, samples=True)]
        check_ended(await client.rollout(run.id))
    except asyncio.CancelledError:
        with contextlib.suppress(ServiceError, ConnectionError, TimeoutError):
            await client.cancel(run.id)
        raise
    [group] = groups
    return group


def group_of(done: GroupDone, number: int = 0) -> Group:
    """Returns a group that a client received, under the number that the trainer gives it.

    Errors: UserError if it was received without its samples.
    """
    if any("samples" not in row for row in done.episodes):
        raise UserError(f"group {done.group_id}: it came without its tokens; ask for groups(..., samples=True)")
    completed = [row for row in done.episodes if row["status"] == "completed"]
    samples = [sample for row in completed for sample in row["samples"] if sample["trainable"]]
    versions = [span["version"] for sample in samples for span in sample["versions"]]
    return Group(number, done.group_id, done.task_id, min(versions, default=None), as_table(done.episodes))


def check_ended(status: RolloutStatus) -> None:
    """Checks that a rollout was played to its end. Errors: RunFailed, which says why it was not."""
    if status.state != "done":
        raise RunFailed(f"rollout {status.id}: it is {status.state}: {status.failure or 'no reason was given'}")


def check_drawn_at(group: Group, temperature: float) -> None:
    """Checks that the trainable tokens of a group were drawn at the temperature by which the trainer divides its logits:
    else importance ratios are wrong from the first step. Errors: UserError, which names both.
    """
    for sample in group.samples.to_pylist():
        drawn = [span["sampling"] for span in sample["spans"] if sample["trainable"] and span["generated"]]
        others = [one["temperature"] for one in drawn if one is not None and one["temperature"] != temperature]
        if others:
            raise UserError(
                f"participants.{sample['participant']}.sampling.temperature: tokens of {sample['episode_id']} were drawn "
                f"at {others[0]}, but the trainer's temperature is {temperature}; importance ratios would not be 1 at "
                "the first step: give both the same"
            )


def check_served_tokenizer(client: Client, model: str, tokenizer: Any) -> None:
    """Checks that a model of a service has the trainer's tokenizer.

    `model`: its name in the service's config. `tokenizer`: the trainer's, of transformers. Errors: UserError if they
    differ, or the service has no such model; those of the client.
    """
    try:
        digest = client.model(model).tokenizer
    except ServiceError as error:
        if error.status != 404:
            raise
        raise UserError(f"the service's model: {error}") from None
    if digest is None:
        raise UserError(
            f"models.{model}: it has no tokenizer that could be compared, so its tokens can't be trained on"
        )
    check_digest(tokenizer, digest, f"models.{model}")


def check_served_environment(client: Client, name: str | None) -> None:
    """Checks that a service has an environment. `name`: None means its config's own. Errors: UserError that lists those
    that there are; those of the client.
    """
    if name is None:
        return
    there = [one.name for one in client.environments()]
    if name not in there:
        raise UserError(f"environment: the service has no {name!r}; it has {', '.join(there)}")


@dataclass(frozen=True, slots=True)
class WeightsCommand:
    """Has a service's model serve a trainer's checkpoint, by the command `ray-gym weights` on the service's machine."""

    app: str
    """Name of the model's Serve application: `service-NAME-MODEL`, of the service's name and the model's in its config."""
    command: Sequence[str] = ("ray-gym",)
    """The command `ray-gym` of the service's own venv, with what starts it, such as a path or `ssh host ...`."""

    def update(self, version: int, folder: str | Path) -> None:
        """Has all replicas serve the checkpoint in `folder` as `version`. Blocks. Errors: those of `served`."""
        self._run("--version", str(version), "--path", str(folder))

    def served(self) -> int:
        """Returns the version that the model serves. Errors: UserError if the command can't be started; RunFailed with
        what it said if it failed.
        """
        said = self._run()
        named = re.search(r"\bversion (\d+)", said)
        if named is None:
            raise RunFailed(f"{self.app}: no version is in the answer of `ray-gym weights`: {said[-500:]}")
        return int(named[1])

    def _run(self, *options: str) -> str:
        asked = [*self.command, "weights", self.app, *options]
        try:
            ended = subprocess.run(asked, check=False, capture_output=True, text=True)
        except OSError as error:
            raise UserError(f"{asked[0]}: {error.strerror}; give the ray-gym of the service's venv") from None
        if ended.returncode:
            raise RunFailed(f"`{' '.join(asked)}` failed: {(ended.stderr or ended.stdout).strip()[-2000:]}")
        return ended.stdout
