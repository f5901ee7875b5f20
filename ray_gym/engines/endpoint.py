"""Calls a model server over HTTP: holds its address and key, and retries calls that fail.

It does not depend on the format of requests and answers, which `openai_wire` converts.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ray_gym.aio.backoff import pause_s
from ray_gym.aio.clock import exclude
from ray_gym.aio.deadlines import note_lost_try
from ray_gym.engines.endings import own_words
from ray_gym.engines.http1.connection import HttpResponse
from ray_gym.engines.http1.pool import Pool
from ray_gym.engines.json_bodies import decode_json, encode_json
from ray_gym.engines.masked_keys import without_key
from ray_gym.engines.nested_errors import errors_in, words_of
from ray_gym.engines.proxied import Proxied, open_session
from ray_gym.engines.refusals import RETRIED_STATUSES, RefusedByEndpoint, refusal_of
from ray_gym.errors import EpisodeFailure, FailureKind, UserError, describe
from ray_gym.header_values import check_header_value
from ray_gym.models.numbers import Integer, Real
from ray_gym.models.rates import RateLimit
from ray_gym.proxies import answered_through, proxy_to
from ray_gym.web_addresses import split_address

CONNECT_TIMEOUT_S = 5.0
"""Seconds to open a connection."""
LONGEST_ERROR = 400
"""Characters of an error that are shown at most."""
SLOW_S, SAY_S = 5.0, 60.0
"""Seconds after which it is told why a call has no answer, and between two warnings about the same thing."""
MOST_WARNINGS = 16
"""Most warnings that are kept for `take_warnings`, which many processes never call."""
MOST_ERRORS = 16
"""Most errors of one answer whose words are told."""
FIRST_WORDS = 100
"""Characters that are shown of a body that is no JSON."""
_OF_TEMPLATE = re.compile(r"roles must alternate|\bjinja exception|\braise_exception\b", re.IGNORECASE)
"""Words by which a server says with HTTP 500 (llama.cpp) that its chat template refuses the messages: it always will."""
_GZIP = b"\x1f\x8b"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Result = TypeVar("Result")
logger = logging.getLogger(__name__)


class EndpointOptions(BaseModel):
    """Holds the keys of a config that all engines with an endpoint share."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: str
    """Address of the endpoint; it usually ends in /v1."""
    model: Annotated[str, Field(min_length=1)]
    """The model's name at the endpoint."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the key. None means that the endpoint needs none."""
    max_connections: Annotated[Integer, Field(ge=1)] = 1024
    """Largest number of calls in flight, for each worker."""
    retries: Annotated[Integer, Field(ge=0)] = 5
    """Largest number of further tries of a call that fails."""
    timeout_s: Annotated[Real, Field(gt=0)] = 600
    """Seconds without a byte from the endpoint after which a call counts as failed."""
    requests_per_minute: Annotated[Real, Field(gt=0, allow_inf_nan=False)] | None = None
    """Most requests a minute, over all workers of the run. Default: no limit."""
    tokens_per_minute: Annotated[Real, Field(gt=0, allow_inf_nan=False)] | None = None
    """Most prompt and generated tokens a minute, over all workers of the run. Default: no limit."""

    @field_validator("base_url")
    @classmethod
    def _check_address(cls, value: str) -> str:
        parts = split_address(value, "http://host:8000/v1")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError("only scheme, host, port and path go here; the key is named by api_key_env")
        return parts.geturl().rstrip("/")

    def limits(self) -> dict[str, Any]:
        """Returns the limits of connections to the endpoint, as a new dict with the keyword arguments of `Pool`."""
        return {"limit": self.max_connections, "connect_s": CONNECT_TIMEOUT_S, "silence_s": self.timeout_s}

    def key(self) -> str | None:
        """Returns the API key from this process's environment. Returns None if the options name no variable for it, or
        the variable is not set, or empty.
        """
        return os.environ.get(self.api_key_env, "").strip() or None if self.api_key_env else None

    def require_key(self, where: str) -> str | None:
        """Returns the API key, None if no environment variable is named for it. Errors: UserError if the named variable
        is not set, or empty, or has what no header can have.
        """
        name, key = self.api_key_env, self.key()
        if name and not _VARIABLE.fullmatch(name):
            raise UserError(
                f"{where}.api_key_env: give the name of an environment variable, which has letters, digits and _ only; "
                "the key itself goes into that variable"
            )
        if name and not key:
            raise UserError(f"{where}.api_key_env: the environment variable {name} is not set; export {name}=YOUR_KEY")
        try:
            return check_header_value(f"{where}.api_key_env: the key in {name}", key)
        except ValueError as error:
            raise UserError(str(error)) from None


class RefusedRequest(Exception):
    """Says that the endpoint refuses a request, and a retry won't help: the HTTP status is neither 200, nor 5xx, nor
    one of `RETRIED_STATUSES`, or its chat template refuses the messages. `path` is that of the request, below /v1;
    `text` the body of the answer; `through` names the proxy that may have answered, if there is one;
    `retry_after_s`: seconds for which the endpoint asked not to be called, 0 if it did not.
    """

    def __init__(self, status: int, path: str, text: str, through: str = "", retry_after_s: float = 0) -> None:
        super().__init__(f"HTTP {status}{through}: {error_text(text)}")
        self.status = status
        self.path = path
        self.text = text
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class _LostCall:
    """Describes a call that failed and may be retried. `refused`: the endpoint's answer if it was an error; None if the
    call got none that could be read.
    """

    problem: str
    refused: RefusedRequest | None = None

    @property
    def retry_after_s(self) -> float:
        """Returns the seconds for which the endpoint asked not to be called; 0 if it did not."""
        return self.refused.retry_after_s if self.refused else 0


class Endpoint:
    """Calls one endpoint, over connections that its calls share. It is safe for many concurrent calls on one event
    loop.
    """

    def __init__(self, options: EndpointOptions, key: str | None, first_pause_s: float = 0.5) -> None:
        self._options = options
        self._key = key
        self._first_pause_s = first_pause_s
        self._calls: Pool | Proxied | None = None
        self._said_at: dict[str, float] = {}
        self._warnings: deque[str] = deque(maxlen=MOST_WARNINGS)
        self.rate = RateLimit.of(options.requests_per_minute, options.tokens_per_minute)
        """Limit of the calls a minute, for which the caller of `post` has waited; None if there is none."""

    async def post(self, path: str, body: Any, session_id: str, read: Callable[[bytes], Result]) -> Result:
        """Sends `body` as JSON, and returns the result of `read` on the body of the answer. A call is retried up to
        `retries` times: if the connection fails or is silent, for HTTP 5xx and `RETRIED_STATUSES`, and if `read` raises
        a ValueError. Lost tries and pauses are left out of the episode's clock.

        `session_id` goes into the header X-Session-Id, by which routers send the calls of a conversation to one server.

        Errors: RefusedRequest for any other HTTP status than 200; EpisodeFailure (infra) if the last try fails too;
        TypeError for a body that JSON can't hold; ValueError for a key or a session id that no header can hold.
        """
        data = encode_json(body)
        tried, began = 0, time.monotonic()
        first = began
        while isinstance(outcome := await self._call(path, data, session_id, read), _LostCall):
            if tried == self._options.retries:
                raise self.failure(f"{outcome.problem} (tried {tried + 1} times)", refused=outcome.refused)
            pause = max(pause_s(tried, self._first_pause_s), outcome.retry_after_s)
            exclude(began, pause)
            note_lost_try(self.shown(outcome.problem))
            self._tell_slow(outcome, time.monotonic() - first, pause)
            await asyncio.sleep(pause)
            if self.rate is not None:
                self.rate.count_again()
            tried, began = tried + 1, time.monotonic()
        return outcome

    async def close(self) -> None:
        if self._calls is not None:
            await self._calls.close()
            self._calls = None

    def failure(self, problem: str, retry: bool = True, refused: RefusedRequest | None = None) -> EpisodeFailure:
        """Returns an infrastructure failure of this endpoint, with the key masked in its message. `retry`: True if the
        same call may succeed later. `refused`: the error that the endpoint answered; None if it did not.
        """
        where, message = f"model {self._options.base_url}", self.shown(problem)
        if refused is None:
            return EpisodeFailure(FailureKind.INFRA, where, message, retry)
        words = self.shown(error_text(refused.text))
        told = refusal_of(refused.status, refused.path, refused.text, words, refused.retry_after_s)
        return RefusedByEndpoint(where, message, retry, told)

    def shown(self, text: str) -> str:
        """Returns a text about an error, with the key masked, and cut if it is long."""
        return shown_error(text, self._key)

    def warn(self, about: str, problem: str) -> None:
        """Logs a warning about this endpoint in this process, with the key masked, and keeps it for `take_warnings`. Those
        `about` the same thing are told once in `SAY_S` seconds.
        """
        now = time.monotonic()
        if now - self._said_at.get(about, -math.inf) < SAY_S:
            return
        self._said_at[about] = now
        told = f"model {self._options.base_url}: {self.shown(problem)}"
        logger.warning(told)
        self._warnings.append(told)

    def take_warnings(self) -> list[str]:
        """Returns the warnings since the last call, the newest `MOST_WARNINGS` of them."""
        taken = list(self._warnings)
        self._warnings.clear()
        return taken

    def _tell_slow(self, lost: _LostCall, waited_s: float, pause: float) -> None:
        """Warns why a call is tried again, and of a long pause for which the endpoint asked, if it takes `SLOW_S` seconds
        with the pause before its next try.
        """
        if waited_s + pause < SLOW_S:
            return
        asked = f" after the {pause:.0f} s for which it asks" if pause == lost.retry_after_s >= SLOW_S else ""
        self.warn("slow", f"no answer in {waited_s:.0f} s, and it is called again{asked}: {lost.problem}")

    async def _call(
        self, path: str, data: bytes, session_id: str, read: Callable[[bytes], Result]
    ) -> Result | _LostCall:
        headers = {"X-Session-Id": session_id}  # routers send a session to one server
        try:
            answer = await self._connections().post(path, headers, data)
        except (TimeoutError, OSError) as error:
            return _LostCall(describe(error))
        if answer.status == 200:
            try:
                return read(answer.body)
            except ValueError as error:
                return _LostCall(f"not a completion: {no_json(answer, self._key) or describe(error)}")
        text = redirection(answer.status, answer.header("Location")) or answer.body.decode(errors="replace")
        through = answered_through(self._options.base_url, answer.status, text)
        pause = read_retry_after(answer.header("Retry-After"))
        refused = RefusedRequest(answer.status, path, text, through, pause)
        may_pass = answer.status in RETRIED_STATUSES or answer.status >= 500
        if may_pass and not (answer.status == 500 and _OF_TEMPLATE.search(own_words(text))):
            return _LostCall(str(refused), refused)
        raise refused

    def _connections(self) -> Pool | Proxied:
        """Returns the connections to the endpoint, through a proxy if the environment names one. They are created at
        the first call, since they belong to the event loop that runs then.
        """
        if self._calls is None:
            url, headers, limits = self._options.base_url, headers_for(self._key), self._options.limits()
            proxy = proxy_to(url)
            self._calls = (
                Proxied(url, open_session(headers, proxy, **limits)) if proxy else Pool(url, headers, **limits)
            )
        return self._calls


def no_json(answer: HttpResponse, key: str | None) -> str:
    """Says what the body of an answer is if it is no JSON: its kind, and its first words, in which the API key is
    masked. Returns "" for JSON.
    """
    body = answer.body
    try:
        decode_json(body)
        return ""
    except ValueError as error:
        why = describe(error)
    kind, coding = answer.header("Content-Type") or "no Content-Type", answer.header("Content-Encoding") or ""
    if body.startswith(_GZIP) or (coding not in ("", "identity") and not _is_text(body)):
        return f"the body is compressed ({coding or 'gzip'}), though no compression was asked for"
    words = " ".join(body.decode(errors="replace").split())
    words = without_key(words, key)
    first = repr(words if len(words) <= FIRST_WORDS else f"{words[:FIRST_WORDS]}...")
    if not words:
        return f"the body is empty ({kind})"
    if kind.startswith("text/event-stream") or words.startswith(("data:", "event:")):
        return f"the body is a stream of events (SSE, {kind}), though no stream was asked for: {first}"
    if words.startswith(("{", "[")):
        return f"the body is broken JSON ({kind}; {why}): {first}"
    return f"the body is no JSON ({kind}): {first}"


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def headers_for(key: str | None) -> dict[str, str]:
    """Returns the headers that every request to an endpoint has. `key`: the API key; None leaves its header out."""
    return {"Content-Type": "application/json", "User-Agent": "ray_gym", **authorization(key)}


def authorization(key: str | None) -> dict[str, str]:
    """Returns the header that carries the API key, as a dict; it is empty without a key."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def error_text(body: str) -> str:
    """Returns the message in the body of an error answer, with those of the errors within it; the whole body if it has
    none of the known shapes (OpenAI's and FastAPI's JSON). The text is made one line. It may be long, and may hold the
    key: `shown_error` is for that.
    """
    told: list[str] = []
    for words in words_of(errors_in(body)):
        line = " ".join(words.split())
        if len(told) < MOST_ERRORS and not any(line in before for before in told):
            told.append(line)
    return ": ".join(told) or " ".join(body.split())


def redirection(status: int, location: str | None) -> str:
    """Returns the words for an answer that leads elsewhere, which no call follows with its key; "" for another."""
    return f"it leads to {location}, and no call goes there: set base_url" if 300 <= status < 400 and location else ""


def shown_error(text: str, key: str | None) -> str:
    """Returns a text about an error for people: with the API key and parts of it masked, and then cut, since a cut
    key would not be found.
    """
    shown = without_key(text, key)
    return shown if len(shown) <= LONGEST_ERROR else f"{shown[: LONGEST_ERROR - 3]}..."


def read_retry_after(value: str | None) -> float:
    """Returns the seconds of a Retry-After header. Returns 0 if there is no header (None), or its value is a date, a
    negative or infinite number, or no number.
    """
    try:
        seconds = float(value or 0)
    except ValueError:
        return 0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0
