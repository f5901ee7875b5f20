"""Each planted fault is found by the check that is there for it, and by no other; what is sound passes them all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from faulty_orders import (
    AgreesInTheSameWords,
    AsciiOnly,
    AsciiOnlyTool,
    AsksAJudge,
    AsksAJudgeOnly,
    BadEnd,
    BadPicture,
    BlockingTool,
    BroughtForNobody,
    ChangedTask,
    Connected,
    CountsItsReplays,
    FailsBehindItsJudge,
    FewTasks,
    ForNothing,
    GeneratorThatRemembers,
    HasAStopwatch,
    KeepsCookies,
    NarrowsToNoSchema,
    NeverHeardOfPairs,
    NeverScored,
    NoNumber,
    OddOutcome,
    OrderOfASet,
    OthersOutOfRange,
    OutOfRange,
    ReadsTheClock,
    ReadsTheClockInAThread,
    SaysWhatIsSoldInOtherWords,
    ScoredByABrokenFunction,
    SellsWhileItScores,
    SharedState,
    ShyBuyer,
    Sound,
    TellsALimit,
    TellsASecret,
    TellsAShortAnswer,
    TellsATranscript,
    TellsNobody,
    TellsOwnWords,
    TellsOwnWordsWithinALine,
    TellsQuotes,
    TellsWhatAToolSaid,
    TellsWithinALine,
    ToolForNobody,
    UnseededRandomness,
    WritesTheDate,
    WrongParticipant,
    WrongParticipantUnderANewId,
)

from ray_gym.check.all_checks import CHECKS, carry_out
from ray_gym.check.finding import Finding
from ray_gym.check.other_process import OtherProcess
from ray_gym.check.subject import subject_of
from ray_gym.environment import Options

TASKS = 3


@pytest.fixture(scope="module")
def other_process() -> Iterator[OtherProcess]:
    with OtherProcess() as process:
        yield process


async def found_in(environment_class: type[Sound], other_process: OtherProcess) -> dict[str, list[Finding]]:
    subject = subject_of(environment_class.__name__, environment_class, Options(), TASKS, seed=0)
    report = await carry_out(subject, other_process)
    assert [outcome.check for outcome in report.outcomes] == list(CHECKS)
    return {outcome.check.name: outcome.findings for outcome in report.outcomes if outcome.failed}


@pytest.mark.environments
async def test_a_sound_environment_passes(other_process: OtherProcess) -> None:
    assert await found_in(Sound, other_process) == {}
    assert await found_in(TellsQuotes, other_process) == {}
    assert await found_in(KeepsCookies, other_process) == {}
    assert await found_in(AgreesInTheSameWords, other_process) == {}


async def test_what_a_tool_did_may_be_told_in_other_words(other_process: OtherProcess) -> None:
    assert await found_in(SaysWhatIsSoldInOtherWords, other_process) == {}


async def test_what_was_made_is_closed(other_process: OtherProcess) -> None:
    assert await found_in(Connected, other_process) == {}
    assert Connected.open == set()


async def test_a_failure_before_anybody_speaks_is_no_matter_of_messages(other_process: OtherProcess) -> None:
    [found] = (await found_in(TellsNobody, other_process))["hooks"]
    assert found.where.startswith("TellsNobody.opening (faulty_orders.py:")
    assert "so nobody was asked anything (task 0, " in found.what
    assert found.mend.startswith("it fails before anybody has spoken")


async def test_what_is_behind_a_judge_is_looked_at(other_process: OtherProcess) -> None:
    found = await found_in(FailsBehindItsJudge, other_process)
    assert any("ZeroDivisionError" in one.what for one in found["hooks"]), found


async def test_perfect_players_whose_verdict_is_undecided_are_told_why(other_process: OtherProcess) -> None:
    [found] = (await found_in(ScoredByABrokenFunction, other_process))["score"]
    assert found.what.startswith("perfect players get 0, not the highest reward, 1; undecided: json:loads: JSONDecode")


@pytest.mark.environments
async def test_the_rewards_of_a_judge_at_random_are_chance(other_process: OtherProcess) -> None:
    report = await carry_out(subject_of("asks", AsksAJudgeOnly, Options(), TASKS, seed=0), other_process)
    assert [outcome.check.name for outcome in report.outcomes if outcome.failed] == []
    assert report.notes[-1].startswith("no perfect player of policy, user, judge (`perfect`)")


async def test_perfect_players_need_a_judge_who_is_no_player_at_random(other_process: OtherProcess) -> None:
    [found] = (await found_in(AsksAJudge, other_process))["score"]
    assert found.what.startswith("perfect players get 0, not the highest reward")
    assert found.mend == "let `perfect` give a player for each judge"


@pytest.mark.environments
@pytest.mark.parametrize(
    ("faulty", "check", "where", "what"),
    [
        (SharedState, "isolation", "SharedState", "of today's book"),
        (UnseededRandomness, "determinism", "UnseededRandomness", "UnseededRandomness.relay (faulty_orders.py:"),
        (OrderOfASet, "determinism", "OrderOfASet", "in another process it went another way"),
        (ReadsTheClock, "determinism", "ReadsTheClock", "calls time.time()"),
        (WritesTheDate, "determinism", "WritesTheDate", "calls time.strftime()"),
        (HasAStopwatch, "determinism", "HasAStopwatch", "calls time.monotonic()"),
        (ReadsTheClockInAThread, "determinism", "ReadsTheClockInAThread", "calls date.today()"),
        (CountsItsReplays, "replay", "CountsItsReplays", "recorded answers it went another way"),
        (WrongParticipant, "tools", "tool sell", "a call by user, for whom it is not declared, was carried out"),
        (
            WrongParticipantUnderANewId,
            "tools",
            "tool sell",
            "policy has a result of no call of its own, after a call by user",
        ),
        (TellsASecret, "leaks", "TellsASecret, to policy", "what only user was told: 'Your budget is"),
        (TellsWhatAToolSaid, "leaks", "TellsWhatAToolSaid, to user", "what only policy was told by sell: 'sold: "),
        (TellsAShortAnswer, "leaks", "TellsAShortAnswer, to user", "what only policy was told by sell: 'sold: "),
        (TellsALimit, "leaks", "TellsALimit, to policy", "told by count_coins: 'SECRET: the limit is 5'"),
        (TellsWithinALine, "leaks", "TellsWithinALine, to policy", "told by count_coins: 'SECRET: the limit is 5'"),
        (TellsOwnWordsWithinALine, "echoes", "TellsOwnWordsWithinALine, to ", "is told its own words: 'The "),
        (TellsOwnWords, "echoes", "TellsOwnWords, to ", "is told its own words: '"),
        (TellsATranscript, "echoes", "TellsATranscript, to ", "is told its own words: "),
        (SellsWhileItScores, "score", "SellsWhileItScores.score", "scored again, the same episode gets"),
        (OutOfRange, "score", "OutOfRange.score", "a reward of -0.5, out of the declared range 0 to 1"),
        (NeverScored, "score", "NeverScored.score", "failed by judge, who plays at random here"),
        (OthersOutOfRange, "score", "OthersOutOfRange.score", "a reward of 17 for user, out of the declared range"),
        (NoNumber, "score", "NoNumber.score", "score() returned nan"),
        (NeverHeardOfPairs, "score", "NeverHeardOfPairs.score_group", "returned 1 scores for 2 episodes"),
        (BlockingTool, "event loop", "tool sell (faulty_orders.py:", "it holds up the event loop for"),
        (AsciiOnly, "hooks", "AsciiOnly.relay", "'ascii' codec can't encode"),
        (AsciiOnlyTool, "tools", "tool sell", "'ascii' codec can't encode"),
        (ToolForNobody, "tools", "tool sweep", "it is for 'nobody', who does not take part"),
        (BroughtForNobody, "tools", "tool sweep", "it is for 'nobody', who does not take part"),
        (ForNothing, "score", "ForNothing.score", "a null policy got the highest reward in 3 of 3 episodes"),
        (ChangedTask, "task", "ChangedTask", "playing changes the task"),
        (FewTasks, "tasks", "FewTasks.generate", "only 20 of 100 tasks are different"),
        (GeneratorThatRemembers, "tasks", "GeneratorThatRemembers.generate", "is another one when it is generated"),
        (OddOutcome, "hooks", "OddOutcome.finished", "it returned True"),
        (NarrowsToNoSchema, "hooks", "NarrowsToNoSchema.narrow", "it returned ToolSchema(name='"),
        (BadPicture, "hooks", "BadPicture.render", "expected Markdown, Html or None"),
        (BadEnd, "hooks", "BadEnd.close", "it raises ConnectionError: nobody is there"),
        (ShyBuyer, "hooks", "the perfect player of user", "'ascii' codec can't encode"),
    ],
)
async def test_a_planted_fault_is_found(
    faulty: type[Sound], check: str, where: str, what: str, other_process: OtherProcess
) -> None:
    found = await found_in(faulty, other_process)
    assert list(found) == [check], found
    assert any(one.where.startswith(where) and what in one.what and one.mend for one in found[check]), found[check]
