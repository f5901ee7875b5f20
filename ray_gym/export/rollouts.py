"""Writes groups of episodes token by token, in the form in which NeMo RL records its own (`PromptGroupRecord`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ray_gym.export.finished import Row
from ray_gym.export.form import Form
from ray_gym.export.message_log import Log, message_log, prompt_length, split, token_ids
from ray_gym.export.samples import usable_samples
from ray_gym.export.selection import Counts, LeftOut, leaving_out, scored_episodes
from ray_gym.stop import StopReason

NOTHING_IN_COMMON = "groups whose prompts have no token in common at their beginning"
FORKED = "completions that are a part of their episode (a fork): each has the episode's reward"
NOT_PLAIN = "completions whose log probabilities a forward pass alone does not give (docs/tokens.md)"
PROMPTS_DIFFER = "groups whose prompts differ: `prompt` is what they have in common"

TRUNCATED = (StopReason.MAX_TOKENS.value, StopReason.CONTEXT_FULL.value, StopReason.TOKEN_BUDGET.value)
"""Stop reasons of completions that were cut."""


class Rollouts(Form):
    """Writes the samples of a participant in a group of episodes as completions of one prompt."""

    to = "nemo-rl"
    has_tokens = True
    columns = (
        *("run_id", "episode_id", "group_id", "task_id", "env_id", "repeat", "status", "stop_reason"),
        *("reward", "task", "events", "samples"),
    )

    def lines(self, groups: Iterable[list[Row]], counts: Counts) -> Iterator[dict[str, Any]]:
        """Yields a line for each group of episodes and each participant with completions in it. Things that are left
        out are counted in `counts`, with the reason.
        """
        for group in groups:
            by_participant: dict[str, list[dict[str, Any]]] = defaultdict(list)
            rows = list(scored_episodes(group, counts))
            for row in rows:
                for participant, completion in _completions(row, counts):
                    by_participant[participant].append(completion)
            for participant, completions in by_participant.items():
                with leaving_out(counts):
                    record = _record(rows[0], participant, completions, counts)
                    yield {"prompt_idx": counts.written, **record}


def _completions(row: Row, counts: Counts) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the participant and the completion of each trainable sample of an episode. Samples that are left out, and
    episodes without trainable ones, are counted in `counts`.
    """
    events = {event["seq"]: event for event in row["events"]}
    for number, sample in usable_samples(row, counts):
        yield sample["participant"], _completion(row, number, sample, events)


def _completion(row: Row, number: int, sample: dict[str, Any], events: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Returns the completion of a sample. `number`: index of the sample in its row. `events`: by their number."""
    kinds = {span["kind"] for span in sample["spans"] if span["generated"]}
    return {
        "message_log": message_log(sample, events),
        "env_extras": {
            **{name: row[name] for name in ("episode_id", "repeat", "stop_reason")},
            "sample": number,
            **{name: sample[name] for name in ("thread", "fork_reason")},
            "weight_versions": sample["versions"],
            "logprobs": sorted(kind or "plain" for kind in kinds),
        },
        "truncated": row["stop_reason"] in TRUNCATED,
        "reward": sample["reward"],
    }


def _record(row: Row, participant: str, completions: list[dict[str, Any]], counts: Counts) -> dict[str, Any]:
    """Returns the record of a group's completions by one participant. Its `prompt` is the common beginning of their
    prompts. The message log of each completion is split there (and changed so), as NeMo RL requires every completion to
    begin with the messages of `prompt`.

    `row`: any row of the group. `counts`: takes notes of completions that a trainer should know of. Errors: LeftOut if
    their prompts have no token in common at the beginning.
    """
    logs: list[Log] = [one["message_log"] for one in completions]
    openings = [token_ids(log, prompt_length(log)) for log in logs]
    common = _common_length(openings)
    if not common:
        raise LeftOut(NOTHING_IN_COMMON)
    parts = [split(log, common) for log in logs]
    for completion, (before, after) in zip(completions, parts, strict=True):
        completion["message_log"] = [*before, *after]
        counts.notes[FORKED] += completion["env_extras"]["fork_reason"] is not None
        counts.notes[NOT_PLAIN] += completion["env_extras"]["logprobs"] != ["plain"]
    counts.notes[PROMPTS_DIFFER] += any(len(opening) > common for opening in openings)
    versions = [span["version"] for one in completions for span in one["env_extras"]["weight_versions"]]
    return {
        "prompt": parts[0][0],
        "extra_env_info": {name: row[name] for name in ("env_id", "task_id", "task")},
        "metadata": {
            **{name: row[name] for name in ("run_id", "group_id")},
            "participant": participant,
            "oldest_weight_version": min(versions, default=None),
        },
        "completions": completions,
        "rollout_metrics": {},
    }


def _common_length(sequences: Sequence[list[int]]) -> int:
    """Returns the number of first items that all sequences share. It compares only the smallest and the largest in
    lexicographic order.
    """
    first, last = min(sequences), max(sequences)
    pairs = enumerate(zip(first, last, strict=False))
    return next((place for place, (one, other) in pairs if one != other), len(first))
