"""Checks how config files are read, and which messages their mistakes give."""

from __future__ import annotations

import locale
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from ray_gym.config.comments import lost_texts
from ray_gym.config.file import merge_overrides, read_config, read_config_text, validate
from ray_gym.config.sections import RunConfig
from ray_gym.errors import UserError

GOOD = """
environment: {id: tic_tac_toe, legal_moves_only: true}
tasks: {generate: 4}
models:
  small: {engine: scripted, player: "ray_gym.envs.tic_tac_toe.players:random_player"}
participants:
  policy: {model: small, sampling: {temperature: 0.5}}
  user: {model: small}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "run.yaml"
    path.write_text(GOOD)
    return path


def read(path: Path, *overrides: str) -> RunConfig:
    return read_config(path, overrides)


def error_of(path: Path, *overrides: str) -> str:
    with pytest.raises(UserError) as caught:
        read_config(path, overrides)
    assert (
        str(path) in str(caught.value)
        or "not an override" in str(caught.value)
        or any(override[:60] in str(caught.value) for override in overrides)
    )
    return str(caught.value)


def test_a_config_is_read_with_its_defaults_and_options(config: Path) -> None:
    run = read(config)
    assert run.environment.options == {"legal_moves_only": True}
    assert run.models["small"].options == {"player": "ray_gym.envs.tic_tac_toe.players:random_player"}
    assert (run.tasks.generate, run.tasks.repeats, run.limits.max_turns) == (4, 1, 10)
    assert (
        run.participants["policy"].sampling.temperature == 0.5 and run.participants["user"].sampling.temperature == 1.0
    )


def test_overrides_win_and_keep_their_types(config: Path) -> None:
    run = read(
        config,
        "tasks.limit=2",
        "participants.user.sampling.temperature=0",
        "run.name=x-1",
        "models.small.arguments={a: 1}",
        "limits.token_budget=null",
    )
    assert run.tasks.limit == 2 and run.tasks.generate == 4 and run.run.name == "x-1"
    assert run.participants["user"].sampling.temperature == 0.0
    assert run.participants["policy"].sampling.temperature == 0.5
    assert run.models["small"].options["arguments"] == {"a": 1}


def test_the_environment_variables_of_a_config_are_filled_in(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config.write_text(GOOD + "output: {dir: '${oc.env:WHERE}/runs'}\n")
    monkeypatch.setenv("WHERE", "/there")
    assert read(config).output.dir == "/there/runs"
    monkeypatch.delenv("WHERE")
    assert "WHERE" in error_of(config)


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("tasks.repeat=2", "tasks.repeat: unknown key; did you mean 'repeats'?"),
        ("task.limit=2", "task: unknown key; did you mean 'tasks'?"),
        (
            "participants.policy.samplng.temperature=1",
            "participants.policy.samplng: unknown key; did you mean 'sampling'?",
        ),
        (
            "participants.policy.sampling.temprature=1",
            "participants.policy.sampling.temprature: unknown key; did you mean 'temperature'?",
        ),
        *[
            (
                f"participants.policy.{key}=1",
                f"participants.policy.{key}: unknown key; did you mean 'participants.policy.sampling.{key}'?",
            )
            for key in ("temperature", "max_tokens", "top_p", "seed")
        ],
        ("seed=1", "seed: unknown key; did you mean 'run.seed'?"),
        ("workers=1", "workers: unknown key; did you mean 'fanout.workers'?"),
        ("tasks.max_turns=1", "tasks.max_turns: unknown key; did you mean 'limits.max_turns'?"),
        ("fanout.worker=3", "fanout.worker: unknown key; did you mean 'workers'?"),
        ("limits.max_steps=3", "limits.max_steps: unknown key; did you mean 'max_steps_per_turn'?"),
        ("limits.maxturns=3", "limits.maxturns: unknown key; did you mean 'max_turns'?"),
        ("limits.max_tokens=3", "limits.max_tokens: unknown key; known: "),
        ("tasks.split=train", "tasks.split: unknown key; known: "),
        ("fanout.zzz=1", "fanout.zzz: unknown key; known: workers, concurrency, cpus_per_worker"),
        (
            "participants.policy.sampling.n=1",
            "participants.policy.sampling.n: unknown key; known: temperature, max_tokens",
        ),
        (
            "tasks.generate=many",
            "tasks.generate: Input should be a valid integer, unable to parse string as an integer (found 'many')",
        ),
        ("tasks.generate=0", "tasks.generate: Input should be greater than or equal to 1 (found 0)"),
        (
            "tasks.repeats=1.5",
            "tasks.repeats: Input should be a valid integer, got a number with a fractional part (found 1.5)",
        ),
        (
            "participants.policy.sampling.temperature=-1",
            "participants.policy.sampling.temperature: Input should be greater than or equal to 0",
        ),
        (
            "participants.policy.tool_choice=always",
            "participants.policy.tool_choice: Input should be 'auto', 'required' or 'none' (found 'always')",
        ),
        ("participants.policy=small", "participants.policy: Input should be"),
        ("limits=none", "limits: Input should be"),
        ("tasks.path=x.jsonl", "tasks: set one of path (a file) and generate (a number)"),
        ("run.name=../up", "run.name: String should match pattern"),
        ("tasks.repeats=true", "tasks.repeats: Input should be a number; true, yes, on and the like are none (found"),
        ("limits.max_turns=True", "limits.max_turns: Input should be a number; true, yes"),
        ("run.seed=false", "run.seed: Input should be a number; true, yes"),
        ("participants.policy.sampling.temperature=true", "participants.policy.sampling.temperature: Input should be"),
        ("participants.policy.sampling.seed=true", "participants.policy.sampling.seed: Input should be a number"),
    ],
)
def test_a_wrong_override_is_named_with_field_and_fix(config: Path, override: str, told: str) -> None:
    assert error_of(config, override).startswith(f"{override!r}: {told}")


def test_every_problem_has_its_line_and_its_place(config: Path) -> None:
    config.write_text(f"{GOOD}limits: {{max_turns: 0}}\n")
    lines = error_of(config, "tasks.repeat=2", "fanout.workers=0").splitlines()
    places = [line.partition(": ")[0] for line in lines]
    assert sorted(places) == sorted(["'tasks.repeat=2'", "'fanout.workers=0'", str(config)])


def test_a_long_override_is_cut(config: Path) -> None:
    told = error_of(config, f"tasks.limit={'x' * 500}")
    assert told.startswith(f"'tasks.limit={'x' * 68}...': tasks.limit: ") and len(told) < 300


def test_missing_sections_are_named(config: Path) -> None:
    config.write_text("tasks: {generate: 1}\n")
    lines = error_of(config).splitlines()
    assert lines == [f"{config}: {name}: missing" for name in ("environment", "models", "participants")]
    config.write_text("")
    assert f"{config}: environment: missing" in error_of(config).splitlines()
    config.write_text(GOOD.replace("model: small, ", ""))
    assert error_of(config) == f"{config}: participants.policy.model: missing"


def test_a_misspelt_key_is_told_in_the_place_of_the_missing_one(config: Path) -> None:
    config.write_text(GOOD.replace("engine:", "engin:"))
    assert error_of(config) == f"{config}: models.small.engin: unknown key; did you mean 'engine'?"


@pytest.mark.parametrize("text", ["a: [1", "a: {b", "a: b: c", "\tx: 1"])
def test_what_is_no_yaml_is_said_in_one_line(config: Path, text: str) -> None:
    config.write_text(text)
    message = error_of(config)
    assert message.startswith(f"{config}:1: not valid YAML: ") and "\n" not in message


@pytest.mark.parametrize("text", ["- 1\n- 2\n", "just words\n", "3\n"])
def test_what_is_no_mapping_is_said(config: Path, text: str) -> None:
    config.write_text(text)
    assert error_of(config).startswith(f"{config}: ")


def test_a_missing_file_names_the_nearest(config: Path) -> None:
    assert (
        error_of(config.with_name("runn.yaml"))
        == f"{config.with_name('runn.yaml')}: there is no such config file; did you mean {config}?"
    )
    for name in ("nothere.yaml", "server.yaml"):
        assert error_of(config.with_name(name)).endswith(": there is no such config file")
    other = config.with_suffix(".yml")
    assert error_of(other).endswith(f": there is no such config file; did you mean {config}?")
    assert "can't be read" in error_of(config.parent)


@pytest.mark.parametrize("override", ["tasks.limit", "=3", "--limit=3", "-x"])
def test_what_is_no_override_is_said(config: Path, override: str) -> None:
    with pytest.raises(UserError, match=r"is not an override; write key=value, e\.g\. tasks\.limit=8"):
        read(config, override)


@pytest.mark.parametrize(
    "override", ["tasks.limit=[1", "tasks.generate.more=1", "run.seed=${nothing}", "tasks..limit=1"]
)
def test_overrides_that_do_not_fit_are_said(config: Path, override: str) -> None:
    assert error_of(config, override)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: [1\nc: 2\n", 3),
        ("a: 1\n\n\n\tb: 2\n", 4),
        ("a: b: c\n", 1),
        ("a: 1\nb: 'x\n", 2),
        ('a: {id: "x:E}\nb: 1\n', 1),
        ('a: {id: "x:E}\nb: {c: 1}\nd: {id: "y:E"}\n', 1),
        ("a: {b: c\nd\n", 1),
        ("a: 1\nb\nc: 2\n", 2),
        ("a: 1\nb: \x07\n", 2),
        ("a: 1\n\ud800: 2\n", 2),
    ],
)
def test_broken_yaml_is_told_with_its_line(config: Path, text: str, line: int) -> None:
    with pytest.raises(UserError, match=f"^x:{line}: not valid YAML: "):
        merge_overrides(text, "x", [])


@pytest.mark.parametrize("text", ["a:\n\u00a0 b: 1", "a: 1\n\u00a0 b\nc: 1", "a:\n  \u3000b: 1"])
def test_an_indentation_that_is_no_space_is_named(text: str) -> None:
    with pytest.raises(UserError, match=r"^x:2: U\+(00A0|3000) in its indentation, which is no space for YAML; "):
        merge_overrides(text, "x", [])


@pytest.mark.parametrize(
    "text",
    ["a:\n\tb: 1", "a: 1\n\t- b", '{"a": {\n\t"b": 1}}', "a: x\nb:\t1", "a: x\nb: 1\t# c", "a: [1,\n\t2]"],
)
def test_a_tab_between_words_is_told_as_no_space(text: str) -> None:
    with pytest.raises(UserError, match=r"^x:2: not valid YAML: a tab, which is no space for YAML; put spaces there$"):
        merge_overrides(text, "x", [])


def test_other_spaces_in_texts_are_kept() -> None:
    text = "a: |\n  \u00a0b\nc: \u00a0d\ne: '\n  \u00a0f'"
    assert dict(merge_overrides(text, "x", [])) == {"a": "\u00a0b\n", "c": "\u00a0d", "e": " \u00a0f"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: !!int x", "a: not valid YAML: 'x' is no int"),
        ("a: !!int ''", "a: not valid YAML: '' is no int"),
        ("a: !!bool x", "a: not valid YAML: 'x' is no bool"),
        ("a: {b: !!timestamp x}", "b: not valid YAML: 'x' is no timestamp"),
        ("a: !!set {b}", "a: a config has no set"),
        ("a: ${", r"a: a ${ in it is not closed by a }; for a text with a literal ${, write \${"),
        ("a: [b, 'c ${d']", r"a: a ${ in it is not closed by a }; for a text with a literal ${, write \${"),
        ("a: '${b c}'", r"a: a ${...} in it is neither ${KEY} nor ${oc.env:NAME}; for a text with a literal ${, "),
        ("null: 1", "YAML takes a key for null; put it in quotes"),
        ("a: {~: 1}", "a: YAML takes a key for null"),
        ("a:\n  ? \n", "a: YAML takes a key for null"),
        ("a: &END bye", "YAML takes &END for the name of what follows; put the text in quotes"),
        ("a: {b: &END }", "YAML takes &END for the name of what follows"),
        (
            "a: !STOP",
            "not valid YAML: could not determine a constructor for the tag '!STOP'; a text with such signs goes into",
        ),
        ("a: {b: !STOP}", "not valid YAML: expected ' ', but found '}'; a text with such signs goes into quotes"),
        ("a: [!STOP, b]", "not valid YAML: "),
        ("010: 1", "YAML takes 010 for an octal number"),
    ],
)
def test_a_value_or_a_key_that_can_not_be_read_is_told_with_its_line(text: str, told: str) -> None:
    with pytest.raises(UserError) as caught:
        merge_overrides(f"x: 1\n{text}\n", "x", [])
    assert str(caught.value).startswith((f"x:2: {told}", f"x:3: {told}"))


def test_an_anchor_that_an_alias_refers_to_is_yamls() -> None:
    assert merge_overrides("a: &end bye\nb: *end", "x", []) == {"a": "bye", "b": "bye"}


@pytest.mark.parametrize("word", ["yes", "No", "ON", "off", "[a, no]", "{no: 1}", "{a: [{true: 1}]}", "[!!bool yes]"])
def test_a_text_that_yaml_takes_for_a_boolean_is_refused(config: Path, word: str) -> None:
    told = r"YAML takes (yes|No|ON|off|no|the key no|the key true) for a boolean; .*put it in quotes"
    with pytest.raises(UserError, match=rf"x:1: a: {told}"):
        merge_overrides(f"a: {word}", "x", [])
    for key in ("models.policy.extra_body.lang", "participants.policy.stop_text"):
        with pytest.raises(UserError, match=told):
            read(config, f"{key}={word}")


@pytest.mark.parametrize("written", ["{b:c}", "{d: 1, b:c}", "[{b:c}]", "{d: {b:c, e: 1}}"])
def test_a_key_that_takes_in_its_value_is_refused(config: Path, written: str) -> None:
    """A space is missing behind the colon, which JSON does without."""
    told = "YAML takes b:c for a key without a value; write a space behind its colon, or put it in quotes"
    with pytest.raises(UserError, match=rf"x:1: [ad]: {told}"):
        merge_overrides(f"a: {written}", "x", [])
    override = f"models.policy.extra_body={written}"
    assert error_of(config, override) == f"'{override}' is not an override that can be read: {told}"


def test_a_key_with_a_colon_is_taken_if_it_is_meant() -> None:
    text = "a: {'b:c', \"d:e\":1, f:g: 2, h:i: null, j}\nl:m:\n"
    read = {"b:c": None, "d:e": 1, "f:g": 2, "h:i": None, "j": None}
    assert merge_overrides(text, "x", []) == {"a": read, "l:m": None}


@pytest.mark.parametrize("word", ["yes", "No", "ON", "off"])
def test_a_word_in_quotes_is_a_text_and_only_true_and_false_are_booleans(config: Path, word: str) -> None:
    text = f"a: ['{word}', !!str {word}, true, False]\n'{word}': {{'true': {word} is said}}"
    assert merge_overrides(text, "x", []) == {"a": [word, word, True, False], word: {"true": f"{word} is said"}}
    assert read(config, f"participants.policy.stop_text='{word}'").participants["policy"].stop_text == word
    assert read(config, f"participants.policy.stop_text={word} #1").participants["policy"].stop_text == f"{word} #1"


def test_the_durability_off_is_no_boolean(config: Path) -> None:
    for override in ("output.durability=off", "output={durability: off}", "output.durability='off'"):
        assert read(config, override).output.durability == "off"


@pytest.mark.parametrize("value", ["!!binary aGVsbG8=", "[!!binary aGVsbG8=]", "!!omap [b: 1]", "[!!pairs [b: 1]]"])
def test_what_is_no_data_of_a_config_is_refused(value: str) -> None:
    with pytest.raises(UserError, match=r"x:1: a: a config has no (bytes|omap|pairs); write a "):
        merge_overrides(f"a: {value}", "x", [])


@pytest.mark.parametrize("number", ["1:30", "-1:30", "1_0:30", "1:30.5", "190:20:30", "[1:30]", "{1:30: a}"])
def test_a_number_in_base_60_is_refused(config: Path, number: str) -> None:
    told = r"YAML takes .*1.*:30.* for a number in base 60"
    with pytest.raises(UserError, match=rf"x:1: a: {told}"):
        merge_overrides(f"a: {number}", "x", [])
    with pytest.raises(UserError, match=told):
        read(config, f"tasks.generate={number}")
    assert merge_overrides("a: '1:30'", "x", []) == {"a": "1:30"}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("###STOP###", "###STOP###"),
        ("x:", "x:"),
        ("a: b", "a: b"),
        ("- x", "- x"),
        ("? x", "? x"),
        ("Answer: 4 # so", "Answer: 4 # so"),
        ("a #b", "a #b"),
        ("#", "#"),
        ("say # twice ##", "say # twice ##"),
        ("'a #b'", "a #b"),
        ('"###"', "###"),
        ("a=b", "a=b"),
        ("STOP", "STOP"),
        ("你好 #1", "你好 #1"),
        ("---", "---"),
        ("--- END ---", "--- END ---"),
        ("...", "..."),
        ("&STOP", "&STOP"),
        ("&STOP now", "&STOP now"),
        ("*STOP", "*STOP"),
        ("!", "!"),
        ("!done over", "!done over"),
        ("|", "|"),
        (">", ">"),
        ("%END", "%END"),
        ("@you", "@you"),
        ("line one\nline two", "line one\nline two"),
        (" lead", " lead"),
        ("trail ", "trail "),
        ("\tx", "\tx"),
        ("\u2028 # \U0001f600", "\u2028 # \U0001f600"),
        ("'---'", "---"),
        ("=", "="),
        ("<<", "<<"),
        (r'"a\nb"', "a\nb"),
    ],
)
def test_an_override_keeps_all_of_its_text(config: Path, written: str, value: str) -> None:
    read = read_config(config, [f"participants.policy.stop_text={written}"])
    assert read.participants["policy"].stop_text == value


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("[a, #b\n c]", "behind a #"),
        ("[a #b]", "behind a # is a comment); put each text into quotes"),
        ("[###STOP###]", "behind a # is a comment); put each text into quotes"),
        ("'", "it is no whole list, mapping or text in quotes; put each text into quotes"),
        ("[a,\t1]", "a tab, which is no space for YAML; put spaces there"),
        ("[&STOP now]", "have a meaning in YAML"),
        ("[!!str x]", "have a meaning in YAML"),
        ("['a\nb']", "a line end would become a space"),
        ("'a\nb'", "a line end would become a space"),
    ],
)
def test_an_override_whose_text_yaml_would_cut_is_refused(config: Path, value: str, told: str) -> None:
    assert told in error_of(config, f"participants.policy.sampling.stop={value}")


def test_an_empty_text_that_ends_answers_is_refused(config: Path) -> None:
    told = error_of(config, 'participants.policy.sampling.stop=[a, ""]')
    assert "participants.policy.sampling.stop.1: String should have at least 1 character" in told


def test_numbers_and_lists_of_overrides_may_have_spaces_around_them(config: Path) -> None:
    read = read_config(config, ["tasks.limit= 8 ", "participants.policy.sampling.stop= [a, 'b #c'] "])
    assert (read.tasks.limit, list(read.participants["policy"].sampling.stop or ())) == (8, ["a", "b #c"])


def test_a_file_is_utf_8_whatever_the_locale(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config.write_bytes(GOOD.replace("temperature: 0.5}", "temperature: 0.5}, stop_text: Tschüß").encode())
    monkeypatch.setattr(locale, "getpreferredencoding", lambda *_: "ascii")
    monkeypatch.setattr(locale, "getencoding", lambda: "ascii", raising=False)
    assert read_config(config).participants["policy"].stop_text == "Tschüß"


def test_what_is_filled_in_is_masked_in_messages(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-" + "4711" * 30
    monkeypatch.setenv("MY_SECRET", secret)
    monkeypatch.setenv("MY_NUMBER", "x7")
    for field in ("tasks.limit=${oc.env:MY_SECRET}", "participants.policy.sampling.temperature=${oc.env:MY_SECRET}"):
        told = error_of(config, field)
        assert "(found ${oc.env:MY_SECRET})" in told and "4711" not in told
    assert "(found ${oc.env:MY_NUMBER})" in error_of(config, "tasks.limit=${oc.env:MY_NUMBER}")
    config.write_text(GOOD + "run: {name: '/${oc.env:MY_SECRET}'}\nextra: '${oc.env:MY_SECRET}'\n")
    assert "4711" not in error_of(config)


@pytest.mark.parametrize("text", ["${x}", "a ${x} b", "${x"])
def test_what_cannot_be_filled_in_says_how_to_write_it_as_text(config: Path, text: str) -> None:
    assert r"for a text with a literal ${, write \${" in error_of(config, f"participants.policy.stop_text={text}")


def test_a_literal_can_be_written(config: Path) -> None:
    read = read_config(config, [r"participants.policy.stop_text=\${x}"])
    assert read.participants["policy"].stop_text == "${x}"


@pytest.mark.parametrize("text", ["[DONE]", "{done}", "1", "true"])
def test_a_text_that_looks_like_a_list_is_told_its_quotes(config: Path, text: str) -> None:
    remedy = f"participants.policy.stop_text='{text}'"
    assert f'; a text is in quotes: "{remedy}"' in error_of(config, f"participants.policy.stop_text={text}")
    assert read_config(config, [remedy]).participants["policy"].stop_text == text


def test_an_override_that_cannot_be_read_is_blamed_itself(config: Path) -> None:
    assert "; a text is in quotes: KEY='TEXT'" in error_of(config, "participants.policy.stop_text={{x}}")
    said = error_of(config, "participants.policy.sampling.temperature=.inf")
    assert said.startswith("'participants.policy.sampling.temperature=.inf': ")


@pytest.mark.parametrize("text", ["**done**", "@x", "`x`", "%x", "'it's'", "a: b"])
def test_a_text_that_needs_quotes_is_told_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.yaml").write_text(f"participants:\n  policy: {{stop_text: {text}}}\n")
    with pytest.raises(UserError, match=r"c\.yaml:2: not valid YAML: .*; a text with such signs goes into quotes"):
        read_config(tmp_path / "c.yaml")


@pytest.mark.parametrize("written", ["###STOP###", "  ##END", "##x  ", "### STOP ###", "#STOP", "# STOP #", "#", "###"])
def test_a_text_that_yaml_takes_for_a_comment_is_told(tmp_path: Path, written: str) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"run: {{name: x}}\nparticipants:\n  policy:\n    stop_text: {written}\n")
    told = f"{config}:4: YAML takes {written.strip()} for a comment, so stop_text has no value; put it in quotes"
    assert error_of(config) == told


@pytest.mark.parametrize(
    ("text", "place", "comment"),
    [
        ("a: When done, say ###STOP### and nothing else", "1: a is cut", "###STOP### and nothing else"),
        ("a: DONE ###STOP###", "1: a is cut", "###STOP###"),
        ("a: DONE ### STOP ###", "1: a is cut", "### STOP ###"),
        ("a: DONE #", "1: a is cut", "#"),
        ("a: Fix issue #5\nb: 1", "1: a is cut", "#5"),
        ("a: two\n  lines #STOP", "2: a is cut", "#STOP"),
        ("a: one\n  ###STOP###\nb: 1", "2: a is cut", "###STOP###"),
        ("a: ${b} #STOP\nb: 1", "1: a is cut", "#STOP"),
        ("a: &x DONE #STOP", "1: a is cut", "#STOP"),
        ("a:\n  ###STOP###\n  DONE", "2: a is cut", "###STOP###"),
        ("a:\n  ###STOP###\nb: 1", "2: a has no value", "###STOP###"),
        ("a:\n  b:\n    ### STOP ###", "3: b has no value", "### STOP ###"),
        ("a:\n  #STOP\nb: 1", "2: a has no value", "#STOP"),
        ("a:\n\n  # words\n  ##STOP", "4: a has no value", "##STOP"),
        ("a: &x #STOP", "1: a has no value", "#STOP"),
        ("a:\n- ###STOP###\n- b", "2: a has no value", "###STOP###"),
        ("a:\n  - b\n  - ###STOP###", "3: a has no value", "###STOP###"),
        ("a:\n  - b: 1\n    c:\n  - #STOP", "4: a has no value", "#STOP"),
        ("a:\n  - b: 1\n    c: ##x\n  - d", "3: c has no value", "##x"),
        ("a:\n  -\n    ###STOP###", "3: a has no value", "###STOP###"),
        ("a:\n  - DONE #STOP", "2: a is cut", "#STOP"),
        ("a: [###STOP###]", "1: a has no value", "###STOP###]"),
        ("a: {b: [c, #STOP]}", "1: b has no value", "#STOP]}"),
        ("a: {b: DONE ###STOP###}", "1: b is cut", "###STOP###}"),
        ("a: [b,\n ###STOP###,\n c]", "2: a is cut", "###STOP###,"),
        ("a: DONE #STOP\r\nb: 1\r\n", "1: a is cut", "#STOP"),
        ("\ufeffa: DONE #STOP", "1: a is cut", "#STOP"),
    ],
)
def test_a_text_that_yaml_would_cut_or_lose_is_told(text: str, place: str, comment: str) -> None:
    with pytest.raises(UserError) as caught:
        merge_overrides(text, "x", [])
    line, _, lost = place.partition(": ")
    assert str(caught.value).startswith(f"x:{line}: YAML takes {comment} for a comment, so {lost}")
    assert "put it in quotes" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        (
            "a: # one\nb: ## two\nc: |\n  x: ##y\nd: '###z'\ne: &e\n  f: 1 ##g\ng: *e\n",
            {"a": None, "b": None, "c": "x: ##y\n", "d": "###z", "e": {"f": 1}, "g": {"f": 1}},
        ),
        ("a: b  # words\nc: d # the #1 of all, in C#", {"a": "b", "c": "d"}),
        ("#a\n##b\n### c ###\n####\na: b\n#c\n\n### d ###\nc: d\n#e", {"a": "b", "c": "d"}),
        ("a: #nested\n  b: #nested\n    - c\n", {"a": {"b": ["c"]}}),
        ("a: ###nested###\n- b\n- #nested\n  c: d", {"a": ["b", {"c": "d"}]}),
        ("a: &x #nested\n  b: c", {"a": {"b": "c"}}),
        ("a: #list\n  [b, c]\nd: #words\n  'e'", {"a": ["b", "c"], "d": "e"}),
        ("a:\n  ### b ###\n  b: c\n  #d: 1\n  ##e\n", {"a": {"b": "c"}}),
        ("a:\n  #b: 1\n  # c\nd: 1", {"a": None, "d": 1}),
        ("a: 'b' #c\nd: \"e\" ###f###\ng: [h, i] #j\nk: {l: m} #n", {"a": "b", "d": "e", "g": ["h", "i"], "k": {"l": "m"}}),
        ("a: 8 #per cent\nb: true #yes\nc: null #none\nd: 1e5 #many", {"a": 8, "b": True, "c": None, "d": 1e5}),
        ("a: [  #items\n  b,  #first\n  #c,\n  d\n]", {"a": ["b", "d"]}),
        ("a: b#c\nd: e:#f", {"a": "b#c", "d": "e:#f"}),
        ("a: |  #text\n  ###b###\n  #c\n###d###\ne: >\n  f #g", {"a": "###b###\n#c\n", "e": "f #g"}),
    ],
)  # fmt: skip
def test_comments_and_texts_with_marks_are_read_as_yaml_has_them(text: str, data: dict[str, object]) -> None:
    assert merge_overrides(text, "x", []) == data


REPOSITORY = Path(__file__).parents[2]
SHIPPED = [
    path
    for folder in ("configs", "examples", "cluster", "tests/record")
    for path in (REPOSITORY / folder).rglob("*.y*ml")
]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_no_shipped_file_has_a_comment_that_looks_like_a_text(path: Path) -> None:
    assert not list(lost_texts(path.read_text("utf-8")))


@pytest.mark.parametrize("number", [".inf", "-.inf", ".nan"])
def test_numbers_that_a_run_can_not_keep_are_refused(config: Path, number: str) -> None:
    for override in (f"models.small.arguments.t={number}", f"models.small.arguments.of=[1, {number}]"):
        assert "is no number that a run can keep" in error_of(config, override)


@pytest.mark.parametrize("text", [" ", "\u200b", "\t\u200b "])
def test_a_blank_stop_text_is_refused(config: Path, text: str) -> None:
    config.write_text(GOOD.replace("model: small, ", f'model: small, stop_text: "{text}", '))
    assert error_of(config).startswith(f"{config}: participants.policy.stop_text: it is blank")


@pytest.mark.parametrize("value", [True, False])
def test_a_bool_is_no_number_of_failures(config: Path, value: bool) -> None:
    assert "Input should be a number; true, yes" in error_of(config, f"limits.max_failed={value}")


@pytest.mark.parametrize("value", ["t", "1", "1.0", "'yes'", "on!", "''"])
def test_only_true_and_false_are_booleans_of_a_participant(config: Path, value: str) -> None:
    for key in ("participants.policy.trainable", "participants.policy.parallel_tool_calls"):
        assert f"{key}: Input should be true or false" in error_of(config, f"{key}={value}")


def test_a_boolean_may_be_a_text_of_a_variable(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IS_TRAINED", "False")
    told = "participants.policy.trainable=${oc.env:IS_TRAINED}"
    assert read(config, told).participants["policy"].trainable is False
    assert read(config, "participants.policy.trainable=null").participants["policy"].trainable is None


def test_an_override_without_a_value_is_refused(config: Path) -> None:
    """A shell leaves nothing of a variable that is not set: `tasks.limit=$N`."""
    told = "'tasks.limit=' has no value; write tasks.limit=null for nothing, or \"tasks.limit=''\" for an empty text"
    assert error_of(config, "tasks.limit=") == told


@pytest.mark.parametrize("value", ["-1", "1.5", "abc", "'nan'", "[1]"])
def test_a_wrong_number_of_failures_is_told_in_plain_words(config: Path, value: str) -> None:
    told = error_of(config, f"limits.max_failed={value}")
    assert (
        "limits.max_failed: expected a whole number of episodes, or a fraction of all from 0.0 to 1.0 (found " in told
    )


@pytest.mark.parametrize(("value", "most"), [("1", 1), ("1.0", 1.0), ("'1.0'", 1.0), ("'3'", 3), ("null", None)])
def test_a_fraction_of_failures_is_no_number_of_them(config: Path, value: str, most: float | None) -> None:
    found = read(config, f"limits.max_failed={value}").limits.max_failed
    assert found == most and type(found) is type(most)


@pytest.mark.parametrize(
    "key", ["limits.episode_deadline_s", "limits.score_deadline_s", "participants.policy.sampling.top_p"]
)
@pytest.mark.parametrize("number", ["'inf'", "'nan'", "inf"])
def test_no_text_is_an_infinite_number(config: Path, key: str, number: str) -> None:
    assert f"{key}: Input should be" in error_of(config, f"{key}={number}")


@pytest.mark.parametrize("number", ["010", "0100", "0777", "-010", "+010", "0_10", "[1, 010]"])
def test_a_number_that_begins_with_a_zero_is_refused(config: Path, number: str) -> None:
    for key in ("tasks.limit", "run.seed", "environment.option"):
        assert f"{key}={number}" in (told := error_of(config, f"{key}={number}")) and "for an octal number" in told
    config.write_text(f"{GOOD}run:\n  name: x\n  seed: {number}\n")
    assert error_of(config).startswith(f"{config}:11: seed: YAML takes ")


@pytest.mark.parametrize(("written", "limit"), [("0x10", 16), ("'010'", 10), ("10", 10), ("1_000", 1000)])
def test_numbers_in_other_spellings_are_read(config: Path, written: str, limit: int) -> None:
    assert read(config, f"tasks.limit={written}", "limits.max_failed=0.5", "run.seed=0").tasks.limit == limit


class Shelf(BaseModel):
    """Ignores by pydantic's default what it does not know."""

    height: int = 2


class Free(BaseModel):
    model_config = ConfigDict(extra="allow")

    depth: int = 1


class ShopOptions(BaseModel):
    shelves: list[Shelf] = []
    free: Free = Free()
    price: float = 1.0
    open: bool | None = None


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (
            {"price": True},
            "shop.yaml: environment.price: Input should be a number; true, yes, on and the like are none (found True)",
        ),
        (
            {"shelves": [{"height": False}]},
            "environment.shelves.0.height: Input should be a number",
        ),
        ({"open": "yes"}, "shop.yaml: environment.open: Input should be true or false (found 'yes')"),
        ({"open": 1}, "shop.yaml: environment.open: Input should be true or false (found 1)"),
        ({"price": "nan"}, "shop.yaml: environment.price: nan is no number that a run can keep"),
        ({"price": float("inf")}, "shop.yaml: environment.price: inf is no number that a run can keep"),
    ],
)
def test_what_is_no_number_is_not_taken_for_one(data: dict[str, object], told: str) -> None:
    with pytest.raises(UserError) as refused:
        validate(ShopOptions, data, "shop.yaml", ("environment",))
    assert told in str(refused.value)


def test_flags_and_numbers_as_texts_of_variables_are_taken() -> None:
    for flag in (True, "true", "True"):
        read = validate(ShopOptions, {"price": "2.5", "open": flag, "shelves": [{"height": "3"}]}, "shop.yaml")
        assert (read.price, read.open, read.shelves[0].height) == (2.5, True, 3)


def test_a_key_that_a_nested_model_of_options_has_not_is_refused() -> None:
    assert validate(ShopOptions, {"shelves": [{"height": 3}], "free": {"other": 1}}, "shop.yaml").shelves[0].height == 3
    for data, told in [
        (
            {"shelves": [{"heights": 3}]},
            "shop.yaml: environment.shelves.0.heights: unknown key; did you mean 'height'?",
        ),
        ({"shelf": []}, "shop.yaml: environment.shelf: unknown key; did you mean 'shelves'?"),
    ]:
        with pytest.raises(UserError) as refused:
            validate(ShopOptions, data, "shop.yaml", ("environment",))
        assert str(refused.value) == told


@pytest.mark.parametrize("secret", ["s3cr3t'and\"more", "s3cr3t\x1bmore", "s3cr3t\u00a0more", "s3cr3t-more"])
def test_a_variable_is_shown_as_it_is_written_however_python_spells_it(
    monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    monkeypatch.setenv("MY_SECRET", secret)
    with pytest.raises(UserError) as nested:
        read_config_text(GOOD + "limits: {max_turns: {a: '${oc.env:MY_SECRET}'}}\n", "c.yaml", [])
    assert "s3cr3t" not in str(nested.value) and "${oc.env:MY_SECRET}" in str(nested.value)


@pytest.mark.parametrize("written", ["${${oc.env:MY_SECRET}}", "${oc.env:${oc.env:MY_SECRET}}"])
def test_a_variable_that_names_nothing_is_not_shown(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.setenv("MY_SECRET", "s3cr3t-more")
    with pytest.raises(UserError) as told:
        merge_overrides(f"a: '{written}'", "x", [])
    assert "s3cr3t" not in str(told.value)
