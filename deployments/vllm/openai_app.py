"""Builds vLLM's own OpenAI server (its app, serving classes and parsers) around a replica's engine."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fastapi import FastAPI

from ray_gym.deployments.chat import plain_calls
from ray_gym.deployments.chat.chat_format import ChatFormat
from ray_gym.deployments.chat.tool_format import ToolFormat
from ray_gym.deployments.vllm.options import VllmOptions

TASKS = ("generate",)

_EITHER_TEMPLATE = (
    "{{%- if tools or messages | selectattr('tool_calls') | list or "
    "messages | selectattr('role', 'equalto', 'tool') | list -%}}"
    "{with_tools}{{%- else -%}}{without}{{%- endif -%}}"
)
"""Template that chooses as `ChatFormat` does: the fallback template if there are tools or calls to show, else the
model's own.
"""


async def build_openai_app(
    engine: Any, path: str, name: str, options: VllmOptions, chat_format: ChatFormat, tool_format: ToolFormat
) -> FastAPI:
    """Returns vLLM's FastAPI app, which renders and parses conversations as episodes do.

    `engine`: vLLM's AsyncLLM. `path`: folder of the checkpoint. `name`: the model's name in requests.
    """
    from vllm.entrypoints.launchers.api_server.app_state import init_app_state

    with tempfile.TemporaryDirectory() as directory:  # vLLM takes a template as a file
        words = [
            f"--model={path}",
            f"--served-model-name={name}",
            *_template_words(options, chat_format, Path(directory)),
        ]
        # also if the participants have no tools: callers may have some
        tool_parser = tool_format.tool_parser or (plain_calls.NAME if chat_format.uses_fallback_template else None)
        arguments = await asyncio.to_thread(_parse_words, words, options, tool_parser, tool_format.reasoning_parser)
        app = await asyncio.to_thread(_build_app, arguments, engine)
        await init_app_state(engine, app.state, arguments, TASKS)
    return app


def _template_words(options: VllmOptions, chat_format: ChatFormat, directory: Path) -> list[str]:
    if chat_format.uses_fallback_template and chat_format.tool_template is not None:
        file = directory / "chat_template.jinja"
        with_tools, without = chat_format.tool_template.source, chat_format.template.source
        file.write_text(_EITHER_TEMPLATE.format(with_tools=with_tools, without=without), "utf-8")
        return [f"--chat-template={file}", "--chat-template-content-format=string"]
    return [f"--chat-template={options.chat_template}"] if options.chat_template else []


def _parse_words(words: list[str], options: VllmOptions, tool_parser: str | None, reasoning_parser: str | None) -> Any:
    """Returns the arguments of vLLM's server, parsed by its own parser, so that all their defaults are set. `words`:
    words of its command line, to which those for the options and the parsers are added.
    """
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
    from vllm.tool_parsers import ToolParserManager
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    words = [*words, "--enable-prompt-tokens-details", "--disable-fastapi-docs"]
    words += [f"--default-chat-template-kwargs={json.dumps(options.chat_template_kwargs)}"]
    if tool_parser is not None:
        words += ["--enable-auto-tool-choice", f"--tool-call-parser={tool_parser}"]
    ToolParserManager.register_lazy_module(
        plain_calls.NAME, "ray_gym.deployments.chat.plain_tool_parser", "PlainToolParser"
    )
    arguments = make_arg_parser(FlexibleArgumentParser()).parse_args(words)
    arguments.structured_outputs_config.reasoning_parser = reasoning_parser or ""
    return arguments


def _build_app(arguments: Any, engine: Any) -> FastAPI:
    from vllm.entrypoints.launchers.app import build_app

    app: FastAPI = build_app(arguments, TASKS, engine.model_config)
    app.state.server = SimpleNamespace(
        should_exit=False
    )  # vLLM ends it when its engine dies; here Serve replaces the replica
    return app
