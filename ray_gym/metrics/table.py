"""Lists every metric: its name, kind, labels and meaning. `docs/metrics.md` is this table for people.

No label is an id: the values of each are bounded by a config (environments, models, participants) or by an enum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]

PREFIX = "ray_"
"""Ray's own prefix: its agents put it before every name that they are given."""
STATES = ("waiting", "playing", "over")
"""States of episodes that are not committed: `waiting` if no worker has them, `playing` if a worker has them, `over` if
they were played, and a worker still has their rows.
"""

SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
WAITING_SECONDS = (0.1, 1.0, 10.0, 60.0, 300.0, 1800.0, 7200.0, 36000.0)
LAG_SECONDS = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)
VERSIONS = (0.5, 1.5, 2.5, 4.5, 8.5, 16.5, 32.5)
"""Upper ends of the buckets for numbers of weight versions. Whole numbers lie between them: Ray takes no bucket that
ends at 0.
"""


@dataclass(frozen=True, slots=True)
class Metric:
    """Describes one metric: a row of the table."""

    name: str
    """Name in Prometheus."""
    kind: Kind
    labels: tuple[str, ...]
    help: str
    buckets: tuple[float, ...] = ()
    """Upper ends of a histogram's buckets; empty for other kinds."""
    combined: Literal["sum", "max"] = "sum"
    """Way in which the values are combined if several runs in one process show the same gauge."""

    @property
    def series(self) -> tuple[str, ...]:
        """Returns the names of the metric's time series in Prometheus: one, or three for a histogram."""
        if self.kind != "histogram":
            return (self.name,)
        return tuple(f"{self.name}_{part}" for part in ("bucket", "sum", "count"))


EPISODES_COMMITTED = Metric(
    "ray_gym_episodes_total",
    "counter",
    ("environment", "status", "stop_reason"),
    "Episodes whose rows were committed.",
)
EPISODES = Metric(
    "ray_gym_episodes",
    "gauge",
    ("environment", "state"),
    f"Episodes that are not committed yet, by state: {', '.join(STATES)}.",
)
WORKERS_LOST = Metric(
    "ray_gym_workers_lost_total",
    "counter",
    ("environment",),
    "Workers that ended before they were told to; their episodes are resumed elsewhere.",
)
EPISODE_QUEUE = Metric(
    "ray_gym_episode_queue_seconds",
    "histogram",
    ("environment",),
    "From when an episode could be leased until its first model call is made.",
    WAITING_SECONDS,
)
STEP = Metric(
    "ray_gym_step_duration_seconds",
    "histogram",
    ("environment", "participant"),
    "A step: one model call and the tool calls that it made.",
    SECONDS,
)
MODEL_CALL = Metric(
    "ray_gym_model_call_duration_seconds",
    "histogram",
    ("model", "participant"),
    "A model call until its answer, retries and the wait for a place included; also judges' and black-box agents'.",
    SECONDS,
)
PROMPT_TOKENS = Metric(
    "ray_gym_prompt_tokens_total",
    "counter",
    ("model",),
    "Tokens of the prompts that were answered, cached ones included.",
)
CACHED_PROMPT_TOKENS = Metric(
    "ray_gym_cached_prompt_tokens_total",
    "counter",
    ("model",),
    "Of the prompt tokens, those that the prefix cache of the model had.",
)
GENERATED_TOKENS = Metric("ray_gym_generated_tokens_total", "counter", ("model",), "Tokens that were generated.")
JOURNAL_WRITTEN = Metric(
    "ray_gym_journal_written_bytes_total", "counter", (), "Bytes that workers appended to their journals."
)
JOURNAL_UNSYNCED = Metric(
    "ray_gym_journal_unsynced_bytes",
    "gauge",
    (),
    "Journal bytes that are written and not yet on the disk; always 0 unless output.durability is disk.",
)
JOURNAL_SIZE = Metric("ray_gym_journal_size_bytes", "gauge", (), "The journals of workers, as they lie in their files.")
LOOP_LAG = Metric(
    "ray_gym_event_loop_lag_seconds",
    "histogram",
    ("role",),
    "How much later than asked an event loop came back, looked at ten times a second, by role: worker, driver, service.",
    LAG_SECONDS,
)
WEIGHT_VERSION = Metric(
    "ray_gym_weight_version",
    "gauge",
    ("environment", "model"),
    "The newest weight version of a model that is being trained, as far as the run knows.",
    combined="max",
)
STALENESS = Metric(
    "ray_gym_episode_staleness_versions",
    "histogram",
    ("environment", "model"),
    "By how many weight versions the oldest trainable tokens of an episode were behind when it was committed.",
    VERSIONS,
)

TABLE = (
    EPISODES_COMMITTED,
    EPISODES,
    WORKERS_LOST,
    EPISODE_QUEUE,
    STEP,
    MODEL_CALL,
    PROMPT_TOKENS,
    CACHED_PROMPT_TOKENS,
    GENERATED_TOKENS,
    JOURNAL_WRITTEN,
    JOURNAL_UNSYNCED,
    JOURNAL_SIZE,
    LOOP_LAG,
    WEIGHT_VERSION,
    STALENESS,
)
