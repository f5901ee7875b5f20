"""Reads calls with values between tags that quote whole calls, or marks of calls: nothing that is quoted is carried out."""

from __future__ import annotations

import json
import re
from time import process_time

import pytest
from processor import slowness
from test_malformed_calls import SINGLE, read

from ray_gym.deployments.chat.quoted_tags import Tags

TAGGED = [
    *("qwen3_xml", "seed_oss", "glm45", "ling3", "poolside_v1", "minimax_m2", "dots", "hy_v3", "hy_v4", "k2_horizon"),
    *("deepseek_v32", "deepseek_v4", "deepseek_v41", "minicpm5", "step3", "muse_glimmer", "kimi_k3"),
]
"""Tool parsers of formats whose values stand between tags."""
FUNCTION = Tags("<parameter=", "</parameter>", "<function=", "</function>", "</?(?:function|parameter)")


def call_texts(parser: str) -> tuple[str, str]:
    """Returns calls of `note` with the value ü, and of `go`, each with what is around it."""
    around, note, go, _, _ = SINGLE[parser]
    return around(note), around(go)


@pytest.mark.parametrize("parser", [*TAGGED, "minimax_m3", "gemma4", "functiongemma"])
def test_a_quoted_call_is_a_part_of_the_value(parser: str) -> None:
    note, go = call_texts(parser)
    for quoted in (go, f"see {go} here", f"{go} {go}"):
        said, calls = read(parser, f"Hi. {note.replace('ü', f'a{quoted}b')} Bye.")
        assert (said.split(), [name for name, _ in calls]) == (["Hi.", "Bye."], ["note"])
        assert json.loads(calls[0][1]) == {"text": f"a{quoted}b"}


@pytest.mark.parametrize("parser", TAGGED)
def test_quoted_ends_of_a_call_are_a_part_of_the_value(parser: str) -> None:
    note, go = call_texts(parser)
    ends = note.partition("ü")[2].partition(">")[2]
    said, calls = read(parser, f"{note.replace('ü', f'a {ends} b')} {go}")
    assert said == "" and [name for name, _ in calls] == ["note", "go"]
    assert json.loads(calls[0][1]) == {"text": f"a {ends} b"}


@pytest.mark.parametrize("parser", TAGGED)
def test_a_value_without_its_end_takes_no_later_call(parser: str) -> None:
    note, go = call_texts(parser)
    begin, _, end = note.partition("ü")
    for cut in (f"{begin}ü{end.partition('>')[2]}", f"{begin}ü\n"):
        _, calls = read(parser, f"{cut}\n{go}\n{go}")
        assert [call for call in calls if call[0] == "go"] == [("go", '{"to": "x"}')] * 2


@pytest.mark.parametrize(
    ("parser", "end"),
    [
        ("minimax_m3", "]<]minimax[>[</tool_call>"),
        ("gemma4", "<tool_call|>"),
        ("functiongemma", "<end_function_call>"),
    ],
)
def test_a_call_that_a_quoted_mark_cuts_is_malformed(parser: str, end: str) -> None:
    note, go = call_texts(parser)
    _, calls = read(parser, f"{note.replace('ü', f'a {end} b')} {go}")
    assert [name for name, _ in calls] == ["", "go"]


@pytest.mark.parametrize("quoted", ["{}", "see {} end", "{} and {}"])
def test_a_value_of_minimax_m3_may_quote_a_call_without_its_frame(quoted: str) -> None:
    mark = "]<]minimax[>["
    call = f'{mark}<invoke name="go">{mark}<to>x{mark}</to>{mark}</invoke>'
    text = quoted.format(call, call)
    note, go = call_texts("minimax_m3")
    assert read("minimax_m3", note.replace("ü", text)) == ("", [("note", json.dumps({"text": text}))])
    inner = go.partition(f"{mark}<tool_call>")[2].strip()
    assert [name for name, _ in read("minimax_m3", note.replace(f"ü{mark}</text>", f"a {inner}"))[1]][-1:] == ["go"]


def test_a_call_of_minimax_m3_without_its_own_end_is_read() -> None:
    note, go = (call.replace("]<]minimax[>[</invoke>", "") for call in call_texts("minimax_m3"))
    assert read("minimax_m3", note) == ("", [("note", '{"text": "ü"}')])
    assert read("minimax_m3", f"{note}\n{go}") == ("", [("note", '{"text": "ü"}'), ("go", '{"to": "x"}')])


@pytest.mark.parametrize("text", ["<b>x</b>", "a <b>x</b> c", "a < b & c", "<p>", "if a<b: c"])
def test_a_value_of_minicpm5_may_have_other_tags(text: str) -> None:
    note, _ = call_texts("minicpm5")
    assert read("minicpm5", note.replace("ü", text)) == ("", [("note", json.dumps({"text": text}))])
    cdata = note.replace("ü", f"<![CDATA[{text}]]>")
    assert read("minicpm5", cdata) == ("", [("note", json.dumps({"text": text}))])


def test_values_are_found_in_linear_time() -> None:
    for text in ("<parameter=a>" * 20_000, "<parameter=a>" + "<function=b></function>" * 20_000):
        for begin in (text, f"<parameter=a>{'<function=b><parameter=c>d</parameter>' * 10_000}"):
            started = process_time()
            list(re.compile(FUNCTION.value, re.DOTALL).finditer(begin))
            assert process_time() - started < 2 * slowness()
