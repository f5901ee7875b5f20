"""Makes rows of played episodes, several at once and column by column.

Arrow can also read rows as Python dictionaries, with one for each event and span: that took 22% of a worker's time, and
this takes 14% (`benchmarks/README.md`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec.structs import asdict

from ray_gym.episode.ledger import Sample, Span
from ray_gym.episode.participant import Participant
from ray_gym.episode.view import EpisodeView
from ray_gym.events import Event
from ray_gym.messages import ToolCall
from ray_gym.models.base import Sampling, VersionSpan
from ray_gym.models.price import money_in
from ray_gym.play.play import Played
from ray_gym.record.columns import column, fields_of, lists, lists_of_numbers, lists_of_structs, structs
from ray_gym.record.schema import (
    CONTENT,
    EVENTS,
    LOGPROBS,
    LOSS_MASK,
    RENDERINGS,
    REPEATED,
    SAMPLES,
    SCHEMA,
    SPANS,
    TOKEN_IDS,
    TOOL_CALLS,
    VERSIONS,
    VISIBLE_TO,
    identity,
)
from ray_gym.rendering import Rendering
from ray_gym.score import Score

Facts = dict[str, Any]
"""Row of an episode without its events, its samples, its renderings, and the tools that prompts showed."""
FACTS = pa.struct([field for field in SCHEMA if field.name not in ("events", "samples", "tools_shown", "renderings")])
"""Arrow type of `Facts`."""


def row_of(played: Played, run_id: str, env_id: str) -> dict[str, Any]:
    """Returns the row of an episode as a dictionary, as it is read from a file. Errors: TypeError and pa.ArrowException
    if a value is not of its column's type.
    """
    [row] = table_of([played], [facts_of(played, run_id, env_id)]).to_pylist()
    return dict(row)


def table_of(played: Sequence[Played], facts: Sequence[Facts]) -> pa.Table:
    """Makes the rows of episodes, as a table under `SCHEMA`. `facts` has, for each episode, the result of `facts_of`.

    Errors: TypeError and pa.ArrowException if a value is not of its column's type.
    """
    columns = dict(zip(FACTS.names, column(FACTS, facts).flatten(), strict=True))
    columns["events"] = events_column([one.episode.events for one in played])
    columns["samples"] = samples_column(played)
    columns["tools_shown"] = _tools_shown(played)
    columns["renderings"] = _renderings([one.episode for one in played])
    return pa.Table.from_arrays([columns[name] for name in SCHEMA.names], schema=SCHEMA)


def facts_of(played: Played, run_id: str, env_id: str) -> Facts:
    """Returns the columns of an episode's row without `events`, `samples`, `tools_shown` and
    `renderings`."""
    episode, usage = played.episode, asdict(played.episode.usage)
    stop, failure = episode.stop, played.failure
    return {
        **identity(episode.spec, run_id, env_id),
        "status": played.status,
        "stop_reason": stop.reason.value if stop else None,
        "stop_text": stop.text if stop else None,
        "failure": {"kind": failure.kind, "where": failure.where, "message": failure.message} if failure else None,
        "traceback": failure.traceback if failure else None,
        "reward": played.score.reward if played.score else None,
        "rewards": rewards_of(played.score),
        "turns": episode.turns_of("policy"),
        "group_size": played.group_size,
        "group_completed": played.group_completed,
        "task": episode.spec.task,
        "usage": usage,
        **_costs_of(episode),
        "timing": {"active_s": played.active_s, "model_s": usage["model_s"], "tool_s": usage["tool_s"]},
        "started_at": episode.started_at,
        "ended_at": played.ended_at,
    }


def _costs_of(episode: EpisodeView) -> Facts:
    """Returns the columns `cost` and `costs` of an episode's row: null if none of its models has a price."""
    picos, of = episode.costs, episode.participants
    if not picos:
        return {"cost": None, "costs": None}
    costs = [{"participant": name, "model": of[name].model, "cost": money_in(cost)} for name, cost in picos.items()]
    return {"cost": money_in(sum(picos.values())), "costs": costs}


def rewards_of(score: Score | None) -> list[dict[str, Any]]:
    """Returns the column `rewards` of an episode's row: the policy's reward, its parts, and the others' rewards; empty
    without a score.
    """
    if score is None:
        return []
    parts = [{"participant": "policy", "name": name, "value": float(value)} for name, value in score.parts.items()]
    others = [{"participant": name, "name": "reward", "value": float(value)} for name, value in score.others.items()]
    return [{"participant": "policy", "name": "reward", "value": score.reward}, *parts, *others]


def events_column(of_each: Sequence[Sequence[Event]]) -> pa.Array:
    """Makes the column of events. `of_each` has the events of each episode."""
    fields = fields_of(Event, of_each)
    texts, calls, seen = fields["content"], fields["tool_calls"], fields["visible_to"]
    words = [text for text in texts if text]
    content = structs(CONTENT.value_type, {"type": ["text"] * len(words), "text": words})
    parts = {
        "content": lists(CONTENT, map(bool, texts), content),
        "tool_calls": lists_of_structs(TOOL_CALLS, calls, fields_of(ToolCall, calls)),
        "visible_to": lists(VISIBLE_TO, map(len, seen), column(VISIBLE_TO.value_type, [*chain.from_iterable(seen)])),
    }
    return lists_of_structs(EVENTS, of_each, {**fields, **parts})


def samples_column(played: Sequence[Played]) -> pa.Array:
    """Makes the column of samples: those in the ledgers of each episode's threads."""
    of_each = [
        [(one, thread, sample) for thread in one.episode.threads.values() for sample in thread.ledger.samples]
        for one in played
    ]
    every = [*chain.from_iterable(of_each)]
    of, samples = [thread.participant for _, thread, _ in every], [sample for _, _, sample in every]
    versions, spans = [sample.versions for sample in samples], [sample.spans for sample in samples]
    fields = {
        "thread": [thread.name for _, thread, _ in every],
        "participant": [participant.name for participant in of],
        "model": [participant.model for participant in of],
        "trainable": [_is_trainable(one, sample, thread.participant) for one, thread, sample in every],
        "reward": [reward_of(thread.participant.name, one.score) for one, thread, _ in every],
        "token_ids": lists_of_numbers(TOKEN_IDS, [sample.token_ids for sample in samples]),
        "loss_mask": lists_of_numbers(LOSS_MASK, [sample.loss_mask for sample in samples]),
        "logprobs": lists_of_numbers(LOGPROBS, [sample.logprobs for sample in samples]),
        "versions": lists_of_structs(VERSIONS, versions, fields_of(VersionSpan, versions)),
        "spans": _spans(spans),
        "fork_reason": [sample.fork_reason for sample in samples],
    }
    return lists_of_structs(SAMPLES, of_each, fields)


def _is_trainable(played: Played, sample: Sample, participant: Participant) -> bool:
    """Says whether a trainer can use a sample: its participant is trained and has a reward, its episode is completed,
    at least one of its tokens was generated, and all its logprobs are finite.
    """
    return (
        participant.trainable
        and played.status == "completed"
        and reward_of(participant.name, played.score) is not None
        and any(span.generated and span.end > span.start for span in sample.spans)
        and bool(np.isfinite(sample.logprobs).all())
    )


def oldest_versions(played: Played) -> tuple[tuple[str, int], ...]:
    """Returns the pairs (model, oldest version of its weights) over the samples of an episode that a trainer can use.
    Models whose samples have no versions are left out.
    """
    oldest: dict[str, int] = {}
    for thread in played.episode.threads.values():
        for sample in thread.ledger.samples:
            if sample.versions and _is_trainable(played, sample, thread.participant):
                model, version = thread.participant.model, min(span.version for span in sample.versions)
                oldest[model] = min(version, oldest.get(model, version))
    return tuple(oldest.items())


def _tools_shown(played: Sequence[Played]) -> pa.Array:
    """Makes the column of the tools that prompts showed, as JSON text by thread. A text is made once for all episodes
    that showed the same tool objects, since many episodes share a few.
    """
    texts: list[str] = []
    numbers: dict[tuple[Any, ...], int] = {}
    of_each = []
    for one in played:
        threads = [thread for thread in one.episode.threads.values() if thread.shown]
        key = tuple((thread.name, *map(id, thread.shown)) for thread in threads)
        if key not in numbers:
            numbers[key] = len(texts)
            shown = {thread.name: [tool.as_openai() for tool in thread.shown] for thread in threads}
            texts.append(json.dumps(shown, ensure_ascii=False))
        of_each.append(numbers[key])
    return pa.DictionaryArray.from_arrays(pa.array(of_each, REPEATED.index_type), column(REPEATED.value_type, texts))


def _renderings(episodes: Sequence[EpisodeView]) -> pa.Array:
    """Makes the column of renderings; null for an episode whose environment renders nothing."""
    of_each = [one.renderings for one in episodes]
    if not any(of_each):
        return pa.nulls(len(of_each), RENDERINGS)
    import pyarrow.compute as pc  # late, for it takes 0.07 s

    made = lists_of_structs(RENDERINGS, of_each, fields_of(Rendering, of_each))
    return pc.if_else(pa.array([bool(one) for one in of_each]), made, pa.scalar(None, RENDERINGS))


def reward_of(participant: str, score: Score | None) -> float | None:
    """Returns a participant's reward; None if it has none."""
    if score is None:
        return None
    return score.reward if participant == "policy" else score.others.get(participant)


def _spans(of_each: Sequence[Sequence[Span]]) -> pa.Array:
    fields = fields_of(Span, of_each)
    sampling = _samplings(fields["sampling"], fields["grammar"])
    return lists_of_structs(SPANS, of_each, {**fields, "sampling": sampling})


def _samplings(samplings: Sequence[Sampling | None], grammars: Sequence[str | None]) -> list[dict[str, Any] | None]:
    """Returns the sampling of each span as a dictionary; None for a span without one. Spans with the same sampling
    object and grammar share one dictionary. Objects are compared by identity, which is faster than a hash of their
    fields.
    """
    shapes: dict[tuple[int, str | None], dict[str, Any]] = {}
    made: list[dict[str, Any] | None] = []
    for sampling, grammar in zip(samplings, grammars, strict=True):
        if sampling is None:
            made.append(None)
            continue
        key = (id(sampling), grammar)
        if key not in shapes:
            shapes[key] = sampling.shape() | {"grammar": grammar}
        made.append(shapes[key])
    return made
