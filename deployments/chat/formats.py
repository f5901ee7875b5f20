"""Chooses the chat format and the tool format of a model, by its config and its checkpoint."""

from __future__ import annotations

import re
from pathlib import Path

from ray_gym.deployments.chat.chat_format import ChatFormat
from ray_gym.deployments.chat.checkpoint import ModelTokenizer, local_template
from ray_gym.deployments.chat.options import ChatOptions
from ray_gym.deployments.chat.parsers import choose_parsers
from ray_gym.deployments.chat.tool_format import ToolFormat
from ray_gym.errors import UserError


def make_formats(
    options: ChatOptions, model: str, tokens: ModelTokenizer, uses_tools: bool
) -> tuple[ChatFormat, ToolFormat]:
    """Returns the chat format and the tool format of a model.

    `model`: name or path of the model. `uses_tools`: True if participants have tools. Errors: UserError if there is no
    template, if vLLM doesn't have a parser or the parsers don't fit the tokenizer, or if participants have tools and
    the template shows none (and is not ChatML) or shows them in an unknown format; OSError if the config's template
    file can't be read.
    """
    template = Path(options.chat_template).read_text("utf-8") if options.chat_template else None
    chat_format = ChatFormat(tokens.tokenizer, tokens.stop_ids, template, options.chat_template_kwargs)
    source = chat_format.template.source
    parsers = choose_parsers(options, model, source, shows_tools=chat_format.shows_tools, uses_tools=uses_tools)
    return chat_format, ToolFormat(parsers.tool, parsers.reasoning, tokens.tokenizer)


def check_formats(options: ChatOptions, model: str, where: str, uses_tools: bool) -> None:
    """Checks the template and the parsers before a model loads, without a tokenizer. The parsers are checked only if
    the template is on this machine; `make_formats` checks the rest.

    `model`: name or path of the model. `where`: section of the config, for errors. `uses_tools`: True if participants
    have tools. Errors: UserError if the config's template file or the checkpoint is missing, or if participants have
    tools and the template shows none (and is not ChatML) or shows them in an unknown format; NotInstalled if the small
    model was not fetched.
    """
    given = options.chat_template
    if given and not Path(given).is_file():
        raise UserError(f"{where}.chat_template: there is no file {given}")
    template = Path(given).read_text("utf-8") if given else local_template(model)
    if template is None:
        return
    written = re.sub(r"\{#.*?#\}", "", template, flags=re.DOTALL)  # without comments
    try:
        choose_parsers(options, model, template, shows_tools="tools" in written, uses_tools=uses_tools)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
