"""Extends vLLM's worker processes (its `worker_extension_cls`)."""

from __future__ import annotations

from typing import Any


class ReloadingWorker:
    """vLLM's worker inherits this class, to load checkpoints while it runs."""

    model_runner: Any
    reload_weights: Any

    def load_checkpoint(self, path: str) -> None:
        """Completes vLLM's reload. A head that is tied to the embedding has no weights of its own in the files, so vLLM
        keeps what it once made of them: on CPUs a packed copy, which would give the logits of the old head (vLLM 0.32).
        """
        from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead, UnquantizedEmbeddingMethod

        self.reload_weights(weights_path=path)
        for layer in self.model_runner.get_model().modules():
            if isinstance(layer, ParallelLMHead) and isinstance(layer.quant_method, UnquantizedEmbeddingMethod):
                layer.quant_method.process_weights_after_loading(layer)
