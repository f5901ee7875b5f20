"""Chooses the episodes of a run that tell the most, and says why each was chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ray_gym.health.findings import Finding
from ray_gym.report.numbers import of, plain, short

Numbers = NDArray[np.float64]
Choice = tuple[int, str]
"""Row of an episode, and the reason to choose it."""
FEWEST_LONG = 1.5
"""An episode is a long one if it has so many times the median's tokens."""


@dataclass(frozen=True, slots=True)
class Telling:
    """Names an episode that was chosen."""

    file: int
    """Number of its file, as the index has it."""
    place: int
    """Number of its row in the file."""
    episode_id: str
    reasons: tuple[str, ...]


def telling_episodes(index: pa.Table, findings: Sequence[Finding], most: int) -> list[Telling]:
    """Returns at most `most` episodes, the most telling first: the best, the worst and one in the middle, the two ends of
    the groups with the greatest spread, one for each kind of failure, one for each finding, and the longest.

    `index`: rows under `ray_gym.viewer.index_rows.INDEX`. An episode that is chosen for several reasons has all of them.
    """
    chosen: dict[int, list[str]] = {}
    for row, reason in _in_turn(_by_reward(index), _by_spread(index), _by_failure(index), _by_finding(index, findings)):
        if row in chosen:
            chosen[row].append(reason)
        elif len(chosen) < most:
            chosen[row] = [reason]
    named = index.select(["file", "place", "episode_id"]).take(list(chosen)).to_pylist() if chosen else []
    return [Telling(**one, reasons=tuple(reasons)) for one, reasons in zip(named, chosen.values(), strict=True)]


def _in_turn(*choices: Iterator[Choice]) -> Iterator[Choice]:
    """Yields the first of each list, then the second of each, and so on."""
    for of_each in zip_longest(*choices):
        yield from (one for one in of_each if one is not None)


def _by_reward(index: pa.Table) -> Iterator[Choice]:
    rows, rewards = _scored(index)
    if not len(rows):
        return
    lengths = _column(index, "generated_tokens")[rows]
    alike = of(len(rows), "episode")
    for name, target in (("highest", rewards.max()), ("lowest", rewards.min())):
        same = int((rewards == target).sum())
        if same == len(rows) > 1:
            yield int(rows[_nearest(rewards, lengths, target)]), f"reward {plain(target)}, as all {alike} have"
            break
        shared = f", which {of(same, 'episode')} have" if same > 1 else ""
        yield int(rows[_nearest(rewards, lengths, target)]), f"the {name} reward, {plain(target)}{shared}"
    middle = float(np.median(rewards))
    yield int(rows[_nearest(rewards, lengths, middle)]), f"a usual one: nearest to the median reward, {plain(middle)}"
    usual, longest = float(np.nanmedian(lengths)) if (~np.isnan(lengths)).any() else np.nan, _longest(lengths)
    if longest is not None and lengths[longest] > FEWEST_LONG * usual:
        told = f"{int(lengths[longest]):,} generated tokens, the most (median {int(usual):,})"
        yield int(rows[longest]), told


def _by_spread(index: pa.Table) -> Iterator[Choice]:
    """Yields the best and the worst of each group, those with the greatest spread first."""
    rows, rewards = _scored(index)
    if not len(rows):
        return
    groups = _codes(index)[rows]
    lowest = np.full(groups.max() + 1, np.inf)
    highest = -lowest
    np.minimum.at(lowest, groups, rewards)
    np.maximum.at(highest, groups, rewards)
    spread = np.where(np.isfinite(lowest), highest - lowest, 0.0)
    for group in np.argsort(-spread, kind="stable")[:10].tolist():
        if spread[group] <= 0:
            return
        of_group = np.flatnonzero(groups == group)
        name = short(index.column("group_id")[int(rows[of_group[0]])].as_py(), 40)
        told = f"group {name}, with a spread of {plain(float(spread[group]))}"
        yield int(rows[of_group[np.argmax(rewards[of_group])]]), f"the best of {told}"
        yield int(rows[of_group[np.argmin(rewards[of_group])]]), f"the worst of {told}"


def _by_failure(index: pa.Table) -> Iterator[Choice]:
    kinds = index.column("failure_kind")
    counted = sorted(pc.value_counts(kinds.drop_null()).to_pylist(), key=lambda one: (-one["counts"], one["values"]))
    for one in counted:
        row = pc.index(kinds, one["values"]).as_py()
        many = "the only failure" if one["counts"] == 1 else f"one of {one['counts']:,} failures"
        yield row, f"{many} of kind {short(one['values'], 60)}"


def _by_finding(index: pa.Table, findings: Sequence[Finding]) -> Iterator[Choice]:
    named = [
        (name, finding) for place in (0, 1) for finding in findings for name in finding.episodes[place : place + 1]
    ]
    ids = pa.array([name for name, _ in named], pa.string())
    rows = pc.index_in(ids, index.column("episode_id").combine_chunks()).to_pylist() if named else []
    for row, (_, finding) in zip(rows, named, strict=True):
        if row is not None:
            detail = f" ({short(finding.detail, 60)})" if finding.detail else ""
            yield row, f"an example of the finding {finding.kind}{detail}"


def _scored(index: pa.Table) -> tuple[NDArray[np.int64], Numbers]:
    """Returns the rows of the completed episodes with a reward, and their rewards."""
    rewards = _column(index, "reward")
    completed = np.asarray(pc.equal(index.column("status"), "completed").fill_null(False).to_numpy(), dtype=np.bool_)
    rows = np.flatnonzero(completed & np.isfinite(rewards))
    return rows, rewards[rows]


def _column(index: pa.Table, name: str) -> Numbers:
    return np.asarray(pc.cast(index.column(name), pa.float64()).to_numpy(), dtype=np.float64)


def _codes(index: pa.Table) -> NDArray[np.int64]:
    """Returns a number for the group of each row."""
    texts = [pc.fill_null(index.column(name), "") for name in ("env_id", "task_id", "group_id")]
    joined = pc.binary_join_element_wise(*texts, "\x00").combine_chunks()
    return np.asarray(pc.dictionary_encode(joined).indices.to_numpy(), dtype=np.int64)


def _nearest(values: Numbers, lengths: Numbers, target: float) -> int:
    """Returns the place of the value nearest to a target; among several, that with a length nearest to their median."""
    distance = np.abs(values - target)
    near = np.flatnonzero(distance == distance.min())
    known = near[~np.isnan(lengths[near])]
    if not len(known):
        return int(near[0])
    return int(known[np.argmin(np.abs(lengths[known] - np.median(lengths[known])))])


def _longest(lengths: Numbers) -> int | None:
    return None if np.isnan(lengths).all() else int(np.nanargmax(lengths))
