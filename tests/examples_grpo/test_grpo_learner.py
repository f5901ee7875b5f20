"""Checks a step of the example trainer: what it changes, what it measures, and which data it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from grpo_batches import batch_of, group_of, learner_of, tiny_llama  # noqa: E402

from examples.grpo.checks import CheckFailed, check_plain  # noqa: E402
from examples.grpo.loss import distributions  # noqa: E402
from examples.grpo.passes import passes  # noqa: E402
from examples.grpo.sabotage import Sabotage, spoil  # noqa: E402
from ray_gym.stream import Group  # noqa: E402


def weights_of(model: Any) -> Any:
    return torch.cat([parameter.detach().flatten().clone() for parameter in model.parameters()])


def gradient_of(model: Any, batch: Any, **settings: Any) -> Any:
    """Returns the gradient of a step on a batch, whose norm is not clipped."""
    optimizer = {"lr": 0.0, "clip_norm": 1e9}
    learner_of(model, settings={"optimizer": optimizer, **settings}).learn(batch, 0)
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


def test_a_step_makes_good_answers_likelier_and_bad_ones_less_likely() -> None:
    model = tiny_llama()
    tensors = Group.joined([group_of(model, 0, [1.0, 0.0, 0.0])]).tensors()
    learner = learner_of(model, settings={"optimizer": {"lr": 0.003}})
    row, _ = learner.learn(tensors, 0)
    assert row["ratio_error"] < 1e-5 and row["kl"] == 0 and row["staleness"] == 0
    with torch.no_grad():
        [part] = passes(tensors, 10_000)
        change = distributions(model, part.token_ids, part.mask, 1.0).of_chosen - part.recorded
        sign = part.advantages
    assert change[sign > 0].mean() > 0 > change[sign < 0].mean()


def test_the_divergence_pulls_the_policy_back_to_the_start() -> None:
    model = tiny_llama(seed=1)
    tensors = batch_of(model, version=1).tensors()
    settings = {"optimizer": {"lr": 0.003}, "loss": {"kl": 100.0}}
    learner = learner_of(model, start=tiny_llama(), weights_of=lambda version: before, settings=settings)
    before = tiny_llama(seed=1)
    kls = [learner.learn(tensors, step)[0]["kl"] for step in (1, 2, 2)]
    assert kls[0] > kls[1] > kls[2] > 0


def test_passes_of_any_size_give_the_same_gradient() -> None:
    model = tiny_llama()
    tensors = batch_of(model).tensors()
    whole, cut = (gradient_of(model, tensors, tokens_per_pass=budget) for budget in (10_000, 20))
    assert len(list(passes(tensors, 20))) > len(list(passes(tensors, 10_000)))
    assert torch.allclose(whole, cut, atol=1e-6)


def test_groups_without_a_spread_have_no_part_in_the_gradient() -> None:
    model = tiny_llama()
    groups = [group_of(model, 0, [1.0, 0.0, 0.0]), group_of(model, 1, [1.0, 1.0, 1.0])]
    both, first = (gradient_of(model, Group.joined(groups[:count]).tensors()) for count in (2, 1))
    assert torch.allclose(both, first, atol=1e-7)


def test_each_token_of_a_fork_counts_once() -> None:
    """The gradient is the mean over all generated tokens, those of an episode's second sample included."""
    model = tiny_llama()
    joined = Group.joined([group_of(model, 0, [1.0, 0.0, 0.0])])
    tensors = joined.tensors()
    assert len(tensors.rows) == 4 and joined.episodes.num_rows == 3
    expected = torch.zeros(())
    for row in range(4):
        ids, mask = tensors.token_ids[row : row + 1], tensors.loss_mask[row, 1:]
        logprobs = torch.log_softmax(model(input_ids=ids).logits[0, :-1], -1)
        own = logprobs[mask].gather(1, ids[0, 1:][mask][:, None])
        expected = expected - tensors.advantages[row] * own.sum() / tensors.loss_mask.sum()
    model.zero_grad()
    expected.backward()
    by_hand = torch.cat([parameter.grad.flatten().clone() for parameter in model.parameters()])
    assert torch.allclose(gradient_of(model, tensors), by_hand, atol=1e-6)


def test_tokens_that_are_too_old_are_withheld_and_counted() -> None:
    model = tiny_llama()
    old = batch_of(model, version=0).tensors()
    before = weights_of(model)
    row, _ = learner_of(model, settings={"max_staleness": 1}).learn(old, 2)
    assert row["withheld_tokens"] == old.loss_mask.sum() and row["trained_tokens"] == 0 and row["stalest"] == 2
    assert torch.equal(weights_of(model), before)


def test_the_gradient_is_the_full_batchs_without_the_terms_of_old_tokens() -> None:
    """Half of the samples are too old; those that the stream has withheld count, too."""
    model = tiny_llama()
    batch = batch_of(model, version=2).tensors()
    half = torch.arange(len(batch.rows) // 2)
    aged = batch.versions.clone()
    aged[half] = torch.where(aged[half] >= 0, 0, aged[half])

    def gradient(made: Any) -> Any:
        settings = {"optimizer": {"lr": 0.0, "clip_norm": 1e9}, "max_staleness": 1, "loss": {"kl": 0.0}}
        learner_of(model, weights_of=lambda version: model, settings=settings).learn(made, 2)
        return torch.cat([parameter.grad.flatten().clone() for parameter in model.parameters()])

    old = replace(batch, versions=aged)
    kept = replace(batch, loss_mask=batch.loss_mask & (aged != 0), withheld_tokens=int((aged == 0).sum()))
    without = replace(batch, advantages=batch.advantages.clone().index_fill_(0, half, 0.0))
    trained = [int((one.loss_mask & (one.advantages != 0)[:, None]).sum()) for one in (without, batch)]
    expected = gradient(without) * trained[0] / trained[1]
    assert torch.allclose(gradient(old), expected, atol=1e-7) and not torch.allclose(gradient(batch), expected)
    assert gradient(kept).norm() < gradient(without).norm()


def test_older_tokens_are_checked_under_their_own_weights() -> None:
    model, later = tiny_llama(), tiny_llama(seed=1)
    tensors = batch_of(model, version=3).tensors()
    row, _ = learner_of(later, weights_of=lambda version: {3: model}[version]).learn(tensors, 4)
    assert row["ratio_error"] < 1e-5 and row["fresh_tokens"] == 0 and row["clipped"] > 0
    with pytest.raises(CheckFailed, match="ratio"):
        learner_of(later, weights_of=lambda version: later).learn(tensors, 4)
    with pytest.raises(CheckFailed, match="version 3"):
        learner_of(model).learn(tensors, 2)


def test_a_temperature_is_part_of_the_loss() -> None:
    model = tiny_llama()
    tensors = batch_of(model, temperature=0.7).tensors()
    assert learner_of(model, temperature=0.7).learn(tensors, 0)[0]["ratio_error"] < 1e-5
    with pytest.raises(CheckFailed, match="ratio"):
        learner_of(tiny_llama(), temperature=1.0).learn(tensors, 0)


def test_a_mask_that_is_shifted_fails_before_anything_is_changed() -> None:
    model = tiny_llama()
    before = weights_of(model)
    with pytest.raises(CheckFailed, match="importance ratio"):
        learner_of(model).learn(spoil(batch_of(model).tensors(), Sabotage.shifted_mask, 0), 0)
    assert torch.equal(weights_of(model), before)


def test_permuted_advantages_are_those_of_others() -> None:
    tensors = batch_of(tiny_llama()).tensors()
    spoilt = spoil(tensors, Sabotage.permuted_advantages, 3)
    assert sorted(spoilt.advantages.tolist()) == sorted(tensors.advantages.tolist())
    assert spoilt.advantages.tolist() != tensors.advantages.tolist()


def test_other_types_and_another_start_are_refused() -> None:
    model = tiny_llama()
    tensors = batch_of(model).tensors()
    with pytest.raises(CheckFailed, match="divergence from the start"):
        learner_of(model, start=tiny_llama(seed=1)).learn(tensors, 0)
    with pytest.raises(CheckFailed, match="bfloat16"):
        learner_of(tiny_llama().bfloat16()).learn(tensors, 0)


def test_tokens_that_were_not_drawn_from_the_whole_distribution_are_refused() -> None:
    table = batch_of(tiny_llama()).samples
    spans = [[{"generated": True, "kind": "constrained", "sampling": {"temperature": 1.0}}]] * table.num_rows
    with pytest.raises(CheckFailed, match="constrained"):
        check_plain(table.select(["token_ids"]).append_column("spans", [spans]), 1.0)
    spans = [[{"generated": True, "kind": "plain", "sampling": {"temperature": 0.7}}]] * table.num_rows
    with pytest.raises(CheckFailed, match=r"temperature 0\.7"):
        check_plain(table.select(["token_ids"]).append_column("spans", [spans]), 1.0)


def test_annotations_name_each_generated_token_once() -> None:
    model = tiny_llama()
    joined = batch_of(model)
    tensors = joined.tensors()
    _, annotations = learner_of(model).learn(tensors, 0)
    table = annotations.table(joined.samples, tensors.rows)
    rows = table.to_pylist()
    assert table.num_rows == int(tensors.loss_mask.sum())
    recorded = {
        (episode["episode_id"], number, position): each["logprobs"][position]
        for episode in joined.episodes.to_pylist()
        for number, each in enumerate(episode["samples"])
        for position in np.flatnonzero(each["loss_mask"])
    }
    assert {(row["episode_id"], row["sample"], row["position"]) for row in rows} == recorded.keys()
    for row in rows:
        key = row["episode_id"], row["sample"], row["position"]
        assert row["logprob"] == pytest.approx(recorded[key], abs=1e-5)
        assert 0 < row["entropy"] < np.log(32)
    first = [row for row in rows if row["episode_id"] == "g0-0"]
    assert {row["sample"] for row in first} == {0, 1} and all(row["advantage"] > 0 for row in first)
