"""Checks wrong input: it gives one clear message within seconds and exit code 2, and nothing is written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ray_gym.cli import main

REPOSITORY = Path(__file__).parents[2]
RANDOM = "{engine: scripted, player: 'ray_gym.envs.tic_tac_toe.players:random_player'}"
GOOD = """\
environment: {id: tic_tac_toe}
tasks: {generate: 2}
models:
  small: MODEL
participants:
  policy: {model: small}
  user: {model: small}
output: {dir: runs}
"""
SECONDS = 10


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


class Folder:
    """A folder of a user with a config, and the command run in it."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = path
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        self.write()

    def write(self, text: str = GOOD, model: str = RANDOM) -> None:
        (self.path / "mine.yaml").write_text(text.replace("MODEL", model))

    def files(self) -> set[str]:
        return {str(file.relative_to(self.path)) for file in self.path.rglob("*") if "__pycache__" not in file.parts}

    def run(self, *arguments: str) -> Ended:
        """Runs the command within this process."""
        with self._monkeypatch.context() as patch:
            patch.chdir(self.path)
            patch.setattr(sys, "argv", ["ray-gym", *arguments])
            patch.setattr(sys, "path", list(sys.path))
            self._capsys.readouterr()
            with pytest.raises(SystemExit) as ended:
                main()
        shown = self._capsys.readouterr()
        return Ended(int(ended.value.code or 0), shown.out, shown.err)

    def spawn(self, *arguments: str, **environment: str) -> Ended:
        """Runs the command as a process of its own."""
        command = [sys.executable, "-m", "ray_gym", *arguments]
        variables = {**os.environ, "PYTHONPATH": str(REPOSITORY), **environment}
        done = subprocess.run(
            command, cwd=self.path, env=variables, capture_output=True, text=True, timeout=90, check=False
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def refuses(self, *arguments: str, told: str, spawn: bool = False, **environment: str) -> None:
        """The command with these arguments says `told`, once, and changes nothing."""
        before, began = self.files(), time.monotonic()
        ended = self.spawn(*arguments, **environment) if spawn else self.run(*arguments)
        took = time.monotonic() - began
        assert ended.code == 2, ended
        assert told in ended.err, ended.err
        assert ended.err.count("ray-gym: ") == 1 and ended.err.startswith("ray-gym: "), ended.err
        assert "Traceback" not in ended.err + ended.out
        assert ended.out == "" and self.files() == before
        assert took < SECONDS


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.delenv("RAY_JOB_CONFIG_JSON_ENV_VAR", raising=False)
    return Folder(tmp_path, capsys, monkeypatch)


OVERRIDES = {
    "tasks.limitt=3": "'tasks.limitt=3': tasks.limitt: unknown key; did you mean 'limit'?",
    "tasks.limit=some": "'tasks.limit=some': tasks.limit: Input should be a valid integer",
    "models.${oc.env:X}.engine=x": "${...} is read in values, not in keys; write the key itself",
    "tasks.limit": "'tasks.limit' is not an override; write key=value, e.g. tasks.limit=8",
    "tasks.limit=[1": "'tasks.limit=[1' is not an override that can be read: ",
    "tasks.path=rows.jsonl": "'tasks.path=rows.jsonl': tasks: set one of path (a file) and generate (a number)",
    "fanout.workers=1e9": "'fanout.workers=1e9': fanout.workers: Input should be less than or equal to 10000",
    "environment.id=chess": "environment.id: there is no environment 'chess'; known: ",
    "environment.legal_moves=true": "'environment.legal_moves=true': environment.legal_moves: unknown key; did you mean "
    "'legal_moves_only'?",
    "models.small.engine=vlllm": "mine.yaml: models.small.engine: there is no engine 'vlllm'; did you mean 'vllm'?",
    "participants.policy.model=smal": "mine.yaml: participants.policy.model: there is no model 'smal' under models; "
    "did you mean 'small'?",
    "participants.judge.model=small": "mine.yaml: participants.judge: tic_tac_toe has no such participant",
}


@pytest.mark.parametrize("command", ["rollout", "config"])
@pytest.mark.parametrize("override", OVERRIDES)
def test_wrong_overrides(folder: Folder, command: str, override: str) -> None:
    folder.refuses(command, "mine.yaml", override, told=OVERRIDES[override])


def test_a_key_that_is_not_known_as_a_process(folder: Folder) -> None:
    folder.write(GOOD.replace("output:", "ouput:"))
    folder.refuses("rollout", "mine.yaml", told="mine.yaml: ouput: unknown key; did you mean 'output'?", spawn=True)


@pytest.mark.parametrize(
    ("command", "where"),
    [
        (["rollout", "mine.yaml", "environment.id=faulty_made:Made"], "environment.id: faulty_made:Made"),
        (["config", "mine.yaml", "environment.id=faulty_made:Made"], "environment.id: faulty_made:Made"),
        (["serve", "mine.yaml", "environment.id=faulty_made:Made"], "environment.id: faulty_made:Made"),
        (["check-env", "faulty_made:Made"], "ID: faulty_made:Made"),
        (["data", "validate", "rows.jsonl", "--env", "faulty_made:Made"], "--env faulty_made:Made"),
        (["config", "mine.yaml", "models.small.engine=faulty_made:Engine"], "mine.yaml: models.small.engine"),
    ],
)
def test_an_exception_of_a_constructor_has_its_place(folder: Folder, command: list[str], where: str) -> None:
    """The environment's constructor raises; so does that of an engine."""
    (folder.path / "rows.jsonl").write_text("{}\n")
    (folder.path / "faulty_made.py").write_text(
        "from ray_gym.envs.tic_tac_toe.environment import TicTacToe\n\n\n"
        "class Made(TicTacToe):\n    def __init__(self, options):\n        1 / 0\n\n\n"
        "class Engine(Made):\n    class Options(Made.Options, extra='allow'):\n        pass\n"
    )
    name = "Engine" if "engine" in where else "Made"
    told = f"{where}: {name}.__init__ failed: ZeroDivisionError: division by zero (faulty_made.py:6)"
    folder.refuses(*command, told=told)


def test_an_exception_of_a_validator_has_its_place(folder: Folder) -> None:
    (folder.path / "faulty_options.py").write_text(
        "from pydantic import BaseModel, field_validator\n"
        "from ray_gym.envs.tic_tac_toe.environment import TicTacToe\n\n\n"
        "class Options(BaseModel):\n    size: int = 1\n\n    @field_validator('size')\n    @classmethod\n"
        "    def check(cls, size):\n        return 1 / 0\n\n\n"
        "class Shop(TicTacToe):\n    Options = Options\n"
    )
    folder.refuses(
        "config",
        "mine.yaml",
        "environment={id: 'faulty_options:Shop', size: 3}",
        told="environment.Options failed: ZeroDivisionError: division by zero (faulty_options.py:11)",
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["rollout", "--nosuch"], "No such option: --nosuch; see `ray-gym rollout --help`"),
        (["frobnicate"], "No such command 'frobnicate'; see `ray-gym --help`"),
        (["export"], "Missing argument 'RUN'; see `ray-gym export --help`"),
        (["rollout", ""], "give a CONFIG to play, or --resume RUN to resume one"),
        (["check-env", "X"], "ID: there is no environment 'X'"),
        (["check-env", "aviary"], "--option environment=VALUE: missing, and aviary needs it"),
        (["check-env", "tic_tac_toe", "--tasks-file", "nosuch"], "--tasks-file: there is no file nosuch"),
        (["new-env", "shop", "--dir", "/proc"], "--dir: can't write /proc/shop: "),
    ],
)
def test_wrong_words(folder: Folder, arguments: list[str], told: str) -> None:
    folder.refuses(*arguments, told=told)


def test_a_command_without_words_prints_its_help(folder: Folder) -> None:
    ended = folder.run()
    assert ended.code == 2 and "rollout" in ended.out and ended.err == ""


def test_an_object_store_without_a_bucket(folder: Folder) -> None:
    folder.refuses("rollout", "mine.yaml", "output.dir=s3://", "run.name=a", told="output.dir: s3:///a names no bucket")


def test_a_config_that_is_not_utf_8(folder: Folder) -> None:
    (folder.path / "mine.yaml").write_bytes(b"run: {name: \xff}")
    folder.refuses("rollout", "mine.yaml", told="mine.yaml: it is not UTF-8 (invalid start byte at byte 12); save it")


def test_a_missing_participant(folder: Folder) -> None:
    folder.write(GOOD.replace("  user: {model: small}\n", ""))
    told = "mine.yaml: participants.user: missing; tic_tac_toe is played by policy and user"
    folder.refuses("rollout", "mine.yaml", told=told)


def test_files_that_are_not_there(folder: Folder) -> None:
    folder.refuses("rollout", "min.yaml", told="min.yaml: there is no such config file; did you mean mine.yaml?")
    folder.write(GOOD.replace("generate: 2", "path: absent.jsonl"))
    folder.refuses("rollout", "mine.yaml", told="tasks.path: there is no file absent.jsonl")
    folder.refuses(
        "show", "runs/none", told="runs/none is no run directory (it has no folder episodes/); nothing is there"
    )
    folder.refuses("rollout", "--resume", "runs/none", told="--resume: runs/none is no run directory")
    folder.refuses("rollout", told="give a CONFIG to play, or --resume RUN")


def test_what_is_no_yaml(folder: Folder) -> None:
    for text in ("a: [1\n", "- 1\n", "words\n", "3\n", ""):
        folder.write(text)
        folder.refuses("rollout", "mine.yaml", told="mine.yaml:")


def test_a_bad_row_as_a_process(folder: Folder) -> None:
    folder.write(GOOD.replace("generate: 2", "path: games.jsonl"))
    rows = [{"initial_moves": []}, {"initial_moves": [{"position": 9, "mark": "X"}]}]
    (folder.path / "games.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = "games.jsonl:2: initial_moves.0.position: Input should be less than or equal to 8 (found 9)"
    folder.refuses("rollout", "mine.yaml", told=told, spawn=True)


def test_an_environment_of_ones_own_that_is_broken(folder: Folder) -> None:
    (folder.path / "my_broken_env.py").write_text("import no_such_package\n")
    folder.refuses(
        "rollout", "mine.yaml", "environment.id=my_broken_env:Mine", told="environment.id: can't import my_broken_env"
    )
    (folder.path / "my_raising_env.py").write_text("raise RuntimeError('boom')\n")
    told = "environment.id: importing my_raising_env failed: RuntimeError: boom"
    folder.refuses("rollout", "mine.yaml", "environment.id=my_raising_env:Mine", told=told)


def test_a_sampling_seed_on_a_cpu(folder: Folder) -> None:
    folder.write(model="{engine: vllm, model: smollm2-135m-instruct, gpus: 0}")
    told = "participants.user.sampling.seed: vLLM on CPU can't take a seed for a request"
    folder.refuses("rollout", "mine.yaml", "participants.user.sampling.seed=1", told=told)


def test_a_model_that_is_not_found(folder: Folder) -> None:
    folder.write(model="{engine: vllm, model: ./no/such/model, gpus: 0}")
    folder.refuses("rollout", "mine.yaml", told="models.small.model: no/such/model is no checkpoint")


def test_a_relative_output_directory_under_a_submitted_job(folder: Folder) -> None:
    told = "output.dir: runs is relative, and this is a submitted job"
    folder.refuses("rollout", "mine.yaml", told=told, spawn=True, RAY_JOB_CONFIG_JSON_ENV_VAR="{}")


@pytest.mark.ray
def test_a_run_name_that_exists(folder: Folder, cluster: dict[str, str]) -> None:
    (folder.path / "runs" / "first").mkdir(parents=True)
    told = f"run.name: there is a run 'first' in {folder.path / 'runs'} already; resume it by `ray-gym rollout --resume"
    folder.refuses("rollout", "mine.yaml", "run.name=first", told=told, spawn=True, **cluster)


def test_options_that_there_are_not(folder: Folder) -> None:
    ended = folder.run("rollout", "--resum", "x")
    assert ended.code == 2 and "--resume" in ended.err and "Traceback" not in ended.err


def test_a_deadline_of_a_wait_that_is_none(folder: Folder) -> None:
    folder.write()
    folder.refuses("rollout", "mine.yaml", "--wait-deadline", "5", told="--wait-deadline: goes with --wait")


# ---- endpoints ----


@contextmanager
def endpoint(status: int, body: str) -> Iterator[str]:
    """Yields an address that answers every request with one status and text."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        do_POST = do_GET

        def log_message(self, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "body", "field", "told"),
    [
        (401, '{"error": {"message": "no key"}}', "api_key_env", "answered HTTP 401: no key"),
        (404, "Not Found", "base_url", "answered HTTP 404: Not Found; base_url usually ends with /v1"),
        (200, "<html>hello</html>", "base_url", "answered GET /models with something that is not a list of models"),
        (200, '{"object": "list", "data": [{"id": "large"}]}', "model", "has no model 'm'"),
        (500, "oops", "base_url", "answered HTTP 500: oops; the endpoint is broken or still starting"),
    ],
)
def test_endpoints_that_answer_wrongly(folder: Folder, status: int, body: str, field: str, told: str) -> None:
    with endpoint(status, body) as url:
        folder.write(model=f"{{engine: openai, base_url: '{url}', model: m}}")
        folder.refuses("rollout", "mine.yaml", told=f"models.small.{field}: {url} {told}")


def test_an_endpoint_that_is_down(folder: Folder) -> None:
    with endpoint(200, "") as url:
        pass
    folder.write(model=f"{{engine: openai, base_url: '{url}', model: m}}")
    folder.refuses("rollout", "mine.yaml", told=f"models.small.base_url: {url} can't be reached")


# ---- what only a cluster knows ----


@pytest.mark.ray
@pytest.mark.parametrize(
    ("model", "told"),
    [
        (
            "{engine: vllm, model: smollm2-135m-instruct, gpus: 64, replicas: 2}",
            "models: they ask for 128 GPUs (small 128) and the cluster has",
        ),
        ("{engine: vllm, app: no-such-app}", "models.small.app: no Serve application 'no-such-app' is up; "),
    ],
    ids=["more GPUs than there are", "an app that is not up"],
)
def test_what_the_cluster_does_not_have(folder: Folder, cluster: dict[str, str], model: str, told: str) -> None:
    folder.write(model=model)
    before = folder.files()
    ended = folder.spawn("rollout", "mine.yaml", **cluster)
    assert ended.code == 2 and told in ended.err and "Traceback" not in ended.err + ended.out
    assert ended.err.count("ray-gym: ") == 1
    assert folder.files() == before, "nothing is written"


@pytest.mark.parametrize("arguments", [["rollout", "mine.yaml"], ["config", "mine.yaml"], ["doctor", "mine.yaml"]])
def test_ctrl_c_ends_with_1_and_a_line(folder: Folder, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(given: Path) -> Path:
        raise KeyboardInterrupt

    for module in ("app", "configs", "doctor"):
        monkeypatch.setattr(sys.modules[f"ray_gym.cli.{module}"], "find_config", interrupted)
    ended = folder.run(*arguments)
    assert (ended.code, ended.err) == (1, "ray-gym: interrupted\n")
