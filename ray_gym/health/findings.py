"""Says which counts of a tally are suspicious, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ray_gym.health.tally import Kind, Tally

NAMED = 3
"""Number of episodes that a finding names."""
MOST_IDS = 50
"""Most episodes that a filter lists."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Says from which share on a kind of fault is a finding, and why from there on."""

    share: float
    fewest: int
    """Number from which on a count is a finding at all: a single odd episode tells little."""
    text: str
    """Words for a finding; {detail} stands for the detail."""
    why: str
    """Reason for which it is a fault, and for the share."""
    condition: str = ""
    """Condition in SQL over the columns of the viewer's index that selects the episodes; "" lists them by their ids."""
    unit: str = "episodes"


LIMITS = {
    "failed": Limit(
        0.01,
        2,
        "failed by {detail}",
        "failed episodes have no reward, so a mean leaves out what is hard; a node that is lost costs less than 1%",
        "failure_kind = '{detail}' AND status = 'failed'",
    ),
    "scored_fault": Limit(
        0.01,
        2,
        "are scored as a fault of {detail}",
        "a program that raises, or is not there, looks like a policy that can't do the task",
        "failure_kind = 'policy' AND status = 'completed'",
    ),
    "cut": Limit(
        0.01,
        2,
        "were cut by {detail}",
        "an answer that a limit cut is scored as if it were meant; a limit that is set for the task cuts less than 1%",
        "stop_reason = '{detail}'",
    ),
    "steps_used_up": Limit(
        0.01,
        2,
        "have a turn in which an agent's steps (max_steps_per_turn) were used up",
        "an agent that is refused further calls gives up half-way, and is scored as if it were done",
    ),
    "nothing_generated": Limit(
        0.005,
        2,
        "have a sample without a generated token",
        "such a sample trains nothing, and yet counts for the baseline; models answer with at least a token",
    ),
    "forked": Limit(
        0.01,
        2,
        "have forks ({detail})",
        "a fork is trained on as a sample of its own, whose beginning the model did not write under this prompt",
    ),
    "logprobs_zero": Limit(
        0.01,
        2,
        "have samples most of whose logprobs are exactly 0",
        "a token that was drawn has a probability below 1: logprobs were not recorded, or drawn at temperature 0",
    ),
    "logprobs_low": Limit(
        0.01,
        2,
        "have tokens with a logprob below -20",
        "such a token is drawn once in 500 million times: sampling and logprobs are of different distributions",
    ),
    "empty_message": Limit(
        0.005, 2, "have an empty message of {detail}", "a turn without words or calls: the answer was lost or stripped"
    ),
    "repeats_itself": Limit(
        0.01,
        2,
        "have a message or thoughts of {detail} that repeat themselves",
        "loops fill the context, and are rewarded by chance",
    ),
    "speaks_for_another": Limit(
        0.005,
        2,
        "have a message of {detail} in which it speaks for another",
        "a simulated user that writes the policy's answer, or a chat template's marks, gives the task away",
    ),
    "tool_error": Limit(
        0.01,
        2,
        "of {detail} were answered with an error",
        "a tool that is broken for some tasks looks like a policy that can't do them",
        unit="calls",
    ),
    "unreadable_call": Limit(
        0.01,
        2,
        "could not be read",
        "no tool gets such a call: the server's parser of calls does not fit the model, or the model can't write them",
        unit="calls",
    ),
    "group_alike": Limit(
        0.01,
        2,
        "have the same tokens, or words, in all of their episodes",
        "one seed for a group, temperature 0, or an endpoint's cache: such a group teaches nothing",
        unit="groups",
    ),
    "episode_twice": Limit(
        1e-9,
        1,
        "have the id of another episode",
        "an id is that of one episode: files of another run, or copies of files, are in this one, and count twice",
    ),
    "task_twice": Limit(
        0.01,
        2,
        "have the content of another task under an id of their own",
        "intervals count them as independent, and training sees them more often than others",
        unit="tasks",
    ),
    "reward_out_of_range": Limit(
        1e-9,
        1,
        "have a reward outside of the environment's reward_range {detail}",
        "the environment gives what it says that it never gives: its score or its reward_range is wrong",
    ),
}
"""Limits by the kind of fault, in the order in which they are told."""
FEWEST_VERDICTS = 20
"""Number of verdicts from which on it is no chance that all are the same: with a fair coin, 2 in a million."""
FEWEST_REWARDS = 20
ALL_BUT = 0.95
"""Share of rewards at one value from which on they are as good as all the same."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Says what is suspicious, and where to look."""

    kind: str
    detail: str
    count: int
    of: int
    unit: str
    text: str
    why: str
    episodes: tuple[str, ...]
    """Ids of some of the episodes, at most NAMED."""
    where: str
    """Condition of SQL that selects the episodes in the viewer, at most MOST_IDS where it lists them."""

    def __str__(self) -> str:
        share = f" ({self.count / self.of:.1%})" if self.of else ""
        return f"{self.count:,} of {self.of:,} {self.unit}{share} {self.text}"


def findings_of(tally: Tally, episodes: int) -> list[Finding]:
    """Returns what is suspicious, kind by kind. `episodes`: number of the run's episodes."""
    found = [finding for kind in LIMITS for finding in _over_limits(tally, kind, episodes)]
    return [*found, *_same_verdicts(tally), *_same_rewards(tally)]


def _over_limits(tally: Tally, kind: str, episodes: int) -> Iterator[Finding]:
    limit = LIMITS[kind]
    for key in sorted(key for key in tally.found if key[0] == kind):
        count, of = tally.found[key], tally.of[key] or episodes
        if count >= limit.fewest and count >= limit.share * of:
            yield _finding(tally, key, of, limit.text.format(detail=key[1]), limit.why, limit.condition, limit.unit)


def _same_verdicts(tally: Tally) -> Iterator[Finding]:
    """Yields a finding for each judge or grader that has always given the same reward."""
    by_judge: dict[str, list[Kind]] = {}
    for key in tally.found:
        if key[0] == "verdict":
            by_judge.setdefault(key[1].partition("\0")[0], []).append(key)
    for judge, keys in sorted(by_judge.items()):
        if len(keys) == 1 and tally.found[keys[0]] >= FEWEST_VERDICTS:
            value = keys[0][1].partition("\0")[2]
            why = "a judge that gives everybody the same does not look, or its label is read wrongly"
            of = tally.found[keys[0]]
            yield _finding(
                tally, keys[0], of, f"of {judge} gave {value}", why, "", "verdicts", kind="same_verdict", detail=judge
            )


def _same_rewards(tally: Tally) -> Iterator[Finding]:
    """Yields a finding for each environment nearly all of whose rewards are its highest or its lowest."""
    by_environment: dict[str, list[tuple[float, Kind]]] = {}
    for key in tally.found:
        if key[0] == "reward":
            environment, _, value = key[1].rpartition("\0")
            by_environment.setdefault(environment, []).append((float(value), key))
    for environment, values in sorted(by_environment.items()):
        total = sum(tally.found[key] for _, key in values)
        names = {max(values): "highest", min(values): "lowest"} if len(values) > 1 else {values[0]: "only"}
        for (bound, key), name in names.items():
            if total >= FEWEST_REWARDS and tally.found[key] >= ALL_BUT * total:
                why = "tasks that are too easy or too hard teach nothing; or the score does not see what was done"
                condition = f"env_id = {repr_sql(environment)} AND reward = {bound!r}"
                text = f"of {environment} have the reward {bound:g}, its {name} one"
                options = {"kind": "reward_at_bound", "detail": environment}
                yield _finding(tally, key, total, text, why, condition, "episodes", **options)


def _finding(
    tally: Tally,
    key: Kind,
    of: int,
    text: str,
    why: str,
    condition: str,
    unit: str,
    kind: str = "",
    detail: str | None = None,
) -> Finding:
    ids = tally.examples.get(key, [])
    told = key[1] if detail is None else detail
    where = condition.replace("{detail}", _escaped(told)) if condition else _listed(ids)
    # A condition is pasted whole: a comment in it says that it does not select all.
    if not condition and len(ids) > MOST_IDS:
        where += f" /* the first {MOST_IDS} of them */"
    return Finding(kind or key[0], told, tally.found[key], of, unit, text, why, tuple(ids[:NAMED]), where)


def _listed(ids: list[str]) -> str:
    return f"episode_id IN ({', '.join(repr_sql(one) for one in ids[:MOST_IDS])})"


def repr_sql(text: str) -> str:
    """Returns a text as a literal of SQL."""
    return f"'{_escaped(text)}'"


def _escaped(text: str) -> str:
    return text.replace("'", "''")
