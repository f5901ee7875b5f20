"""`ray-gym rollout --resume RUN [CONFIG] [KEY=VALUE]...` on real runs: what goes on, and what is refused before anything is touched."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from conftest import ray_gym

from ray_gym.cli import main
from ray_gym.load import load

pytestmark = pytest.mark.ray

PLAYERS = "ray_gym.envs.tic_tac_toe.players"
CONFIG = f"""\
run: {{name: mine}}
environment: {{id: tic_tac_toe}}
tasks: {{path: games.jsonl}}
models:
  random: {{engine: scripted, player: "{PLAYERS}:random_player"}}
participants:
  policy: {{model: random, tool_choice: required}}
  user: {{model: random, tool_choice: required}}
fanout: {{workers: 1}}
output: {{dir: RUNS}}
"""
MOVED = {"initial_moves": [{"position": 4, "mark": "X"}]}


def test_going_on_with_a_config(
    cluster: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config, games, run = tmp_path / "mine.yaml", tmp_path / "games.jsonl", tmp_path / "runs" / "mine"
    text = CONFIG.replace("RUNS", str(tmp_path / "runs"))
    config.write_text(text)
    games.write_text(json.dumps({"initial_moves": []}) + "\n" + json.dumps(MOVED) + "\n")

    def resumes(*arguments: str) -> None:
        done = ray_gym("rollout", "--resume", str(run), *arguments, environment=cluster)
        assert done.returncode == 0, done.stderr + done.stdout

    def refuses(*arguments: str, told: str) -> None:
        """Checks that a command, in this process and without a cluster, is refused and changes nothing in the run."""
        before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
        monkeypatch.setattr(sys, "argv", ["ray-gym", "rollout", "--resume", str(run), *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr().err
        assert ended.value.code == 2 and told in said, said
        assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before

    played = ray_gym("rollout", str(config), environment=cluster)
    assert played.returncode == 0, played.stderr + played.stdout
    (part,) = (run / "episodes").iterdir()
    rows = load(run).episodes.to_pylist()
    part.unlink()

    refuses(
        str(config),
        "run.seed=3",
        f"models.random.player={PLAYERS}:minimax_player",
        told="  run.seed: 0 -> 3\n  models.r",
    )
    refuses(str(config), "run.seed=3", told="only fan-out, and limits of time, cost and rate may change (fanout.*, ")
    refuses("run.seed=3", told="--resume: run.seed=3: a run is resumed as it was")
    refuses(str(tmp_path / "mnie.yaml"), told="mnie.yaml: there is no such config file; did you mean")
    config.write_text(text.replace("workers: 1", "workers: 2") + "limits: {call_deadline_s: 100}\n")
    games.write_text(json.dumps(MOVED) + "\n")
    refuses(str(config), told=f"began with other tasks than {games} gives now (2 episodes then, 1 now)")
    refuses(told=f"began with other tasks than {games} gives now (2 episodes then, 1 now)")
    games.write_text(json.dumps({"initial_moves": []}) + "\n" + json.dumps(MOVED) + "\n")
    resumes(str(config), "fanout.concurrency=3")
    assert {row["episode_id"] for row in load(run).episodes.to_pylist()} == {row["episode_id"] for row in rows}
    resumes("fanout.concurrency=3")
    assert load(run).episodes.num_rows == len(rows) == 2
