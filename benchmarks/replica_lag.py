"""Whether a replica's event loop stays free: `python -m benchmarks.replica_lag`.

Conversations of 16k tokens, 64 at once, by the transport of runs into a replica that renders, tokenises and parses as in a
run. Its engine is a double, because the small model's context is 8k: it answers with a tool call after two seconds, as 64 sequences
at 15 tokens a second would. Lag is how much later than asked the replica's event loop wakes, looked at every 2 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
from ray import serve

from benchmarks.command import add_json, begin, not_negative, positive
from benchmarks.conversation import TOOL, answer, conversation, new_messages
from benchmarks.engine_double import EngineDouble
from benchmarks.orchestration import table
from ray_gym.deployments.chat.checkpoint import load_tokens
from ray_gym.deployments.chat.completer import Completer
from ray_gym.deployments.chat.formats import make_formats
from ray_gym.deployments.chat.options import ChatOptions
from ray_gym.deployments.small_model import NAME
from ray_gym.hosting.affinity import Transport
from ray_gym.hosting.application import start_serve
from ray_gym.hosting.lanes.replica import BatchedReplica
from ray_gym.hosting.transport import ServeModel
from ray_gym.models.base import Completion, CompletionRequest, Sampling
from ray_gym.run.cluster.cluster import connected

BOUND_MS = 20.0
LOOK_S = 0.002
APP = "replica-lag"


class MeasuredReplica(BatchedReplica):
    """A replica's chat format, parsers and transports; the engine is a double."""

    def __init__(self, seconds: float) -> None:
        tokens = load_tokens(NAME)
        chat_format, tool_format = make_formats(ChatOptions(), NAME, tokens, uses_tools=True)
        text = answer(1)[1]
        ids = [*tokens.tokenizer.encode(text, add_special_tokens=False), tokens.stop_ids[0]]
        self._completer = Completer(chat_format, tool_format, EngineDouble(ids, text, seconds))
        self._lags: list[float] = []
        self._watch: asyncio.Task[None] | None = None

    async def complete(self, request: CompletionRequest) -> Completion:
        return await self._completer.complete(request)

    async def watch(self) -> None:
        """Begin to look at the loop, afresh."""
        self._lags.clear()
        if self._watch is None:
            self._watch = asyncio.create_task(self._look())

    async def lags(self) -> list[float]:
        """In seconds."""
        return self._lags

    async def _look(self) -> None:
        while True:
            asked = time.perf_counter() + LOOK_S
            await asyncio.sleep(LOOK_S)
            self._lags.append(time.perf_counter() - asked)


async def play(model: ServeModel, request: CompletionRequest, steps: int) -> list[float]:
    """Seconds of each step."""
    seconds = []
    for number in range(steps):
        request.messages += new_messages(number)
        began = time.perf_counter()
        completion = await model.complete(request)
        seconds.append(time.perf_counter() - began)
        if completion.fork_reason is not None or not completion.message.tool_calls:
            raise RuntimeError(f"not the step that was meant to be measured: {completion}")
        request.history = np.concatenate([request.history, completion.prompt_ids, completion.token_ids])
        request.messages.append(completion.message)
        request.known = len(request.messages)
    return seconds


async def measure(conversations: int, tokens: int, steps: int, transport: Transport) -> dict[str, Any]:
    handle = serve.get_app_handle(APP)
    model = ServeModel(APP, transport=transport)
    loaded = load_tokens(NAME)
    chat_format, _ = make_formats(ChatOptions(), NAME, loaded, uses_tools=True)
    talk = conversation(chat_format, loaded.tokenizer, loaded.stop_ids[0], tokens)
    requests = [
        CompletionRequest(
            list(talk.messages),
            Sampling(),
            f"session-{n}",
            n,
            "policy",
            len(talk.messages),
            talk.history,
            (TOOL,),
            (TOOL,),
        )
        for n in range(conversations)
    ]
    await play(
        model,
        CompletionRequest(
            list(talk.messages), Sampling(), "warm", 0, "policy", len(talk.messages), talk.history, (TOOL,), (TOOL,)
        ),
        2,
    )
    await handle.watch.remote()
    began = time.perf_counter()
    seconds = [s for played in await asyncio.gather(*(play(model, r, steps) for r in requests)) for s in played]
    took = time.perf_counter() - began
    lags = 1000 * np.array(await handle.lags.remote())
    await model.close()
    return {
        "transport": transport,
        "conversations": conversations,
        "tokens": len(talk.history),
        "steps": len(seconds),
        "steps/s": len(seconds) / took,
        "step p50 (s)": float(np.percentile(seconds, 50)),
        "lag p50 (ms)": float(np.percentile(lags, 50)),
        "lag p99 (ms)": float(np.percentile(lags, 99)),
        "lag max (ms)": float(lags.max()),
        "looks": len(lags),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    given, heading = begin(_parser(), arguments)
    with connected():
        start_serve()
        slots = {"max_ongoing_requests": given.conversations, "user_config": {"slots": given.conversations}}
        replica = serve.deployment(MeasuredReplica, name="model", **slots)
        serve.run(replica.bind(given.seconds), name=APP, route_prefix=None)
        line = asyncio.run(measure(given.conversations, given.tokens, given.steps, given.transport))
        serve.delete(APP)
    print(table([line]))
    print(f"\np99 of the lag: {line['lag p99 (ms)']:.1f} ms (bound {BOUND_MS:g})")
    heading.write(given.json, line=line)
    return 0 if line["lag p99 (ms)"] <= BOUND_MS else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replica_lag", description=__doc__)
    parser.add_argument("--conversations", type=positive, default=64)
    parser.add_argument("--tokens", type=positive, default=16_000)
    parser.add_argument("--steps", type=positive, default=8)
    parser.add_argument("--seconds", type=not_negative, default=2.0, help="how long the engine's double takes")
    parser.add_argument("--transport", choices=get_args(Transport), default="batched", help="(default batched)")
    add_json(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
