"""Gives the tiny tokenizer a chat template that shows tools, calls and reasoning, so that tests see what a trainer renders."""

from __future__ import annotations

from typing import Any

from handmade import tiny_tokenizer

TEMPLATE = (
    "{% if tools %}<|im_start|>tools\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.role == 'assistant' %}{% generation %}"
    "{% if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>{% endif %}{{ message.content }}"
    "{% for call in message.tool_calls or [] %}[{{ call.function.name }} {{ call.function.arguments | tojson }}]{% endfor %}"
    "<|im_end|>{% endgeneration %}{% else %}{{ message.content }}<|im_end|>{% endif %}{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""`tests/export/read_back.py` renders the same in Python."""


def tool_tokenizer() -> Any:
    """Returns the tiny tokenizer of single bytes with `TEMPLATE`."""
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = TEMPLATE
    return tokenizer
