"""Writes the report of a run as a file, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.compute as pc

from ray_gym.data.writing import write_chunks
from ray_gym.errors import UserError, refused_writes
from ray_gym.export.redaction import Redaction
from ray_gym.health.findings import Finding
from ray_gym.record.bounds import Bound
from ray_gym.report.bounds import MOST_SAMPLES, Allowance
from ray_gym.report.charts import charts_of
from ray_gym.report.episode import shown_episode
from ray_gym.report.facts import Facts, read_facts
from ray_gym.report.figures import figure_tables, key_figures, shares_tables
from ray_gym.report.findings import findings
from ray_gym.report.markup import Content, element
from ray_gym.report.numbers import moment, of, short
from ray_gym.report.page import document
from ray_gym.report.telling import Telling, telling_episodes
from ray_gym.report.token_flow import Tokenizers, legend
from ray_gym.report.versions import charts_of_versions
from ray_gym.run.directory.listing import State
from ray_gym.statistics.describe import Description, describe
from ray_gym.viewer.episode_page import read_row
from ray_gym.viewer.sample_tokens import annotations_in

STATES: dict[State, str] = {
    "live": "the run is still being played",
    "finished": "the run is finished",
    "interrupted": "the run was interrupted",
    "unfinished": "the run is not finished",
    "stream": "the run is a trainer's stream",
    "damaged": "the run is damaged",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """Says what a report shows."""

    success: Bound
    """Bound of the reward of a success."""
    episodes: int
    """Most episodes that are shown."""
    redaction: Redaction
    """Text that is not shown."""


def write_report(
    location: str, success: Bound, redaction: Redaction, out: Path, *, episodes: int, overwrite: bool
) -> list[str]:
    """Writes the report of a run to a file, and returns warnings of what it lacks. The arguments are those of `Asked`;
    `overwrite`: True to replace a file that exists.

    Errors: UserError if the file is there, can't be written, or if the run can't be read or has no episodes; OSError.
    """
    if out.is_dir():
        raise UserError(f"--out: {out} is a folder; give a file, e.g. {out / 'report.html'}")
    if out.exists() and not overwrite:
        raise UserError(f"--out: there is a file {out} already (--overwrite replaces it)")
    facts = read_facts(location)
    with refused_writes("--out", out):
        write_chunks(out, chunks(facts, Asked(success, episodes, redaction)))
    return facts.read.remarks


def chunks(facts: Facts, asked: Asked) -> Iterator[bytes]:
    """Yields the document of a report as UTF-8."""
    described = describe(facts.read.collected, asked.success.allows)
    found = [_redacted(one, asked.redaction) for one in facts.health.findings]
    chosen = telling_episodes(facts.index, found, asked.episodes)
    shown = {one.episode_id: place for place, one in enumerate(chosen, 1)}
    health = replace(facts.health, findings=found)
    sections: list[tuple[str, str, Content]] = [
        ("figures", "Figures", _figures(described, asked)),
        ("plots", "Plots", _plots(facts, described)),
        ("findings", "Findings", findings(health, shown)),
    ]
    if chosen:
        sections.append(("episodes", "Telling episodes", _episodes(facts, chosen, asked.redaction)))
    head = _head(facts, described, [(name, heading) for name, heading, _ in sections])
    for chunk in document(f"{facts.storage.name}: report", sections, head):
        yield asked.redaction.without_secrets(chunk).encode()


def _redacted(finding: Finding, redaction: Redaction) -> Finding:
    text, detail, where = (redaction.text(one) for one in (finding.text, finding.detail, finding.where))
    return replace(finding, text=text, detail=detail, where=where)


def _head(facts: Facts, described: Description, sections: list[tuple[str, str]]) -> Iterator[Content]:
    ids = ", ".join(
        short(name, 60) for name in sorted(pc.unique(facts.index.column("env_id").drop_null()).to_pylist())[:5]
    )
    began, ended = pc.min(facts.index.column("started_at")).as_py(), pc.max(facts.index.column("ended_at")).as_py()
    status = ", ".join(f"{count:,} {short(name, 40)}" for name, count in described.status.items())
    yield element("p", "Run report", class_="over")
    yield element("h1", short(facts.storage.name))
    yield element("p", f"{ids}: {of(described.episodes, 'episode')} of {of(described.tasks, 'task')} ({status})")
    played = f"Played from {moment(began)} to {moment(ended)}; {STATES[facts.listed.state]}."
    yield element("p", played, class_="quiet")
    links = [element("a", heading, href=f"#{name}") for name, heading in sections]
    yield element("nav", links, aria_label="Parts of the report")
    remarks = [*map(facts.without_location, facts.read.remarks), *described.remarks]
    if remarks:
        items = [element("li", remark) for remark in remarks]
        yield element("ul", items, class_="remarks", aria_label="Warnings")


def _figures(described: Description, asked: Asked) -> Iterator[Content]:
    yield key_figures(described, str(asked.success))
    yield element("div", figure_tables(described, asked.redaction.text), class_="tables")
    how = "Intervals hold the true value in 95% of cases, and know that episodes of a task are alike. Rewards, lengths "
    yield element("p", f"{how}and attempts are of completed episodes; failures have no reward.", class_="quiet")


def _plots(facts: Facts, described: Description) -> Iterator[Content]:
    charts = [*charts_of(facts.read.collected), *charts_of_versions(facts.index)]
    if charts:
        yield element("div", [chart.markup() for chart in charts], class_="plots")
    yield element("div", shares_tables(described), class_="tables")


def _episodes(facts: Facts, chosen: list[Telling], redaction: Redaction) -> Iterator[Content]:
    yield element(
        "p", f"{of(len(chosen), 'episode')} of {len(facts.index):,}, each with the reasons it was chosen for."
    )
    yield legend()
    tokenizers = Tokenizers(facts.models)
    noted = annotations_in(
        facts.storage, {(one.episode_id, number) for one in chosen for number in range(MOST_SAMPLES)}
    )
    for place, telling in enumerate(chosen, 1):
        try:
            row = read_row(facts.storage, facts.files[telling.file], telling.place)
        except (UserError, OSError) as error:
            yield element("p", f"Episode {place} can't be read: {facts.without_location(str(error))}", class_="failure")
            continue
        shown = redaction.row(row)
        texts = tokenizers if shown == row else None
        yield shown_episode(place, shown, telling.reasons, noted, texts, Allowance.of(len(chosen)))
