"""Makes trajectories of a group, as verl keeps them: the sessions of a prompt, each with one or several outputs.

verl's key of an output is `{uid}_{session}_{index}`: a prompt that it asked for, an episode, and a sample of it. So the
samples of an episode with forks are the outputs of one session. verl compares the rewards of the sessions' last outputs,
and gives the advantage to all outputs of the session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ray_gym.advantages import rewards_of
from ray_gym.errors import UserError
from ray_gym.stream import Group
from ray_gym.trainers.rows import Row, rows_of, without_longer

LEAST_SCORED = 2
"""Least number of episodes with a reward that train: verl takes the reward of a single one as its advantage."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Holds the fields of an output. Masks, logprobs and the response have one entry a token."""

    key: str
    uid: str
    """Name of what verl compares rewards within: the prompt's, or that of one of several trained participants."""
    episode_id: str
    prompt_ids: list[int]
    response_ids: list[int]
    """All tokens from the first generated one on."""
    response_mask: list[int]
    """1 for generated tokens of the response, 0 for others."""
    logprobs: list[float]
    reward: float
    turns: int
    """Number of the runs of generated tokens."""
    oldest: int
    """Oldest version of the weights that a generated token came from."""
    newest: int

    @property
    def generated(self) -> int:
        """Returns the number of generated tokens."""
        return sum(self.response_mask)


def trajectories_of(
    group: Group, uid: str, *, longest: int | None, end: int, forks: bool = True
) -> tuple[list[Trajectory], Counter[str]]:
    """Returns the trajectories of a group under verl's name of a prompt, and counts of what was left out.

    Each episode with a reward is a session, so that it counts in the baseline: one without a trainable token is a single
    masked token, `end`. `longest`: most tokens of a sample; longer ones are left out whole. `forks`: False refuses
    episodes with several samples. Counts: `episodes`, `failed` ones, `silent` ones (completed without a trainable
    token), `too_long` samples, `forks` (samples beyond the first of their session), and samples that are `alone`: no
    other episode of the group has a reward. Errors: UserError for a uid with an underscore, and for forks.
    """
    if "_" in uid:
        raise UserError(
            f"uid {uid!r}: verl takes what is before the first underscore; give the prompts uids without one"
        )
    rows = rows_of(group)
    statuses = group.episodes.column("status").to_pylist()
    counts = Counter(episodes=len(statuses), failed=sum(status != "completed" for status in statuses))
    made = list[Trajectory]()
    participants = list(dict.fromkeys(row.participant for row in rows)) or ["policy"]
    for number, participant in enumerate(participants):
        own = [row for row in rows if row.participant == participant]
        name = uid if len(participants) == 1 else f"{uid}.{participant}"
        made += _sessions(group, own, participant, (uid, name, number * len(statuses)), longest, end, counts)
    counts["forks"] = sum(not one.key.endswith("_0") for one in made)
    if counts["forks"] and not forks:
        raise UserError(
            f"group {group.number}: {counts['forks']} samples are forks, and only algorithm.adv_estimator=grpo counts the "
            "rewards of an episode with several samples once; use that"
        )
    return made, counts


def _sessions(
    group: Group,
    rows: Sequence[Row],
    participant: str,
    names: tuple[str, str, int],
    longest: int | None,
    end: int,
    counts: Counter[str],
) -> list[Trajectory]:
    """Returns the trajectories of one participant. `names`: uid of the prompt, that of the participant in it, and number
    of its first session.
    """
    uid, name, first = names
    rewards = rewards_of(group.episodes, participant)
    scored = int((~np.isnan(rewards)).sum())
    if scored < LEAST_SCORED:
        counts["alone"] += len(rows)
        rows = []
    made = list[Trajectory]()
    for session, (episode_id, reward) in enumerate(
        zip(group.episodes.column("episode_id").to_pylist(), rewards.tolist(), strict=True), first
    ):
        if np.isnan(reward):
            continue
        kept, too_long = without_longer((row for row in rows if row.episode_id == episode_id), longest)
        counts["too_long"] += too_long
        counts["silent"] += not kept and not too_long and scored >= LEAST_SCORED
        begin = f"{uid}_{session}_"
        made += [_trained(row, f"{begin}{index}", name, reward) for index, row in enumerate(kept)]
        if not kept:
            made.append(_untrained(f"{begin}0", name, episode_id, reward, end, group.version or 0))
    return made or [_untrained(f"{uid}_{first}_0", name, "", 0.0, end, group.version or 0)]


def _trained(row: Row, key: str, uid: str, reward: float) -> Trajectory:
    begins, ids = row.begins_at, row.token_ids.tolist()
    mask = row.loss_mask[begins:]
    versions = row.versions[row.loss_mask == 1]
    return Trajectory(
        key=key,
        uid=uid,
        episode_id=row.episode_id,
        prompt_ids=ids[:begins],
        response_ids=ids[begins:],
        response_mask=mask.tolist(),
        logprobs=row.logprobs[begins:].tolist(),
        reward=reward,
        turns=int((np.diff(mask, prepend=0) == 1).sum()),
        oldest=int(versions.min()),
        newest=int(versions.max()),
    )


def _untrained(key: str, uid: str, episode_id: str, reward: float, end: int, version: int) -> Trajectory:
    return Trajectory(key, uid, episode_id, [end], [end], [0], [0.0], reward, 0, version, version)
