"""Lists what the attacks send, and to which paths."""

from __future__ import annotations

import json

from guarded_service import TOKENS

MARK = "tr4ce-of-an-attack"
"""Is in whatever an attack sends."""
ALICE, BOB = TOKENS["alice"], TOKENS["bob"]
ROLLOUT, SESSION, OTHER = "ROLLOUT", "SESSION", "OTHER"
"""In paths: a rollout of Alice's, a session of hers, and another one."""

# ---- paths ----

PATHS = [
    "/v1/rollouts/../../../etc/passwd",
    "/v1/rollouts/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "/v1/rollouts/..%2fregistry/episodes",
    "/v1/rollouts/%2Fetc%2Fpasswd/stream",
    f"/v1/rollouts/{MARK}",
    f"/v1/rollouts/{MARK}%00/episodes",
    f"/v1/rollouts/{MARK}%0d%0aX-Injected:%201/stream",
    f"/v1/sessions/{MARK}%2Fscore",
    "/v1/sessions/%F0%9F%92%A5%ff",
    f"/v1/sessions/{'x' * 5000}",
    f"/v1/rollouts/{'%2e%2e%2f' * 1000}",
    f"/v1/{'x' * 20_000}",
    f"//{MARK}/v1/rollouts",
    "/-/routes",
    "/docs",
    "/redoc",
]

GIVEN = [None, "", "Bearer", f"Bearer {MARK}", f"Bearer {ALICE[:-1]}", f"Bearer {ALICE}x", f"Basic {ALICE}"]
GIVEN += [ALICE, f"Bearer {ALICE} {ALICE}", f"Bearer {ALICE},{BOB}", "Bearer null", f"Bearer {SESSION}.", "Bearer ."]

SAID = [{"role": "user", "content": MARK}]
OF_ALICE = [
    ("GET", f"/v1/rollouts/{ROLLOUT}", None),
    ("DELETE", f"/v1/rollouts/{ROLLOUT}", None),
    ("GET", f"/v1/rollouts/{ROLLOUT}/episodes", None),
    ("GET", f"/v1/rollouts/{ROLLOUT}/stream", None),
    ("GET", f"/v1/sessions/{SESSION}", None),
    ("DELETE", f"/v1/sessions/{SESSION}", None),
    ("POST", f"/v1/sessions/{SESSION}/score", None),
    ("POST", f"/v1/sessions/{SESSION}/tools", {"name": MARK, "arguments": {}}),
    ("POST", f"/v1/sessions/{SESSION}/messages", {"content": MARK}),
    ("GET", f"/v1/sessions/{SESSION}/openai/models", None),
    ("POST", f"/v1/sessions/{SESSION}/openai/chat/completions", {"model": "m", "messages": SAID}),
    ("POST", f"/v1/sessions/{SESSION}/openai/responses", {"model": "m", "input": MARK}),
]

CLOSED = [
    ("GET", f"/v1/sessions/{OTHER}"),
    ("POST", f"/v1/sessions/{OTHER}/score"),
    ("GET", "/v1/rollouts"),
    ("POST", "/v1/rollouts"),
    ("POST", "/v1/sessions"),
    ("DELETE", f"/v1/rollouts/{ROLLOUT}"),
    ("GET", "/metrics"),
    ("GET", "/v1/models"),
    ("GET", "/openapi.json"),
    ("GET", f"/v1/sessions/{SESSION}x"),
    ("POST", f"/v1/sessions/{SESSION}/score"),
    ("DELETE", f"/v1/sessions/{SESSION}"),
]

HUGE = json.dumps({"tasks": [{"task_id": MARK * 600_000}]}).encode()
BODIES = {
    "oversized": (HUGE, 413),
    "deep": (b'{"tasks":[' + b'{"a":' * 60_000 + b"1" + b"}" * 60_000 + b"]}", 400),
    "deep lists": (b"[" * 200_000, 400),
    "NaN": (b'{"seed": NaN}', 400),
    "infinite": (b'{"tasks": [{"x": -Infinity}]}', 400),
    "too large a float": (b'{"tasks": [{"x": 1e999}]}', 400),
    "400 digits": (b'{"seed": ' + b"9" * 400 + b"}", 400),
    "400 digits in a task": (b'{"tasks": [{"x": ' + b"9" * 400 + b"}]}", 400),
    "a key twice": (b'{"seed": 1, "seed": 2}', 400),
    "a key twice in a task": (b'{"tasks": [{"task_id": "a", "task_id": "b"}]}', 400),
    "lone surrogate": (b'{"environment": "\\ud800"}', 400),
    "no UTF-8": (b'{"environment": "\xff\xfe"}', 400),
    "cut": (b'{"environment": "' + MARK.encode(), 400),
    "no object": (b"[]", 422),
    "null byte": (b'{"environment": "tic_tac_toe\\u0000"}', 422),
    "os:system": (b'{"environment": "os:system"}', 422),
    "class path": (b'{"environment": "ray_gym.run.cluster.cluster:connect"}', 422),
    "a file": (b'{"environment": "../../../../etc/passwd"}', 422),
    "a source that is a file": (b'{"source": "/etc/passwd"}', 422),
    "many stops": (json.dumps({"participants": {"policy": {"sampling": {"stop": ["x"] * 10_000}}}}).encode(), 422),
    "another model": (b'{"participants": {"policy": {"model": "os:system"}}}', 422),
    "an unknown field": (json.dumps({MARK: 1}).encode(), 422),
    "too many episodes": (b'{"generate": 60, "repeats": 10}', 422),
    "a task of another kind": (json.dumps({"tasks": [{"initial_moves": MARK}]}).encode(), 422),
    "pickle": (b"\x80\x04\x95\x1e\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.", 400),
}
REPEATED = "lone surrogate"
"""Body of a kind that a model can write, so that what answers models and sessions takes it."""
