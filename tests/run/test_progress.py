"""Counts the figures of a run while it goes on, and shows them."""

from __future__ import annotations

import errno
import io
import time
from typing import Any

import pytest
from rich.console import Console

from ray_gym.cli.closing_lines import print_summary, require_completed
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.errors import RunFailed, remedy_of
from ray_gym.record.schema import failed_row
from ray_gym.run.directory.receipt import Receipt, receipt_of
from ray_gym.run.driver import panel, progress
from ray_gym.run.driver.dispatcher import EpisodeKey
from ray_gym.run.driver.failures import kind_of
from ray_gym.run.driver.progress import Reporter
from ray_gym.run.driver.tally import MAX_FAILURES, MAX_OUTCOMES, Tally


def receipt(**fields: Any) -> Receipt:
    usual: dict[str, Any] = {"status": "completed", "stop_reason": "finished", "stop_text": "X wins", "failure": None}
    usual |= {"reward": 1.0, "tokens": 10, "model_calls": 3, "turns": 2}
    return Receipt(EpisodeKey("e", 0), **{**usual, **fields})


def tally_of(*receipts: Receipt, **fields: Any) -> Tally:
    tally = Tally(**{"total": 10, "took_s": 4.0, **fields})
    for one in receipts:
        tally.add(one)
    return tally


def failed(message: str) -> Receipt:
    return receipt(
        status="failed", stop_reason="failed", stop_text=message, failure=f"environment in x: {message}", reward=None
    )


def test_a_failure_whose_row_was_lost_is_nobodys() -> None:
    tally = tally_of(failed("boom"))
    assert tally.commonest_failure == "environment in x: boom"
    tally.add(failed("boom"), sign=-1)
    assert tally.commonest_failure == "unknown"
    assert tally.summary()["failures"] == {} and tally.summary()["status"] == {}


def test_a_run_with_nothing_left_shows_no_speed() -> None:
    tally = Tally.of_resumed(1, [receipt()])
    shown = io.StringIO()
    tally.took_s = 4.0
    for one in ((), (receipt(),)):
        for new in one:
            tally.add(new)
        print_summary(
            Console(file=shown), "run", {**tally.summary(), "interrupted": False, "models_without_token_ids": []}
        )
    nothing, something = shown.getvalue().split("ray-gym show run")[:2]
    assert "nothing was left to play" in nothing and "episodes/s" not in nothing
    assert "0.2 episodes/s" in something


def test_the_summary_counts_what_was_played() -> None:
    tally = Tally.of_resumed(10, [receipt(), receipt()])
    tally.took_s = 4.0
    lost = receipt()
    for one in (receipt(), receipt(reward=0.0, stop_text="draw"), failed("boom"), lost):
        tally.add(one)
    tally.add(lost, sign=-1)  # its worker died before the row was safe
    summary = tally.summary()
    assert {
        key: summary[key] for key in ("episodes", "of", "already_done", "turns", "model_calls", "generated_tokens")
    } == {
        "episodes": 5,
        "of": 10,
        "already_done": 2,
        "turns": 10,
        "model_calls": 15,
        "generated_tokens": 50,
    }
    assert summary["status"] == {"completed": 4, "failed": 1}
    assert summary["stop_reasons"] == {"finished": 4, "failed": 1}
    assert summary["outcomes"] == {"X wins": 3, "draw": 1} and summary["failures"] == {"environment in x: boom": 1}
    assert summary["mean_reward"] == 0.75, "a failed episode deserves no score"
    assert (summary["seconds"], summary["episodes_per_s"], summary["tokens_per_s"]) == (4.0, 0.75, 7.5)
    assert tally.remaining_s == pytest.approx(5 * 4 / 3)


def test_nothing_played_has_no_figures() -> None:
    tally = tally_of()
    assert tally.mean_reward is None and tally.remaining_s is None and tally.summary()["mean_reward"] is None


def test_texts_that_all_differ_fill_no_memory() -> None:
    tally = tally_of(*[receipt(stop_text=f"text {n}") for n in range(1000)], *[failed("a" * n) for n in range(1, 1001)])
    tally.add(receipt(stop_text="text 0"))
    assert len(tally.by_outcome) == MAX_OUTCOMES and len(tally.failures.told()) == MAX_FAILURES
    assert tally.by_outcome["text 0"] == 2 and tally.by_status == {"completed": 1001, "failed": 1000}


def report(tally: Tally, terminal: bool) -> str:
    shown = io.StringIO()
    with Reporter(Console(file=shown, force_terminal=terminal, width=200), {"policy": "small"}) as reporter:
        reporter(tally, 7)
        reporter(tally, 7)
    return shown.getvalue()


def test_off_a_terminal_there_are_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.0)
    shown = report(tally_of(receipt(), receipt(reward=0.0)), terminal=False)
    assert shown == "episodes 2/10, 7 in flight, reward 0.500, 5 tok/s, 16s left\n" * 2


def test_off_a_terminal_lines_are_few() -> None:
    assert report(tally_of(receipt()), terminal=False) == ""


def test_on_a_terminal_there_is_a_panel() -> None:
    tally = tally_of(*[receipt()] * 3, receipt(stop_reason="max_turns", reward=0.0), failed("\x1b]0;boom\x07"))
    shown = report(tally, terminal=True)
    for part in ("5 of 10 episodes", "7 in flight", "policy: small", "finished 3", "max_turns 1", "mean 0.750 of 4"):
        assert part in shown
    assert "1 environment in x: \\x1b]0;boom" in shown and "\x1b]0;" not in shown, "nothing of it commands the terminal"
    assert "1 of 10 episodes" in report(tally_of(failed("x")), terminal=True)


@pytest.mark.parametrize(("seconds", "shown"), [(59.4, "59s"), (61, "1m01s"), (3599.6, "1h00m"), (7260, "2h01m")])
def test_durations_are_rounded_as_people_say_them(seconds: float, shown: str) -> None:
    assert panel._duration(seconds) == shown


def test_a_resumed_run_gets_its_chance() -> None:
    failed_before = [failed("boom")] * 40
    assert not Tally.of_resumed(100, failed_before).is_hopeless


def test_failures_that_differ_in_what_they_quote_are_one() -> None:
    quoted = [failed(f"the last: '{'x' * 45}{number}'") for number in range(5)]
    assert list(tally_of(*quoted).summary()["failures"].values()) == [5]


def test_failures_of_one_kind_are_one_with_an_example() -> None:
    of_code = [failed_by("tool a (x.py:3)", f"ValueError: no {'a' * number}") for number in range(5)]
    others = [failed_by("tool a (x.py:4)", "ValueError: no"), failed_by("tool a (x.py:3)", "KeyError")]
    elsewhere = [failed_by("model", f"HTTP 500 after {number}.5 s") for number in range(3)]
    assert tally_of(*of_code, *others, *elsewhere).summary()["failures"] == {
        "environment in tool a (x.py:3): ValueError, e.g. no ": 5,
        "environment in tool a (x.py:4): ValueError: no": 1,
        "environment in tool a (x.py:3): KeyError": 1,
        "environment in model: HTTP 500 after 0.5 s": 3,
    }


@pytest.mark.parametrize(
    ("where", "first", "second"),
    [
        (
            "E.f (env.py:3)",
            "it returned <E object at 0x7f01>, a E; expected",
            "it returned <E object at 0xfaab>, a E; expected",
        ),
        ("E.f (env.py:3)", "it returned 'abc', a str; expected 'x'", "it returned \"it's\", a str; expected 'x'"),
        ("model x", "HTTP 500: request id req_8fae12bc", "HTTP 500: request id req_011CSHoE-99"),
        ("tool a (my env.py:3)", "KeyError: 'a'", "KeyError: 'b'"),
    ],
)
def test_failures_that_tell_other_values_are_of_one_kind(where: str, first: str, second: str) -> None:
    told = tally_of(failed_by(where, first), failed_by(where, second)).summary()["failures"]
    assert told == {f"environment in {where}: {first}": 2}


@pytest.mark.parametrize(
    "messages",
    [
        [
            "ValueError: score() returned a number without a name",
            "ValueError: score() returned inf, which is no reward",
        ],
        ["ValueError: another reward for the policy", "ValueError: a reward for 'nobody'"],
        ["OSError", "OSError: no such file"],
        ["ValueError: it is 3", "ValueError: it is 4", "ValueError: it was 5"],
    ],
)
def test_the_message_of_some_failures_is_called_an_example(messages: list[str]) -> None:
    place = "E.score (env.py:3)"
    told = tally_of(*(failed_by(place, message) for message in messages)).summary()["failures"]
    kind = messages[0].partition(": ")[0]
    said = next(filter(None, (message.partition(": ")[2] for message in messages)))
    assert told == {f"environment in {place}: {kind}, e.g. {said}": len(messages)}


@pytest.mark.parametrize("where", ["agent python", "agent codex", "policy"])
def test_episodes_that_are_scored_in_spite_of_a_failure_have_not_failed(where: str) -> None:
    fault = f"policy in {where}: it ended with exit code 1"
    tally = tally_of(receipt(failure=fault), receipt(failure=fault), failed("boom"))
    assert tally.summary()["failures"] == {"environment in x: boom": 1}
    assert tally.summary()["scored_faults"] == {fault: 2}
    assert f"2 scored all the same: {fault}" in printed(tally) and printed(tally).count("failed: ") == 1


def test_verdicts_that_functions_did_not_give_are_counted_by_their_reason() -> None:
    """Its values alone, 0.0 of every episode, would not tell a verifier that is broken from a policy that is."""
    told = [f"v:equal (v.py:3): ValueError: could not parse {words}" for words in ("so one", "more words", "half")]
    late = "v:equal: gave nothing within 5 s"
    tally = tally_of(receipt(undecided=(late, told[0])), *(receipt(undecided=(one,)) for one in told[1:]), receipt())
    all_alike = "v:equal (v.py:3): ValueError, e.g. could not parse so one"
    assert list(tally.summary()["undecided"].items()) == [(all_alike, 3), (late, 1)], "the commonest comes first"
    assert f"warning: 3 verdicts are undecided: {all_alike}" in " ".join(printed(tally).split())
    assert f"warning: 1 verdict is undecided: {late}" in " ".join(printed(tally).split())
    tally.add(receipt(undecided=(told[0], late)), -1)  # its row was lost with its worker
    assert tally.summary()["undecided"] == {all_alike: 2}
    tally.already_done = 1
    assert "warning: 2 verdicts are undecided since the run was resumed: v:equal" in " ".join(printed(tally).split())


def test_failures_at_other_lines_or_of_other_types_are_of_other_kinds() -> None:
    lines = [failed_by(f"E.f (env.py:{line})", f"it returned 5, a {kind}") for line in (3, 4) for kind in ("int", "E")]
    assert set(tally_of(*lines).summary()["failures"].values()) == {1}
    assert kind_of("judge in j: it's A, and isn't") != kind_of("judge in j: it's B, and isn't"), "apostrophes"


def test_a_long_word_is_read_once() -> None:
    began = time.perf_counter()
    assert kind_of(f"environment in E.f: {'a' * 20_000}") == f"environment in E.f: {'a' * 20_000}"
    assert time.perf_counter() - began < 0.2


def failed_by(where: str, message: str) -> Receipt:
    return receipt(status="failed", failure=f"environment in {where}: {message}", reward=None)


def test_the_kinds_that_are_not_listed_are_counted_and_an_early_end_is_not_called_done() -> None:
    tally = tally_of(*[failed("a" * number) for number in range(1, 31)])
    assert "10 more failed in other ways" in printed(tally)
    assert "nothing was left" not in printed(tally_of(total=6))


def test_episodes_that_were_dropped_with_their_group_are_told_as_such_and_not_as_failed() -> None:
    dropped = receipt(status="dropped", failure="environment in group: 1 of 2 episodes failed, the first in x: boom")
    tally = tally_of(failed("boom"), dropped, receipt())
    assert tally.summary()["failures"] == {"environment in x: boom": 1}
    text = printed(tally)
    assert "1 dropped with their groups, not in the mean reward" in text
    assert text.count("failed:") == 1 and "1 of 3 episodes failed" in text


def printed(tally: Tally) -> str:
    shown = io.StringIO()
    print_summary(Console(file=shown), "run", {**tally.summary(), "interrupted": True, "models_without_token_ids": []})
    return shown.getvalue()


def test_a_long_failure_is_cut_where_it_is_told() -> None:
    row = failed_row(EpisodeSpec("e0", "group", "task", 0, 0, "{}"), "run", "env", "a " * 40_000)
    assert len(receipt_of(row).failure or "") < 700
    [told] = tally_of(receipt_of(row)).summary()["failures"]
    assert told.startswith("environment in record: a a") and told.endswith("... (80,023 characters)")


def test_rewards_out_of_range_are_counted() -> None:
    tally = Tally.of_resumed(10, [receipt(reward=2.0)], (0.0, 1.0))
    for reward in (0.0, 0.5, 1.0, -0.1, 1.1):
        tally.add(receipt(reward=reward))
    for others in ((0.0, 1.0), (0.5, 7.0), (-1.0, 7.0)):
        tally.add(receipt(reward=1.0, others=others))
    assert tally.summary()["reward_range"] == [0.0, 1.0] and Tally(1).summary()["reward_range"] == [None, None]
    assert tally.summary()["rewards_out_of_range"] == 5 and tally.summary()["rewarded"] == 9


def test_a_receipt_has_the_rewards_of_others() -> None:
    row = failed_row(EpisodeSpec("e0", "group", "task", 0, 0, "{}"), "run", "env", "stopped")
    rewards = [("policy", "reward", 1.0), ("policy", "style", 3.0), ("user", "reward", 7.0)]
    told = [{"participant": name, "name": part, "value": value} for name, part, value in rewards]
    assert receipt_of({**row, "rewards": told}).others == (7.0,) and receipt_of(row).others == ()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_with_what_to_do(number: int) -> None:
    assert "free some space, and resume the run with --resume" in remedy_of(OSError(number, "full"))
    assert remedy_of(OSError(number, "full"), "try again") == ": free some space, and try again"
    for other in (OSError(errno.EMFILE, "many"), OSError(errno.ENFILE, "many")):
        assert "files" in remedy_of(other) and remedy_of(other).endswith(", and resume the run with --resume")
    assert "raise `ulimit -n`, and try again" in remedy_of(OSError(errno.EMFILE, "many", "part.parquet"), "try again")
    assert remedy_of(OSError(errno.EACCES, "denied")) == remedy_of(None) == remedy_of(ValueError("x")) == ""


def test_a_run_of_failed_and_dropped_episodes_says_both() -> None:
    require_completed({"status": {"failed": 3, "dropped": 2, "completed": 1}})
    with pytest.raises(RunFailed, match=r"^every episode failed; "):
        require_completed({"status": {"failed": 3}})
    with pytest.raises(RunFailed, match=r"^every episode failed or was dropped with its group; "):
        require_completed({"status": {"failed": 3, "dropped": 1}})
