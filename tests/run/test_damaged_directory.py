"""Checks that a damaged file of a run directory is told in one line that names it, by every command that reads it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ray_gym.cli import main
from ray_gym.errors import UserError
from ray_gym.run.directory.directory import find_run, reopen
from ray_gym.run.directory.listing import require_whole

STORED = Path(__file__).parents[1] / "record" / "versions" / "2"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Copies a run that was interrupted."""
    return Path(shutil.copytree(STORED / "interrupted", tmp_path / "run"))


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:200])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def spoil_a_page(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[100:2000] = b"\xff" * 1900
    file.write_bytes(data)


def write_other_columns(file: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), file)


@pytest.mark.parametrize("damage", [truncate, empty, spoil_a_page, write_other_columns])
def test_rows(
    run: Path, damage: Callable[[Path], None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    part = min((run / "episodes").glob("*.parquet"))
    damage(part)
    code, said = show(run, capsys, monkeypatch)
    assert code == 2 and f"{part.name}: this file of rows is damaged" in said and said.count("\n") == 1
    with pytest.raises(UserError, match=f"{part.name}: this file of rows is damaged"):
        list(find_run(run).committed())


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("plan.json", b"[", "plan.json: this file is damaged"),
        ("plan.json", b"[1, 2]", "plan.json: this file is damaged"),
        ("epoch", b"x", "epoch: this file is damaged"),
        ("epoch", b"{}", "epoch: this file is damaged"),
        ("run.yaml", b"\xff\xfe\x00", "run.yaml: this is no text in UTF-8"),
        ("run.yaml", b"", r"run.yaml: this file is damaged \(it is empty\); put a copy"),
        ("run.yaml", b"\0" * 4096, r"run.yaml: this file is damaged \(it is empty\)"),
        ("run.yaml", b"environment: {id: a\nmodels", "not valid YAML: .*; if nobody has edited it, it is damaged"),
        ("run.yaml", b"a: " + b"[" * 1000, "run.yaml: its lists or mappings are nested too deeply"),
    ],
)
def test_small_files(run: Path, name: str, content: bytes, told: str) -> None:
    (run / name).write_bytes(content)
    with pytest.raises(UserError, match=told):
        find_run(run).read_fingerprint()
        reopen(run)


def test_a_run_with_a_damaged_epoch_can_be_claimed_once_the_file_is_gone(run: Path) -> None:
    (run / "epoch").write_bytes(b"x")
    with pytest.raises(UserError):
        reopen(run)
    (run / "epoch").unlink()
    reopen(run).close()


def test_a_file_in_the_place_of_the_episodes(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(run / "episodes")
    (run / "episodes").touch()
    code, said = show(run, capsys, monkeypatch)
    assert code == 2 and f"{run / 'episodes'}: this is a file, where a run has a folder" in said


def test_a_finished_run_that_has_lost_its_episodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Path(shutil.copytree(STORED / "finished", tmp_path / "run"))
    assert show(run, capsys, monkeypatch)[0] == 0
    for part in (run / "episodes").iterdir():
        part.unlink()
    code, said = show(run, capsys, monkeypatch)
    assert code == 2 and "summary.json counts 4 episodes, and there are none in episodes/" in said


def show(run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Runs `ray-gym show` in this process, and returns its exit code and what it says on standard error."""
    monkeypatch.setattr(sys, "argv", ["ray-gym", "show", str(run)])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0), capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"environm"])
def test_a_run_whose_config_is_damaged_is_not_whole(run: Path, content: bytes) -> None:
    (run / "run.yaml").write_bytes(content)
    with pytest.raises(UserError, match=r"run\.yaml: this file is damaged"):
        require_whole(str(run))
