"""Implements slime's rollout function over a service, and hands slime the advantages of its groups.

    --rollout-function-path ray_gym.trainers.slime.rollouts.generate_rollout
    --custom-reward-post-process-path ray_gym.trainers.slime.rollouts.post_process_rewards
    --custom-config-path ray_gym.yaml

slime drives. It saves the policy after each training step (`--save-hf`, `--save-interval 1`), and the rollout function
has the service's model load it before it has the next batch played: the batches are on-policy.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import slime
from slime.rollout.base_types import RolloutFnEvalOutput, RolloutFnTrainOutput
from slime.utils.processing_utils import load_tokenizer
from slime.utils.types import Sample

from ray_gym.client import Client, RolloutRequest
from ray_gym.errors import RunFailed, UserError
from ray_gym.seeds import derive_seed
from ray_gym.stream import Group
from ray_gym.trainers.checkout import check_commit
from ray_gym.trainers.counts import add_and_say
from ray_gym.trainers.rows import why_nothing_trains
from ray_gym.trainers.service import WeightsCommand, check_drawn_at, check_served_tokenizer, play
from ray_gym.trainers.slime import TESTED
from ray_gym.trainers.slime.arguments import Settings, check_args
from ray_gym.trainers.slime.samples import KEY, advantages_of, samples_of


def generate_rollout(args: Any, rollout_id: int, data_source: Any, evaluation: bool = False) -> Any:
    """Returns the samples of a training batch, or of an evaluation, by prompt, episode and sample.

    A prompt's label is its task, as JSON with the fields of the environment's `task_schema`; without labels the
    environment generates the tasks. Errors: UserError for arguments that don't fit, or another tokenizer than the
    service's model has; RunFailed for a batch without a trainable token; those of `ray_gym.trainers.service`.
    """
    settings = Settings.of(args)
    check_commit("slime", Path(slime.__file__).resolve().parents[1], TESTED, any_version=settings.any_version)
    check_args(args)
    with Client(settings.url, settings.token) as client:
        check_served_tokenizer(client, settings.model, load_tokenizer(args.hf_checkpoint, trust_remote_code=True))
        if evaluation:
            return _evaluation(client, settings, args, rollout_id)
        publish(settings, args, rollout_id)
        return _training(client, settings, args, rollout_id, data_source)


def post_process_rewards(args: Any, samples: list[Sample]) -> tuple[list[float], list[float]]:
    """Returns the rewards of samples, which slime logs, and their advantages in the place of rewards that slime would
    have normalised.
    """
    return [float(sample.reward) for sample in samples], advantages_of(samples)


def publish(settings: Settings, args: Any, rollout_id: int) -> None:
    """Has the service's model serve the weights that a rollout is played with: those that slime saved after the one
    before, or at the first those that it began with. Errors: UserError if they are not there; those of the command.
    """
    saved = Path(args.hf_checkpoint if rollout_id == 0 else args.save_hf.format(rollout_id=rollout_id - 1))
    if not (saved / "config.json").exists():
        raise UserError(
            f"rollout {rollout_id}: {saved} has no checkpoint of the rollout before; give --save-hf with {{rollout_id}} "
            "in it, and --save-interval 1"
        )
    weights = WeightsCommand(settings.app, shlex.split(settings.command))
    weights.update(weights.served() + 1, saved.absolute())


def _training(client: Client, settings: Settings, args: Any, rollout_id: int, data_source: Any) -> RolloutFnTrainOutput:
    prompts = data_source.get_samples(args.rollout_batch_size)
    groups = _played(client, settings, args, rollout_id, prompts)
    made, counts = list[list[list[Sample]]](), Counter[str]()
    for number, (group, prompt) in enumerate(zip(groups, prompts, strict=True)):
        if group.episodes.num_rows != len(prompt):
            raise UserError(
                f"prompt {number}: {group.episodes.num_rows} episodes came, and slime asked for {len(prompt)}"
            )
        check_drawn_at(group, args.rollout_temperature)
        of_episodes, found = samples_of(group, args.rollout_max_context_len, settings.filler)
        made.append([_samples(fields, slot) for fields, slot in zip(of_episodes, prompt, strict=True)])
        counts += found
    totals = Counter[str](data_source.metadata.get(KEY, {}))
    add_and_say(totals, counts)
    data_source.metadata[KEY] = dict(totals)
    if not counts["rows"]:
        raise RunFailed(
            f"rollout {rollout_id}: the batch has no trainable token: {why_nothing_trains(groups)}; {dict(counts)}"
        )
    return RolloutFnTrainOutput(samples=made, metrics={f"ray_gym/{name}": count for name, count in counts.items()})


def _samples(of_episode: list[dict[str, Any]], slot: Sample) -> list[Sample]:
    """Returns the samples of an episode, in the place of the prompt's sample that slime gave."""
    return [
        Sample(
            group_index=slot.group_index,
            index=slot.index,
            rollout_id=slot.index,
            prompt=slot.prompt,
            label=slot.label,
            **{**fields, "status": Sample.Status(fields["status"])},
        )
        for fields in of_episode
    ]


def _played(client: Client, settings: Settings, args: Any, rollout_id: int, prompts: list[list[Sample]]) -> list[Group]:
    """Plays the groups of prompts, and returns them in their order."""
    seed = derive_seed(args.rollout_seed, "train", rollout_id)
    tasks = _tasks_of(prompts)
    given: dict[str, Any] = {"generate": len(prompts)} if tasks is None else {"tasks": tasks}
    repeats = args.n_samples_per_prompt
    groups = play(client, RolloutRequest(environment=settings.environment, repeats=repeats, seed=seed, **given))
    if tasks is None:
        return groups
    by_task = {group.task_id: group for group in groups}
    return [by_task[task["task_id"]] for task in tasks]


def _tasks_of(prompts: list[list[Sample]]) -> list[dict[str, Any]] | None:
    """Returns the task of each prompt, with an id; None if no prompt has a label. Errors: UserError.

    A task without an id has the number of its prompt since slime's start. One that comes twice in a batch, as where an
    epoch ends, has it behind its own.
    """
    labels = [prompt[0].label for prompt in prompts]
    if not any(labels):
        return None
    tasks, taken = list[dict[str, Any]](), set[str]()
    for label, prompt in zip(labels, prompts, strict=True):
        try:
            task = label if isinstance(label, dict) else json.loads(label or "null")
        except ValueError as error:
            raise UserError(f"the label of prompt {prompt[0].group_index} is no JSON: {error}") from None
        if not isinstance(task, dict):
            raise UserError(
                f"the label of prompt {prompt[0].group_index} is no object with the fields of the environment's task; "
                "give all prompts one, or none"
            )
        number = prompt[0].group_index
        task_id = task.get("task_id") or f"prompt-{number}"
        task_id = f"{task_id}-{number}" if task_id in taken else task_id
        taken.add(task_id)
        tasks.append({**task, "task_id": task_id})
    return tasks


def _evaluation(client: Client, settings: Settings, args: Any, rollout_id: int) -> RolloutFnEvalOutput:
    """Plays the tasks of the service's source for evaluations, with the weights that the service has. Episodes without
    a reward are left out, and counted.
    """
    if settings.eval_source is None:
        raise UserError(
            "ray_gym_eval_source: an evaluation needs the name of a source of tasks in the service's config"
        )
    seed = derive_seed(args.rollout_seed, "eval")
    request = RolloutRequest(
        environment=settings.environment,
        source=settings.eval_source,
        repeats=args.n_samples_per_eval_prompt,
        seed=seed,
    )
    rows = [row for group in play(client, request) for row in group.episodes.select(["status", "reward"]).to_pylist()]
    rewards = [row["reward"] for row in rows if row["status"] == "completed" and row["reward"] is not None]
    if not rewards:
        raise RunFailed(f"evaluation at rollout {rollout_id}: none of {len(rows)} episodes has a reward")
    failed = {"ray_gym/eval_failed": len(rows) - len(rewards)}
    return RolloutFnEvalOutput(data={settings.eval_source: {"rewards": rewards}}, metrics=failed)
