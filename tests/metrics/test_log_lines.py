"""Log lines say what they speak of, whoever writes them."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import kept_variables
from errands import LIMITS, SPECS, Errand, Walker, played, setup_of_errands

from ray_gym.config.interpolations import Interpolation
from ray_gym.config.sections import GroupsSection, LogSection, ParticipantSection, RetriesSection
from ray_gym.episode.participant import Participant
from ray_gym.episode.stage import Stage
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.journal.call_log import CallLog
from ray_gym.logs import about, configure, is_json, last_words, leave_out_of_ray
from ray_gym.play.commands import TakeTurn
from ray_gym.play.session import CommandSession
from ray_gym.run.lease import EpisodeKey, Lease
from ray_gym.run.worker.player import LeasePlayer
from ray_gym.run.worker.report import Report, StagedFile
from ray_gym.run.worker.worker import Worker

logger = logging.getLogger("ray_gym.tests")


Said = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _logging_is_as_before() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("ray_gym")
    handlers, level = list(root.handlers), ours.level
    yield
    root.handlers[:] = handlers
    ours.setLevel(level)


def lines(said: Said) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.readouterr().err.splitlines()]


async def test_each_task_speaks_of_its_own_episode(capsys: Said) -> None:
    configure(LogSection(format="json"), run="r1", worker="1-0")

    async def play(episode: str) -> None:
        with about(episode=episode, attempt=2):
            await asyncio.sleep(0)
            logger.info("one\nline: %s", episode)
            await asyncio.to_thread(logger.warning, "from a thread")

    await asyncio.gather(*(play(f"e{number}") for number in range(3)))
    logger.info("of no episode", extra={"data": {"figure": 1}})
    written = lines(capsys)
    assert all(line["run"] == "r1" and line["worker"] == "1-0" for line in written) and len(written) == 7
    assert [line.get("episode") for line in written if line["level"] == "info"] == ["e0", "e1", "e2", None]
    assert sorted(line["episode"] for line in written if line["level"] == "warning") == ["e0", "e1", "e2"]
    assert written[0]["message"] == "one\nline: e0" and written[0]["attempt"] == 2
    (last,) = (line for line in written if line["message"] == "of no episode")
    assert "episode" not in last and last["figure"] == 1 and last["logger"] == "ray_gym.tests"


def test_a_traceback_and_what_json_can_not_say_are_on_the_line(capsys: Said) -> None:
    configure(LogSection(format="json"))
    try:
        raise KeyError("total")
    except KeyError:
        logger.exception("it broke", extra={"data": {"path": Path("/somewhere")}})
    (line,) = lines(capsys)
    assert line["level"] == "error" and "KeyError: 'total'" in line["traceback"] and line["path"] == "/somewhere"


def test_a_traceback_commands_no_terminal(capsys: Said) -> None:
    configure(LogSection())
    try:
        raise ValueError("bad \x1b]0;title\x07 \u202e text")
    except ValueError:
        logger.exception("it broke: %s", "\x1b[2J")
    said = capsys.readouterr().err
    assert r"ValueError: bad \x1b]0;title\x07 \u202e text" in said and said.isprintable() is False
    assert not set(said) & {"\x1b", "\x07", "\u202e"} and said.count("\n") > 3


def test_plain_lines_are_for_people(capsys: Said) -> None:
    configure(LogSection(), run="r1")
    logger.debug("too much")
    with about(episode="e1", attempt=0):
        logger.warning("hm")
    configure(LogSection(level="error"))
    logger.warning("no more")
    assert capsys.readouterr().err[8:] == " warning: hm [run=r1 episode=e1 attempt=0]\n" and not is_json()


class Broken(Errand):
    """Its author logs, too."""

    def score(self, state: None, episode: Any) -> float:
        logging.getLogger("shop").warning("about to break")
        raise KeyError("total")


@pytest.mark.parametrize("form", ["plain", "json"])
def test_values_of_the_environment_are_shown_as_the_config_has_them(capsys: Said, form: Any) -> None:
    key = Interpolation(
        ("models", "far", "base_url"),
        "http://a.test/${oc.env:KEY}/v1",
        'http://a.test/hunter"2-secret/v1',
        {"KEY": 'hunter"2-secret'},
    )
    configure(LogSection(format=form), (key,), run="r1")
    logger.warning("%s gives no token ids", 'http://a.test/hunter"2-secret/v1')
    said = capsys.readouterr().err
    assert "secret" not in said and "http://a.test/${oc.env:KEY}/v1 gives no token ids" in said


async def test_lines_of_a_worker_and_a_driver_name_episode_and_attempt(capsys: Said, tmp_path: Path) -> None:
    made, commits, _ = setup_of_errands(
        tmp_path, None, environment=Broken(), log=LogSection(format="json", level="debug")
    )
    worker = Worker("1-0", made, 2)
    await worker.hello()
    report = await played(worker, commits, "1-0", 2)
    await commits.take("1-0", report)
    stale = StagedFile("part-1-0-00000.parquet", (EpisodeKey("e0", 7),))
    (Path(commits.directory.location) / made.storage.staging / stale.name).touch()
    await commits.take("1-0", Report(staged=[stale]))
    await worker.close()
    await commits.lose("1-0", "killed")
    spoken = [(line["message"], line.get("episode"), line.get("attempt")) for line in lines(capsys)]
    line = Broken.score.__code__.co_firstlineno + 2
    failed = f"the episode is failed: environment in Broken.score (test_log_lines.py:{line}): KeyError: 'total'"
    for number in range(2):
        assert ("about to break", f"e{number}", 0) in spoken
        assert (failed, f"e{number}", 0) in spoken
        assert ("its worker 1-0 is lost; the episode goes on elsewhere", f"e{number}", 0) in spoken
    assert (f"a row of an attempt that does not count: {stale.name} is refused", "e0", 7) in spoken
    assert ("worker 1-0 is lost: killed; 2 episodes go on elsewhere", None, None) in spoken


@pytest.mark.parametrize(
    ("given", "verbosity"),
    [
        ({}, "ERROR"),
        ({"GRPC_VERBOSITY": "INFO"}, "INFO"),
        ({"GRPC_TRACE": "http"}, None),
        ({"GRPC_TRACE": ""}, "ERROR"),
    ],
)
def test_what_is_left_out_of_ray_stays_as_the_user_sets_it(given: dict[str, str], verbosity: str | None) -> None:
    with kept_variables() as patch:
        for name in ("GRPC_VERBOSITY", "GRPC_TRACE"):
            patch.delenv(name, raising=False)
        for name, value in given.items():
            patch.setenv(name, value)
        leave_out_of_ray()
        assert os.environ.get("GRPC_VERBOSITY") == verbosity


def test_last_words_wait_for_nobody(capfd: pytest.CaptureFixture[str]) -> None:
    """Last words do not wait for the log's lock, since the thread that holds it may be stuck."""
    configure(LogSection(format="json"), run="r1")
    (handler,) = (each for each in logging.getLogger().handlers if type(each).__module__ == "ray_gym.logs")
    spoken = threading.Thread(
        target=last_words, args=("ray_gym.run.worker.worker", "stuck"), kwargs={"episode": "e1"}, daemon=True
    )
    assert handler.lock is not None
    with handler.lock:
        spoken.start()
        spoken.join(20)
    line = json.loads(capfd.readouterr().err)
    assert (line["message"], line["run"], line["episode"]) == ("stuck", "r1", "e1") and not spoken.is_alive()


async def test_lines_of_a_session_name_it_whoever_gives_the_commands(capsys: Said) -> None:
    class Watchful(Errand):
        def finished(self, state: None, episode: Any) -> None:
            logging.getLogger("shop").warning("looked")

    configure(LogSection(format="json"))
    cast = {"policy": Participant.from_config("policy", ParticipantSection(model="m"), LIMITS)}
    session = CommandSession(SPECS[3], Stage(Watchful(), cast, {"m": Walker()}, LIMITS), CallLog("e3"))
    await session.open()
    capsys.readouterr()
    await session.perform("k", TakeTurn("policy"))
    await session.close()
    spoken = {(line["message"], line.get("episode"), line.get("attempt")) for line in lines(capsys)}
    assert spoken == {("looked", "e3", 0)}


async def test_a_new_try_of_a_group_s_member_names_that_member(capsys: Said) -> None:
    class Left(Errand):
        def score(self, state: None, episode: Any) -> float:
            raise EpisodeFailure(FailureKind.USER, "user", "it left")

    configure(LogSection(format="json"))
    limits = LIMITS.model_copy(update={"retries": RetriesSection(user=0)})
    cast = {"policy": Participant.from_config("policy", ParticipantSection(model="m"), limits)}
    stage = Stage(Left(), cast, {"m": Walker()}, limits)
    player = LeasePlayer(stage, GroupsSection(incomplete="wait", extra_tries=1), None, None)
    with about(episode="of whom the last line spoke"):
        await player.close_group([await player.play(Lease(spec)) for spec in SPECS[:2]])
    tries = [(line["message"].partition(":")[0], line["episode"]) for line in lines(capsys) if "try" in line["message"]]
    assert sorted(tries) == [("try 1 of the episode", "e0"), ("try 1 of the episode", "e1")]
