"""Checks that a chat template gets the arguments of calls in the form that it takes, also those that are no object."""

from __future__ import annotations

from typing import Any

import pytest

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


def source(arguments: str) -> str:
    """Returns a template that writes the arguments of calls by `arguments`, a piece of Jinja."""
    calls = "{% for call in m.tool_calls or [] %}{{ call.function.name }} " + arguments + "{% endfor %}"
    return "{% for m in messages %}[{{ m.role }}]{{ m.content }}" + calls + "{% endfor %}"


@pytest.mark.parametrize(
    ("form", "given", "shown"),
    [
        (AS_TEXT, "null", "<null>"),
        (AS_TEXT, "", "<>"),
        (AS_TEXT, '{"a": 1}', '<{"a": 1}>'),
        (AS_ITEMS, "null", "arguments=null;"),
        (AS_ITEMS, "[1]", "arguments=[1];"),
        (AS_ITEMS, "{", "arguments={;"),
        (AS_ITEMS, '{"a": 1}', "a=1;"),
        (AS_JSON, "null", '{"arguments": "null"}'),
        (AS_JSON, '{"a": 1}', '{"a": 1}'),
    ],
)
def test_a_template_gets_arguments_as_it_takes_them(tokenizer: Any, form: str, given: str, shown: str) -> None:
    template = Template(tokenizer, source(form))
    called = Message("assistant", tool_calls=(ToolCall("abcdefghi", "look", given),))
    messages = [template.data(one) for one in (Message("user", "x"), called)]
    assert template.render(messages, (), generation_prompt=False).endswith(f"look {shown}")
