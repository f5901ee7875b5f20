"""Writes episodes as rollouts of NeMo Gym, and the inputs that its tools want beside them.

`docs/export.md` says which of its tools read them. An episode has the same two numbers in both files, whatever the
filters: that of its task, and that of its rollout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from ray_gym.export.chats import IDS, reward_of
from ray_gym.export.conversation import POLICY, SILENT, as_seen, is_own
from ray_gym.export.finished import Row
from ray_gym.export.generated import FORKED, Generated, generated, own_samples
from ray_gym.export.selection import Counts, LeftOut, leaving_out, scored_episodes
from ray_gym.export.tools_shown import Tool, ToolsShown
from ray_gym.export.view import ViewForm
from ray_gym.openai_api.items import Item, event_of, items_of
from ray_gym.run.directory.intact import intact_rows
from ray_gym.run.directory.reading import Run

TASK, ROLLOUT = "_ng_task_index", "_ng_rollout_index"
"""Fields by which NeMo Gym finds a rollout."""
NAMED_AS_FIELDS = "parts of rewards that have the name of another field: such a number is under reward/NAME"
"""Note on parts."""
ROWS_AT_ONCE = 4096
"""Number of rows whose ids are read together."""

Numbers = Mapping[str, tuple[int, int]]
"""Numbers of the task and of the rollout, from 0, by the episode's id."""


@dataclass(frozen=True)
class NemoGymInputs(ViewForm):
    """Writes what each episode was played from, as `gym eval run` writes its materialized inputs."""

    numbers: Numbers
    to = "nemo-gym"
    columns: ClassVar[tuple[str, ...]] = (
        *(*IDS, "repeat", "seed", "try", "env_id", "status", "stop_reason", "reward", "rewards", "turns", "usage"),
        *("task", "events", "tools_shown", "started_at"),
    )

    @classmethod
    @contextmanager
    def open_form(cls, options: Any, run: Run) -> Iterator[Self]:
        """Makes the form with the numbers of the run's episodes, and closes its source of tools after the block."""
        with ToolsShown(run) as tools:
            yield cls(options.participant, tools, numbers_of(run))

    def lines(self, groups: Iterable[list[Row]], counts: Counts) -> Iterator[dict[str, Any]]:
        """Yields a line for each episode that the participant was asked in. The others are counted in `counts`."""
        for group in groups:
            for row in group:
                with leaving_out(counts):
                    yield {**self.about(row), "responses_create_params": self.conversation(row)[0]}

    def about(self, row: Row) -> dict[str, Any]:
        """Returns the fields of a line that say which episode it is of."""
        task, rollout = self.numbers[row["episode_id"]]
        agent = {"type": "responses_api_agents", "name": row["env_id"]}
        ids = {name: row[name] for name in IDS}
        return {TASK: task, ROLLOUT: rollout, "agent_ref": agent, **ids, "participant": self.participant}

    def conversation(self, row: Row) -> tuple[dict[str, Any], list[tuple[Row, list[Item]]]]:
        """Returns the request that began a participant's conversation, and each event after it with its items. Errors:
        LeftOut if the participant said nothing; UserError if its tools can't be found.
        """
        seen = [event for one in row["events"] if (event := as_seen(one, self.participant)) is not None]
        begins = next((place for place, event in enumerate(seen) if is_own(event)), None)
        if begins is None:
            raise LeftOut(SILENT)
        items = [items_of(event_of(event)) for event in seen]
        tools = [_tool(tool) for tool in self.tools.of(row, self.participant)]
        request = {"input": [item for some in items[:begins] for item in some], "tools": tools}
        return request, list(zip(seen[begins:], items[begins:], strict=True))


class NemoGymRollouts(NemoGymInputs):
    """Writes scored episodes as `gym eval run` writes its rollouts: the request, the response with all items of the
    conversation, and the reward. The last item of an answer has its token ids and logprobs, where there are some.
    """

    has_tokens = True
    columns = (*NemoGymInputs.columns, "samples")

    def without_tokens(self, row: Row) -> Row:
        """Returns the row without its samples."""
        return {**row, "samples": []}

    def lines(self, groups: Iterable[list[Row]], counts: Counts) -> Iterator[dict[str, Any]]:
        """Yields a line for each scored episode. Those that give no line are counted in `counts`, with the reason."""
        for group in groups:
            for row in scored_episodes(group, counts):
                with leaving_out(counts):
                    yield self._line(row, counts)

    def _line(self, row: Row, counts: Counts) -> dict[str, Any]:
        """Returns the line of an episode. Its numbers beside the reward become metrics of NeMo Gym's: those of the
        usage are of the whole episode, and the response's own are the participant's. A part of the reward that has the
        name of another field has `reward/` before it. Errors: as of `conversation`.
        """
        if (reward := reward_of(row, self.participant)) is None:
            raise LeftOut("episodes without a reward of the participant's own")
        request, said = self.conversation(row)
        tokens = generated(own_samples(row, self.participant))
        counts.notes[FORKED] += sum(one.about["fork_reason"] is not None for one in tokens.values())
        own = (one for one in row["rewards"] if one["participant"] == self.participant)
        parts = {one["name"]: one["value"] for one in own if one["name"] != "reward" and one["value"] is not None}
        line = {
            **(row["usage"] or {}),
            **self.about(row),
            "turns": row["turns"],
            "stop_reason": row["stop_reason"],
            "responses_create_params": request,
            "response": _response(row, request["tools"], said, tokens),
            "reward": reward,
            "reward_components": parts,
        }
        counts.notes[NAMED_AS_FIELDS] += len(parts.keys() & line.keys())
        return {f"reward/{name}" if name in line else name: value for name, value in parts.items()} | line


def numbers_of(run: Run) -> Numbers:
    """Returns the numbers of a run's episodes that can be read: tasks in the order of the run's files, rollouts by their
    repeat. Errors: OSError.
    """
    by_task: dict[str, list[tuple[int, str]]] = {}
    for batch in intact_rows(run.storage, ["task_id", "repeat", "episode_id"], ROWS_AT_ONCE, []):
        for row in batch.to_pylist():
            by_task.setdefault(row["task_id"], []).append((row["repeat"], row["episode_id"]))
    return {
        episode: (task, rollout)
        for task, of_task in enumerate(by_task.values())
        for rollout, (_, episode) in enumerate(sorted(of_task))
    }


def _response(
    row: Row, tools: list[dict[str, Any]], said: list[tuple[Row, list[Item]]], tokens: dict[int, Generated]
) -> dict[str, Any]:
    """Returns a response of OpenAI's Responses API with all items that came after the request."""
    output = []
    for event, items in said:
        if is_own(event) and (own := tokens.get(event["seq"])):
            items = [*items[:-1], {**items[-1], **_token_fields(own)}]
        output += items
    return {
        "id": f"resp_{row['episode_id']}",
        "object": "response",
        "created_at": row["started_at"] or 0.0,
        "model": said[0][0]["model"] or POLICY,
        "output": output,
        "tools": tools,
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "usage": _usage(tokens.values()) if tokens else None,
    }


def _token_fields(own: Generated) -> dict[str, Any]:
    return {
        "prompt_token_ids": own.prompt_ids,
        "generation_token_ids": own.token_ids,
        "generation_log_probs": own.logprobs,
    }


def _usage(tokens: Iterable[Generated]) -> dict[str, Any]:
    """Returns the tokens of all answers together, as the API counts them. What was cached is not known of each."""
    sizes = [(len(one.prompt_ids), len(one.token_ids)) for one in tokens]
    given, made = sum(size for size, _ in sizes), sum(size for _, size in sizes)
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": given + made,
    }


def _tool(tool: Tool) -> dict[str, Any]:
    """Returns a tool of the chat API in the form of the Responses API."""
    return {"type": "function", "parameters": None, "strict": None, **tool["function"]}
