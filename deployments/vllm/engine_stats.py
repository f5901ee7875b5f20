"""Collects the statistics that vLLM's scheduler reports of its queue and its KV cache, after each of its steps."""

from __future__ import annotations

from typing import Any


class EngineStats:
    """Holds the latest statistics of an engine. An idle engine reports none; the last ones that it reported say that
    nothing is running.
    """

    def __init__(self) -> None:
        self.kv_use = 0.0
        """Share (0 to 1) of the KV cache that is in use."""
        self.waiting = 0
        """Requests that wait in the engine's queue."""
        self.running = 0
        """Requests that the engine generates for."""

    def make_logger(self, vllm_config: Any, engine_index: int) -> Any:
        """Returns a stat logger of vLLM that updates these statistics. vLLM takes the method as a factory."""
        from vllm.v1.metrics.loggers import StatLoggerBase

        stats = self

        class Logger(StatLoggerBase):  # type: ignore[misc]
            def __init__(self) -> None:
                pass

            def record(self, scheduler_stats: Any, *_: Any, **__: Any) -> None:
                if scheduler_stats is not None:
                    stats.update(scheduler_stats)

            def log_engine_initialized(self) -> None:
                pass

        return Logger()

    def update(self, scheduler_stats: Any) -> None:
        """Takes over the statistics of a step of the scheduler."""
        self.kv_use = float(scheduler_stats.kv_cache_usage)
        self.waiting = int(scheduler_stats.num_waiting_reqs + scheduler_stats.num_skipped_waiting_reqs)
        self.running = int(scheduler_stats.num_running_reqs)
