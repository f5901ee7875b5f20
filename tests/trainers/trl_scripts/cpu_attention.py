"""Stands in for what TRL's asynchronous trainer needs a GPU for: its FlashAttention kernel, and the look-up of a card."""

from __future__ import annotations

from typing import Any

import torch


class CpuAttention:
    """Computes attention over packed sequences by torch, with the arguments of FlashAttention's function."""

    @staticmethod
    def flash_attn_varlen_func(
        q: Any, k: Any, v: Any, starts_q: Any, starts_k: Any, *_: Any, softmax_scale: float | None = None, **__: Any
    ) -> Any:
        out, repeat = torch.empty_like(q), q.shape[1] // k.shape[1]
        places = zip(starts_q[:-1], starts_q[1:], starts_k[:-1], starts_k[1:], strict=True)
        for begin_q, end_q, begin_k, end_k in places:
            queries = q[begin_q:end_q].transpose(0, 1)
            keys, values = (x[begin_k:end_k].repeat_interleave(repeat, 1).transpose(0, 1) for x in (k, v))
            rows, columns = queries.shape[1], keys.shape[1]
            seen = torch.arange(columns)[None] <= torch.arange(rows)[:, None] + (columns - rows)
            attended = torch.nn.functional.scaled_dot_product_attention(
                queries, keys, values, attn_mask=seen, scale=softmax_scale
            )
            out[begin_q:end_q] = attended.transpose(0, 1)
        return out


def install() -> None:
    """Puts the stand-ins in their places."""
    from trl.experimental.async_grpo import async_grpo_trainer, packing

    packing._flash_attn = lambda: CpuAttention
    async_grpo_trainer.get_peak_flops_per_device = lambda *_: None
