"""Stands in the place of OpenRLHF's `SamplesGenerator`: a service plays the groups of a training batch."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

from openrlhf.trainer.ppo_utils.samples_generator import SamplesGenerator, _collect_prompt_batch

from ray_gym.client import Client
from ray_gym.errors import RunFailed, UserError
from ray_gym.stream import Group
from ray_gym.trainers.counts import add_and_say
from ray_gym.trainers.one_row import ForkChoice
from ray_gym.trainers.openrlhf.responses import check_args, responses_of
from ray_gym.trainers.rows import why_nothing_trains
from ray_gym.trainers.service import check_drawn_at, play, request_for


class GroupSamples(SamplesGenerator):  # type: ignore[misc]  # mypy does not follow imports of openrlhf
    """Takes one group for each item of the prompts' dataset.

    An item's label is its task, as JSON with the fields of the environment's `task_schema`. If all are empty, the
    environment generates the tasks; its prompt is not read.
    """

    def __init__(
        self,
        strategy: Any,
        prompts_dataloader: Any,
        eval_dataloader: Any,
        tokenizer: Any,
        *,
        url: str,
        token: str | None = None,
        environment: str | None = None,
        forks: ForkChoice = "refuse",
    ) -> None:
        """Takes what OpenRLHF gives its own, the service's address and token (None: RAY_GYM_TOKEN), the name of an
        environment of it (None: the config's own), and which sample of an episode with forks is trained on. Errors:
        UserError if OpenRLHF's arguments don't fit.
        """
        super().__init__(strategy, prompts_dataloader, eval_dataloader, tokenizer, None)
        check_args(self.args)
        self._client = Client(url, token)
        self._environment = environment
        self._forks: ForkChoice = forks
        self._coming: Any = None
        self.counts = Counter[str]()
        """Counts of what was taken and left out since the start; `OneRow.of` names them."""

    def generate_samples(self, **kwargs: Any) -> tuple[list[Any], float | None, int, bool]:
        """Returns the rows of the next batch, None (there is no filter), the number of prompts, and whether the dataset
        is at its end. Errors: those of `ray_gym.trainers.service`; RunFailed for a batch without a trainable token.
        """
        if self._coming is None:
            self._coming = iter(self.prompts_dataloader)
        _, labels, _, is_at_end = _collect_prompt_batch(self._coming, self.args.rollout.batch_size)
        if is_at_end:
            self._coming = None
        made = self._played(labels, self.args.rollout.n_samples_per_prompt, is_training=True, **kwargs)
        return made, None, len(labels), is_at_end

    def generate_eval_samples(self, **kwargs: Any) -> list[Any]:
        """Returns the rows of all groups of the dataset for evaluation."""
        _, labels, _, _ = _collect_prompt_batch(iter(self.eval_dataloader), len(self.eval_dataloader))
        size = kwargs.get("n_samples_per_prompt", self.args.rollout.n_samples_per_prompt)
        return self._played(labels, size, is_training=False, **kwargs)

    def _played(self, labels: list[str], size: int, *, is_training: bool, **kwargs: Any) -> list[Any]:
        if not labels:
            return []
        tasks = [json.loads(label) for label in labels if label]
        if tasks and len(tasks) < len(labels):
            raise UserError("the dataset has labels with a task and empty ones: give all items a task, or none")
        seed, given = random.getrandbits(62), tasks or None
        request = request_for(size, seed, given, generate=len(labels), environment=self._environment)
        groups = play(self._client, request)
        made = [row for group in groups for row in self._rows(group, size, is_training, **kwargs)]
        if is_training and not any(bool(row.action_mask.any()) for row in made):
            raise RunFailed(f"the batch has no trainable token: {why_nothing_trains(groups)}; {dict(self.counts)}")
        return made

    def _rows(self, group: Group, size: int, is_training: bool, **kwargs: Any) -> list[Any]:
        longest, filler = kwargs["max_len"], self.tokenizer.eos_token_id
        responses, counts = responses_of(group, size, self._forks, longest, filler)
        if is_training:
            check_drawn_at(group, kwargs["temperature"])
            add_and_say(self.counts, counts)
        return [self._process_response_into_experience(response, **kwargs) for response in responses]
