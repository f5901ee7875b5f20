"""Checks what goes to the Hugging Face hub, against a local double of its API (`hub_double.py`)."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import kept_variables
from hub_double import Hub, running
from small_runs import QUESTIONS, played_run
from trainer_venvs import TrainerVenv
from written_forms import rows_in

from ray_gym.cli import main
from ray_gym.export.hub import PATH

LOADS = """
import json
from datasets import load_dataset
print(json.dumps(load_dataset("me/questions", split="train").to_list()))
"""
SECRET = "hf_planted_token"
Export = Callable[..., tuple[int, str]]


@pytest.fixture
def hub() -> Iterator[Hub]:
    with running() as one:
        yield one


@pytest.fixture
def export(hub: Hub, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Export:
    """Gives a function that runs `ray-gym export` with the double for the hub, and returns its exit code and words."""
    run = asyncio.run(played_run(tmp_path, QUESTIONS))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)

    def export(*words: str, **variables: str) -> tuple[int, str]:
        with kept_variables() as patch:
            for name, value in {"HF_ENDPOINT": hub.url, "HF_TOKEN": SECRET, **variables}.items():
                patch.setenv(name, value)
            patch.setattr(sys, "path", list(sys.path))
            patch.setattr(sys, "argv", ["ray-gym", "export", str(run), "--out", str(tmp_path / "sft.parquet"), *words])
            with pytest.raises(SystemExit) as ended:
                main()
        shown = capfd.readouterr()
        said = shown.out + shown.err
        assert SECRET not in said and "Traceback" not in said
        return int(ended.value.code or 0), said

    return export


def test_a_data_set_goes_to_a_private_repository_as_it_was_written(hub: Hub, export: Export, tmp_path: Path) -> None:
    code, said = export("--form", "trl-sft", "--push-to-hub", "me/questions")
    assert code == 0 and f"sent to {hub.url}/datasets/me/questions" in said
    assert hub.private == {"me/questions": True} and hub.tokens == {f"Bearer {SECRET}"}
    written = (tmp_path / "sft.parquet").read_bytes()
    assert hub.files == {("me/questions", PATH): written}
    kept = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert not any(SECRET.encode() in file.read_bytes() for file in kept), "the token is written nowhere"

    code, said = export("--form", "trl-sft", "--push-to-hub", "me/questions", "--out", str(tmp_path / "b.parquet"))
    assert code == 2 and f"me/questions has a {PATH} already (--overwrite replaces it)" in said
    assert not (tmp_path / "b.parquet").exists()
    assert export("--form", "trl-sft", "--push-to-hub", "me/questions", "--overwrite")[0] == 0


@pytest.mark.reading
def test_a_public_repository_is_written_to_only_where_that_is_said(hub: Hub, export: Export) -> None:
    hub.private["me/open"] = False
    for name in ("me/open", "open"):
        code, said = export("--form", "trl-sft", "--push-to-hub", name)
        assert code == 2 and "me/open is public; --public lets it be" in said and not hub.files
    assert export("--form", "trl-sft", "--push-to-hub", "me/open", "--public")[0] == 0 and hub.files


@pytest.mark.reading
def test_what_can_not_be_sent_is_said_before_anything_is_written(hub: Hub, export: Export, tmp_path: Path) -> None:
    for words, variables, told in (
        (("--to", "jsonl"), {}, "jsonl is no data set of Parquet; these are: openrlhf-preference, "),
        (("--form", "trl-sft"), {"HF_TOKEN": ""}, "the environment variable HF_TOKEN is not set"),
        (("--form", "trl-sft"), {"HF_ENDPOINT": "http://127.0.0.1:9"}, "--push-to-hub: me/x: "),
    ):
        code, said = export(*words, "--push-to-hub", "me/x", **variables)
        assert code == 2 and told in said, said
    code, said = export("--form", "trl-sft", "--push-to-hub", "no repo")
    assert code == 2 and "--push-to-hub: no repo: " in said
    hub.refuses = 401
    code, said = export("--form", "trl-sft", "--push-to-hub", "me/x")
    assert code == 2 and "Invalid user token" in said
    assert not (tmp_path / "sft.parquet").exists()


@pytest.mark.trainers
@pytest.mark.timeout(600)
def test_datasets_loads_what_was_sent(
    hub: Hub, export: Export, in_venv_of: Callable[[str], TrainerVenv], tmp_path: Path
) -> None:
    trl = in_venv_of("trl")
    assert export("--form", "trl-sft", "--push-to-hub", "me/questions")[0] == 0
    variables = {"HF_ENDPOINT": hub.url, "HF_TOKEN": SECRET, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_XET": "1"}
    found, _ = trl.execute("-c", LOADS, within_s=200, cwd=tmp_path, **variables)
    assert json.loads(found.splitlines()[-1]) == rows_in(tmp_path / "sft.parquet")
