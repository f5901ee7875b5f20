"""An agent of NeMo Gym plays by a service: what it answers, which requests are one group, and what fails."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("torch")
from handmade import handmade_groups, handmade_rows, save_tiny, tiny_model
from handmade_service import HandmadeService, serving

from ray_gym.client import Client
from ray_gym.trainers.nemo_rl.agent import Agent, main, make_server
from ray_gym.trainers.nemo_rl.answers import answer_of
from ray_gym.trainers.nemo_rl.gathering import Gathering
from ray_gym.trainers.one_row import OneRow

NEVER_S = 60.0
"""Seconds that no test waits for more requests."""


def test_an_answer_has_the_tokens_of_a_row_and_nothing_else() -> None:
    for group in handmade_groups(tiny_model(), version=3):
        for row in OneRow("longest").of(group)[0]:
            if row is None:
                continue
            answer = answer_of(row, {"input": []})
            seen: list[int] = []
            mask, logprobs = list[int](), list[float]()
            for item in answer["response"]["output"]:
                prompt, drawn = item["prompt_token_ids"], item["generation_token_ids"]
                assert prompt[: len(seen)] == seen, "prompts continue one another"
                heard = len(prompt) - len(seen)
                mask += [0] * heard + [1] * len(drawn)
                logprobs += [0.0] * heard + item["generation_log_probs"]
                seen = [*prompt, *drawn]
            assert (seen, mask) == (row.token_ids.tolist(), row.loss_mask.tolist())
            assert logprobs == row.logprobs.tolist() and answer["reward"] == row.reward
            assert answer["ray_gym"]["oldest_weight_version"] == 3


def test_requests_for_one_task_are_one_group_and_each_has_an_outcome() -> None:
    played: list[tuple[Any, int]] = []
    lock = threading.Lock()

    def play(task: dict[str, Any], repeats: int) -> list[str]:
        with lock:
            played.append((task["n"], repeats))
        return [f"{task['n']}-{number}" for number in range(repeats)]

    gathering = Gathering(play, most=4, within_s=NEVER_S)
    with ThreadPoolExecutor(8) as pool:
        found = sorted(pool.map(gathering.outcome, [{"n": number % 2} for number in range(8)]))
    assert sorted(played) == [(0, 4), (1, 4)]
    assert found == [f"{n}-{number}" for n in (0, 1) for number in range(4)]


def test_one_that_comes_alone_is_played_alone() -> None:
    assert Gathering(lambda task, repeats: [repeats], most=4, within_s=0).outcome({}) == 1


def test_an_error_is_that_of_all_requests() -> None:
    def play(task: dict[str, Any], repeats: int) -> list[Any]:
        raise OSError("away")

    gathering = Gathering(play, most=2, within_s=NEVER_S)
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(gathering.outcome, {}) for _ in range(2)]
    assert [str(one.exception()) for one in waiting] == ["away", "away"]


@contextmanager
def agent(service: HandmadeService, **options: Any) -> Iterator[tuple[str, Agent]]:
    with Client(service.url) as client:
        given = {"forks": "longest", "temperature": 1.0, "longest": None, **options}
        playing = Agent(client, **given)
        with make_server(Gathering(playing.play, 4, NEVER_S), "127.0.0.1", 0, playing.check_parameters) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_address[1]}", playing
            finally:
                server.shutdown()
                thread.join()


def run(url: str, tasks: list[Any]) -> list[httpx.Response]:
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda task: httpx.post(f"{url}/run", json=task, timeout=60), tasks))


def test_a_server_answers_each_episode_and_says_which_failed() -> None:
    with serving(handmade_rows(tiny_model())) as service, agent(service) as (url, playing):
        first = run(url, [{"task": {"n": 1}, "responses_create_params": {"input": "hello"}}] * 4)
        assert [answer.status_code for answer in first] == [200] * 4
        assert sorted(answer.json()["ray_gym"]["episode_id"] for answer in first) == ["0-0", "0-1", "0-2", "0-3"]
        assert first[0].json()["responses_create_params"] == {"input": "hello"}
        second = run(url, [{"task": {"n": 2}}] * 4)
        assert sorted(answer.status_code for answer in second) == [200, 200, 200, 500]
        assert [request["repeats"] for request in service.requests] == [4, 4]
        assert playing.counts["failed"] == 1 and playing.counts["forked"] == 2
        assert run(url, [{"no": "task"}])[0].status_code == 422


def test_what_can_not_be_trained_on_is_refused_with_its_reason() -> None:
    with serving(handmade_rows(tiny_model())) as service:
        for options, said in (({"forks": "refuse"}, "it has 2 samples"), ({"temperature": 0.7}, "drawn at 1.0")):
            with agent(service, **options) as (url, _):
                answers = run(url, [{"task": {}}] * 4)
            assert {answer.status_code for answer in answers} == {422} and said in answers[0].json()["error"]


def test_a_temperature_of_the_request_that_is_not_the_agents_is_refused() -> None:
    with serving(handmade_rows(tiny_model())) as service, agent(service) as (url, _):
        for given, status in (({"temperature": 0.5}, 422), ({"temperature": 1.0, "top_p": 1.0}, 200)):
            answers = run(url, [{"task": {"n": 1}, "responses_create_params": given}] * 4)
            assert {answer.status_code for answer in answers} == {status}
            assert status == 200 or "--temperature is 1.0" in answers[0].json()["error"]


def test_what_the_service_refuses_is_told() -> None:
    with serving(handmade_rows(tiny_model())) as service, agent(service, environment="other") as (url, _):
        answers = run(url, [{"task": {"n": 1}}] * 4)
        assert {answer.status_code for answer in answers} == {422}
        assert "422 unknown_environment: other" in answers[0].json()["error"]


def test_another_tokenizer_and_another_commit_are_named_before_it_serves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = str(save_tiny(tmp_path / "own"))
    with serving([]) as service:

        def said(*arguments: str) -> str:
            assert main(["--url", service.url, "--repeats", "4", "--tokenizer", own, *arguments]) == 2
            told = capsys.readouterr().err
            assert "usage:" not in told
            return told.splitlines()[-1]

        assert "NeMo RL (--checkout): the bridge was tested with 7ea279abf; name the folder" in said()
        assert "is no checkout of git, and the bridge was tested with 7ea279abf" in said("--checkout", str(tmp_path))
        assert "there is no folder nowhere" in said("--checkout", "nowhere")
        assert "repeats: 1; an episode that is alone" in said("--repeats", "1")
        assert "the service has no 'other'; it has mine" in said("--any-version", "--environment", "other")
        assert "there is no such folder" in said("--any-version", "--tokenizer", str(tmp_path / "nowhere"))
        service.tokenizer.add_tokens(["<another>"])
        assert "models.policy: its tokenizer differs from the trainer's: 259 tokens" in said("--any-version")
