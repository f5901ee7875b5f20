"""A person looks at runs in a real browser: every view, by mouse and by keyboard, with hostile text and damaged files."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("duckdb")
pytest.importorskip("nh3")
from browsed_runs import LONG, PAYLOADS, make_runs, talk
from browsing import REPOSITORY, Watched, browser_here, chromium
from contrast import faint, nameless
from made_runs import new_run
from shown_runs import write

from benchmarks.viewer.browsed import FRAMES
from benchmarks.viewer.served import viewing

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("runs")
    make_runs(found)
    return found


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    chromium()
    subprocess.run(["make", "viewer"], cwd=REPOSITORY, check=True, capture_output=True)
    with viewing(folder) as viewer:
        yield viewer.address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browser_here() as browser:
        yield browser


@pytest.fixture
def at(browser: Any, address: str) -> Iterator[Watched]:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    watched = Watched(page, address)
    yield watched
    watched.check()
    page.close()


def figure(at: Watched, name: str = "episodes") -> str:
    """Returns a figure above the table of episodes."""
    return str(at.page.locator(".figures div").filter(has_text=name).locator("dd").first.text_content())


def test_runs_are_a_table_and_open(at: Watched) -> None:
    at.open("/", ".runs")
    for name in ("before", "after", "hostile", "damaged", "long"):
        assert at.page.locator(f".runs >> text={name}").count()
    at.page.locator(".runs a", has_text="before").first.click()
    at.page.wait_for_selector("#row-0")
    assert at.page.url.endswith("/run/before")
    at.until("document.querySelector('.figures dd')?.textContent == '80'")


def test_filters_sorts_and_conditions_are_in_the_address(at: Watched) -> None:
    at.open("/run/before", "#row-0")
    at.page.click(".sort >> text=reward")
    at.until("location.search.includes('sort=-reward')")
    at.page.click("[aria-label='Filter by status']")
    at.page.click(".values button:has-text('failed')")
    at.until("document.querySelector('.figures dd')?.textContent == '7'")
    assert at.page.locator(".filter-chip").count() == 1 and "f=status%3Dfailed" in at.page.url
    sent = at.page.url
    at.page.locator(".filter-chip").first.click()
    at.until("document.querySelector('.figures dd')?.textContent == '80'")
    at.page.goto(sent)
    at.until("document.querySelector('.figures dd')?.textContent == '7'")
    at.open("/run/before", "#row-0")
    at.page.fill("[aria-label='Condition in SQL']", "reward > 0.5 AND turns < 3")
    at.page.keyboard.press("Enter")
    at.until("location.search.includes('where=') && document.querySelector('.figures dd')?.textContent != '80'")
    at.page.fill("[aria-label='Condition in SQL']", "1; DROP TABLE episodes")
    at.page.keyboard.press("Enter")
    assert "where" in str(at.page.text_content(".notice.bad"))


def test_what_was_said_is_found_and_a_hit_opens_it(at: Watched) -> None:
    at.open("/run/before", "#row-0")
    at.page.keyboard.press("/")
    at.page.keyboard.type("order 17?")
    at.page.keyboard.press("Enter")
    at.page.wait_for_selector(".hits li")
    at.page.locator(".hits li a").first.click()
    at.page.wait_for_selector(".event.current")
    assert "/episode/e17" in at.page.url and "event=" in at.page.url


def test_groups_show_their_spread(at: Watched) -> None:
    at.open("/run/before?view=groups", "[aria-label*='reward'], .group")
    assert at.page.locator("text=t0").count()


def test_a_call_is_laid_out_with_the_digits_of_the_record(at: Watched) -> None:
    at.open("/run/before/episode/e3", ".event")
    at.page.locator(".call summary").first.click()
    laid_out = str(at.page.locator(".call .folded").first.text_content())
    assert '{\n  "order": 3,\n  "customer": 9007199254740993\n}' in laid_out, "with the digits of the record"


def test_an_episode_has_lanes_calls_and_a_verdict(at: Watched) -> None:
    at.open("/run/before/episode/e3", ".event")
    said = str(at.page.text_content("body"))
    for part in ("You sell tea.", "Where is order 3?", "look_up", "the database is locked", "Was that right?", "YES"):
        assert part in said, part
    at.page.keyboard.press("2")
    at.page.wait_for_selector(".event.dim")
    assert "seen=" in at.page.url
    at.page.keyboard.press("]")
    at.until("location.pathname.endsWith('/episode/e4')")


def test_tokens_are_coloured_and_inspected_and_forks_are_side_by_side(at: Watched) -> None:
    at.open("/run/before/episode/e10/sample/0", ".tok")
    at.page.keyboard.press("j")
    at.page.wait_for_selector(".tok.current")
    inspected = str(at.page.text_content(".inspector"))
    assert "logprob" in inspected and "-0.5" in inspected and "version" in inspected
    before = at.page.url
    at.page.keyboard.press("c")
    at.until(f"location.href != {before!r} && location.search.includes('colour=')")
    at.open("/run/before/episode/e10/sample/0?beside=1", ".tok")
    at.page.locator(".flow").nth(1).wait_for()
    assert at.page.locator(".flow").count() == 2


def test_two_runs_are_compared(at: Watched) -> None:
    at.open("/compare?a=before&b=after", "table, .compare")
    at.until("document.body.textContent.includes('t0')")
    at.page.wait_for_selector(".differences")
    said = str(at.page.text_content("section[aria-label='Differences, task by task']"))
    assert "20 tasks in both" in said and "+0." in said and "least effect" in said
    at.page.locator("button.link", has_text="t0").first.click()
    at.page.wait_for_selector(".beside-column .event")
    assert "task=t0" in at.page.url


def test_a_search_can_be_of_one_participant(at: Watched) -> None:
    at.open("/run/after?q=order", ".hits li")
    at.page.select_option(".hits-head select", "user")
    at.until("location.search.includes('by=user')")
    at.until("[...document.querySelectorAll('.hit-of')].every(one => one.textContent.startsWith('user'))")
    assert "Where is order" in str(at.page.text_content(".hits li"))


def test_notes_are_kept_and_filter(at: Watched, folder: Path) -> None:
    at.open("/run/after/episode/e2", ".note-editor")
    at.page.keyboard.press("n")
    at.page.keyboard.type("reward hack")
    at.page.keyboard.press("Enter")
    at.page.wait_for_selector('text="saved"')  # the whole word: before, it is "not saved yet"
    assert "reward hack" in (folder / "after" / "notes.json").read_text()
    at.open("/run/after?label=reward+hack", "#row-0")
    assert figure(at) == "1"
    at.page.click("text=Notes ▾")
    with at.page.expect_download() as saved:
        at.page.click("a[download] >> text=CSV")
    assert saved.value.suggested_filename == "after-notes.csv"
    assert "e2,reward hack," in Path(saved.value.path()).read_text()


def test_new_episodes_come_while_a_run_goes_on(at: Watched, folder: Path) -> None:
    directory = new_run(folder, "live", 0.5)
    at.open("/run/live", "#row-0")
    at.page.locator("#row-0").first.focus()
    write(directory.path, talk(1, 0.5), talk(2, 0.5), number=2)
    at.until("document.querySelector('.figures dd')?.textContent == '3'")
    directory.close()
    write(directory.path, talk(3, 0.5), number=3)
    at.page.reload()
    at.until("document.querySelector('.figures dd')?.textContent == '4'")


def test_everything_is_reached_by_keys(at: Watched) -> None:
    at.open("/run/before", "#row-0")
    for key in ("j", "j", "k"):
        at.page.keyboard.press(key)
    assert at.page.get_attribute(".grid-row.active", "id") == "row-1"
    at.page.keyboard.press("End")
    at.page.wait_for_selector("#row-79")
    at.page.keyboard.press("Enter")
    at.page.wait_for_selector(".episode-head")
    at.page.keyboard.press("t")
    at.page.wait_for_selector(".tok")
    at.page.keyboard.press("Escape")
    at.page.wait_for_selector(".episode-head")
    at.page.keyboard.press("?")
    at.page.wait_for_selector("dialog[open]")
    at.page.keyboard.press("Escape")
    at.page.keyboard.press("g")
    at.page.keyboard.press("r")
    at.page.wait_for_selector(".runs")


def test_damage_is_named_and_the_rest_is_shown(at: Watched) -> None:
    at.open("/run/damaged", "#row-0")
    at.until("document.querySelector('.figures dd')?.textContent == '8'")
    at.page.locator("text=can't be read").first.click()
    at.until("document.body.textContent.includes('part-00000001-a.parquet')")


UNSEEN_IN_TOOLTIPS = """[...document.querySelectorAll("[title]")].map((one) => one.title)
  .filter((title) => /[\\p{Cc}\\p{Cf}]/u.test(title.replace(/[\\t\\n\\u200c\\u200d]/g, ""))).length"""
"""Script that counts tooltips with characters that are not seen. (Joiners are parts of letters and emoji.)"""


@pytest.mark.parametrize("view", ["", "/episode/e{number}", "/episode/e{number}/sample/0"])
def test_hostile_text_is_text(at: Watched, view: str) -> None:
    numbers = range(len(PAYLOADS)) if "episode" in view and "sample" not in view else range(1)
    for number in numbers:
        at.open(f"/run/hostile{view.format(number=number)}", "#row-0, .event, .tok")
        assert "taken" not in at.page.title()
        assert at.page.locator("iframe, object, embed, base, form[action], script:not([src])").count() == 0
        assert at.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), PAYLOADS[number]
        assert not at.page.evaluate(UNSEEN_IN_TOOLTIPS), PAYLOADS[number]


def test_pictures_of_the_state_are_in_frames_without_rights(at: Watched) -> None:
    at.open("/run/pictured/episode/e0", "iframe.picture")
    frame = at.page.frame_locator("iframe.picture").first
    assert frame.locator("table.board td").count() == 2 and frame.locator(".other").count() == 0
    assert frame.locator("td").first.evaluate("one => getComputedStyle(one).width") == "32px", "its style is allowed"
    for element in at.page.locator("iframe").all():
        assert element.get_attribute("sandbox") == "" and element.get_attribute("srcdoc") is None
        assert str(element.get_attribute("src")).startswith("/api/runs/pictured/")
    assert at.page.frame_locator("iframe.picture").nth(1).locator("td").count() == 2


def test_hostile_pictures_do_nothing(at: Watched) -> None:
    beyond = ":not(html, head, meta, title, style, body, body *), [onerror], [onload], [src], [href], [style], [id]"
    acting = (
        "script, img, svg, iframe, object, embed, base, link, form, input, a, video, source, math, meta[http-equiv]"
    )
    for number in range(2, 2 + 2 * len(PAYLOADS)):
        at.page.goto(f"{at.address}/api/runs/pictured/episodes/e0/renderings/{number}")
        assert at.page.title() == "picture"
        assert at.page.locator(f"{acting}, {beyond}").count() == 0, number
        assert at.page.locator("style").count() == 1, number
        assert at.page.evaluate("origin") == "null", "also in a tab of its own it has no right"


def test_a_trainers_curves_are_shown_beside_its_run(at: Watched, folder: Path) -> None:
    steps = {"step": [1, 2, 3], "reward": [0.1, 0.5, 0.9], "staleness": [0.0, 1.0, 1.0], "odd": [1, 2, 3]}
    pq.write_table(pa.table(steps), folder / "before" / "curves.parquet")
    at.open("/run/before?tab=curves", "[aria-label^='staleness: versions between drawing and training: 3 values']")
    assert at.page.locator("[aria-label^='odd']").count() == 0
    at.page.click("text=1 more column of the file")
    at.page.wait_for_selector("[aria-label^='odd: 3 values']")


VIEWS = [
    ("/", ".runs"),
    ("/run/before", "#row-0"),
    ("/run/before?view=groups&tab=groups", ".group-row"),
    ("/run/before?q=order", ".hits li"),
    ("/run/damaged", "#row-0"),
    ("/run/before/episode/e3?seen=user", ".event.dim"),
    ("/run/before/episode/e3?view=group", ".beside-column .event"),
    ("/run/before/episode/e10/sample/0?colour=logprob", ".tok"),
    ("/run/before/episode/e10/sample/0?colour=version&beside=1", ".tok"),
    ("/compare?a=before&b=after", ".differences"),
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_marks_stand_out_and_have_names(browser: Any, address: str, scheme: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
    at = Watched(page, address)
    for path, shows in VIEWS:
        at.open(path, shows)
        assert (path, faint(page), nameless(page)) == (path, [], [])
    page.evaluate("document.querySelector('h1, h2, td').style.color = 'rgb(128 128 128 / 0.5)'")
    assert faint(page), "the test sees what is faint"
    at.check()
    page.close()


@pytest.mark.parametrize("path", ["/", "/run/before", "/run/before/episode/e3", "/run/before/episode/e10/sample/0"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_page_does_not_scroll_sideways(browser: Any, address: str, path: str, scheme: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme=scheme)
    at = Watched(page, address)
    at.open(path, ".runs, #row-0, .event, .tok")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    at.check()
    page.close()


def test_long_texts_and_long_samples_stay_smooth(at: Watched) -> None:
    at.open("/run/long/episode/e1", ".event")
    at.page.click(".more")
    at.until("[...document.querySelectorAll('.event')].some(one => one.textContent.length > 10_000_000)")
    at.open("/run/long/episode/e0/sample/0", ".tok")
    assert f"{LONG:,} tokens" in str(at.page.text_content("body"))
    speed, came = at.page.evaluate(FRAMES, [".flow", 120])
    assert came > 1000 and speed >= 30, f"{speed:.0f} frames a second"
