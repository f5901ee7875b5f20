"""The viewer answers about runs, takes notes, and keeps others out."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("duckdb")
from shown_runs import episode, event, sample, write
from starlette.testclient import TestClient

from ray_gym.errors import UserError
from ray_gym.viewer.app import make_app
from ray_gym.viewer.guard import COOKIE, POLICY, Guard
from ray_gym.viewer.places import Places
from ray_gym.viewer.serving import _first_page, _listen

HOST = "127.0.0.1:7266"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("before", "after"):
        write(tmp_path / name, episode(0), episode(1, 0.0), episode(2, None))
    return tmp_path


@pytest.fixture
def web(folder: Path) -> Iterator[TestClient]:
    guard = Guard(make_app(Places.of([str(folder)])), {HOST}, None)
    with TestClient(guard, base_url=f"http://{HOST}") as web:
        yield web


def test_runs_episodes_groups_and_an_episode(web: TestClient) -> None:
    runs = web.get("/api/runs").json()["runs"]
    assert [(run["name"], run["state"], run["episodes"]) for run in runs] == [
        ("after", "unfinished", 3),
        ("before", "unfinished", 3),
    ]
    page = web.get("/api/runs/before/episodes", params={"f": ["status=completed", "reward<1"]}).json()
    assert [row["episode_id"] for row in page["rows"]] == ["e1"] and page["files"] == 1 and page["damage"] == []
    groups = web.get("/api/runs/before/groups").json()["rows"]
    given = [[one["advantage"] for one in group["episodes"]] for group in groups]
    assert given[0] == [pytest.approx(0.7071, abs=1e-3), pytest.approx(-0.7071, abs=1e-3)] and given[1] == [None]
    shown = web.get("/api/runs/before/episodes/e0").json()
    [of_sample] = shown["samples"]
    assert shown["task"] == {"shelf": 4} and (of_sample["tokens"], of_sample["generated"]) == (6, 2)
    assert "token_ids" not in of_sample
    found = web.get("/api/runs/before/search", params={"text": "shelf 1"}).text.splitlines()
    assert json.loads(found[-1])["hits"][0]["episode_id"] == "e1"
    assert web.get("/api/runs/before/versions").json()[-1]["version"] == 3
    assert web.get("/api/runs/before/values/status").json()[0] == {"value": "completed", "episodes": 2}
    assert web.get("/api/runs/before/episodes/e0/events/1").json()["content"][0]["text"] == "On shelf 0."


def test_tokens_have_no_logprob_where_nothing_was_generated(folder: Path, web: TestClient) -> None:
    odd = sample(logprobs=[0.0, 0.0, 0.0, 0.0, float("nan"), -0.25])
    write(folder / "before", episode(9, samples=[odd]), number=2)
    noted = {"episode_id": "e9", "sample": 0, "position": 5, "logprob": -0.3, "entropy": 1.5, "advantage": 2.0}
    for step, entropy in ((1, 9.0), (2, 1.5)):
        file = folder / "before" / "annotations" / f"step-{step:06d}.parquet"
        file.parent.mkdir(exist_ok=True)
        pq.write_table(pa.Table.from_pylist([{**noted, "entropy": entropy}]), file)
    (folder / "before" / "annotations" / "step-000003.parquet").write_bytes(b"half")
    tokens = web.get("/api/runs/before/episodes/e9/samples/0").json()
    assert tokens["token_ids"] == [10, 11, 12, 13, 14, 15] and tokens["loss_mask"] == [0, 0, 0, 0, 1, 1]
    assert tokens["logprobs"] == [None, None, None, None, None, -0.25]
    assert tokens["versions"] == [None] * 4 + [3, 3] and tokens["kinds"] == [0, 0, 0, 0, 1, 1]
    assert tokens["vocabulary"] is None, "nobody knows the tokenizer"
    assert tokens["annotations"]["entropy"] == [None] * 5 + [1.5], "those of the last step that can be read"


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/api/runs/nobody/episodes", 404, "no run 'nobody'"),
        ("/api/runs/..%2f..%2fetc/episodes", 404, ""),
        ("/api/runs/before/episodes/e77", 404, "no episode e77"),
        ("/api/runs/before/episodes/e0/samples/5", 404, "has 1 samples"),
        ("/api/runs/before/episodes?f=reward<x", 400, "is a number"),
        ("/api/runs/before/episodes?where=1;drop", 400, "where"),
        ("/api/runs/before/episodes?limit=100000", 422, ""),
        ("/api/nothing", 404, ""),
        ("/assets/..%2f..%2fapp.py", 404, ""),
    ],
)
def test_what_is_wrong_is_told(web: TestClient, path: str, status: int, said: str) -> None:
    answer = web.get(path)
    assert answer.status_code == status and said in answer.text
    assert "import" not in answer.text and "Traceback" not in answer.text


AS_JSON = {"content-type": "application/json"}


def test_notes_are_beside_the_run_and_empty_ones_go(folder: Path, web: TestClient) -> None:
    before = (folder / "before" / "episodes" / "part-00000001-a.parquet").read_bytes()
    made = web.put("/api/runs/before/notes/e1", json={"labels": ["odd"], "remark": "<b>why</b>"})
    assert made.status_code == 200 and web.get("/api/runs/before/notes").json()["e1"]["labels"] == ["odd"]
    assert json.loads((folder / "before" / "notes.json").read_text())["notes"]["e1"]["remark"] == "<b>why</b>"
    assert web.put("/api/runs/before/notes/e77", json={"labels": []}).status_code == 404
    assert web.put("/api/runs/before/notes/e1", json={"labels": ["a\nb"]}).status_code == 422
    for wrong in ({"labels": ["*"]}, {"labels": [" "]}, {"remark": "\ud800"}):
        body = json.dumps(wrong)
        assert (
            web.put("/api/runs/before/notes/e1", content=body, headers={"content-type": "application/json"}).status_code
            == 422
        )
    twice = web.put("/api/runs/before/notes/e1", json={"labels": ["=cmd", " odd", "odd"], "remark": "@x"})
    assert twice.json()["labels"] == ["=cmd", "odd"]
    assert "e1,\"'=cmd,odd\",'@x," in web.get("/api/runs/before/notes.csv").text
    assert web.put("/api/runs/before/notes/e1", json={"labels": [], "remark": " "}).status_code == 200
    assert web.get("/api/runs/before/notes").json() == {}
    assert (folder / "before" / "episodes" / "part-00000001-a.parquet").read_bytes() == before
    (folder / "before" / "notes.json").write_text('{"version": 2, "notes": {}}')
    assert "no file of notes" in web.get("/api/runs/before/notes").json()["error"]
    (folder / "before" / "notes.json").write_text("half")
    assert "no file of notes" in web.get("/api/runs/before/notes").json()["error"]


def test_a_name_with_a_line_break_has_a_page_and_two_named_runs_begin_with_their_comparison(
    tmp_path: Path, web: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert web.get("/run/new%0Aline").status_code == web.get("/run/plain").status_code
    assert web.post("/run/x").status_code == 404
    for name in ("one", "two"):
        write(tmp_path / name, episode(0))
    monkeypatch.delattr("ray_gym.viewer.places.listed")  # figures of a large run take a second
    named = Places.of([str(tmp_path / "one"), str(tmp_path / "two")])
    assert (
        _first_page(named, None) == "compare?a=one&b=two" and _first_page(named, "t") == "compare?a=one&b=two&token=t"
    )
    assert _first_page(Places.of([str(tmp_path)]), None) == ""


def test_hostile_text_and_odd_numbers_are_json(folder: Path, web: TestClient) -> None:
    said = "\u202e</script>\x1b]0;x\x07"
    write(folder / "before", episode(8, float("nan"), events=[event(0, "message", said)]), number=3)
    shown = web.get("/api/runs/before/episodes/e8")
    assert shown.json()["reward"] is None and shown.json()["events"][0]["content"][0]["text"] == said
    assert shown.text.isascii() and shown.headers["content-type"] == "application/json"


@pytest.mark.parametrize("name", ["a/b", "/", "a\nb", "e/samples", "?#", "a/events/x"])
def test_an_episode_is_shown_whatever_its_id(folder: Path, web: TestClient, name: str) -> None:
    write(folder / "before", {**episode(8), "episode_id": name}, number=3)
    at = f"/api/runs/before/episodes/{quote(name, safe='')}"
    assert web.get(at).json()["episode_id"] == name
    assert web.get(f"{at}/samples/0").json()["token_ids"] == [10, 11, 12, 13, 14, 15]
    assert web.get(f"{at}/neighbours").json() is not None
    assert web.get(f"{at}/events/1").json()["content"][0]["text"] == "On shelf 8."
    note = f"/api/runs/before/notes/{quote(name, safe='')}"
    assert web.put(note, json={"labels": ["odd"]}, headers={"Origin": f"http://{HOST}"}).status_code == 200
    assert web.get("/api/runs/before/notes").json()[name]["labels"] == ["odd"]


def test_only_the_viewers_own_address_and_page_are_answered(folder: Path) -> None:
    app = make_app(Places.of([str(folder)]))
    with TestClient(Guard(app, {HOST}, None), base_url=f"http://{HOST}") as web:
        assert web.get("/api/runs").headers["content-security-policy"] == POLICY
        assert "unsafe" not in POLICY and "http" not in POLICY
        for other in ("evil.example:7266", "127.0.0.1:80", ""):
            assert web.get("/api/runs", headers={"host": other}).status_code == 421
        note = {"labels": ["x"]}
        across = web.put("/api/runs/before/notes/e1", json=note, headers={"sec-fetch-site": "cross-site"})
        assert across.status_code == 403
        assert web.put("/api/runs/before/notes/e1", content="labels=x").status_code == 422, "no form can write one"


def test_another_address_needs_the_token_once(folder: Path) -> None:
    guard = Guard(make_app(Places.of([str(folder)])), {HOST}, "s3cret-token")
    assert "s3cret" not in repr(guard)
    with TestClient(guard, base_url=f"http://{HOST}", follow_redirects=False) as web:
        assert web.get("/api/runs").status_code == 401
        assert web.get("/?token=wrong").status_code == 401
        entered = web.get("/run/before?token=s3cret-token")
        assert entered.status_code == 303 and "token" not in entered.headers["location"]
        assert "HttpOnly" in entered.headers["set-cookie"] and COOKIE in web.cookies
        assert web.get("/api/runs").status_code == 200


def test_folders_without_runs_and_runs_of_one_name_are_refused(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no runs in this folder"):
        Places.of([str(tmp_path / "empty")])
    with pytest.raises(UserError, match="no such folder"):
        Places.of([str(tmp_path / "nowhere")])
    write(tmp_path / "other" / "before", episode(0))
    with pytest.raises(UserError, match="is called before, too"):
        Places.of([str(folder / "before"), str(tmp_path / "other" / "before")])
    with pytest.raises(UserError, match="named twice"):
        Places.of([str(folder / "before"), str(folder / "before")])


def test_addresses_that_can_not_be_listened_at_are_told() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(UserError, match=r"--port: .* in use; --port 0"),
    ):
        _listen("127.0.0.1", taken.getsockname()[1])
    for host in ("192.0.2.1", "no such host"):
        with pytest.raises(UserError, match=rf"--host: {host} can't be listened at"):
            _listen(host, 0)


@pytest.mark.parametrize(
    ("path", "status"),
    [("/%00", 404), ("/api/runs/a%00b", 404), ("/api/runs/before/search?text=", 400)]
    + [(f"/api/runs/before/search?text=tea&{wrong}", 400) for wrong in ("where=(", "f=nobody%3D1")],
)
def test_what_is_wrong_is_told_by_the_status(web: TestClient, path: str, status: int) -> None:
    assert web.get(path).status_code == status
