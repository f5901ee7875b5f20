"""Follows every link and every path that the pages name, and looks for long lines in pages that were written anew."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import REPOSITORY
from pages import PAGES, name_of, prose

NAMED = re.compile(r"(?<![\w./-])(?:docs|configs|examples|cluster|envs|deployments)/[\w./-]*\w")
OF_THE_READER = {"configs/mine.yaml", "configs/evaluation.yaml", "configs/NAME.yaml"}
"""Files that a sentence speaks of and that are not ours."""
SHORT = [
    REPOSITORY / name
    for name in (
        "README.md",
        "envs/README.md",
        "docs/README.md",
        "docs/comparison.md",
        "docs/models.md",
        "docs/running.md",
    )
]
LONGEST = 120
README_LINES = 150


def links(page: Path) -> list[str]:
    """Returns the targets of links and of pictures, also those that stand below the text, but none of other hosts."""
    text = prose(page)
    targets = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r"^\[[^\]]+\]: (\S+)$", text, re.MULTILINE)
    return [target for target in targets if "://" not in target]


def anchors(page: Path) -> set[str]:
    """Returns the names of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def undefined(page: Path) -> set[str]:
    """Returns the names of links that the text uses and nobody defines."""
    text = prose(page)
    used = set(re.findall(r"\]\[([^\]]+)\]", text))
    return used - set(re.findall(r"^\[([^\]]+)\]: ", text, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    assert not undefined(page)
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_paths_that_are_named_exist(page: Path) -> None:
    for name in set(NAMED.findall(page.read_text())) - OF_THE_READER:
        assert (REPOSITORY / name).exists() or (page.parent / name).exists(), name


def test_the_index_has_every_page() -> None:
    listed = set(links(REPOSITORY / "docs" / "README.md"))
    assert {page.name for page in (REPOSITORY / "docs").glob("*.md")} - {"README.md"} <= listed


@pytest.mark.parametrize("page", SHORT, ids=name_of)
def test_lines_are_short(page: Path) -> None:
    assert [line for line in page.read_text().splitlines() if len(line) > LONGEST] == []


def test_the_readme_is_three_screens() -> None:
    assert len((REPOSITORY / "README.md").read_text().splitlines()) <= README_LINES


def test_the_reader_of_links_finds_them() -> None:
    readme = REPOSITORY / "README.md"
    assert {"docs/training.md", "docs/models.md#on-gpus", "docs/comparison.md#verl"} <= set(links(readme))
    assert "two-commands" in anchors(readme) and "workers" in anchors(REPOSITORY / "docs" / "gpus.md")
    assert {"configs/tic_tac_toe.yaml"} <= set(NAMED.findall(readme.read_text()))
