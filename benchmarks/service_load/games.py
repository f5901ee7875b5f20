"""Plays sessions of tic-tac-toe as a client of the service.

The client gives the commands itself, or it is a black-box agent whose model calls the service captures.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from benchmarks.service_load.connection import ClientConnection
from benchmarks.service_load.counts import WrongAnswer
from ray_gym.envs.tic_tac_toe.board import empty_cells, place_mark, read_board

REWARDS = {"X wins": 1.0, "draw": 0.5, "O wins": 0.0}
OPEN = "POST /v1/sessions"
LOOK = "GET /v1/sessions/{id}"
CLOSE = "DELETE /v1/sessions/{id}"
TOOLS = "POST .../tools"
MESSAGES = "POST .../messages"
SCORE = "POST .../score"
CHAT = "POST .../chat/completions"

GIVEN_UP = 0.1
"""Share of sessions that the client closes without a score."""
LOOKED_AT = 0.2
"""Share of rounds after which the client looks at its session."""
OPENED_AGAIN = 0.1
"""Share of rounds after which the client opens its session again, under the same key."""
SAID_AGAIN = 0.1
"""Share of messages that are sent again, under the same key."""


@dataclass(slots=True)
class Game:
    """Holds a client's knowledge of its session, in which it plays one game. Times are seconds of `time.time()`."""

    key: str
    seed: int
    id: str = ""
    opened_at: float = 0.0
    ended_at: float | None = None
    status: str = ""
    reward: float | None = None
    actions: list[tuple[str, str]] = field(default_factory=list)
    """Kinds (`move`, `say`) and contents of the policy's actions, in their order."""
    heard: str = ""
    """Text that the policy heard last."""


@dataclass(slots=True)
class ClientPauses:
    """Makes clients pause before each request, until the load is over."""

    pause_s: float
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def pause(self, rng: random.Random) -> None:
        """Waits a random number of seconds from 0 to 2 * pause_s, but not longer than until the load is over."""
        try:
            async with asyncio.timeout(rng.uniform(0, 2 * self.pause_s)):
                await self.over.wait()
        except TimeoutError:
            return


class GameClient:
    """Plays one game from its opening to its end.

    All methods raise WrongAnswer if the service answers otherwise than it should.
    """

    def __init__(self, game: Game, connection: ClientConnection, pace: ClientPauses, rng: random.Random) -> None:
        self.game = game
        self._connection = connection
        self._pace = pace
        self._rng = rng
        self._board = ""
        self._outcome: str | None = None
        self._agent: list[dict[str, Any]] | None = None
        """Conversation of the black-box agent; None if the client gives its own commands."""
        self._tools: list[dict[str, Any]] = []

    @property
    def _path(self) -> str:
        return f"/v1/sessions/{self.game.id}"

    async def play(self, captured: bool) -> None:
        game, rng = self.game, self._rng
        view = await self._open()
        messages = view["messages"]
        game.opened_at, game.heard = time.time(), messages[-1]["content"]
        if self._outcome is None:
            self._board = self._read(game.heard)
        if captured:
            self._agent = [{"role": one["role"], "content": one["content"]} for one in messages]
            self._tools = view["tools"]
        while self._outcome is None and not self._pace.over.is_set():
            await (self._play_captured_round() if captured else self._round())
            if self._outcome is None and rng.random() < LOOKED_AT:
                await self._pace.pause(rng)
                self._compare((await self._connection.ask(LOOK, self._path))["participants"]["policy"])
            if self._outcome is None and rng.random() < OPENED_AGAIN:
                self._compare(await self._open())
        await self._pace.pause(rng)
        await (self._give_up() if rng.random() < GIVEN_UP else self._score())
        game.ended_at = time.time()

    async def _open(self) -> dict[str, Any]:
        opened = await self._connection.ask(OPEN, "/v1/sessions", {"seed": self.game.seed}, key=self.game.key)
        if self.game.id not in ("", opened["id"]):
            raise WrongAnswer(f"{OPEN}: the key of {self.game.id} opened {opened['id']}")
        self.game.id = opened["id"]
        self._outcome = opened["stop"] and opened["stop"]["text"]  # the user may begin and win at once
        view: dict[str, Any] = opened["participants"]["policy"]
        return view

    def _compare(self, view: dict[str, Any]) -> None:
        """Checks that the policy's view of the session is as its client remembers it.

        Errors: WrongAnswer if it is not.
        """
        spoken = sum(one["role"] == "assistant" for one in view["messages"])
        if spoken != len(self.game.actions) or view["messages"][-1]["content"] != self.game.heard:
            raise WrongAnswer(
                f"session {self.game.id}: {spoken} messages of the policy after {len(self.game.actions)} actions"
            )

    async def _round(self) -> None:
        position = self._rng.choice(empty_cells(self._board))
        await self._move(json.dumps({"position": position}), None)
        if self._outcome is None:
            await self._say(f"{self.game.key}: word {len(self.game.actions)}")

    async def _play_captured_round(self) -> None:
        assert self._agent is not None
        said = await self._complete()
        [call] = said["tool_calls"]
        content = await self._move(call["function"]["arguments"], call["id"])
        if self._outcome is None:
            self._agent.append({"role": "tool", "tool_call_id": call["id"], "content": content})
            await self._say((await self._complete())["content"])
        if self._outcome is None:
            self._agent.append({"role": "user", "content": self.game.heard})

    async def _complete(self) -> dict[str, Any]:
        assert self._agent is not None
        await self._pace.pause(self._rng)
        body = {"model": "policy", "messages": self._agent, "tools": self._tools}
        answer = await self._connection.ask(CHAT, f"{self._path}/openai/chat/completions", body)
        said: dict[str, Any] = answer["choices"][0]["message"]
        self._agent.append(said)
        return said

    async def _move(self, arguments: str, call_id: str | None) -> str:
        await self._pace.pause(self._rng)
        body = {"name": "make_move", "arguments": arguments, "id": call_id}
        answer = await self._connection.ask(TOOLS, f"{self._path}/tools", body)
        self.game.actions.append(("move", arguments))
        content: str = answer["content"]
        expected = place_mark(self._board, "X", json.loads(arguments)["position"])
        if answer["error"] is not None or self._read(json.loads(content)["board"]) != expected:
            raise WrongAnswer(f"session {self.game.id}: {content!r} is not what {arguments} leads to on {self._board}")
        self._board = expected
        self._outcome = answer["stop"] and answer["stop"]["text"]
        return content

    async def _say(self, text: str) -> None:
        """Says a text to the user, and checks the user's move. Sometimes the text is sent again under the same key, and
        must get the same answer. Errors: WrongAnswer.
        """
        await self._pace.pause(self._rng)
        key = f"{self.game.key}-{len(self.game.actions)}"
        answer = await self._connection.ask(MESSAGES, f"{self._path}/messages", {"content": text}, key=key)
        if self._rng.random() < SAID_AGAIN:
            again = await self._connection.ask(MESSAGES, f"{self._path}/messages", {"content": text}, key=key)
            if again != answer:
                raise WrongAnswer(
                    f"session {self.game.id}: a message said again was answered by {again}, first by {answer}"
                )
        self.game.actions.append(("say", text))
        self._outcome = answer["stop"] and answer["stop"]["text"]
        if self._outcome is None:
            self.game.heard = answer["messages"][-1]["content"]
            board = self._read(self.game.heard)
            if board not in [place_mark(self._board, "O", position) for position in empty_cells(self._board)]:
                raise WrongAnswer(f"session {self.game.id}: no move leads from {self._board} to {board}")
            self._board = board

    def _read(self, text: str) -> str:
        board = read_board(text)
        if board is None:
            raise WrongAnswer(f"session {self.game.id}: no board in {text!r}")
        return board

    async def _score(self) -> None:
        expected = REWARDS[self._outcome] if self._outcome else 0.0
        score = (await self._connection.ask(SCORE, f"{self._path}/score"))["score"]
        if (score["status"], score["reward"]) != ("completed", expected):
            raise WrongAnswer(f"session {self.game.id}: {score}, and not {expected} for {self._outcome}")
        self.game.status, self.game.reward = "completed", expected

    async def _give_up(self) -> None:
        await self._connection.ask(CLOSE, self._path)
        self.game.status = "cancelled"


async def play_games(number: int, address: str, counts: Any, pace: ClientPauses, games: list[Game]) -> None:
    """Plays one game after the other until the load is over. `number` seeds the client's random choices.

    Each game is added to `games` at its start. A wrong answer is counted in `counts`, and ends its game.
    """
    rng = random.Random(number)
    async with ClientConnection.to(address, counts) as connection:
        await pace.pause(rng)
        while not pace.over.is_set():
            game = Game(key=f"{rng.getrandbits(64):016x}", seed=rng.getrandbits(32))
            games.append(game)
            try:
                await GameClient(game, connection, pace, rng).play(captured=rng.random() < 0.5)
            except WrongAnswer as error:
                counts.errors.append(str(error))
                with suppress(WrongAnswer):
                    if game.id:
                        await connection.ask(CLOSE, f"/v1/sessions/{game.id}")
