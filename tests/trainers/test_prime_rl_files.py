"""Rows become prime-rl's files: the layout of their fields, packing, and who waits for whom."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

pytest.importorskip("torch")
from handmade import handmade_groups, save_tiny, tiny_model, tiny_tokenizer

from ray_gym.errors import RunFailed, UserError
from ray_gym.stream import Group
from ray_gym.trainers.prime_rl.micro_batches import MicroBatch, grid_of, write_step
from ray_gym.trainers.prime_rl.orchestrator import Options, Orchestrator
from ray_gym.trainers.prime_rl.resuming import opening
from ray_gym.trainers.rows import Row, rows_of

LAYOUT = [
    "input_ids",
    "loss_mask",
    "advantages",
    "inference_logprobs",
    "position_ids",
    "sequence_lengths",
    "temperatures",
    "env_names",
    "seq_lens",
]
"""Fields of prime-rl's `MicroBatch` at the commit of the bridge, in their order, up to the last without a default."""


@pytest.fixture(scope="module")
def groups() -> list[Group]:
    return handmade_groups(tiny_model())


@pytest.fixture(scope="module")
def rows(groups: list[Group]) -> list[Row]:
    return [row for group in groups for row in rows_of(group)]


def grid(rows: list[Row], ranks: int = 1, most_tokens: int = 100, multiple_of: int = 1) -> list[list[MicroBatch]]:
    return grid_of(rows, [0.5 + n / 100 for n in range(len(rows))], "mine", ranks, most_tokens, multiple_of)


def test_a_file_is_a_list_of_arrays_in_the_order_of_the_fields(rows: list[Row], tmp_path: Path) -> None:
    write_step(tmp_path, 3, grid(rows[:1]))
    [batch] = msgspec.msgpack.decode((tmp_path / "rollouts" / "step_3" / "rank_0.bin").read_bytes())
    row, tokens = rows[0], len(rows[0].token_ids)
    assert dict(zip(LAYOUT, batch, strict=True)) == {
        "input_ids": row.token_ids.tolist(),
        "loss_mask": [mask == 1 for mask in row.loss_mask],
        "advantages": [row.advantage if mask else 0.0 for mask in row.loss_mask],
        "inference_logprobs": row.logprobs.tolist(),
        "position_ids": list(range(tokens)),
        "sequence_lengths": [tokens],
        "temperatures": [0.5] * tokens,
        "env_names": ["mine"] * tokens,
        "seq_lens": [tokens],
    }
    assert list(MicroBatch.__struct_fields__) == LAYOUT
    assert [path.name for path in (tmp_path / "rollouts" / "step_3").iterdir()] == ["rank_0.bin"]


@pytest.mark.parametrize(("ranks", "most_tokens", "multiple_of"), [(1, 1000, 1), (2, 100, 8), (3, 64, 16)])
def test_rows_are_packed_whole_and_once(rows: list[Row], ranks: int, most_tokens: int, multiple_of: int) -> None:
    made = grid(rows, ranks, most_tokens, multiple_of)
    assert len(made) == ranks and len({len(of_rank) for of_rank in made}) == 1
    found = []
    for batch in (batch for of_rank in made for batch in of_rank):
        tokens = len(batch.input_ids)
        assert tokens <= most_tokens and tokens % multiple_of == 0
        assert sum(batch.sequence_lengths) == sum(batch.seq_lens) == tokens
        assert {len(getattr(batch, name)) for name in LAYOUT if name not in ("sequence_lengths", "seq_lens")} == {
            tokens
        }
        start = 0
        for length in batch.sequence_lengths:
            ids, mask = batch.input_ids[start : start + length], batch.loss_mask[start : start + length]
            assert batch.position_ids[start] == 0
            start += length
            if any(mask):
                found.append((tuple(ids), tuple(mask)))
    for row in rows:
        own = (tuple(row.token_ids.tolist()), tuple(bool(mask) for mask in row.loss_mask))
        [same] = [one for one in found if one[0][: len(own[0])] == own[0] and one[1][: len(own[1])] == own[1]]
        assert not any(same[1][len(own[1]) :]), "padding is not trained on"
    assert len(found) == len(rows)


def test_a_rank_without_rows_trains_nothing(rows: list[Row]) -> None:
    [[first], [second]] = grid(rows[:1], ranks=2)
    assert any(first.loss_mask) and not any(second.loss_mask) and not any(second.advantages)
    assert len(first.input_ids) == len(second.input_ids)


def test_rows_are_never_cut(rows: list[Row]) -> None:
    with pytest.raises(ValueError, match="at most 5 fit"):
        grid(rows, most_tokens=5)


class HandmadeStream:
    """Stands for a stream whose model is the tiny Llama: it gives groups again and again, and notes what it is told."""

    def __init__(self, groups: list[Group], max_staleness: int | None = 0, checkpoint: Path | None = None) -> None:
        options: dict[str, Any] = {} if checkpoint is None else {"model": str(checkpoint)}
        sampling = SimpleNamespace(temperature=1.0)
        self.config = SimpleNamespace(
            models={"policy": SimpleNamespace(engine="vllm", options=options)},
            tasks=SimpleNamespace(repeats=4),
            environment=SimpleNamespace(id="mine"),
            participants={"policy": SimpleNamespace(sampling=sampling)},
        )
        self.options = SimpleNamespace(max_staleness=max_staleness)
        self.version, self.log = 0, list[str]()
        self._groups, self._given = groups, 0

    def weights(self, model: str) -> Any:
        return self

    def update(self, version: int, path: Path) -> None:
        self.version = version
        self.log.append(f"update {version} {path.name}")

    def __next__(self) -> Group:
        self._given += 1
        self.log.append("take")
        return self._groups[(self._given - 1) % len(self._groups)]

    def acknowledge(self, *groups: Group) -> None:
        self.log.append(f"acknowledge {len(groups)}")

    @property
    def cursor(self) -> dict[str, Any]:
        return {"given": self._given, "version": self.version}


def options_of(folder: Path, **changes: Any) -> Options:
    """Returns the options of the orchestrator for the hand-made groups."""
    given = {"ranks": 2, "most_tokens": 100, "groups": 2, "start": "nowhere", "any_version": True, **changes}
    return Options(folder, **given)


def train(folder: Path, steps: int, seen: list[list[str]], written: threading.Condition) -> None:
    """Does what prime-rl's trainer does with files: the weights it starts with, then those of each step."""
    for step in range(steps + 1):
        if step:
            with written:
                assert written.wait_for(
                    lambda step=step: (folder / "rollouts" / f"step_{step}" / "rank_1.bin").exists(), 60
                )
        seen.append(sorted(path.name for path in folder.glob("rollouts/*")))
        weights = folder / "broadcasts" / f"step_{step}"
        weights.mkdir(parents=True)
        (weights / "model.safetensors").write_text(f"weights {step}")
        (weights / "STABLE").touch()


@pytest.mark.parametrize(("max_staleness", "ahead"), [(0, 0), (1, 1)])
def test_steps_and_weights_follow_one_another(
    groups: list[Group], tmp_path: Path, max_staleness: int, ahead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, seen = threading.Condition(), list[list[str]]()

    def write_and_tell(folder: Path, step: int, made: Any) -> None:
        write_step(folder, step, made)
        with written:
            written.notify_all()

    monkeypatch.setattr("ray_gym.trainers.prime_rl.orchestrator.write_step", write_and_tell)
    stream = HandmadeStream(groups, max_staleness)
    trainer = threading.Thread(target=train, args=(tmp_path, 3, seen, written))
    trainer.start()
    orchestrator = Orchestrator(stream, options_of(tmp_path, silence_s=60))
    orchestrator.run(steps=3)
    trainer.join()
    step = ["take", "take"]
    done = [[f"update {n} step_{n}", "acknowledge 2"] for n in (1, 2, 3)]
    if ahead:
        assert stream.log == [*step, *step, *done[0], *step, *done[1], *done[2]]
    else:
        assert stream.log == [*step, *done[0], *step, *done[1], *step, *done[2]]
    assert orchestrator.counts["groups"] == 6 and orchestrator.counts["failed"] == 3
    cursor = json.loads((tmp_path / "ray_gym" / "cursor_2.json").read_text())
    assert cursor == {"given": 6 if ahead else 4, "version": 2}


def test_a_silent_trainer_is_named(groups: list[Group], tmp_path: Path) -> None:
    orchestrator = Orchestrator(HandmadeStream(groups), options_of(tmp_path, ranks=1, silence_s=0))
    with pytest.raises(RunFailed, match="step_0: no STABLE came within 0 s"):
        orchestrator.run(steps=1)


def test_a_batch_without_a_trainable_token_is_named(groups: list[Group], tmp_path: Path) -> None:
    (tmp_path / "broadcasts" / "step_0").mkdir(parents=True)
    (tmp_path / "broadcasts" / "step_0" / "STABLE").touch()
    with pytest.raises(UserError, match="no trainable token"):
        Orchestrator(HandmadeStream(groups), options_of(tmp_path, ranks=1, most_tokens=5)).run(steps=1)


def test_another_tokenizer_and_another_commit_are_named(groups: list[Group], tmp_path: Path) -> None:
    stream = HandmadeStream(groups, checkpoint=save_tiny(tmp_path / "engine"))
    begun = save_tiny(tmp_path / "begun")
    Orchestrator(stream, options_of(tmp_path, start=str(begun)))
    other = tiny_tokenizer()
    other.add_tokens(["<another>"])
    other.save_pretrained(begun)
    with pytest.raises(UserError, match=r"models.policy: its tokenizer differs from the trainer's: 260 tokens"):
        Orchestrator(stream, options_of(tmp_path, start=str(begun)))
    with pytest.raises(UserError, match="prime-rl: the bridge was tested with 559b44772; name the folder"):
        options_of(tmp_path, any_version=False)
    with pytest.raises(UserError, match="is no checkout of git, and the bridge was tested with 559b44772"):
        options_of(tmp_path, any_version=False, checkout=tmp_path)
    with pytest.raises(UserError, match=r"there is no folder nowhere; name .*any_version"):
        options_of(tmp_path, any_version=False, checkout=Path("nowhere"))
    with pytest.raises(UserError, match="ranks: 0; give at least 1"):
        options_of(tmp_path, ranks=0)


def test_a_stream_continues_after_a_step_with_its_weights(groups: list[Group], tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    begun.mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (begun / name).write_text("begun")
    run = tmp_path / "run"
    assert opening(run, None, begun) == ([], None)
    with pytest.raises(UserError, match="no cursor can be read"):
        opening(run, 2, begun)
    (run / "ray_gym").mkdir(parents=True)
    (run / "ray_gym" / "cursor_2.json").write_text('{"version": 2}')
    with pytest.raises(UserError, match="it has no STABLE"):
        opening(run, 2, begun)
    weights = run / "broadcasts" / "step_2"
    weights.mkdir(parents=True)
    (weights / "model.safetensors").write_text("trained")
    (weights / "STABLE").touch()
    with pytest.raises(UserError, match="a-model-of-a-hub: there is no such folder; fetch"):
        opening(run, 2, "a-model-of-a-hub")
    overrides, cursor = opening(run, 2, begun)
    made = run / "ray_gym" / "model"
    assert overrides == [f"models.policy.model={made}", "models.policy.weights_version=2"] and cursor == {"version": 2}
    assert (made / "model.safetensors").read_text() == "trained" and (made / "config.json").read_text() == "begun"
