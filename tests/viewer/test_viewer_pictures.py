"""Pictures of an environment's state reach the page as an allow-list of elements, under a policy of their own."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("nh3")
from browsed_runs import PAYLOADS, pictured
from shown_runs import episode, write
from starlette.testclient import TestClient

from ray_gym.viewer.app import make_app
from ray_gym.viewer.guard import Guard
from ray_gym.viewer.pictures import POLICY, TAGS, harmless
from ray_gym.viewer.places import Places

HOST = "127.0.0.1:7266"


class Seen(HTMLParser):
    """Collects the elements and attributes of a document, as a parser of HTML sees them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= set(attrs)


@pytest.fixture
def web(tmp_path: Path) -> TestClient:
    write(tmp_path / "run", pictured(), episode(1))
    return TestClient(Guard(make_app(Places.of([str(tmp_path)])), {HOST}, None), base_url=f"http://{HOST}")


def test_a_picture_is_a_document_with_its_own_policy(web: TestClient) -> None:
    shown = web.get("/api/runs/run/episodes/e0").json()["renderings"]
    assert len(shown) == 2 + 2 * len(PAYLOADS) and set(shown[0]) == {"event_seq", "height"}
    board = web.get("/api/runs/run/episodes/e0/renderings/0?theme=dark")
    assert board.headers["content-security-policy"] == POLICY
    assert "default-src 'none'" in POLICY and "sandbox" in POLICY and "unsafe" not in POLICY and "script" not in POLICY
    assert '<table class="board">' in board.text and '<html lang="en" class="dark">' in board.text
    table = web.get("/api/runs/run/episodes/e0/renderings/1").text
    assert "<h1>Shelf</h1>" in table and "<td>2</td>" in table
    assert web.get("/api/runs/run/episodes/e0/renderings/999").status_code == 404
    assert web.get("/api/runs/run/episodes/e1").json()["renderings"] == []
    assert web.get("/api/runs/run/episodes/e1/renderings/0").status_code == 404


def test_nothing_that_acts_is_left(web: TestClient) -> None:
    for number in range(2, 2 + 2 * len(PAYLOADS)):
        body = web.get(f"/api/runs/run/episodes/e0/renderings/{number}").text.partition("<body>")[2]
        seen = Seen(body)
        assert seen.elements <= TAGS and seen.attributes == set(), body


def test_attributes_are_those_of_tables_only() -> None:
    cell = '<td colspan="2" rowspan="1" onclick="x()" style="x" id="a" data-x="1" class="board">1</td>'
    seen = Seen(harmless(f'<table class="board evil" dir="rtl"><tr>{cell}</tr></table>'))
    assert seen.attributes == {("class", "board"), ("colspan", "2"), ("rowspan", "1")}
