"""Checks where a run is: paths and URIs, and how an object store is reached. Nothing here needs a server."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ray_gym.config.sections import OutputSection, RunConfig
from ray_gym.errors import UserError
from ray_gym.run.directory.directory import output_root, plan_directory
from ray_gym.run.directory.location import absolute, child_of, is_relative, is_uri, parent_of, shell_quoted, storage_at
from ray_gym.run.directory.object_storage import ObjectStorage, s3_options
from ray_gym.run.directory.posix_storage import PosixStorage

HERE = "s3://bucket/runs?endpoint_override=127.0.0.1:1&scheme=http"


def test_paths_and_uris(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_uri("s3://bucket/x") and is_uri("gs://bucket/x") and not is_uri("runs") and not is_uri("file:///runs")
    assert absolute("runs") == str(tmp_path / "runs") and absolute(HERE) == HERE and absolute("file:///runs") == "/runs"
    assert is_relative("runs") and not is_relative("~/runs") and not is_relative("/runs") and not is_relative(HERE)


def test_a_uri_keeps_its_query() -> None:
    run = "s3://bucket/runs/mine?endpoint_override=127.0.0.1:1&scheme=http"
    assert child_of(HERE, "mine") == child_of(HERE.replace("runs", "runs/"), "mine") == run and parent_of(run) == HERE
    assert child_of("s3://", "mine") == "s3:///mine"  # no path: opening it says that a bucket is missing
    assert child_of("/runs", "mine") == "/runs/mine" and parent_of("/runs/mine") == "/runs"
    assert shell_quoted(run) == f"'{run}'" and shell_quoted("/runs/mine") == "/runs/mine"


def test_what_is_opened(tmp_path: Path) -> None:
    on_disk, on_s3 = storage_at(str(tmp_path)), storage_at(child_of(HERE, "mine"))
    assert isinstance(on_disk, PosixStorage) and (on_disk.root, on_disk.name) == (str(tmp_path), tmp_path.name)
    assert isinstance(on_s3, ObjectStorage) and (on_s3.root, on_s3.name) == ("bucket/runs/mine", "mine")
    on_gs = storage_at("gs://anonymous@bucket/runs/")
    assert isinstance(on_gs, ObjectStorage) and on_gs.root == "bucket/runs"


KEYS = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"}


@pytest.mark.parametrize(
    ("query", "environment", "options"),
    [
        ("", {}, {}),
        ("?region=eu-west-1", {"AWS_REGION": "us-west-2"}, {"region": "eu-west-1"}),
        ("", {"AWS_DEFAULT_REGION": "us-west-2"}, {"region": "us-west-2"}),
        (
            "?endpoint_override=h:1&scheme=http",
            {"AWS_ENDPOINT_URL": "https://other"},
            {"region": "us-east-1", "endpoint_override": "h:1", "scheme": "http"},
        ),
        (
            "",
            {"AWS_ENDPOINT_URL": "http://h:1/", "AWS_REGION": "r"},
            {"region": "r", "endpoint_override": "h:1", "scheme": "http"},
        ),
        ("?region=r", KEYS, {"region": "r", "access_key": "id", "secret_key": "key"}),
        ("?region=r", {"AWS_ACCESS_KEY_ID": "id"}, {"region": "r"}),
        (
            "?region=r",
            {**KEYS, "AWS_SESSION_TOKEN": "t"},
            {"region": "r", "access_key": "id", "secret_key": "key", "session_token": "t"},
        ),
    ],
)
def test_how_a_bucket_is_reached(query: str, environment: dict[str, str], options: dict[str, str]) -> None:
    assert s3_options(urlsplit(f"s3://bucket/x{query}"), environment) == options


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("s3://id:secret@bucket/x", r"s3://bucket/x has a key in it.*AWS_ACCESS_KEY_ID"),
        ("s3://bucket/x?secret_key=secret", r"s3://bucket/x: unknown secret_key; known: region"),
        ("s3://bucket/x?regoin=a", r"unknown regoin; known: region, endpoint_override, scheme"),
        ("s3:///x", r"s3:///x names no bucket; write s3://BUCKET/PREFIX"),
        ("ftp://host/x", r"ftp:// is no object store that is known \(s3, gs, "),
    ],
)
def test_uris_that_cannot_be_opened(uri: str, told: str) -> None:
    with pytest.raises(UserError, match=told) as caught:
        storage_at(uri)
    assert "secret" not in str(caught.value).replace("secret_key", "")


def config(**output: object) -> RunConfig:
    return RunConfig.model_validate(
        {
            "run": {"name": "mine"},
            "environment": {"id": "tic_tac_toe"},
            "tasks": {"generate": 1},
            "models": {"small": {"engine": "scripted"}},
            "participants": {"policy": {"model": "small"}},
            "output": OutputSection.model_validate(output),
        }
    )


@pytest.mark.parametrize("key", ["dir", "journal_dir"])
@pytest.mark.parametrize("written", ["~nosuch/x", "~nosuch", "file://~nosuch/x"])
def test_a_home_that_is_not_there(key: str, written: str) -> None:
    with pytest.raises(UserError, match=rf"^output\.{key}: ~nosuch(/x)?: there is no user 'nosuch'$"):
        plan_directory(config(**{key: written}), Path("mine.yaml"))
    with pytest.raises(UserError, match=r"^~nosuch(/x)?: there is no user 'nosuch'$"):
        storage_at(written)


@pytest.mark.parametrize("key", ["dir", "journal_dir"])
@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("$HOME/runs", "$HOME is a name here, and no variable: write ${oc.env:HOME}/runs"),
        ("/shared/${USER}/runs", "${USER} is a name here, and no variable: write /shared/${oc.env:USER}/runs"),
        ("s3://bucket/runs-$SLURM_JOB_ID", "write s3://bucket/runs-${oc.env:SLURM_JOB_ID}"),
        ("s3:/b", "did you mean s3://b? (a folder of that name: ./s3:/b)"),
        ("gs:/b/x?y=$z", "did you mean gs://b/x?y=$z?"),
        ("file:/runs", "did you mean file:///runs?"),
        ("file://host/x", "a file:// URI has three slashes before its path: did you mean file:///host/x?"),
    ],
)
def test_places_that_are_misspelt(key: str, written: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        plan_directory(config(**{"dir": str(tmp_path), key: written}), Path("mine.yaml"))
    assert str(refused.value).startswith(f"output.{key}: {written}: ") and told in str(refused.value)


@pytest.mark.parametrize("key", ["dir", "journal_dir"])
@pytest.mark.parametrize("written", ["", "  ", "\u200b", "a\0b"])
def test_a_blank_place_and_one_with_a_null_byte_name_no_folder(key: str, written: str, tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=rf"^output\.{key}: '.*' names no folder; name one, e\.g\. output\.{key}=/shared/"
    ):
        plan_directory(config(**{"dir": str(tmp_path), key: written}), Path("mine.yaml"))


@pytest.mark.parametrize("written", ["./s3:/b", "cost$usd", "$1", "s3:b", "file://~/x", "file://./x", "~/s3:/b"])
def test_places_with_odd_names_are_as_they_are_written(
    written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    name = written.removeprefix("file://").removeprefix("./").removeprefix("~/")
    assert output_root(config(dir=written)) == str(tmp_path / name)


def test_an_object_store_has_no_place_for_journals() -> None:
    told = r"output\.journal_dir: s3://bucket/runs/mine\S* is on an object store.* set output\.journal_dir to a folder.*durability=off"
    with pytest.raises(UserError, match=told):
        plan_directory(config(dir=HERE), Path("mine.yaml"))


@pytest.mark.parametrize("place", ["s3://bucket/journals", "gs://bucket/journals", HERE])
def test_journals_are_no_objects(place: str, tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=rf"output\.journal_dir: {re.escape(place)}: journals need a filesystem; name a folder"
    ):
        plan_directory(config(dir=str(tmp_path), journal_dir=place), Path("mine.yaml"))


def test_a_store_that_is_down_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"output\.dir: can't look into s3://bucket/runs\?.*connect"):
        plan_directory(config(dir=HERE, journal_dir=str(tmp_path)), Path("mine.yaml"))


def test_an_object_store_is_fine_under_a_submitted_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")
    assert output_root(config(dir=HERE)) == HERE
