"""Looks for faults in batches of episodes, and counts them in a tally.

A check marks episodes. Which counts are worth a word is decided afterwards (`ray_gym.health.findings`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ray_gym.episode.limits import STEPS_USED_UP
from ray_gym.health.batch import Batch, Mask, Rows, flags, numbers
from ray_gym.health.tally import Tally
from ray_gym.statistics.calls import UNREADABLE_CALL, calls_of

Value = TypeVar("Value")

CUT = ("max_tokens", "max_turns", "context_full", "token_budget", "deadline")
"""Stop reasons of an episode that a limit ended."""
LOWEST = -20.0
"""Logprob below which a token is hardly ever drawn: 2e-9."""
FEWEST_TOKENS = 8
"""Tokens below which a sample is too short to say that all of its logprobs are 0."""
FEWEST_WORDS = 40
"""Words below which a message is too short to repeat itself."""
FEWEST_LETTERS = 160
"""Letters below which a text of a few long words is too short to repeat itself."""
DISTINCT = 0.5
"""Share of distinct runs of four words below which a text repeats itself. Prose has more than 0.9, a table of numbers
about 0.8. Of a text without spaces, runs of eight letters are taken."""
LONGEST = 4_000
"""Words of a text that are looked at, and letters of one without spaces."""
_WORD = re.compile(r"[^\W_]+")
_OTHERS = (
    r"(^|\n)\s*(Assistant|Agent|Policy|AI|Customer|User|Human)\s*:|<\|(im_start|im_end|start_header_id|eot_id)\|>"
    r"|<(start_of_turn|end_of_turn)>|\[/?INST\]"
)
"""Marks by which a text speaks for somebody else: names of speakers at the beginning of lines, and chat templates'."""


def check_ends(batch: Batch, tally: Tally) -> None:
    """Counts the episodes that failed, by the kind of their failures, those that are scored in spite of one, and those
    that a limit cut, by the limit.
    """
    ids, stops = batch.texts("episode_id"), batch.texts("stop_reason")
    kinds = pc.struct_field(batch.table.column("failure").combine_chunks(), "kind").to_pylist()
    failed = flags(pc.equal(batch.table.column("status"), "failed"))
    by_kind = _by([kind or "unknown" for kind in kinds], np.flatnonzero(failed))
    for kind, rows in by_kind.items():
        tally.add("failed", _named(ids, rows), 0, kind)
    faults = ~failed & flags(pc.equal(pc.fill_null(pa.array(kinds, pa.string()), ""), "policy"))
    tally.add("scored_fault", _named(ids, np.flatnonzero(faults)), batch.rows, "the policy's own")
    for reason in CUT:
        tally.add("cut", (ids[row] for row, stop in enumerate(stops) if stop == reason), batch.rows, reason)


def check_steps(batch: Batch, tally: Tally) -> None:
    """Counts the episodes with a turn in which an agent asked for more steps than it has. A note of theirs says so."""
    ids, rows = batch.texts("episode_id"), batch.event_rows
    notes = np.flatnonzero(flags(pc.equal(batch.event("kind"), "note")))
    says_so = flags(pc.match_substring(pc.take(batch.said, pa.array(notes)), STEPS_USED_UP))
    tally.add("steps_used_up", _named(ids, np.unique(rows[notes[says_so]])), batch.rows)


def check_samples(batch: Batch, tally: Tally) -> None:
    """Counts the completed episodes with a sample of nothing generated, with forks (by reason), with logprobs that are
    exactly 0, and with logprobs that are hardly possible.
    """
    ids, owners = batch.texts("episode_id"), batch.sample_rows
    sampled = len(np.unique(owners))
    masks = batch.sample("loss_mask")
    of_tokens = numbers(pc.list_parent_indices(masks))
    drawn = flags(pc.equal(masks.flatten(), 1))
    generated = np.bincount(of_tokens[drawn], minlength=len(owners))
    silent = (generated == 0) & batch.completed[owners]
    tally.add("nothing_generated", _named(ids, owners[silent]), sampled)
    forks = batch.sample("fork_reason").to_pylist()
    for reason, samples in _by(forks, range(len(forks))).items():
        if reason is not None:
            tally.add("forked", _named(ids, owners[samples]), sampled, reason)
    plain = _is_plain(batch, len(of_tokens)) & drawn
    logprobs = np.asarray(batch.sample("logprobs").flatten().to_numpy(zero_copy_only=False), dtype=np.float64)
    counted = np.bincount(of_tokens[plain], minlength=len(owners))
    zeros = np.bincount(of_tokens[plain & (logprobs == 0)], minlength=len(owners))
    tally.add("logprobs_zero", _named(ids, owners[(counted >= FEWEST_TOKENS) & (2 * zeros > counted)]), sampled)
    low = of_tokens[plain & (logprobs < LOWEST)]
    tally.add("logprobs_low", _named(ids, owners[np.unique(low)]), sampled)


def check_messages(batch: Batch, tally: Tally) -> None:
    """Counts the episodes with an empty message, with a message or thoughts that repeat themselves, and with a message in
    which somebody speaks for another, by participant.
    """
    ids, rows, who = (
        batch.texts("episode_id"),
        batch.event_rows,
        np.array(batch.event("participant").to_pylist(), object),
    )
    is_policy = who == "policy"
    said = batch.said
    calls = numbers(pc.fill_null(pc.list_value_length(batch.event("tool_calls")), 0))
    thoughts = flags(pc.greater(pc.fill_null(pc.utf8_length(batch.event("reasoning")), 0), 0))
    blank = flags(pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(said)), 0))
    repeats = np.union1d(_repeating(said, batch.messages), _repeating(batch.event("reasoning"), batch.messages))
    empty = batch.messages & blank & (calls == 0) & ~thoughts
    foreign = batch.messages & ~is_policy & flags(pc.match_substring_regex(said, _OTHERS))
    for name, of_name in _by(who.tolist(), np.flatnonzero(batch.messages)).items():
        places, count = np.asarray(of_name), len(np.unique(rows[of_name]))
        tally.add("empty_message", _named(ids, rows[places[empty[places]]]), count, name or "")
        tally.add(
            "repeats_itself", _named(ids, rows[np.intersect1d(places, repeats).astype(np.int64)]), count, name or ""
        )
        if name != "policy":
            tally.add("speaks_for_another", _named(ids, rows[places[foreign[places]]]), count, name or "")


def _repeating(texts: pa.Array, messages: Mask) -> Rows:
    """Returns the places of the messages whose texts repeat themselves."""
    long = numbers(pc.fill_null(pc.utf8_length(texts), 0)) >= 2 * FEWEST_WORDS
    return np.array([at for at in np.flatnonzero(messages & long) if repeats_itself(texts[at].as_py())], dtype=np.int64)


def repeats_itself(text: str) -> bool:
    """Says whether fewer than half of a text's runs of four words are distinct; in a text of a few long words, as where no
    spaces are written, runs of eight letters. Signs, such as those of a table, are no words.
    """
    words = _WORD.findall(text)[:LONGEST]
    if len(words) >= FEWEST_WORDS:
        return _is_repeated(words, 4)
    letters = "".join(words)[:LONGEST]
    return len(letters) >= FEWEST_LETTERS and _is_repeated(letters, 8)


def _is_repeated(parts: Sequence[str], length: int) -> bool:
    runs = [tuple(parts[at : at + length]) for at in range(len(parts) - length + 1)]
    return len(set(runs)) < DISTINCT * len(runs)


def check_tools(batch: Batch, tally: Tally) -> None:
    """Counts the calls that were answered with an error, by tool, and those that could not be read. What is counted is
    calls.
    """
    ids = batch.texts("episode_id")
    made, errors = Counter[str](), dict[str, list[str]]()
    for row, name, is_error in calls_of(batch.events):
        made[name] += 1
        if is_error:
            errors.setdefault(name, []).append(ids[row])
    tally.add("unreadable_call", errors.pop(UNREADABLE_CALL, ()), made.total())
    made.pop(UNREADABLE_CALL, None)
    for name, count in made.items():
        tally.add("tool_error", errors.get(name, ()), count, name)


def check_verdicts(batch: Batch, tally: Tally) -> None:
    """Counts the rewards that judges and graders gave, by the participant and the reward. What is counted is verdicts."""
    verdicts = flags(pc.equal(batch.event("kind"), "verdict"))
    ids, who, given = (
        batch.texts("episode_id"),
        batch.event("participant").to_pylist(),
        batch.event("reward").to_pylist(),
    )
    for place in np.flatnonzero(verdicts).tolist():
        row = int(batch.event_rows[place])
        tally.add("verdict", [ids[row]], 1, f"{who[place] or 'grader'}\0{given[place]}")


def check_range(batch: Batch, tally: Tally, lowest: float, highest: float) -> None:
    """Counts the completed episodes with a reward, of any participant, outside of the range that the environment
    declares.
    """
    ids, rewards, parts = (batch.texts(name) for name in ("episode_id", "reward", "rewards"))
    kept = [row for row in np.flatnonzero(batch.completed).tolist() if rewards[row] is not None]
    outside = []
    for row in kept:
        wholes = [one for one in parts[row] or () if one["name"] == "reward"]
        others = [one["value"] for one in wholes if one["participant"] != "policy"]
        if not all(lowest <= reward <= highest for reward in (rewards[row], *others)):
            outside.append(row)
    tally.add("reward_out_of_range", _named(ids, outside), len(kept), f"[{lowest:g}, {highest:g}]")


def check_rewards(batch: Batch, tally: Tally) -> None:
    """Counts the completed episodes by environment and reward."""
    ids, environments, rewards = (batch.texts(name) for name in ("episode_id", "env_id", "reward"))
    kept = [row for row in np.flatnonzero(batch.completed).tolist() if rewards[row] is not None]
    for (environment, reward), rows in _by([*zip(environments, rewards, strict=True)], kept).items():
        tally.add("reward", _named(ids, rows), len(rows), f"{environment}\0{reward}")


CHECKS: tuple[Callable[[Batch, Tally], None], ...] = (
    check_ends,
    check_steps,
    check_samples,
    check_messages,
    check_tools,
    check_verdicts,
    check_rewards,
)


def _is_plain(batch: Batch, tokens: int) -> Mask:
    """Returns whether each token was drawn from the model's whole distribution: bool [tokens]. A grammar's forced tokens
    have a logprob of 0 by right.
    """
    spans = batch.sample("spans")
    flat = spans.flatten()
    starts_of = np.concatenate([[0], np.cumsum(numbers(pc.list_value_length(batch.sample("loss_mask"))))])[:-1]
    owners = numbers(pc.list_parent_indices(spans))
    chosen = flags(pc.equal(pc.struct_field(flat, "kind"), "plain"))
    starts = starts_of[owners] + numbers(pc.struct_field(flat, "start"))
    ends = starts_of[owners] + numbers(pc.struct_field(flat, "end"))
    steps = np.zeros(tokens + 1, dtype=np.int64)
    np.add.at(steps, starts[chosen], 1)
    np.add.at(steps, ends[chosen], -1)
    return np.cumsum(steps)[:-1] > 0


def _named(ids: list[str], rows: Iterable[int] | Rows) -> list[str]:
    """Returns the id of each row, once."""
    return [ids[row] for row in dict.fromkeys(int(row) for row in rows)]


def _by(values: Sequence[Value], places: Iterable[int]) -> dict[Value, list[int]]:
    """Returns the places by the value that is there."""
    found: dict[Value, list[int]] = {}
    for place in places:
        found.setdefault(values[int(place)], []).append(int(place))
    return found
