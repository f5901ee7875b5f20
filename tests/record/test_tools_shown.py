"""The record holds which tools the prompts of each thread showed."""

from __future__ import annotations

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from playing import Alone, Game, Talk, play_script

from ray_gym import Episode, Participant, tool
from ray_gym.record import rows as record
from ray_gym.run.directory.parquet import write_rows


class Desk(Talk):
    """Gives each participant a tool of its own, and one to both."""

    @tool()
    def look_up(self, state: Any, caller: Participant, word: str) -> str:
        """Say what a word means: \u00fc\u2026"""
        return word

    @tool(participants=("user",))
    def complain(self, state: Any, caller: Participant) -> str:
        return "noted"


class Drafts(Desk):
    """The policy writes a draft without tools before it speaks, and a last word without them on its own thread."""

    async def run(self, episode: Episode) -> None:
        draft = episode.open_thread("policy")
        episode.tell(draft, "A draft, please.")
        await episode.reply(draft)
        await episode.turn("policy")
        episode.tell("policy", "And without tools?")
        await episode.reply("policy")


def table_of(*games: Game) -> pa.Table:
    played = [game.played for game in games]
    return record.table_of(played, [record.facts_of(one, "run", "desk") for one in played])


def names(text: str) -> dict[str, list[str]]:
    return {thread: [one["function"]["name"] for one in tools] for thread, tools in json.loads(text).items()}


async def test_threads_have_the_tools_of_their_prompts() -> None:
    (row,) = table_of(await play_script(Desk(), ["hi", "bye"], ["yes", "no"], limits={"max_turns": 2})).to_pylist()
    shown = json.loads(row["tools_shown"])
    assert names(row["tools_shown"]) == {"policy": ["look_up"], "user": ["look_up", "complain"]}
    assert shown["policy"] == [Desk.tools["look_up"].schema.as_openai()]
    assert shown["policy"][0]["function"]["description"].endswith("\u00fc\u2026")
    assert "word" in shown["policy"][0]["function"]["parameters"]["properties"]


async def test_a_thread_without_tools_is_not_named_and_a_last_word_takes_none_away() -> None:
    (row,) = table_of(await play_script(Drafts(), ["draft", "hi", "bye"])).to_pylist()
    assert [event["thread"] for event in row["events"] if event["kind"] == "message"] == [
        "policy/1",
        "policy",
        "policy",
    ]
    assert names(row["tools_shown"]) == {"policy": ["look_up"]}


async def test_who_may_call_none_and_who_has_none_was_shown_none() -> None:
    with_user = await play_script(Desk(), ["hi"], ["yes"], limits={"max_turns": 1}, policy={"tool_choice": "none"})
    tables = table_of(with_user, await play_script(Alone(), ["42"])).to_pylist()
    assert [list(json.loads(row["tools_shown"])) for row in tables] == [["user"], []]


async def test_a_failed_episode_has_what_was_shown_until_then() -> None:
    (row,) = table_of(await play_script(Desk(), ["hi"], [])).to_pylist()
    assert row["status"] == "failed" and names(row["tools_shown"]) == {"policy": ["look_up"]}


async def test_texts_are_written_once_for_many_rows() -> None:
    """This holds also for tables that have rows with other texts between them."""
    some = table_of(await play_script(Desk(), ["hi"], ["yes"], limits={"max_turns": 1}))
    table = pa.concat_tables([some, table_of(await play_script(Alone(), ["42"]))] * 10)
    file = io.BytesIO()
    write_rows(table, file)
    assert pq.read_table(io.BytesIO(file.getvalue())).to_pylist() == table.to_pylist()
    groups = pq.ParquetFile(file).metadata.row_group(0)
    (column,) = [
        groups.column(n) for n in range(groups.num_columns) if groups.column(n).path_in_schema == "tools_shown"
    ]
    text = table.column("tools_shown")[0].as_py()
    assert column.total_uncompressed_size < 3 * len(text), "in the dictionary, and in the statistics as the largest"
