"""Serves what NeMo RL expects of an agent of NeMo Gym, and has a ray_gym service play the episodes.

    python -m ray_gym.trainers.nemo_rl.agent --url http://127.0.0.1:8000 --repeats 8 --forks longest --port 8200 \
        --tokenizer Qwen/Qwen3-0.6B --checkout NeMo-RL

runs in ray_gym's venv. A row of NeMo RL's data has `task`, with the fields of the environment's `task_schema`, beside
what NeMo Gym wants of it. The service's policy is NeMo RL's own vLLM server (`engine: vllm_endpoint`), so NeMo RL updates
its weights itself.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, get_args

from ray_gym.run.signals import end_on_signals, serve_until_signalled

if __name__ == "__main__":
    end_on_signals()  # the imports below take seconds, and a KeyboardInterrupt out of them would be a traceback

from ray_gym.client import Client, RolloutRequest, ServiceError
from ray_gym.deployments.chat.checkpoint import load_tokenizer
from ray_gym.errors import RunFailed, UserError
from ray_gym.printable import printable
from ray_gym.trainers.checkout import check_commit
from ray_gym.trainers.counts import add_and_say
from ray_gym.trainers.nemo_rl import TESTED
from ray_gym.trainers.nemo_rl.answers import answer_of
from ray_gym.trainers.nemo_rl.gathering import Gathering
from ray_gym.trainers.one_row import ForkChoice, Limits, OneRow
from ray_gym.trainers.rows import Row
from ray_gym.trainers.service import (
    check_drawn_at,
    check_repeats,
    check_served_environment,
    check_served_tokenizer,
    play,
)

LONGEST_BODY = 16_777_216
"""Most bytes of a request."""


class Agent:
    """Plays a task as often as is asked, as groups of a service."""

    def __init__(
        self, client: Client, forks: ForkChoice, temperature: float, longest: int | None, environment: str | None = None
    ) -> None:
        """Takes the client of the service, which sample of an episode with forks is trained on, the temperature and the
        most tokens of a sequence that NeMo RL trains with, and the name of an environment (None: the config's own).
        """
        self._client = client
        self._forks: ForkChoice = forks
        self._temperature = temperature
        self._longest = longest
        self._environment = environment
        self._lock = threading.Lock()
        self.counts = Counter[str]()
        """Counts of what was played and left out since the start; `OneRow.of` names them."""

    def check_parameters(self, given: Any) -> None:
        """Checks `responses_create_params` of a request, whose `top_p` and `max_output_tokens` are those of the
        service's config. Errors: UserError for a temperature that is not the agent's.
        """
        asked = given.get("temperature") if isinstance(given, dict) else None
        if asked is not None and asked != self._temperature:
            raise UserError(
                f"responses_create_params.temperature: {asked!r}, but the agent's --temperature is {self._temperature}; "
                "give both, and the service's config, the same"
            )

    def play(self, task: dict[str, Any], repeats: int) -> list[Row | None]:
        """Plays a group, and returns the row of each episode; None for one without. Errors: those of `play`."""
        given: dict[str, Any] = {} if self._environment is None else {"environment": self._environment}
        request = RolloutRequest(tasks=[task], repeats=repeats, seed=random.getrandbits(62), **given)
        [group] = play(self._client, request)
        check_drawn_at(group, self._temperature)
        rows, counts = OneRow(self._forks, Limits(self._longest)).of(group)
        with self._lock:
            add_and_say(self.counts, counts)
        return rows


def make_server(
    gathering: Gathering, host: str, port: int, check_parameters: Callable[[Any], None]
) -> ThreadingHTTPServer:
    """Returns a server that answers `POST /run`. `check_parameters`: raises UserError for what a request may not ask.

    An episode without a row is answered 500, which NeMo RL takes for a failure that is worth another try: an answer
    without generated tokens would end its step.
    """

    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            if self.path != "/run":
                self._answer(404, {"error": f"{self.path}: there is only /run"})
                return
            try:
                length = int(self.headers.get("Content-Length", 0))
                given = json.loads(self.rfile.read(min(length, LONGEST_BODY)))
                task, parameters = given["task"], given.get("responses_create_params", {"input": []})
                check_parameters(parameters)
                row = gathering.outcome(task)
            except (ValueError, KeyError, TypeError) as error:
                self._answer(422, {"error": f"a JSON object with task is expected: {error!r}"})
            except UserError as error:
                self._answer(422, {"error": str(error)})
            except ServiceError as error:
                self._answer(422 if 400 <= error.status < 500 else 500, {"error": f"the service: {error}"})
            except (RunFailed, OSError) as error:
                self._answer(500, {"error": str(error)})
            else:
                none = {"error": "the episode failed, or has no token to train on; the agent's log counts them"}
                self._answer(500, none) if row is None else self._answer(200, answer_of(row, parameters))

        def _answer(self, status: int, answer: dict[str, Any]) -> None:
            body = json.dumps(answer).encode()
            if status == 422:
                print(printable(f"{self.path}: {answer['error']}"), file=sys.stderr, flush=True)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Prints nothing: what is refused is printed with its reason."""

    return ThreadingHTTPServer((host, port), Door)


def check(client: Client, given: argparse.Namespace) -> None:
    """Checks that NeMo RL is of a commit that the bridge was tested with, and has the tokenizer of the service's model,
    and that the service has the environment.

    `given`: arguments of the command. Errors: UserError; those of the client.
    """
    check_repeats(given.repeats)
    check_commit("NeMo RL (--checkout)", given.checkout, TESTED, any_version=given.any_version)
    check_served_environment(client, given.environment)
    check_served_tokenizer(client, given.model, load_tokenizer(given.tokenizer).tokenizer)


def main(arguments: list[str]) -> int:
    """Serves until a signal stops it, and returns the exit code: 2 if the arguments don't fit."""
    parser = argparse.ArgumentParser(prog="python -m ray_gym.trainers.nemo_rl.agent", description=__doc__)
    parser.add_argument("--url", help="address of the service (default: RAY_GYM_URL)")
    parser.add_argument("--repeats", type=int, required=True, help="grpo.num_generations_per_prompt of NeMo RL")
    parser.add_argument("--tokenizer", required=True, help="policy.tokenizer.name of NeMo RL")
    parser.add_argument("--model", default="policy", help="name of the policy's model in the service's config")
    parser.add_argument("--checkout", type=Path, help="folder of NeMo RL, whose commit is checked")
    parser.add_argument("--any-version", action="store_true", help="accept every commit of NeMo RL")
    parser.add_argument("--temperature", type=float, default=1.0, help="policy.generation.temperature of NeMo RL")
    parser.add_argument("--longest", type=int, help="policy.max_total_sequence_length of NeMo RL")
    parser.add_argument("--forks", choices=get_args(ForkChoice), default="refuse")
    parser.add_argument("--environment", help="name of an environment of the service (default: its config's own)")
    parser.add_argument("--gather-s", type=float, default=10.0, help="seconds to wait for a group's other requests")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8200)
    given = parser.parse_args(arguments)
    return serve_until_signalled(lambda: serve(given))


def serve(given: argparse.Namespace) -> int:
    """Serves, and returns the exit code 2 if the arguments don't fit. `given`: those."""
    try:
        client = Client(given.url)
    except ValueError as error:
        print(printable(f"--url: {error}"), file=sys.stderr)
        return 2
    with client:
        try:
            check(client, given)
        except (UserError, ServiceError, OSError) as error:
            print(printable(str(error)), file=sys.stderr)
            return 2
        agent = Agent(client, given.forks, given.temperature, given.longest, given.environment)
        gathering = Gathering(agent.play, given.repeats, given.gather_s)
        with make_server(gathering, given.host, given.port, agent.check_parameters) as server:
            print(printable(f"ready: http://{given.host}:{server.server_address[1]}/run"), flush=True)
            server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
