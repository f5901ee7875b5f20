"""Checks that text from data can't command a terminal or be markup, wherever a command prints it."""

from __future__ import annotations

import ast
import itertools
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processor import slowness
from rich.markup import render

from ray_gym import Environment, Task, plugins
from ray_gym.cli.app import envs
from ray_gym.cli.output import DataTable, make_console
from ray_gym.printable import beginning, data, data_line, ending, masked, names_secret, printable, without_scheme

PACKAGE = Path(__file__).parents[1] / "ray_gym"
EVIL = [
    "[/b]",
    "[bold]x",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\u202egnp.exe",
    "a\\[b]",
    "\x08\x08",
    "\ud800",
    "\u2066x",
    "[link=http://x]y[/link]",
    "end\\",
    "end\\\\",
    "\\\\\\",
    "\U000e0041\u00ad\u3164",
    "\U000e0101\u180b\U0001bca0\ufffe\U0010ffff",
    "a :key: b",
]


@pytest.mark.parametrize("text", EVIL)
def test_data_is_printed_as_text(text: str) -> None:
    console = make_console()
    with console.capture() as shown:
        console.print(f"[red]{data(text)}[/]", highlight=False)
    assert shown.get().rstrip("\n") == printable(text)
    assert not any(ord(letter) < 32 or 0x7F <= ord(letter) < 0xA0 for letter in printable(text))
    printable(text).encode()


@pytest.mark.parametrize("text", [r"So \[ x = 1 \] and", r"a \\[2pt] b", r"\[a-z\]", r"[\[", "[" * 3, r"\\\[1]", "a[b"])
def test_display_math_keeps_its_backslashes(text: str) -> None:
    console = make_console()
    with console.capture() as shown:
        console.print(data(text), highlight=False)
    assert shown.get() == f"{text}\n"


def test_no_short_text_is_altered_by_markup_around_it() -> None:
    texts = ["".join(letters) for length in range(6) for letters in itertools.product(r"[]/\a ", repeat=length)]
    altered = [
        text for text in texts if render(f"[red]{data(text)}[/]{data(text)}]", emoji=False).plain != f"{text * 2}]"
    ]
    assert len(texts) == 9331 and not altered


@pytest.mark.parametrize("letter", "\u202e\u206b\u206f\u3164\uffa0\u17b4\ufff0")
def test_what_is_not_seen_is_made_visible(letter: str) -> None:
    assert printable(f"ad{letter}min") == f"ad\\u{ord(letter):04x}min"


def test_other_text_stays_as_it_is() -> None:
    text = "Größe: 你好\t👩‍👩‍👧\nnext"
    assert printable(text) == text


def test_the_viewer_makes_the_same_characters_visible() -> None:
    source = (PACKAGE.parent / "viewer" / "src" / "parts" / "visible.ts").read_text()
    [class_] = re.findall(r"HIDDEN =\s+/(\[.*\])/gu;", source)
    theirs = re.compile(re.sub(r"\\u\{(\w+)\}", lambda found: f"\\U{found[1]:0>8}", class_))
    letters = list(map(chr, range(0x110000)))
    assert [letter for letter in letters if (printable(letter) != letter) != (theirs.match(letter) is not None)] == []


def test_only_output_writes_to_the_terminal() -> None:
    for file in (PACKAGE / "cli").glob("*.py"):
        if file.name != "output.py":
            tree = ast.parse(file.read_text())
            names = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
            assert not {"print", "typer.echo", "sys.stdout.write", "Console", "Table"} & set(names), file
            assert not [name for name in names if name.endswith(".add_row")], file


WRITES = {"print", "sys.stderr.write", "sys.stdout.write", "typer.echo", "traceback.print_exc"}


def test_what_else_prints_makes_it_printable() -> None:
    rooms = [PACKAGE, PACKAGE.parent / "deployments"]
    ours = {PACKAGE / "logs.py", PACKAGE / "cli" / "output.py"}  # which print with formatters, and files' content
    for file in {file for room in rooms for file in room.rglob("*.py")} - ours:
        calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
        printed = [", ".join(map(ast.unparse, node.args)) for node in calls if ast.unparse(node.func) in WRITES]
        assert all(text.startswith("printable(") for text in printed), f"{file}: {printed}"


CRASH = """
import logging, sys, warnings
from ray_gym.cli import app
def crash(**options):
    warnings.warn("warned \x1b]0;w")
    logging.getLogger("theirs").warning("logged \x1b]0;l")
    raise ValueError("raised \x1b]0;r")
app.app = crash
app.main()
"""


def test_what_python_prints_of_data_is_printable() -> None:
    done = subprocess.run([sys.executable, "-c", CRASH], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "\x1b" not in done.stderr
    assert [rf"{word} \x1b]0;" in done.stderr for word in ("warned", "logged", "raised")] == [True] * 3


def test_a_folder_is_printed_as_text_also_before_the_first_import(tmp_path: Path) -> None:
    folder = tmp_path / "a\x1b]0;\u202eb"
    folder.mkdir()
    for name in ("json", "re", "html"):  # which the printer itself imports
        (folder / f"{name}.py").write_text("")
    command = [sys.executable, "-m", "ray_gym", "--version"]
    given = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, timeout=60, check=False)
    shown = rf"ray-gym: {tmp_path}/a\x1b]0;\u202eb/html.py: it hides Python's own module html "
    assert done.returncode == 2 and done.stderr.startswith(shown) and done.stderr.count("\n") == 1


@pytest.mark.parametrize("text", EVIL)
def test_cells_of_tables_are_printed_as_text(text: str) -> None:
    table = DataTable(text)
    table.add_data(text)
    console = make_console()
    with console.capture() as shown:
        console.print(table, highlight=False)
    assert [line.strip() for line in shown.get().splitlines()] == [printable(text).strip()] * 2


class Evil(Environment[Task, None]):
    __doc__ = "Has [bold]x[/bold] [n] \x1b[31m \x1b]0;evil\x07."
    pattern = scoring = "[/b]\x1b]0;x"
    participants = ("policy[/b]\x1b",)


def test_the_listing_of_environments_shows_data_as_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plugins, "names", lambda kind: ["ev[/b]\x1b"])
    monkeypatch.setattr(plugins, "load_for_listing", lambda name: Evil())
    envs()
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and r"ev[/b]\x1b" in shown and "[bold]" in shown


def test_a_name_stands_on_one_line() -> None:
    assert render(data_line("x: 0\npolicy [b]reward\x1b")).plain == r"x: 0\npolicy [b]reward\x1b"


def test_a_long_word_is_printed_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    began = time.perf_counter()
    make_console().print("x" * 20_000, soft_wrap=True)
    assert capsys.readouterr().out == "x" * 20_000 + "\n"
    assert time.perf_counter() - began < 0.5, "rich's highlighter takes 3 s, and hours for a million"


@pytest.mark.parametrize("secret", ["pw-123456\n", " pw-123456 ", "\tpw-123456"])
def test_a_secret_is_masked_without_the_white_space_at_its_ends(secret: str) -> None:
    """Programs strip what they read from a file or from the environment."""
    assert masked("bad password pw-123456.", secret) == "bad password ***."
    assert masked("of Pw-123456", secret) == "of Pw-123456"


@pytest.mark.parametrize("told", ["line1 line2", "line1\n line2", "line1\\nline2", "line1%0Aline2", "line1+line2"])
def test_a_secret_of_several_lines_is_masked_on_one(told: str) -> None:
    assert masked(f"z {told}!", "line1\nline2") == "z ***!"
    assert masked("line1line2", "line1\nline2") == "line1line2"


def test_white_space_alone_is_a_secret_as_it_is() -> None:
    assert masked("a\t\tb c", "\t\t") == "a***b c"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("short", "short"),
        ("0123456 sekret", "0123456 sekret"),
        ("0123456 sekret-token", "0123456 ..."),
        ('{"a":"0123","sekret-token"}', '{"a":"0123","...'),
        ("0123456789 sekret-token", "0123456789 ..."),
        ("sekret-token-of-a-single-word", "sekret-token-o..."),
        ("错误 答案的第一步是正确的。但是第二步是错误的", "错误 答案的第一步是正确的。..."),
        ("答案的第一步是正确的。sekret-token", "答案的第一步是正确的。..."),
        ("of [1,22,333,4444,55555]", "of [1,22,333,..."),
        ("all [[1,2],[3,4],[5,6]]", "all [[1,2],[3,..."),
    ],
)
def test_a_text_is_cut_before_a_word_of_which_a_part_would_be_left(text: str, kept: str) -> None:
    """Half of a secret could not be found, and masked, later."""
    assert beginning(text, 14) == kept
    assert ending(text[::-1], 14) == kept[::-1]


@pytest.mark.clock
def test_no_header_takes_long() -> None:
    began = time.process_time()
    for text in ("token " + "1" * 10**6 + " x", "basic " + "aA" * 10**6 + " x", "key " + " " * 10**6):
        without_scheme(text)
    assert time.process_time() - began < slowness()


@pytest.mark.clock
def test_no_text_takes_long_to_be_cut() -> None:
    began = time.process_time()
    for text in ("a" * 10**6, "a " * 10**6, '"' * 10**6):
        beginning(text, 900_000), ending(text, 900_000)
    assert time.process_time() - began < slowness()


def test_a_header_without_its_scheme() -> None:
    given = ("Bearer abc", "basic  abc1", "Key abcdefghijklmnop", "Basic dXNlcjpwYXNz", "abc def", "Bearer ", "token")
    secrets = ["abc", "abc1", "abcdefghijklmnop", "dXNlcjpwYXNz", "abc def", "Bearer ", "token"]
    assert list(map(without_scheme, given)) == secrets


@pytest.mark.parametrize(
    "words",
    [
        "basic algebra",
        "key concepts",
        "Token limits",
        "basic of 12 sums",
        "apikey handling",
        "basic JavaScript",
        "Key PyTorch",
    ],
)
def test_words_behind_another_word_are_no_header(words: str) -> None:
    assert without_scheme(words) == words


def test_a_secret_is_known_by_the_name_of_its_place() -> None:
    secret = (
        "Authorization",
        "X-Api-Key",
        "apikey",
        "HF_TOKEN",
        "accessToken",
        "Cookie",
        "DB_PASSWORD",
        "AWS_SECRET_KEY",
        *(
            "DB_PASS",
            "API_KEYS",
            "SECRETS",
            "SSH_PASSPHRASE",
            "GH_PAT",
            "MY_CREDS",
            "JWT",
            "SLACK_WEBHOOK_URL",
            "SENTRY_DSN",
        ),
    )
    assert [name for name in secret if not names_secret(name)] == []
    plain = (
        "X-Author",
        "MAX_TOKENS",
        "X-Keyboard",
        "DOMAIN",
        "authority",
        "secretary",
        "tokenizer",
        "COMPASS",
        "PATH",
        "KEYCLOAK_URL",
        "PASS_RATE",
        "PASS_AT_K",
        "sort_keys",
        "MONKEYS",
    )
    assert [name for name in plain if names_secret(name)] == []
