"""Checks that values that a config takes from the environment are used, and never written down."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playing import Alone

from ray_gym import Episode
from ray_gym.config.file import as_yaml, read_config, read_config_text
from ray_gym.config.interpolations import Interpolation, errors_unfilled, names_in, unfilled, without_secrets
from ray_gym.config.sections import LimitsSection, RunConfig, ServiceSection
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.errors import Failure, FailureKind, RunFailed, UserError
from ray_gym.play.play import bare_episode, fail_episode, play
from ray_gym.record.rows import row_of
from ray_gym.run.directory.directory import create, find_run, plan_directory
from ray_gym.run.plan import make_plan
from ray_gym.run.resume import config_to_resume, meaning_diff, with_absolute_path
from ray_gym.service.offers import offers_of
from ray_gym.testing import says, stage_of

CONFIG = """
run: {seed: 7}
environment: {id: tic_tac_toe, note: 'price: \\${5}'}
tasks: {path: "${oc.env:TASKS}"}
output: {dir: "${oc.env:WHERE}/runs", durability: "off"}
models:
  far:
    engine: openai
    env_vars: {TOKEN: "${oc.env:KEY}"}
    extra_body: {list: [plain, "Bearer ${oc.env:KEY}"], same: "${models.far.env_vars}", seen: "${run.seed}"}
  copy: "${models.far}"
participants:
  policy: {model: far, system_prompt: "${oc.env:KEY}"}
limits: {max_turns: "${oc.decode:${oc.env:TURNS}}"}
"""
FAR = """
environment: {id: tic_tac_toe}
models: {far: {engine: openai, base_url: 'http://127.0.0.1:9/v1', model: m}}
tasks: {generate: 1}
participants: {policy: {model: far}, user: {model: far}}
"""
SECRET = "hunter2-of-the-environment"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in {"KEY": SECRET, "WHERE": str(tmp_path), "TASKS": "tasks.jsonl", "TURNS": "3"}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "tasks.jsonl").write_text("{}\n")
    path = tmp_path / "far.yaml"
    path.write_text(CONFIG)
    return path


def read(path: Path, *overrides: str) -> RunConfig:
    return with_absolute_path(read_config(path, overrides), path)


def test_what_is_filled_in_is_used(config: Path) -> None:
    far = read(config).models["far"].options
    assert far["env_vars"] == {"TOKEN": SECRET} == far["extra_body"]["same"]
    assert far["extra_body"]["list"] == ["plain", f"Bearer {SECRET}"] and read(config).limits.max_turns == 3


def test_run_yaml_has_the_text_of_the_config_and_resolves_it_anew(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = read(config, "models.far.extra_headers={X-Key: '${oc.env:KEY}'}")
    directory = plan_directory(given, config)
    create(directory)
    directory.write_config(given)
    directory.close()
    text = (directory.path / "run.yaml").read_text()
    assert SECRET not in text and "Bearer ${oc.env:KEY}" in text and "copy: ${models.far}" in text
    assert SECRET not in "".join(path.read_text() for path in directory.path.rglob("*") if path.is_file())
    again = find_run(directory.location).read_config()
    assert again.models == given.models and again.participants == given.participants
    assert again.environment.options == {"note": "price: ${5}"}
    monkeypatch.setenv("KEY", "another")
    assert find_run(directory.location).read_config().models["far"].options["extra_headers"] == {"X-Key": "another"}
    monkeypatch.delenv("KEY")
    with pytest.raises(UserError, match="KEY"):
        find_run(directory.location).read_config()


@pytest.mark.parametrize("price", ["{input: 1, output: 2}", "{input: '0.5', output: 2, cached: 1}"])
def test_a_model_with_a_price_that_is_there_twice_is_written_as_it_was(config: Path, price: str) -> None:
    given = read(config, f"models.far.price={price}")
    text = as_yaml(given.as_written())
    assert SECRET not in text and "copy: ${models.far}" in text
    again = read_config_text(text, "run.yaml")
    assert again.models["copy"].price == given.models["far"].price == again.models["far"].price is not None


def test_where_a_run_and_its_tasks_are_is_settled(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = as_yaml(read(config).as_written())
    monkeypatch.delenv("WHERE")
    monkeypatch.delenv("TASKS")
    again = read_config_text(text, "run.yaml")
    assert again.output.dir == f"{config.parent}/runs" and again.tasks.path == f"{config.parent}/tasks.jsonl"


def test_going_on_compares_and_shows_the_text(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = read(config)
    monkeypatch.setenv("KEY", "another")
    assert meaning_diff(kept, read(config)) == []
    (line,) = meaning_diff(kept, read(config, "participants.policy.system_prompt=Hello"))
    assert line == "participants.policy.system_prompt: ${oc.env:KEY} -> Hello"
    resumed = config_to_resume(kept, "RUN", overrides=["fanout.workers=3"])
    assert resumed.fanout.workers == 3 and resumed.models == kept.models


@pytest.mark.parametrize(
    "override",
    [
        "environment.id=${oc.env:KEY}",
        "models.far.engine=${oc.env:KEY}",
        "models.far.engine=x${oc.env:KEY}y",
        "participants.policy.model=${oc.env:KEY}",
    ],
)
def test_errors_of_a_plan_show_the_text(config: Path, override: str) -> None:
    config.write_text(FAR)
    with pytest.raises(UserError) as refused:
        make_plan(read(config, override), config)
    assert SECRET not in str(refused.value) and "${oc.env:KEY}" in str(refused.value)


def test_parts_that_come_from_the_environment_are_shown_as_the_text(config: Path) -> None:
    config.write_text(FAR)
    given = read(config, "models.far.base_url=http://127.0.0.1:9/${oc.env:KEY}/v1/")
    for text in (f"model http://127.0.0.1:9/{SECRET}/v1", f"no {SECRET} there", f"%{ord(SECRET[0]):02x}{SECRET[1:]}"):
        shown = unfilled(text, given.filled_in)
        assert SECRET[1:] not in shown and "${oc.env:KEY}" in shown
    with pytest.raises(RunFailed, match=r"no \$\{oc.env:KEY\}"), errors_unfilled(given.filled_in):
        raise RunFailed(f"no {SECRET}")


@pytest.mark.parametrize("end", ["\r", "\n", " "])
def test_a_value_is_masked_without_the_end_of_its_line(config: Path, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    config.write_text(FAR)
    monkeypatch.setenv("KEY", f"http://127.0.0.1:9/{SECRET}/v1{end}")
    given = read(config, "models.far.base_url=${oc.env:KEY}")
    assert unfilled(f"model http://127.0.0.1:9/{SECRET}/v1: lost", given.filled_in) == "model ${oc.env:KEY}: lost"


@pytest.mark.parametrize(
    "text",
    [
        "${oc.env:TEAM}-${oc.env:KEY}",
        "${oc.env:TEAM}${oc.env:KEY}",
        "${oc.env:TEAM}:${oc.env:KEY,none}",
        "${participants.policy.model}:${oc.env:KEY}",
        "${oc.env:TEAM}${oc.env:KEY,${run.seed}}",
        "${oc.env:TEAM}${oc.env: 'KEY'}",
        "a${oc.decode:${oc.env:KEY}}",
    ],
)
def test_each_variable_of_a_value_is_shown_as_the_text(
    config: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("TEAM", "my-team:of")
    given = read(config, f'participants.policy.system_prompt="{text}"')
    monkeypatch.delenv("KEY")  # as on another machine
    assert SECRET in (given.participants["policy"].system_prompt or "")
    assert unfilled(f"bad password {SECRET}", given.filled_in) == "bad password ${oc.env:KEY}"


@pytest.mark.parametrize(
    "text",
    [
        "Bearer ${oc.env:${oc.env:WHICH}}",
        "Bearer ${oc.env:K${oc.env:REST}}",
        "Bearer ${oc.env:${oc.env: NONE, 'KEY'},x}",
    ],
)
def test_a_variable_whose_name_is_filled_in_is_shown_as_the_text(
    config: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    for name, value in {"WHICH": "KEY", "REST": "EY"}.items():
        monkeypatch.setenv(name, value)
    given = read(config, f'participants.policy.system_prompt="{text}"')
    assert given.participants["policy"].system_prompt == f"Bearer {SECRET}"
    assert set(names_in(text)) - {"WHICH", "REST", "NONE"} == {"KEY"}
    assert unfilled(f"bad password {SECRET}", given.filled_in) == "bad password ${oc.env:KEY}"


def test_each_text_that_is_decoded_from_a_variable_is_shown_as_the_text(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENS", "{a: first-token, of: [second-token, 3]}")
    given = read(config, "models.far.extra_body='${oc.decode:${oc.env:TOKENS}}'")
    assert given.models["far"].options["extra_body"] == {"a": "first-token", "of": ["second-token", 3]}
    for token in ("first-token", "second-token"):
        assert unfilled(f"bad {token} 3", given.filled_in) == "bad ${oc.decode:${oc.env:TOKENS}} 3"


def test_failures_of_episodes_show_the_text(config: Path) -> None:
    config.write_text(FAR)
    given = read(config, "models.far.base_url=http://127.0.0.1:9/${oc.env:KEY}/v1/")
    stage = replace(stage_of(Alone(), {"policy": says("Hi.")}, LimitsSection(), None, {}), filled_in=given.filled_in)
    where, told = f"model http://127.0.0.1:9/{SECRET}/v1", f"it refused {SECRET}"
    played = fail_episode(
        bare_episode(EpisodeSpec("e", "g", "t", 0, 1, "{}"), stage), Failure(FailureKind.INFRA, where, told)
    )
    row = row_of(played, "run", "alone")
    assert SECRET not in str(row) and "${oc.env:KEY}" in row["failure"]["where"]


class TellsAll(Alone):
    def finished(self, state: Any, episode: Episode) -> str | None:
        return f"won with {SECRET}" if episode.turns else None


def test_how_an_episode_ended_is_masked(config: Path) -> None:
    config.write_text(FAR)
    given = read(config, "models.far.base_url=http://127.0.0.1:9/${oc.env:KEY}/v1/")
    stage = replace(stage_of(TellsAll(), {"policy": says("Hi.")}, LimitsSection(), None, {}), filled_in=given.filled_in)
    played = asyncio.run(play(EpisodeSpec("e", "g", "t", 0, 1, "{}"), stage))
    row = row_of(played, "run", "alone")
    assert row["stop_text"] == "won with ${oc.env:KEY}" and SECRET not in str(row)


def test_a_secret_is_not_shown_by_repr(config: Path) -> None:
    assert SECRET not in repr(read(config)._filled_in)


def test_what_a_service_offers_is_kept_as_it_is_written_also_in_the_runs_of_it(config: Path) -> None:
    config.write_text(
        CONFIG
        + """
service:
  offers:
    cards:
      environment: {id: blackjack}
      participants: {policy: {model: far, system_prompt: "${oc.env:KEY}"}}
"""
    )
    service = read(config)
    for offer in offers_of(service).values():
        own = offer.config(service, service=ServiceSection())
        assert own.participants["policy"].system_prompt == SECRET
        assert own.as_written()["participants"]["policy"]["system_prompt"] == "${oc.env:KEY}"
        assert SECRET not in as_yaml(own.as_written())


def test_invisible_characters_of_a_config_are_shown() -> None:
    text = as_yaml({"stop_text": "a\u202eb\u200bc", "name": "Größe"})
    assert text == 'stop_text: "a\\u202Eb\\u200Bc"\nname: "Gr\\xF6\\xDFe"\n'
    assert as_yaml({"name": "Größe"}) == "name: Größe\n"


@pytest.mark.parametrize(
    ("path", "text", "variables", "told"),
    [
        (("environment", "domain"), "${oc.env:DOMAIN}", {"DOMAIN": "airline"}, "the airline"),
        (("environment", "root"), "${oc.env:WORKDIR}/a", {"WORKDIR": "airline"}, "the airline"),
        (("environment", "course"), "${oc.env:MAX_TOKENS}", {"MAX_TOKENS": "airline"}, "the airline"),
        (("environment", "value"), "${oc.env:HF_TOKEN}", {"HF_TOKEN": "airline"}, "the ${oc.env:HF_TOKEN}"),
        (("environment", "api_key"), "${oc.env:MINE}", {"MINE": "airline"}, "the ${oc.env:MINE}"),
        (("environment", "headers", "A"), "${oc.env:MINE}", {"MINE": "airline"}, "the ${oc.env:MINE}"),
        (("a",), "${oc.env:X}${oc.env:MY_SECRET}", {"X": "the xyz", "MY_SECRET": "airline"}, "the ${oc.env:MY_SECRET}"),
        (("a",), "${oc.env:DB}", {"DB": "pg://me:airline@h"}, "the airline"),
        (("a",), "${oc.env:DB}", {"DB": "https://airline@sentry.io"}, "the airline"),
        (("a",), "${oc.env:REPO}", {"REPO": "ssh://git@github.com/airline.git"}, "the airline"),
        (("a",), "${oc.env:REPO}", {"REPO": "https://shop.example?mail=airline@b.example"}, "the airline"),
    ],
)
def test_a_model_is_told_all_but_secrets(
    path: tuple[str, ...], text: str, variables: dict[str, str], told: str
) -> None:
    filled_in = [Interpolation(path, text, "".join(variables.values()), variables)]
    assert without_secrets("the airline", filled_in) == told
    if "DB" in variables:
        assert without_secrets(f"at {variables['DB']}/x", filled_in) == "at ${oc.env:DB}/x"
    if "REPO" in variables:
        assert without_secrets(variables["REPO"], filled_in) == variables["REPO"]
