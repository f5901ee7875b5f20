"""Makes the tool format of `plain_calls` a tool parser of vLLM's servers, under the name `plain`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from vllm.entrypoints.generate.base.protocol import (
    DeltaFunctionCall,
    DeltaMessage,
    DeltaToolCall,
    ExtractedToolCallInformation,
    FunctionCall,
    ToolCall,
)
from vllm.renderers.chat_utils import make_tool_call_id
from vllm.sampling_params import StructuredOutputsParams
from vllm.tool_parsers import ToolParser

from ray_gym.deployments.chat import plain_calls
from ray_gym.deployments.chat.tool_format import compact
from ray_gym.messages import ToolSchema


class PlainToolParser(ToolParser):  # type: ignore[misc]  # mypy does not follow imports of vLLM
    """Reads calls that are lines `NAME {arguments}`. vLLM creates one for each answer."""

    supports_required_and_named = False  # forced calls are written as any others, not in vLLM's own JSON
    engine_based_streaming = True  # so that `finish_streaming` is asked for the text that was held back

    def __init__(self, tokenizer: Any, tools: Any = None) -> None:
        super().__init__(tokenizer, tools)
        self._names = [ToolSchema.from_openai(tool.model_dump()).name for tool in self.tools]
        self._stream = plain_calls.CallStream(self._names)

    def adjust_request(self, request: Any) -> Any:
        """Sets the grammar of a forced call in the request, instead of any `response_format` or `text` format, and
        returns the request. One that forces no call is left as it is.
        """
        forced = self._forced_tools(request.tool_choice)
        if forced:
            tag = plain_calls.structural_tag(forced, bool(request.parallel_tool_calls))
            text = json.dumps(compact(tag, bool(request.parallel_tool_calls)))
            request.structured_outputs = StructuredOutputsParams(structural_tag=text)
            for other in ("response_format", "text"):  # an answer has one grammar, that of the call
                if hasattr(request, other):
                    setattr(request, other, None)
        return request

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        if not self._reads_calls(request):
            return ExtractedToolCallInformation(tools_called=False, tool_calls=[], content=model_output)
        content, calls = plain_calls.read(model_output, self._names)
        made = [
            ToolCall(id=make_tool_call_id(), function=FunctionCall(name=name, arguments=arguments))
            for name, arguments in calls
        ]
        return ExtractedToolCallInformation(tools_called=bool(made), tool_calls=made, content=content or None)

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> Any:
        said = self._stream.feed(delta_text) if self._reads_calls(request) else delta_text
        return DeltaMessage(content=said) if said else None

    def finish_streaming(self) -> Any:
        rest, calls = self._stream.finish()
        deltas = [
            DeltaToolCall(
                index=index,
                id=make_tool_call_id(),
                type="function",
                function=DeltaFunctionCall(name=name, arguments=arguments),
            )
            for index, (name, arguments) in enumerate(calls)
        ]
        return DeltaMessage(content=rest or None, tool_calls=deltas) if rest or deltas else None

    def _reads_calls(self, request: Any) -> bool:
        return bool(self.tools) and request.tool_choice != "none"

    def _forced_tools(self, choice: Any) -> list[dict[str, Any]]:
        """Returns the tools, in OpenAI's form, of which one must be called; an empty list if the choice forces
        no call.
        """
        tools = [ToolSchema.from_openai(tool.model_dump()) for tool in self.tools]
        if choice == "required":
            return [tool.as_openai() for tool in tools]
        named = getattr(getattr(choice, "function", choice), "name", None)  # chat completions and Responses
        return [tool.as_openai() for tool in tools if tool.name == named]
