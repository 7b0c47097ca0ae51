"""Haystack's generators for both APIs."""
import json
import os
import sys

from haystack.components.generators.chat import OpenAIChatGenerator, OpenAIResponsesChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool
from haystack.utils import Secret

settings = {"model": "demo", "api_base_url": sys.argv[1], "api_key": Secret.from_token("client-key")}
parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
tool = Tool(name="weather", description="The weather.", parameters=parameters, function=lambda city="": "Sunny.")
pieces = []


def texts_of(generator):
    return generator.run([ChatMessage.from_user("Say hello.")])["replies"][0].text


texts = [texts_of(OpenAIChatGenerator(**settings)), texts_of(OpenAIResponsesChatGenerator(**settings))]
texts_of(OpenAIResponsesChatGenerator(**settings, streaming_callback=lambda piece: pieces.append(piece.content or "")))
reply = OpenAIResponsesChatGenerator(**settings, tools=[tool]).run([ChatMessage.from_user("Call weather.")])["replies"][0]
calls = [call.tool_name for call in reply.tool_calls]
print(json.dumps({"texts": [*texts, "".join(pieces)], "calls": calls}))
