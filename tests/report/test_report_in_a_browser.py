"""A person opens a report from disk in a real browser: it asks for nothing, runs nothing, and fits a narrow screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("statsmodels")
from browsed_runs import PAYLOADS, hostile, talk
from browsing import Watched, browser_here
from conftest import ray_gym_here
from shown_runs import write

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
OVERLAPS = (
    """[...document.querySelectorAll('.plot')].filter(plot => plot.getBoundingClientRect().right > innerWidth).length"""
)
SAID = "[...document.querySelectorAll('.text')].map(one => one.textContent).join('')"


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reports")
    write(folder / "talk", *(talk(number, None if number % 11 == 5 else number % 4 / 3) for number in range(40)))
    write(folder / "hostile", *(hostile(number, text) for number, text in enumerate(PAYLOADS)))
    for name in ("talk", "hostile"):
        done = ray_gym_here("report", str(folder / name), "-o", str(folder / f"{name}.html"), "--episodes", "50")
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browser_here() as browser:
        yield browser


@pytest.fixture(params=[1280, 390])
def at(browser: Any, reports: Path, request: pytest.FixtureRequest) -> Iterator[Watched]:
    page = browser.new_page(viewport={"width": request.param, "height": 800})
    watched = Watched(page, reports.as_uri())
    yield watched
    watched.check()
    page.close()


def open_all(at: Watched) -> None:
    at.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_opens_from_disk_and_fits(at: Watched, scheme: str) -> None:
    at.page.emulate_media(color_scheme=scheme)
    at.open("/talk.html", "main")
    open_all(at)
    assert at.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert at.page.evaluate(OVERLAPS) == 0
    ground = at.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(251, 251, 249)" if scheme == "light" else "rgb(20, 22, 26)"), "the style is let in"
    drawn = at.page.evaluate("getComputedStyle(document.querySelector('.tokens .p2')).backgroundColor")
    assert drawn.startswith("rgba("), "tokens are coloured"
    assert len(at.asked) == 1, "the page itself"


def test_hostile_text_is_text(at: Watched) -> None:
    at.open("/hostile.html", "main")
    open_all(at)
    assert at.page.title() == "hostile: report"
    assert (
        at.page.evaluate("document.scripts.length + document.images.length + frames.length + document.forms.length")
        == 0
    )
    assert at.page.evaluate("[...document.links].every(one => one.getAttribute('href').startsWith('#'))")
    assert at.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    said = at.page.evaluate(SAID)
    for payload in PAYLOADS[:24]:
        assert payload in said, payload
    assert len(at.asked) == 1


def test_parts_have_names_and_an_episode_opens_by_keyboard(at: Watched) -> None:
    at.open("/talk.html", "main")
    names = at.page.evaluate(
        "[...document.querySelectorAll('section')].map(one => one.getAttribute('aria-labelledby'))"
    )
    assert names == ["figures-name", "plots-name", "findings-name", "episodes-name"]
    for role, name in (("banner", None), ("navigation", "Parts of the report"), ("main", None)):
        assert at.page.get_by_role(role, **({"name": name} if name else {})).count() == 1
    assert at.page.get_by_role("img").evaluate_all("all => all.every(one => one.getAttribute('aria-label'))")
    at.page.locator("#episode-1 > details > summary").focus()
    at.page.keyboard.press("Enter")
    assert at.page.locator("#episode-1 .events").is_visible()


def test_a_printed_report_has_what_is_folded(at: Watched) -> None:
    at.open("/talk.html", "main")
    assert not at.page.locator("#episode-1 .events").is_visible()
    at.page.emulate_media(media="print")
    assert at.page.locator("#episode-1 .events").evaluate("one => one.getBoundingClientRect().height") > 100
