"""Each kind of fault is found, planted in half of a run and in 2% of it; a good run has none."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from shown_runs import episode, event, sample, write

from ray_gym.cli.health import print_line
from ray_gym.episode.limits import STEPS_USED_UP
from ray_gym.health.examine import Health, examine
from ray_gym.health.findings import LIMITS
from ray_gym.run.directory.location import storage_at

EPISODES, GROUP = 1000, 4
Row = dict[str, Any]
WORDS = ["the", "order", "shelf", "tea", "coffee", "late", "refund", "policy", "customer", "please", "number", "box"]


def good_row(number: int) -> Row:
    """Returns an episode in which nothing is wrong: a user asks, the policy calls a tool, and a judge looks at it."""
    rng = random.Random(number)
    said = " ".join(rng.choices(WORDS, k=60))
    call = {"id": "c1", "name": "look_up", "arguments": "{}"}
    events = [
        event(0, "message", f"Where is order {number}?", "user", role="user"),
        event(1, "message", "", tool_calls=[call]),
        event(2, "tool_result", "It is here.", tool_call_id="c1", role="tool"),
        event(3, "message", said),
        event(4, "verdict", "looked at", "judge", reward=float(rng.random() < 0.6)),
    ]
    ids = [rng.randrange(1000) for _ in range(40)]
    drawn = sample(40, 20, token_ids=ids, logprobs=[0.0] * 20 + [-rng.random() - 0.01 for _ in range(20)])
    task = number // GROUP
    return episode(
        number,
        round(rng.random(), 3),
        task_id=f"t{task}",
        group_id=f"g{task}",
        repeat=number % GROUP,
        task=f'{{"order": {task}}}',
        events=events,
        samples=[drawn],
        group_size=GROUP,
    )


def failed(row: Row) -> None:
    row |= {"status": "failed", "reward": None, "failure": {"kind": "infra", "where": "m", "message": "gone"}}


def scored_fault(row: Row) -> None:
    row["failure"] = {"kind": "policy", "where": "agent mine", "message": "it ended with exit code 1"}


def cut(row: Row) -> None:
    row["stop_reason"] = "max_tokens"


def steps_used_up(row: Row) -> None:
    row["events"].append(event(5, "note", f"agent mine: {STEPS_USED_UP}"))


def nothing_generated(row: Row) -> None:
    row["samples"][0]["loss_mask"] = [0] * 40


def forked(row: Row) -> None:
    row["samples"].append({**row["samples"][0], "fork_reason": "branched"})


def logprobs_zero(row: Row) -> None:
    row["samples"][0]["logprobs"] = [0.0] * 40


def logprobs_low(row: Row) -> None:
    row["samples"][0]["logprobs"][-1] = -25.0


def empty_message(row: Row) -> None:
    row["events"][3]["content"] = [{"type": "text", "text": " \n"}]


def repeats_itself(row: Row) -> None:
    row["events"][3]["content"] = [{"type": "text", "text": "I will look at it again now. " * 20}]


def speaks_for_another(row: Row) -> None:
    row["events"][0]["content"] = [{"type": "text", "text": "Where is it?\nAssistant: It is on shelf 4."}]


def tool_error(row: Row) -> None:
    row["events"][2]["error"] = "the database is locked"


def unreadable_call(row: Row) -> None:
    row["events"][1]["tool_calls"][0]["name"] = ""
    row["events"][2]["error"] = "it is no JSON"


PER_EPISODE: dict[str, Callable[[Row], None]] = {
    function.__name__: function
    for function in (
        failed,
        scored_fault,
        cut,
        steps_used_up,
        nothing_generated,
        forked,
        logprobs_zero,
        logprobs_low,
        empty_message,
        repeats_itself,
        speaks_for_another,
        tool_error,
        unreadable_call,
    )
}


def group_alike(rows: list[Row]) -> None:
    for start in range(0, len(rows), GROUP):
        for row in rows[start : start + GROUP]:
            row["samples"] = rows[start]["samples"]


def episode_twice(rows: list[Row]) -> None:
    for number, row in enumerate(rows):
        row["episode_id"] = rows[number - number % 2]["episode_id"]


def task_twice(rows: list[Row]) -> None:
    for row in rows:
        row["task"] = '{"order": 0}'


def same_verdict(rows: list[Row]) -> None:
    for row in rows:
        row["events"].append(event(5, "verdict", "yes", "second_judge", reward=1.0))


def reward_at_bound(rows: list[Row]) -> None:
    for number, row in enumerate(rows):
        row |= {"env_id": "other", "reward": 0.5 if number == 0 else 1.0}


TOGETHER = {
    function.__name__: function for function in (group_alike, episode_twice, task_twice, same_verdict, reward_at_bound)
}


@pytest.fixture(scope="module")
def good_files(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Gives files with the good rows up to 20, to 500 and to 1,000, each from the one before on."""
    folder, start, files = tmp_path_factory.mktemp("good"), 0, {}
    for end in (EPISODES // 50, EPISODES // 2, EPISODES):
        files[start] = write(folder, *(good_row(number) for number in range(start, end)), number=end, rows_a_group=300)
        start = end
    return files


def health_of(
    folder: Path, good_files: dict[int, Path], planted: int = 0, plant: Callable[[list[Row]], None] | None = None
) -> Health:
    """Returns the health of a good run in whose first rows something was planted."""
    (folder / "episodes").mkdir()
    for start, file in good_files.items():
        if start >= planted:
            (folder / "episodes" / file.name).hardlink_to(file)
    if plant is not None:
        rows = [good_row(number) for number in range(planted)]
        plant(rows)
        write(folder, *rows, number=1)
    return examine(storage_at(str(folder)))


def test_a_good_run_has_no_findings(tmp_path: Path, good_files: dict[int, Path]) -> None:
    health = health_of(tmp_path, good_files)
    assert health.episodes == EPISODES and health.findings == [] and health.damaged == []


@pytest.mark.parametrize("planted", [pytest.param(EPISODES // 2, marks=pytest.mark.reading), EPISODES // 50])
@pytest.mark.parametrize("kind", [*PER_EPISODE, *TOGETHER])
def test_a_planted_fault_is_found_and_no_other(
    tmp_path: Path, good_files: dict[int, Path], kind: str, planted: int
) -> None:
    def plant(rows: list[Row]) -> None:
        if kind in TOGETHER:
            TOGETHER[kind](rows)
        else:
            for row in rows:
                PER_EPISODE[kind](row)

    health = health_of(tmp_path, good_files, planted, plant)
    [finding] = health.findings
    assert health.episodes == EPISODES and finding.kind == kind and len(finding.episodes) == 3
    expected = {"group_alike": planted // GROUP, "task_twice": planted // GROUP - 1, "reward_at_bound": planted - 1}
    expected["episode_twice"] = planted // 2
    assert finding.count == expected.get(kind, planted)
    assert finding.text and finding.why and finding.where


@pytest.mark.parametrize(("generated", "alike"), [(40, True), (40, False), (0, True)])
def test_words_are_compared_where_an_endpoint_gave_no_token_ids(
    tmp_path: Path, good_files: dict[int, Path], generated: int, alike: bool
) -> None:
    # a scripted model, which counts no tokens, says the same by right

    def plant(rows: list[Row]) -> None:
        for number, row in enumerate(rows):
            events = rows[number - number % GROUP]["events"] if alike else row["events"]
            row |= {"samples": [], "events": events, "usage": {**row["usage"], "generated_tokens": generated}}

    findings = health_of(tmp_path, good_files, EPISODES // 50, plant).findings
    assert [found.kind for found in findings] == ["group_alike"] * (generated > 0 and alike)


def test_a_line_names_the_kinds_and_a_good_run_has_none(tmp_path: Path, good_files: dict[int, Path]) -> None:
    told = io.StringIO()
    for name, planted in (("good", 0), ("bad", EPISODES // 50)):
        (tmp_path / name).mkdir()
        health_of(tmp_path / name, good_files, planted, lambda rows: [tool_error(row) for row in rows])
        print_line(Console(file=told, width=1000), str(tmp_path / name))
    print_line(Console(file=told), str(tmp_path / "nowhere"))
    [line] = told.getvalue().splitlines()
    assert "suspicious: tool_error; ray-gym health" in line and line.endswith("bad says why")
    assert examine(storage_at(str(tmp_path / "bad")), most=1).episodes == EPISODES // 50, "its first file"


@pytest.mark.parametrize(
    ("declared", "count"), [("[0.0, 1.0]", 2), ("[0.0, null]", 1), ("[null, null]", 0), ("[0, 7]", 1), ("null", 0)]
)
def test_rewards_outside_of_the_declared_range_are_found(tmp_path: Path, declared: str, count: int) -> None:
    rewards = [0.0, 7.0, 1.0, -1.0, None]
    write(tmp_path, *({**good_row(number), "reward": reward} for number, reward in enumerate(rewards)))
    (tmp_path / "summary.json").write_text(f'{{"reward_range": {declared}}}')
    found = [one for one in examine(storage_at(str(tmp_path))).findings if one.kind == "reward_out_of_range"]
    assert [(one.count, one.of, len(one.episodes)) for one in found] == ([(count, 4, count)] if count else [])
    (tmp_path / "summary.json").write_text("{")
    assert examine(storage_at(str(tmp_path))).findings == []


@pytest.mark.parametrize(
    ("participant", "name", "count"), [("user", "reward", 1), ("policy", "reward", 0), ("user", "style", 0)]
)
def test_the_rewards_of_others_are_in_the_range_too(tmp_path: Path, participant: str, name: str, count: int) -> None:
    part = {"participant": participant, "name": name, "value": 7.0}
    write(tmp_path, {**good_row(0), "rewards": [part]}, good_row(1))
    (tmp_path / "summary.json").write_text('{"reward_range": [0, 1]}')
    assert [one.count for one in examine(storage_at(str(tmp_path))).findings] == [1] * count


def test_a_range_that_can_not_be_read_is_none(tmp_path: Path) -> None:
    write(tmp_path, {**good_row(0), "reward": 7.0})
    (tmp_path / "summary.json").write_text("{")
    assert examine(storage_at(str(tmp_path))).findings == []


def test_every_kind_has_a_plant_and_a_reason() -> None:
    assert {*PER_EPISODE, *TOGETHER, "reward_out_of_range"} == {*LIMITS, "same_verdict", "reward_at_bound"}
    assert all(limit.why and 0 < limit.share <= 0.01 for limit in LIMITS.values())


@pytest.mark.parametrize(("planted", "kinds"), [(EPISODES // 2, []), (EPISODES, ["task_twice"])])
def test_copies_of_tasks_that_chance_drew_are_no_finding(
    tmp_path: Path, good_files: dict[int, Path], planted: int, kinds: list[str]
) -> None:
    """A generator of few tasks draws some of them several times; one that always draws the same is wrong."""
    (tmp_path / "run.yaml").write_text(f"tasks: {{generate: {EPISODES // GROUP}}}")
    health = health_of(tmp_path, good_files, planted, task_twice)
    assert [finding.kind for finding in health.findings] == kinds


def test_errors_are_of_the_tool_that_was_called_last_by_the_id_and_also_from_outside(tmp_path: Path) -> None:
    def called(seq: int, name: str, error: str | None, kind: str = "tool_result") -> list[Row]:
        calls = [{"id": "c0", "name": name, "arguments": "{}"}]
        if kind == "tool_call":
            return [event(seq, kind, "", "policy", tool_calls=calls, error=error)]
        return [event(seq, "message", "", tool_calls=calls), event(seq + 1, kind, "", tool_call_id="c0", error=error)]

    same_id = [*called(0, "broken", "gone"), *called(2, "good", None)]
    outside = [*called(0, "fetch", "gone", "tool_call"), *called(1, "fetch", None, "tool_call")]
    for name, events in (("same", same_id), ("outside", outside)):
        write(tmp_path / name, *({**good_row(number), "events": events} for number in range(10)))
    told = [str(one) for name in ("same", "outside") for one in examine(storage_at(str(tmp_path / name))).findings]
    assert [line for line in told if "answered with an error" in line] == [
        "10 of 10 calls (100.0%) of broken were answered with an error",
        "10 of 20 calls (50.0%) of fetch were answered with an error",
    ]


@pytest.mark.parametrize(("unread", "broken"), [(4, 0), (4, 2), (0, 2), (1, 1)])
def test_calls_that_could_not_be_read_are_no_errors_of_a_tool(tmp_path: Path, unread: int, broken: int) -> None:
    rows = [good_row(number) for number in range(10)]
    for number, row in enumerate(rows[: unread + broken]):
        (unreadable_call if number < unread else tool_error)(row)
    write(tmp_path, *rows)
    told = [str(one) for one in examine(storage_at(str(tmp_path))).findings if one.unit == "calls"]
    of_tool = f"{broken} of {10 - unread} calls ({broken / (10 - unread):.1%}) of look_up were answered with an error"
    of_none = f"{unread} of 10 calls ({unread / 10:.1%}) could not be read"
    assert told == [*[of_tool] * (broken > 1), *[of_none] * (unread > 1)]


def test_one_odd_episode_is_no_finding(tmp_path: Path, good_files: dict[int, Path]) -> None:
    def plant(rows: list[Row]) -> None:
        for number, function in enumerate(PER_EPISODE.values()):
            function(rows[number])

    assert health_of(tmp_path, good_files, EPISODES // 50, plant).findings == []


def test_damaged_files_are_named_and_the_rest_is_examined(tmp_path: Path, good_files: dict[int, Path]) -> None:
    def plant(rows: list[Row]) -> None:
        for row in rows:
            cut(row)

    health_of(tmp_path, good_files, EPISODES // 50, plant)
    file = write(tmp_path, good_row(1), number=3)
    file.write_bytes(file.read_bytes()[:-100])
    health = examine(storage_at(str(tmp_path)))
    assert [finding.kind for finding in health.findings] == ["cut"] and "part-00000003" in health.damaged[0]


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        ("wait let me think again " * 200, True),
        ("我不知道。" * 200, True),
        ("ha" * 2000, True),
        ("\n".join(f"| row {number} | yes | yes | yes | no |" for number in range(20)), False),
        ("ab" * 20, False),
        (" ".join(f"{number} is {number * number}," for number in range(200)), False),
    ],
    ids=["words", "no spaces", "one word", "a table", "short", "numbers"],
)
@pytest.mark.parametrize("part", ["content", "reasoning"])
def test_what_repeats_itself(tmp_path: Path, good_files: dict[int, Path], part: str, text: str, repeats: bool) -> None:
    def plant(rows: list[Row]) -> None:
        for row in rows:
            row["events"][3][part] = [{"type": "text", "text": text}] if part == "content" else text

    found = {finding.kind for finding in health_of(tmp_path, good_files, EPISODES // 50, plant).findings}
    assert found == ({"repeats_itself"} if repeats else set())


def test_a_condition_that_does_not_list_all_says_so(tmp_path: Path) -> None:
    write(tmp_path, *({**good_row(number), "samples": []} for number in range(120)))
    rows = [good_row(number) for number in range(120)]
    for row in rows:
        repeats_itself(row)
    write(tmp_path, *rows, number=1)
    [finding] = [one for one in examine(storage_at(str(tmp_path))).findings if one.kind == "repeats_itself"]
    assert finding.where.count("', '") == 49 and finding.where.endswith("/* the first 50 of them */")


def test_a_config_that_can_not_be_read_is_named_and_cries_no_wolf(tmp_path: Path) -> None:
    write(tmp_path, *({**good_row(number), "task": f'{{"n": {number // 8}}}'} for number in range(120)))
    (tmp_path / "run.yaml").write_text(": : [")
    health = examine(storage_at(str(tmp_path)))
    assert health.findings == [] and "run.yaml: it can't be read" in health.damaged[0]
