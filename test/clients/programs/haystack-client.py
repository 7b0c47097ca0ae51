"""Haystack's generators and its agent.

client: `haystack-ai` (Haystack)
packages: haystack-ai
settings: `OpenAIResponsesChatGenerator` or `OpenAIChatGenerator` with `api_base_url`, and `api_key=Secret.from_token(…)`
"""
import json

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator, OpenAIResponsesChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function
from haystack.utils import Secret
from pydantic import BaseModel
from scene import HELLO, WEATHER, api_key, base_url, shows, weather


class Weather(BaseModel):
    city: str
    celsius: int


settings = {"model": "my-model", "api_base_url": base_url, "api_key": Secret.from_token(api_key)}


def streamed(kind):
    pieces = []
    kind(**settings, streaming_callback=lambda chunk: pieces.append(chunk.content)).run(HELLO)
    return [piece for piece in pieces if piece]


def agent(generator):
    made = Agent(chat_generator=generator, tools=[create_tool_from_function(weather)])
    return made.run(messages=[ChatMessage.from_user(WEATHER)])["last_message"].text


for api, kind in {"responses": OpenAIResponsesChatGenerator, "chat": OpenAIChatGenerator}.items():
    field = {"responses": "text_format", "chat": "response_format"}[api]
    shows(api, "text", lambda: kind(**settings).run(HELLO)["replies"][0].text)
    shows(api, "stream", lambda: streamed(kind))
    shows(api, "tool", lambda: agent(kind(**settings)))
    shows(api, "structured output", lambda: json.loads(kind(**settings, generation_kwargs={field: Weather}).run(WEATHER)["replies"][0].text))
