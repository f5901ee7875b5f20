"""Checks what `ray-gym score` prints and writes, and its exit codes."""

from __future__ import annotations

import asyncio
import io
import json
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import ray
import yaml
from adding_up import Sums, mumbling, off_by
from recorded_runs import config_of, record, rows_of
from rich.console import Console

from ray_gym import Episode, Score
from ray_gym.cli import main
from ray_gym.cli.score import needs_cluster
from ray_gym.cli.show import show_run
from ray_gym.graders import Library
from ray_gym.load import load
from ray_gym.models.player import Player
from ray_gym.plugins import find_engine

Shell = Callable[..., tuple[int, str]]


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The command in a folder; gives its exit code and all that it said."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str]:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["ray-gym", "score", *arguments])
            patch.setattr(sys, "path", list(sys.path))
            with pytest.raises(SystemExit) as ended:
                main()
        shown = capsys.readouterr()
        said = shown.out + shown.err
        assert "Traceback" not in said
        return int(ended.value.code or 0), said

    return run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    casts: list[dict[str, Player]] = [{}, {"judge": mumbling}, {"policy": off_by(1)}]
    config = config_of(tmp_path, "adding_up:Sums", {"judge": True}, groups={"incomplete": "drop"})
    return asyncio.run(record(config, casts))


def test_a_run_is_scored_with_a_judge_in_this_process(shell: Shell, run: Path) -> None:
    code, said = shell("run", "-o", "there/mended", "--only-failed-judges", "models.judge.player=adding_up:lenient")
    assert code == 0 and "2 episodes scored again, 4 copied, 6 changed" in said
    assert "0 answers from the record, 2 asked now" in said and "copied: 4 dropped (judge)" in said
    mended = run.parent / "there" / "mended"
    assert {row["status"] for row in rows_of(mended)} == {"completed"}
    summary, plan = (json.loads((mended / name).read_text()) for name in ("summary.json", "plan.json"))
    assert plan["scored_from"] == summary["scored_from"]["run"] == str(run)
    assert summary["scored_from"]["judge_calls"] == 2 and summary["status"] == {"completed": 6}
    kept = yaml.safe_load((mended / "run.yaml").read_text())
    assert kept["models"]["judge"]["player"] == "adding_up:lenient" and kept["run"]["name"] == "mended"
    code, said = shell("there/mended", "-o", "again")
    assert code == 0 and "0 changed" in said


def test_a_run_that_is_not_finished_is_scored_and_said_to_lack_episodes(shell: Shell, run: Path) -> None:
    (run / "summary.json").unlink(missing_ok=True)
    plan = json.loads((run / "plan.json").read_text())
    (run / "plan.json").write_text(json.dumps({**plan, "episodes": 800}))
    code, said = shell("run", "-o", "again", "models.judge.player=adding_up:lenient")
    assert code == 0 and "the run is not finished: 6 of 800 episodes; if nothing plays it, resume it" in " ".join(
        said.split()
    )


@pytest.mark.parametrize(
    ("has_summary", "told"),
    [
        (False, "it has no episodes yet; if nothing plays it, resume it with `ray-gym rollout --resume "),
        (
            True,
            "summary.json counts 6 episodes, and there are none in episodes/: put the files back, or play them anew with ",
        ),
    ],
)
def test_a_run_without_episodes_is_not_scored(shell: Shell, run: Path, has_summary: bool, told: str) -> None:
    for file in (run / "episodes").glob("*.parquet"):
        file.unlink()
    (run / "summary.json").unlink(missing_ok=True)
    if has_summary:
        (run / "summary.json").write_text(json.dumps({"episodes": 6}))
    code, said = shell("run", "-o", "again")
    assert code == 2 and told in said and "scored again" not in said
    assert not (run.parent / "again").exists()


def test_failures_and_rewards_out_of_range_are_told_as_of_a_rollout(
    shell: Shell, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Sums, state: object, episode: object) -> float:
        raise ValueError("there is no scale")

    monkeypatch.setattr(Sums, "reward_range", (0.0, 1.0))
    monkeypatch.setattr(Sums, "score", lambda self, state, episode: 7.0)
    code, said = shell("run", "-o", "far")
    assert code == 0 and "now, of 6 episodes" in said
    assert "6 rewards are outside of the environment's reward_range" in said and "failed" not in said
    out = io.StringIO()
    show_run(Console(file=out, width=160), load(run.parent / "far"))
    assert "\n6 rewards are outside of the environment's reward_range\n" in out.getvalue()
    monkeypatch.setattr(Sums, "score", broken)
    code, said = shell("run", "-o", "broken")
    assert code == 1 and "6 of 6 episodes failed and have no reward" in said and "there is no scale" in said
    assert "every episode failed" in said and len(rows_of(run.parent / "broken")) == 6


def test_verdicts_that_a_function_did_not_give_are_told_as_of_a_rollout(
    shell: Shell, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def score(self: Sums, state: object, episode: Episode) -> Score:
        return await Library("json:loads", ("{",)).score(episode)

    monkeypatch.setattr(Sums, "score", score)
    code, said = shell("run", "-o", "again")
    told = "json:loads: JSONDecodeError: Expecting property name"
    assert code == 0 and f"warning: 6 verdicts are undecided: {told}" in said
    [(kind, count)] = json.loads((run.parent / "again" / "summary.json").read_text())["undecided"].items()
    assert kind.startswith(told) and count == 6
    out = io.StringIO()
    show_run(Console(file=out, width=160), load(run.parent / "again"))
    assert f"\n6 verdicts are undecided: {told}" in out.getvalue()


class Endpoint(BaseHTTPRequestHandler):
    """Answers every chat with yes."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        said = {"role": "assistant", "content": "[[yes]]"}
        body = json.dumps({"choices": [{"index": 0, "message": said, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


def test_a_judge_behind_an_endpoint_needs_no_ray(shell: Shell, run: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    options = ("engine=openai", f"base_url={address}", "model=m", "probe=false")
    try:
        more = [f"models.big.{option}" for option in options]
        code, said = shell("run", "-o", "asked", "participants.judge.model=big", *more)
    finally:
        server.shutdown()
        server.server_close()
    assert code == 0 and "0 answers from the record, 6 asked now" in said
    assert {row["reward"] for row in rows_of(run.parent / "asked")} == {1.0}
    assert not ray.is_initialized()


def test_engines_that_need_a_cluster() -> None:
    def of(name: str, **options: object) -> bool:
        engine_class = find_engine(name, "here")
        return needs_cluster(engine_class(engine_class.Options.model_validate(options)))

    endpoint = {"base_url": "http://a:1/v1", "model": "m"}
    assert not of("openai", **endpoint) and not of("vllm_endpoint", **endpoint)
    assert not of("scripted", player="a:b") and of("scripted", player="a:b", replicas=1)
    assert of("vllm", model="m")


@pytest.mark.reading
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nowhere", "-o", "new"), "nowhere: there is no such run"),
        (("bare", "-o", "new"), "bare has no run.yaml"),
        (("run", "-o", "run"), "-o: run is there already"),
        (("run", "-o", "file/new"), "-o: can't write in"),
        (("run",), "Missing option"),
        (("run", "-o", "new", "tasks.generate=1"), "tasks.generate: 2 -> 1: this changes what was played"),
        (("run", "-o", "new", "participants.policy.sampling.top_k=1"), "participants.policy.sampling.top_k: 0 -> 1"),
        (("run", "-o", "new", "models.policy.player=a:b"), "models.policy.player: nowhere:nobody -> a:b"),
        (("run", "-o", "new", "limits.max_turns=1"), "limits.max_turns: 6 -> 1"),
        (("run", "-o", "new", "environment.nonsense=1"), "environment.nonsense: unknown key"),
        (("run", "-o", "new", "environment.id=nowhere:Nothing"), "can't import nowhere"),
        (("run", "-o", "new", "environment.greeting=Sum"), "diverges at event 0"),
        (("run", "-o", "new", "environment.question=Sure?"), "models.policy.player: can't import nowhere"),
        (("run", "-o", "new", "nonsense"), "'nonsense' is not an override"),
    ],
)
def test_wrong_input_is_told_in_a_line(
    arguments: tuple[str, ...], told: str, shell: Shell, run: Path, tmp_path: Path
) -> None:
    (tmp_path / "bare" / "episodes").mkdir(parents=True)
    (tmp_path / "file").write_text("")
    code, said = shell(*arguments)
    assert (
        code == 2
        and told.replace("models.policy", "models.judge" if "Sure?" in str(arguments) else "models.policy") in said
    )
    assert len(said.splitlines()) == 1 and not (tmp_path / "new").exists()


@pytest.mark.reading
def test_an_environment_with_sessions_on_a_server_is_refused(shell: Shell, run: Path) -> None:
    code, said = shell("run", "-o", "new", "environment.id=adding_up:FarSums")
    assert code == 2 and "adding_up:FarSums keeps its sessions outside of this process" in said
    assert len(said.splitlines()) == 1


@pytest.mark.reading
def test_a_run_within_the_run_is_refused(shell: Shell, run: Path) -> None:
    code, said = shell(str(run), "-o", str(run / "again"))
    assert code == 2 and "is in the run" in said and not (run / "again").exists()


def test_a_damaged_file_of_rows(shell: Shell, run: Path) -> None:
    (run / "episodes" / "part-00000009-w.parquet").write_bytes(b"no rows")
    code, said = shell("run", "-o", "new")
    assert code == 2 and "this file of rows is damaged" in said and not (run.parent / "new").exists()
