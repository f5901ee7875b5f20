"""Defines the routes of a viewer: JSON about runs and episodes, and the files of the page.

Everything that blocks is a plain function, which Starlette runs in a thread.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import numpy as np
from fastapi import Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.convertors import Convertor, register_url_convertor

from ray_gym.advantages import group_normalised
from ray_gym.errors import RunFailed, UserError
from ray_gym.json_values import finite
from ray_gym.run.directory.notes import Note, csv_of
from ray_gym.viewer.comparison import Comparisons
from ray_gym.viewer.episode_page import NoSuchEpisode, episode_of, row_of, text_of
from ray_gym.viewer.pictures import POLICY as PICTURE_POLICY
from ray_gym.viewer.pictures import document_of
from ray_gym.viewer.places import NoSuchRun, Places, ShownRun
from ray_gym.viewer.queries import SHOWN, Page, Selection, by_version, groups_of, neighbours_of, page_of, values_of
from ray_gym.viewer.sample_tokens import tokens_of
from ray_gym.viewer.search import Found, search
from ray_gym.viewer.token_texts import texts_of

STATIC = Path(__file__).parent / "static"
"""Folder of the page's files, which `make viewer` builds."""
MOST_ROWS = 1000
"""Most rows of an answer."""
NOT_BUILT = "the page is not built: `make viewer` in a checkout, or install a wheel of ray-gym\n"

Offset = Annotated[int, Query(ge=0)]
Limit = Annotated[int, Query(ge=1, le=MOST_ROWS)]


class Json(JSONResponse):
    """Writes JSON, in which numbers that are not finite are null."""

    def render(self, content: Any) -> bytes:
        return json.dumps(finite(content), ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


class _Id(Convertor[str]):
    """Reads an episode's id, which may have slashes and line breaks in tables that others wrote. Routes that go on behind
    it are before those that do not.
    """

    regex = r"[\s\S]+"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


def make_app(places: Places) -> FastAPI:
    """Returns the application, without its guard."""
    register_url_convertor("id", _Id())
    app = FastAPI(title="ray_gym viewer", docs_url=None, redoc_url=None, openapi_url=None, default_response_class=Json)
    app.add_exception_handler(UserError, _refuse)
    app.add_exception_handler(RunFailed, _refuse)
    app.add_exception_handler(RequestValidationError, _refuse_request)
    app.state.places = places
    _add_runs(app, places)
    _add_comparison(app, places)
    _add_episodes(app, places)
    _add_notes(app, places)
    _add_page(app)
    return app


def _selection(
    request: Request,
    f: Annotated[list[str] | None, Query()] = None,
    where: str = "",
    sort: Annotated[list[str] | None, Query()] = None,
    label: Annotated[list[str] | None, Query()] = None,
) -> Selection:
    """Reads a selection from the query of an address. `label`: labels that the notes of an episode all have; `*` is that
    of any note.
    """
    only = None
    if label:
        places: Places = request.app.state.places
        notes = places.run(request.path_params["run"]).notes.read()
        only = {name for name, note in notes.items() if set(label) <= {"*", *note.labels}}
    return Selection(tuple(f or ()), where, tuple(sort or ()), only)


Selected = Annotated[Selection, Depends(_selection)]


def _add_runs(app: FastAPI, places: Places) -> None:
    @app.get("/api/runs")
    def runs() -> Any:
        return {"folder": places.folder, "runs": [asdict(run) for run in places.runs()]}

    @app.get("/api/runs/{run}")
    def run(run: str) -> Any:
        shown = places.run(run)
        return {"name": run, "location": shown.storage.location, "columns": SHOWN, **_progress(shown)}

    @app.get("/api/runs/{run}/versions")
    def versions(run: str) -> Any:
        return by_version(places.run(run).refresh())

    @app.get("/api/runs/{run}/values/{column}")
    def values(run: str, column: str, selection: Selected) -> Any:
        return values_of(places.run(run).refresh(), column, selection)

    @app.get("/api/runs/{run}/training")
    def training(run: str) -> Any:
        found = places.run(run).training()
        return None if found is None else asdict(found)


def _add_comparison(app: FastAPI, places: Places) -> None:
    comparisons = Comparisons()

    @app.get("/api/compare")
    def compare(a: str, b: str, solved: float = 0.5) -> Any:
        return comparisons.compare(places.run(a), places.run(b), solved)


def _add_episodes(app: FastAPI, places: Places) -> None:
    @app.get("/api/runs/{run}/episodes")
    def episodes(run: str, selection: Selected, offset: Offset = 0, limit: Limit = 100) -> Any:
        shown = places.run(run)
        index, progress = shown.begun(), _progress(shown)  # in this order: an answer that lacks rows says that it does
        return {**asdict(page_of(index, selection, offset, limit)), **progress}

    @app.get("/api/runs/{run}/groups")
    def groups(run: str, selection: Selected, offset: Offset = 0, limit: Limit = 100) -> Any:
        shown = places.run(run)
        index, progress = shown.begun(), _progress(shown)
        return {**_with_advantages(groups_of(index, selection, offset, limit)), **progress}

    @app.get("/api/runs/{run}/search")
    def find(run: str, text: str, selection: Selected, most: Limit = 50, by: str | None = None) -> Any:
        found = search(places.run(run).refresh(), text, selection, most, by)
        first = list(islice(found, 1))  # so that what is wrong is told by the status
        return StreamingResponse(_lines(chain(first, found)), media_type="application/x-ndjson")

    @app.get("/api/runs/{run}/episodes/{episode:id}/neighbours")
    def neighbours(run: str, episode: str, selection: Selected) -> Any:
        return neighbours_of(places.run(run).refresh(), selection, episode)

    @app.get("/api/runs/{run}/episodes/{episode:id}/events/{seq:int}")
    def event(run: str, episode: str, seq: int) -> Any:
        return text_of(places.run(run).refresh(), episode, seq)

    @app.get("/api/runs/{run}/episodes/{episode:id}/renderings/{number:int}")
    def picture(run: str, episode: str, number: int, theme: str = "light") -> Response:
        document = document_of(places.run(run).refresh(), episode, number, dark=theme == "dark")
        return HTMLResponse(document, headers={"Content-Security-Policy": PICTURE_POLICY})

    @app.get("/api/runs/{run}/episodes/{episode:id}/samples/{number:int}")
    def sample(run: str, episode: str, number: int) -> Any:
        shown = places.run(run)
        index = shown.refresh()
        samples = row_of(index, episode)["samples"] or []
        model = samples[number]["model"] if 0 <= number < len(samples) else ""
        return asdict(tokens_of(index, episode, number, texts_of(shown.models(), model)))

    @app.get("/api/runs/{run}/episodes/{episode:id}")
    def episode(run: str, episode: str) -> Any:
        return episode_of(places.run(run).refresh(), episode)


def _add_notes(app: FastAPI, places: Places) -> None:
    @app.get("/api/runs/{run}/notes")
    def notes(run: str) -> Any:
        return {name: note.model_dump() for name, note in places.run(run).notes.read().items()}

    @app.get("/api/runs/{run}/notes.csv")
    def table(run: str) -> Response:
        return Response(csv_of(places.run(run).notes.read()), media_type="text/csv", headers=_download(run, "csv"))

    @app.get("/api/runs/{run}/notes.json")
    def file(run: str) -> Response:
        return Json(
            {name: note.model_dump() for name, note in places.run(run).notes.read().items()},
            headers=_download(run, "json"),
        )

    @app.put("/api/runs/{run}/notes/{episode:id}")
    def write(run: str, episode: str, note: Note) -> Any:
        shown = places.run(run)
        if shown.refresh().place_of(episode) is None:
            raise NoSuchEpisode(f"there is no episode {episode}")
        return shown.notes.write(episode, note).model_dump()


def _add_page(app: FastAPI) -> None:
    @app.exception_handler(404)
    def page(request: Request, error: Exception) -> Response:
        path = str(request.scope["path"]).removeprefix(
            "/"
        )  # no route's pattern has a line break, which a name may have
        if request.method not in ("GET", "HEAD"):
            return PlainTextResponse("there is nothing here\n", 404)
        if "\0" in path:
            return PlainTextResponse("there is nothing here\n", 404)
        file = (STATIC / path).resolve()
        if path and file.is_file() and file.is_relative_to(STATIC.resolve()):
            return FileResponse(file)
        if path.startswith(("api/", "assets/")):
            return PlainTextResponse("there is nothing here\n", 404)
        whole = STATIC / "index.html"
        return FileResponse(whole) if whole.is_file() else PlainTextResponse(NOT_BUILT, 503)


def _download(run: str, form: str) -> dict[str, str]:
    """Returns the headers by which a browser saves an answer as a file. Characters of a run's name that a header can't
    have are percent-encoded.
    """
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(run, safe='')}-notes.{form}"}


def _progress(shown: ShownRun) -> dict[str, Any]:
    """Returns how much of a run's files is read, what can't be, and whether a driver writes it now."""
    index = shown.index
    return {
        "files": len(index.files),
        "waiting": index.waiting or int(not index.is_read),
        "damage": [asdict(damage) for damage in index.damage],
        "is_live": shown.storage.is_owned(),
    }


def _with_advantages(page: Page) -> dict[str, Any]:
    """Returns a page of groups, each episode with its advantage: its reward less the mean of its group's, by their
    standard deviation; null for an episode that is not completed.
    """
    for group in page.rows:
        rewards = [one["reward"] if one["status"] == "completed" else None for one in group["episodes"]]
        given = group_normalised(np.array([math.nan if reward is None else reward for reward in rewards]))
        for one, reward, advantage in zip(group["episodes"], rewards, given.tolist(), strict=True):
            one["advantage"] = None if reward is None else advantage
    return asdict(page)


def _lines(found: Iterable[Found]) -> Iterator[bytes]:
    for one in found:
        yield json.dumps(asdict(one), ensure_ascii=True).encode() + b"\n"


def _refuse(request: Request, error: Exception) -> Response:
    missing = isinstance(error, NoSuchRun | NoSuchEpisode)
    status = 404 if missing else 400 if isinstance(error, UserError) else 500
    return Json({"error": str(error)}, status)


def _refuse_request(request: Request, error: Exception) -> Response:
    """Says the first thing that is wrong with a request, without what it was given: that may be anything."""
    assert isinstance(error, RequestValidationError)
    problem = error.errors()[0]
    return Json({"error": f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"}, 422)
