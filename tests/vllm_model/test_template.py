"""Checks that a chat template gets messages in the form that it takes: arguments of calls, and late system messages."""

from __future__ import annotations

from typing import Any

import pytest
from families import FAMILY_NAMES
from talk import formats

from ray_gym.deployments.chat.template import Template
from ray_gym.deployments.small_model import checkpoint_dir
from ray_gym.messages import Message, ToolCall

AS_TEXT = "{{ '<' + call.function.arguments + '>' }}"
AS_ITEMS = "{% for name, value in call.function.arguments.items() %}{{ name }}={{ value }};{% endfor %}"
AS_JSON = "{{ call.function.arguments | tojson }}"


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    import transformers

    if not checkpoint_dir().exists():
        pytest.fail("the small model was not fetched: make model")
    return transformers.AutoTokenizer.from_pretrained(checkpoint_dir())


def source(arguments: str = "", check: str = "") -> str:
    """Returns a template that writes the arguments of calls by `arguments`, and checks messages by `check`: Jinja."""
    calls = "{% for call in m.tool_calls or [] %}{{ call.function.name }} " + arguments + "{% endfor %}"
    return "{% for m in messages %}" + check + "[{{ m.role }}]{{ m.content }}" + calls + "{% endfor %}"


@pytest.mark.parametrize(
    ("form", "given", "shown"),
    [
        (AS_TEXT, "null", "<null>"),
        (AS_TEXT, "", "<{}>"),
        (AS_TEXT, "{", "<{>"),
        (AS_TEXT, '{"a": 1}', '<{"a": 1}>'),
        (AS_ITEMS, "null", ""),
        (AS_ITEMS, " null\n", ""),
        (AS_ITEMS, " ", ""),
        (AS_ITEMS, "0", "arguments=0;"),
        (AS_ITEMS, '"null"', 'arguments="null";'),
        (AS_ITEMS, "[1]", "arguments=[1];"),
        (AS_ITEMS, "{", "arguments={;"),
        (AS_ITEMS, '{"a": 1}', "a=1;"),
        (AS_JSON, "null", "{}"),
        (AS_JSON, '{"a": 1}', '{"a": 1}'),
    ],
)
def test_a_template_gets_arguments_as_it_takes_them(tokenizer: Any, form: str, given: str, shown: str) -> None:
    template = Template(tokenizer, source(form))
    called = Message("assistant", tool_calls=(ToolCall("abcdefghi", "look", given),))
    messages = [template.data(one) for one in (Message("user", "x"), called)]
    assert template.render(messages, (), generation_prompt=False).endswith(f"look {shown}")


SYSTEM, ASKED, SAID, LATE = (
    Message("system", "Be kind."),
    Message("user", "What is it?"),
    Message("assistant", "A door."),
    Message("system", "From now on, be brief."),
)


@pytest.mark.parametrize("name", FAMILY_NAMES)
@pytest.mark.parametrize("before", [(ASKED,), (ASKED, SAID), (SYSTEM, ASKED, SAID, ASKED)])
def test_a_system_message_within_a_conversation_is_shown_where_it_stands(
    name: str, before: tuple[Message, ...]
) -> None:
    template = formats(name).chat.template
    shown = template.render([template.data(one) for one in (*before, LATE)], (), generation_prompt=True)
    assert shown.rfind(before[-1].content) < shown.find(LATE.content)


def test_a_template_without_a_place_for_late_system_messages_gets_them_from_the_user(tokenizer: Any) -> None:
    check = "{% if m.role == 'system' and not loop.first %}{{ raise_exception('no') }}{% endif %}"
    anywhere, at_first = Template(tokenizer, source()), Template(tokenizer, source(check=check))
    said = [anywhere.data(one) for one in (SYSTEM, ASKED, LATE, SAID, LATE)]
    assert anywhere.render(said, (), generation_prompt=False).count("[system]") == 3
    shown = at_first.render(said, (), generation_prompt=False)
    assert shown.count("[system]") == 1 and shown.count(f"[user]{LATE.content}") == 2
