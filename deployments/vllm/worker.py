"""Extends vLLM's worker processes (its `worker_extension_cls`)."""

from __future__ import annotations

from typing import Any


class ReloadingWorker:
    """Loads checkpoints into a running engine. vLLM adds it to the base classes of its workers."""

    model_runner: Any
    reload_weights: Any

    def load_checkpoint(self, path: str) -> None:
        """Loads the checkpoint in the folder `path`, and packs a tied head anew. Errors: those that vLLM raises.

        A head that is tied to the embedding has no weights of its own in the files, so vLLM 0.32 would keep the copy
        that it packed of the old ones on CPUs, and compute the old head's logits.
        """
        from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead, UnquantizedEmbeddingMethod

        self.reload_weights(weights_path=path)
        for layer in self.model_runner.get_model().modules():
            if isinstance(layer, ParallelLMHead) and isinstance(layer.quant_method, UnquantizedEmbeddingMethod):
                layer.quant_method.process_weights_after_loading(layer)
