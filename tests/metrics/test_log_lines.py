"""Log lines say what they speak of, whoever writes them."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from errands import Errand, played, setup_of_errands

from ray_gym.config import LogSection
from ray_gym.logs import OURS, about, configure, is_json
from ray_gym.run.lease import EpisodeKey
from ray_gym.run.worker import Report, StagedFile, Worker

logger = logging.getLogger("ray_gym.tests")


Said = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _logging_is_as_before() -> Iterator[None]:
    root, levels = logging.getLogger(), {name: logging.getLogger(name).level for name in OURS}
    handlers = list(root.handlers)
    yield
    root.handlers[:] = handlers
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


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
    failed = "the episode is failed: environment in Broken.score: KeyError: 'total'"
    for number in range(2):
        assert ("about to break", f"e{number}", 0) in spoken
        assert (failed, f"e{number}", 0) in spoken
        assert ("its worker 1-0 is lost; the episode goes on elsewhere", f"e{number}", 0) in spoken
    assert (f"a row of an attempt that does not count: {stale.name} is refused", "e0", 7) in spoken
    assert ("worker 1-0 is lost: killed; 2 episodes go on elsewhere", None, None) in spoken
