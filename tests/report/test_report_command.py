"""Checks `ray-gym report`: what the page holds, that data is text in it, and what it says of wrong input."""

from __future__ import annotations

import html
import json
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("statsmodels")
from browsed_runs import PAYLOADS, hostile, long_sample, talk
from conftest import ray_gym_here
from made_runs import end, run_of_rows
from shown_runs import damage, episode, event, sample, write

from ray_gym.printable import printable
from ray_gym.record.schema import SCHEMA, VERSION_KEY
from ray_gym.report.bounds import LONGEST_TEXT

KEY = 'sk-<planted>&"key"-0123456789'
TAGS = """
html head meta title style body header main section nav article h1 h2 h3 h4 p a ul ol li dl dt dd div span strong code pre
table caption thead tbody tr th td figure figcaption details summary svg line text rect path circle
"""
ATTRIBUTES = """
lang charset http-equiv content name id class title open dir href role tabindex scope translate viewbox preserveaspectratio
x y x1 x2 y1 y2 cx cy r d width height text-anchor transform fill-opacity aria-label aria-labelledby aria-hidden
"""


class Page(HTMLParser):
    """Holds the tags, the attributes and the texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.attributes, self.texts = set[str](), set[str](), list[str]()
        self.titles: list[str] = []
        self.feed(text)
        self.text = "\n".join(self.texts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.titles += [value or "" for name, value in attrs if name == "title"]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def report(run: Path, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return ray_gym_here("report", str(run), "-o", str(out), *more)


def page_of(run: Path, out: Path, *more: str) -> Page:
    done = report(run, out, *more)
    assert done.returncode == 0, done.stderr
    return Page(out.read_text("utf-8"))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The page of a run with failures, a broken tool, forks, several versions and annotations."""
    folder = tmp_path_factory.mktemp("runs")
    rows = [talk(number, None if number % 11 == 5 else number % 4 / 3) for number in range(40)]
    for number, row in enumerate(rows):
        row["samples"] = row["samples"] or [sample(40, 20, trainable=False)]
        for one in row["samples"]:
            one["versions"] = [{**span, "version": number // 10} for span in one["versions"]]
    write(folder / "mine", *rows)
    noted = [
        {"episode_id": f"e{number}", "sample": 0, "position": 59, "logprob": -0.75, "entropy": 1.5, "advantage": 2.0}
        for number in range(40)
    ]
    (folder / "mine" / "annotations").mkdir()
    pq.write_table(pa.Table.from_pylist(noted), folder / "mine" / "annotations" / "step-000001.parquet")
    return page_of(folder / "mine", folder / "report.html")


def test_the_page_has_figures_plots_and_findings(told: Page) -> None:
    for said in (
        "40 episodes of 10 tasks (36 completed, 4 failed)",
        "only 10 tasks: intervals hold the true value less often than 95%",
        "Mean reward",
        "Several attempts at a task",
        "Spread within groups",
        "Length and reward",
        "Reward over versions",
        "Failures over versions",
        "Failures by kind, of 40 episodes",
        "a tool that is broken for some tasks looks like a policy that can't do them",
    ):
        assert said in told.text, said
    assert told.tags <= set(TAGS.split()) and told.attributes <= set(ATTRIBUTES.split())


def test_an_episode_has_its_reason_its_conversation_and_its_tokens(told: Page) -> None:
    for said in (
        "the highest reward, 1, which",
        "one of 4 failures of kind environment",
        "an example of the finding tool_error (look_up)",
        "You sell tea.",
        " is told by user what was said above",
        "not seen by user",
        "I have to look it up.",
        "the database is locked",
        "Was that right?",
        "the judge said YES",
        "ids, as no tokenizer of this model is on this machine",
    ):
        assert said in told.text, said
    titles = [title for title in told.titles if title.startswith("id ") and "advantage" in title]
    assert titles[0].startswith("id 69, logprob -0.5, version ")
    assert titles[0].endswith(", trainer's logprob -0.75, entropy 1.5, advantage 2")
    assert "id 10" in told.titles, "a token that was not generated has no logprob"


def test_payloads_are_text_wherever_they_are(tmp_path: Path) -> None:
    write(tmp_path / "run", *(hostile(number, text) for number, text in enumerate(PAYLOADS)))
    page = page_of(tmp_path / "run", tmp_path / "report.html", "--episodes", "100")
    assert page.tags <= set(TAGS.split()) and page.attributes <= set(ATTRIBUTES.split())
    for payload in PAYLOADS:
        assert printable(payload)[:LONGEST_TEXT].strip() in page.text, payload
    raw = (tmp_path / "report.html").read_text("utf-8")
    assert not set("\x1b\x00\u202e\u2066\u200b\u2028") & set(raw)


@pytest.mark.reading
def test_long_texts_and_samples_are_cut_with_a_word(tmp_path: Path) -> None:
    big = event(1, "message", "lorem ipsum\n" * 900_000)
    many = [event(number, "message", f"step {number}") for number in range(1000)]
    rows = [talk(0, 1.0, samples=[long_sample()]), talk(1, 0.5, events=[big]), talk(2, 0.0, events=many)]
    write(tmp_path / "run", *rows)
    page = page_of(tmp_path / "run", tmp_path / "report.html")
    for said in (
        "97,000 tokens are left out here",
        "10,796,000 more characters are left out",
        "700 more events left out",
    ):
        assert said in page.text, said
    assert (tmp_path / "report.html").stat().st_size < 2_000_000


def test_an_unfinished_run_and_a_damaged_file_are_named_and_the_rest_is_told(tmp_path: Path) -> None:
    rows = [episode(number, number / 8) for number in range(8)]
    run_of_rows(tmp_path, "part", rows, planned=100).close()
    done = report(tmp_path / "part", tmp_path / "part.html")
    assert done.returncode == 0 and "8 of 100 planned episodes" in done.stderr
    assert "8 of 100 planned episodes" in (tmp_path / "part.html").read_text()
    damage(write(tmp_path / "hurt", *rows, rows_a_group=4), 1)
    write(tmp_path / "hurt", *(episode(number, 1.0) for number in range(8, 12)), number=2)
    done = report(tmp_path / "hurt", tmp_path / "hurt.html")
    assert done.returncode == 0 and "left out:" in done.stderr and "part-00000001-a.parquet" in done.stderr
    raw = (tmp_path / "hurt.html").read_text()
    assert "hurt/episodes/part-00000001-a.parquet: this file of rows is damaged" in raw and str(tmp_path) not in raw


def test_what_is_wrong_is_told_and_nothing_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    end(run_of_rows(folder, "empty", [], planned=4), episodes=0, of=4, status={}, mean_reward=None)
    (folder / "later" / "episodes").mkdir(parents=True)
    later = SCHEMA.with_metadata({**SCHEMA.metadata, VERSION_KEY.encode(): b"99"}).empty_table()
    pq.write_table(later, folder / "later" / "episodes" / "part-00000001-a.parquet")
    write(folder / "mine", episode(0))
    out = tmp_path / "new" / "report.html"
    for run, said in (("empty", "no episodes yet"), ("later", "version 99"), ("nowhere", "is no run directory")):
        done = report(folder / run, out)
        assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
    done = report(folder / "mine", folder)
    assert done.returncode == 2 and "is a folder" in done.stderr
    assert report(folder / "mine", out, "--success", "many").returncode == 2
    assert report(folder / "mine", out, "--episodes", "-1").returncode == 2
    assert not out.parent.exists()


@pytest.mark.reading
def test_a_file_that_is_there_stays_without_overwrite(tmp_path: Path) -> None:
    write(tmp_path / "mine", episode(0), episode(1, 0.0))
    out = tmp_path / "report.html"
    out.write_text("mine")
    done = report(tmp_path / "mine", out)
    assert done.returncode == 2 and "--overwrite" in done.stderr and out.read_text() == "mine"
    assert "the report of" in report(tmp_path / "mine", out, "--overwrite", "--episodes", "0").stdout
    page = Page(out.read_text())
    assert "Telling episodes" not in page.text and "Mean reward" in page.text
    assert sorted(one.name for one in tmp_path.iterdir()) == ["mine", "report.html"]


@pytest.mark.reading
def test_a_failed_run_and_a_run_of_one_task_have_a_page(tmp_path: Path) -> None:
    write(tmp_path / "failed", episode(0, None), episode(1, None))
    page = page_of(tmp_path / "failed", tmp_path / "failed.html")
    assert "no completed episode has a reward" in page.text and "100.0%" in page.text
    write(tmp_path / "one", episode(0), episode(1, 0.0))
    assert "no interval" in page_of(tmp_path / "one", tmp_path / "one.html").text


def test_secrets_and_what_is_redacted_do_not_come_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE_KEY", KEY)
    call = {"id": "1", "name": f"find_{KEY}", "arguments": json.dumps({"key": KEY})}
    said = [
        event(0, "message", f"It is {KEY}, write to ada@tea.example.", tool_calls=[call]),
        event(1, "tool_result", "no"),
    ]
    said[1] |= {"tool_call_id": "1", "error": f"wrong key {quote(KEY)}"}
    hurt = {"failure": {"kind": "policy", "where": KEY, "message": KEY}, "stop_text": KEY, "traceback": KEY}
    rows = [{**episode(number), "events": said, **hurt, "env_id": f"shop {KEY}"} for number in range(4)]
    rows.append(episode(4, 0.0))
    directory = run_of_rows(tmp_path, "mine", rows, planned=5)
    config = directory.path / "run.yaml"
    written = config.read_text().replace("engine: scripted", "engine: openai\n    api_key_env: MINE_KEY")
    config.write_text(f"{written}\nother_key_env: NOT_SET_HERE\n")
    directory.close()
    done = report(tmp_path / "mine", tmp_path / "report.html", "--redact", r"\w+@[\w.]+\w", "--redact", "task=shelf")
    assert done.returncode == 0 and "NOT_SET_HERE is not set here" in done.stderr
    raw = (tmp_path / "report.html").read_text()
    assert KEY not in raw and html.escape(KEY) not in raw and quote(KEY) not in raw
    assert "planted" not in raw and "ada@" not in raw and "find_[redacted]" in raw and "write to [redacted]." in raw
    assert "shelf" not in Page(raw).text.replace("On shelf 4.", "")
    assert "They are left out, as they would spell what was redacted." in raw
    wrong = report(tmp_path / "mine", tmp_path / "other.html", "--redact", "colour=x")
    assert wrong.returncode == 2 and "no column 'colour'" in wrong.stderr and not (tmp_path / "other.html").exists()
