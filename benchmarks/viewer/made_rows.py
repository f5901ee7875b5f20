"""Makes rows of episodes by hand: events, samples and failures of any kind, without playing."""

from __future__ import annotations

from typing import Any

USAGE = ("prompt_tokens", "generated_tokens", "cached_tokens", "model_calls", "tool_calls", "tool_errors")


def event(seq: int, kind: str, text: str, participant: str | None = "policy", **given: Any) -> dict[str, Any]:
    """Returns an event, seen by the policy."""
    return {
        "seq": seq,
        "turn": 0,
        "step": 0,
        "thread": participant,
        "participant": participant,
        "kind": kind,
        "role": "assistant",
        "content": [{"type": "text", "text": text}] if text else [],
        "reasoning": None,
        "tool_calls": [],
        "tool_call_id": None,
        "visible_to": ["policy"],
        "finish_reason": None,
        "error": None,
        "reward": None,
        "model": None,
        "started_at": 1.0,
        "duration_s": 0.5,
        **given,
    }


def sample(length: int = 6, generated: int = 2, version: int = 3, **given: Any) -> dict[str, Any]:
    """Returns a sample of `length` tokens, of which the last ones were generated."""
    start = length - generated
    return {
        "thread": "policy",
        "participant": "policy",
        "model": "small",
        "trainable": True,
        "reward": 1.0,
        "token_ids": list(range(10, 10 + length)),
        "loss_mask": [0] * start + [1] * generated,
        "logprobs": [0.0] * start + [-0.5] * generated,
        "versions": [{"version": version, "start": start, "end": length}],
        "spans": [
            {"event_seq": 0, "start": 0, "end": start, "generated": False, "sampling": None, "kind": None},
            {"event_seq": 1, "start": start, "end": length, "generated": True, "sampling": None, "kind": "plain"},
        ],
        "fork_reason": None,
        **given,
    }


def episode(number: int, reward: float | None = 1.0, **given: Any) -> dict[str, Any]:
    """Returns a row, of two episodes a task: completed with a reward, or failed without one."""
    failed = reward is None
    failure = {"kind": "environment", "where": "tools.py:3", "message": f"no such shelf {number}"}
    return {
        "run_id": "made",
        "episode_id": f"e{number}",
        "task_id": f"t{number // 2}",
        "group_id": f"g{number // 2}",
        "repeat": number % 2,
        "try": 0,
        "attempt": 0,
        "env_id": "shop",
        "seed": number,
        "status": "failed" if failed else "completed",
        "stop_reason": "failed" if failed else "finished",
        "stop_text": "",
        "failure": failure if failed else None,
        "traceback": None,
        "reward": reward,
        "rewards": [] if failed else [{"participant": "policy", "name": "reward", "value": reward}],
        "turns": 1,
        "group_size": 2,
        "group_completed": 2,
        "task": '{"shelf": 4}',
        "events": [event(0, "opening", "Where is the tea?"), event(1, "message", f"On shelf {number}.")],
        "samples": [] if failed else [sample()],
        "tools_shown": "{}",
        "renderings": None,
        "usage": dict.fromkeys(USAGE, number),
        "timing": {"active_s": 1.0, "model_s": 0.5, "tool_s": 0.1},
        "started_at": 1.0,
        "ended_at": 2.0,
        **given,
    }
