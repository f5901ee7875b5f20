"""Collects the statistics that vLLM's scheduler gives of its queue and its KV cache, at each of its steps."""

from __future__ import annotations

from typing import Any


class EngineStats:
    """The statistics are the newest that were given. An engine that rests gives none: its last ones say that nothing is
    running.
    """

    def __init__(self) -> None:
        self.kv_use = 0.0
        self.waiting = 0
        self.running = 0

    def logger(self, vllm_config: Any, engine_index: int) -> Any:
        """Makes a stat logger that fills these statistics. vLLM takes the method as a factory."""
        from vllm.v1.metrics.loggers import StatLoggerBase

        stats = self

        class Logger(StatLoggerBase):  # type: ignore[misc]
            def __init__(self) -> None:
                pass

            def record(self, scheduler_stats: Any, *_: Any, **__: Any) -> None:
                if scheduler_stats is not None:
                    stats.take(scheduler_stats)

            def log_engine_initialized(self) -> None:
                pass

        return Logger()

    def take(self, scheduler_stats: Any) -> None:
        self.kv_use = float(scheduler_stats.kv_cache_usage)
        self.waiting = int(scheduler_stats.num_waiting_reqs + scheduler_stats.num_skipped_waiting_reqs)
        self.running = int(scheduler_stats.num_running_reqs)
