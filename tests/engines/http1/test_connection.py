"""Checks how a connection reads a server's bytes, and what it does when the server is silent."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ray_gym.aio.pace import Pace
from ray_gym.engines.http1 import connection as connection_module
from ray_gym.engines.http1.connection import HttpConnection, HttpResponse
from ray_gym.engines.http1.pool import Pool
from tests.engines.http1.raw_server import LOOPS, OK, RawServer, answered, ask, played

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"4\r\n{\"a\"\r\n3;x=y\r\n: 1\r\n1\r\n}\r\n0\r\nA-Trailer: x\r\n\r\n"
)  # fmt: skip
TO_THE_END = b"HTTP/1.0 200 OK\r\nServer: old\r\n\r\n{}"

each_loop = pytest.mark.parametrize("make_loop", LOOPS)
MakeLoop = Callable[[], asyncio.AbstractEventLoop]


@each_loop
def test_what_is_asked_and_answered(make_loop: MakeLoop) -> None:
    async def play(double: RawServer, pool: Pool) -> None:
        call = ask(pool, b'{"n": 1}')
        asked = await double.asked.get()
        assert asked.head.startswith("POST /v1/ask HTTP/1.1\r\n") and asked.body == b'{"n": 1}'
        lines = asked.head.splitlines()
        assert {"X-Session-Id: s", "Authorization: Bearer key", "Content-Length: 8"} <= set(lines)
        assert sum(line.startswith("Host: 127.0.0.1:") for line in lines) == 1
        asked.say(b"HTTP/1.1 429 Slow Down\r\nRetry-After: 3\r\nContent-Length: 4\r\n\r\nwait")
        answer = await call
        assert (answer.status, answer.body, answer.header("retry-after")) == (429, b"wait", "3")
        assert answer.header("Date") is None
        said = CHUNKED.replace(b"OK\r\n", b"OK\r\nA-Trailer: head\r\n")
        assert (await answered(double, pool, said))[1].header("A-Trailer") == "head", "which trailers don't change"

    played(play, make_loop)


@each_loop
@pytest.mark.parametrize(
    ("said", "body", "stays"),
    [
        ([CHUNKED], b'{"a": 1}', True),
        ([CHUNKED[:70], CHUNKED[70:]], b'{"a": 1}', True),
        ([b"HTTP/1.1 100 Continue\r\n\r\n", OK], b"{}", True),
        ([b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" + OK], b"{}", True),
        ([b"HTTP/1.1 204 No Content\r\n\r\n"], b"", True),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"], b"", True),
        ([b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"], b"{}", False),
        ([b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}"], b"{}", True),
        ([CHUNKED.replace(b"4\r\n{", b"4 \r\n{")], b'{"a": 1}', True),
        ([OK + OK], b"{}", False),
        ([OK + OK[:20]], b"{}", False),
        ([OK + b"H"], b"{}", False),
    ],
)
def test_forms_of_answers(make_loop: MakeLoop, said: list[bytes], body: bytes, stays: bool) -> None:
    async def play(double: RawServer, pool: Pool) -> None:
        first, answer = await answered(double, pool, *said)
        assert answer.body == body
        second, answer = await answered(double, pool, OK)
        assert (first, second, answer.body) == (0, 0 if stays else 1, b"{}")

    played(play, make_loop)


@each_loop
@pytest.mark.parametrize("head", [TO_THE_END, TO_THE_END.replace(b"Server: old", b"Transfer-Encoding: identity")])
def test_an_answer_may_end_with_its_connection(make_loop: MakeLoop, head: bytes) -> None:
    async def play(double: RawServer, pool: Pool) -> None:
        _, answer = await answered(double, pool, head, b" and more", hang_up=True)
        assert answer.body == b"{} and more"
        assert (await answered(double, pool, OK))[0] == 1

    played(play, make_loop)


@each_loop
@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (b"", "closed the connection before it had answered"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "closed the connection before it had answered"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{}", "closed the connection before it had answered"),
        (CHUNKED[:-5], "closed the connection before it had answered"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "does not speak HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "does not speak HTTP/1.1"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "another protocol"),
    ],
)
def test_what_is_no_answer(make_loop: MakeLoop, said: bytes, problem: str) -> None:
    async def play(double: RawServer, pool: Pool) -> None:
        with pytest.raises(ConnectionError, match=problem):
            await answered(double, pool, said, hang_up=True)
        assert (await answered(double, pool, OK))[0] == 1

    played(play, make_loop)


@each_loop
def test_silence_ends_a_call(make_loop: MakeLoop) -> None:
    async def play(double: RawServer, pool: Pool) -> None:
        call = ask(pool)
        (await double.asked.get()).say(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{")
        with pytest.raises(TimeoutError, match=r"nothing came from the server for 0\.3 s"):
            await call
        assert await double.left.get() == 0

    played(play, make_loop, silence_s=0.3)


@each_loop
def test_silence_is_counted_from_the_last_piece(make_loop: MakeLoop) -> None:
    async def play(double: RawServer, pool: Pool) -> None:
        await answered(double, pool, OK)  # whose timer is due earlier
        call = ask(pool)
        asked = await double.asked.get()
        asked.say(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n")
        for _ in range(8):
            await asyncio.sleep(0.1)
            asked.say(b"x")
        assert (await call).body == 8 * b"x"

    played(play, make_loop, silence_s=0.5)


@each_loop
def test_silence_is_noticed_on_a_connection_that_has_rested(make_loop: MakeLoop) -> None:
    """The timer of such a connection is due only when it has been idle for too long."""

    async def play(double: RawServer, pool: Pool) -> None:
        await answered(double, pool, OK)
        await asyncio.sleep(0.4)  # by then it has found that nobody waits
        call = ask(pool)
        assert (await double.asked.get()).connection == 0
        with pytest.raises(TimeoutError, match="nothing came"):
            async with asyncio.timeout(5):
                await call

    played(play, make_loop, silence_s=0.2)


@each_loop
def test_who_waits_no_longer_hangs_up(make_loop: MakeLoop) -> None:
    """The server stops generating, and what it had to say is not taken for the next answer."""

    async def play(double: RawServer, pool: Pool) -> None:
        call = ask(pool)
        await double.asked.get()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await double.left.get() == 0
        assert (await answered(double, pool, OK))[0] == 1

    played(play, make_loop)


@each_loop
def test_who_leaves_before_being_told_disturbs_nobody(make_loop: MakeLoop) -> None:
    """The connection is at rest when the answer is there; who asked is told later where many come together."""

    async def play(double: RawServer, pool: Pool) -> None:
        rested = _rests_of(pool)
        calls = [ask(pool) for _ in range(40)]
        came = [await double.asked.get() for _ in calls]
        while pool._pace.take_room():
            pass  # nobody is told in this turn
        leaving, told = calls[0], asyncio.get_running_loop().create_future()
        pool._pace.settle(told, None)
        came[0].say(OK)
        await rested.wait()
        next_call = ask(pool)
        leaving.cancel()
        asked = await double.asked.get()
        for one in (*came[1:], asked):
            one.say(OK)
        assert (await next_call).body == b"{}" and asked.connection == came[0].connection
        await asyncio.gather(*calls, return_exceptions=True)

    played(play, make_loop)


@each_loop
@pytest.mark.parametrize("said", [b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 4"])
def test_words_that_nobody_asked_for_end_a_connection(make_loop: MakeLoop, said: bytes) -> None:
    async def play(double: RawServer, pool: Pool) -> None:
        await answered(double, pool, OK)
        double.writers[0].write(said)
        assert await double.left.get() == 0
        assert (await answered(double, pool, OK))[0] == 1

    played(play, make_loop)


@each_loop
def test_an_answer_that_comes_before_all_was_sent_ends_its_connection(make_loop: MakeLoop) -> None:
    """The server may never read the rest, and the next request would wait behind it."""

    async def play(double: RawServer, pool: Pool) -> None:
        came = asyncio.Event()

        async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
            await reader.read()
            came.set()
            writer.close()

        async with await asyncio.start_server(refuse, "127.0.0.1", 0, limit=1024) as server:
            port = server.sockets[0].getsockname()[1]
            other = Pool(f"http://127.0.0.1:{port}", {}, limit=1, connect_s=5, silence_s=60)
            assert (await other.post("/ask", {}, bytes(64 * 2**20))).status == 413
            await came.wait()

    played(play, make_loop)


@each_loop
def test_who_has_rested_for_too_long_is_not_used_again(make_loop: MakeLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "KEEP_ALIVE_S", 0.2)

    async def play(double: RawServer, pool: Pool) -> None:
        await answered(double, pool, OK)
        assert (await answered(double, pool, OK))[0] == 0
        assert await double.left.get() == 0, "it is closed by itself"
        assert (await answered(double, pool, OK))[0] == 1

    played(play, make_loop)


@each_loop
def test_who_hangs_up_while_all_is_not_sent_ends_the_call(make_loop: MakeLoop) -> None:
    async def play(double: RawServer, pool: Pool) -> None:
        async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write_eof()
            await left.wait()
            writer.close()

        left = asyncio.Event()
        async with await asyncio.start_server(hang_up, "127.0.0.1", 0, limit=1024) as server:
            port = server.sockets[0].getsockname()[1]
            other = Pool(f"http://127.0.0.1:{port}", {}, limit=1, connect_s=5, silence_s=60)
            with pytest.raises(ConnectionError, match="closed the connection"):
                await other.post("/ask", {}, bytes(64 * 2**20))
            left.set()

    played(play, make_loop)


@each_loop
def test_while_the_server_reads_there_is_no_silence(make_loop: MakeLoop) -> None:
    async def play(double: RawServer, pool: Pool) -> None:
        async def read_slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            left = 24 * 2**20
            await reader.readuntil(b"\r\n\r\n")
            while left > 0:
                left -= len(await reader.readexactly(min(left, 3 * 2**20)))
                await asyncio.sleep(0.1)
            writer.write(OK)
            writer.close()  # CPython 3.12.1 waits for that when the server ends

        async with await asyncio.start_server(read_slowly, "127.0.0.1", 0, limit=1024) as server:
            port = server.sockets[0].getsockname()[1]
            other = Pool(f"http://127.0.0.1:{port}", {}, limit=1, connect_s=5, silence_s=0.5)
            assert (await other.post("/ask", {}, bytes(24 * 2**20))).status == 200
            await other.close()

    played(play, make_loop)


@each_loop
def test_a_closed_connection_is_freed_at_once(make_loop: MakeLoop) -> None:
    """Looks for cycles are seldom where episodes are played."""

    async def play(double: RawServer, pool: Pool) -> None:
        gc.collect()
        for _ in range(3):
            await answered(double, pool, b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
            await double.left.get()
        alive = [one for one in gc.get_objects() if type(one) is HttpConnection]
        assert not alive

    gc.disable()
    try:
        played(play, make_loop)
    finally:
        gc.enable()


def _rests_of(pool: Pool) -> asyncio.Event:
    """Set when one of its connections is at rest. For connections that are opened from now on."""
    rested, rest = asyncio.Event(), pool._keep

    def noted(connection: HttpConnection) -> None:
        rest(connection)
        rested.set()

    pool._keep = noted
    return rested


class _Unsent(asyncio.Transport):
    """A transport's double: takes all, sends nothing."""

    def writelines(self, list_of_data: object) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def abort(self) -> None:
        pass


@given(cuts=st.lists(st.integers(1, len(CHUNKED) - 1)), said=st.sampled_from([CHUNKED, OK]))
def test_where_an_answer_is_cut_makes_no_difference(cuts: list[int], said: bytes) -> None:
    async def play() -> HttpResponse:
        connection = HttpConnection(60, Pace(), lambda _: None)
        connection.connection_made(_Unsent())
        call = asyncio.create_task(connection.ask([b""]))
        await asyncio.sleep(0)
        ends = sorted({*(cut for cut in cuts if cut < len(said)), len(said)})
        for begin, end in zip([0, *ends], ends, strict=False):
            connection.data_received(said[begin:end])
        assert connection.is_reusable
        connection.connection_lost(None)
        return await call

    assert asyncio.run(play()).body == (b'{"a": 1}' if said is CHUNKED else b"{}")
