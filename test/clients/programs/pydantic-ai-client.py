"""Agents of pydantic-ai over both APIs.

client: `pydantic-ai`
packages: pydantic-ai-slim[openai]
settings: `OpenAIProvider(base_url=…, api_key=…)` for `OpenAIResponsesModel` or `OpenAIChatModel`
"""
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from scene import HELLO, WEATHER, api_key, base_url, shows, weather


class Weather(BaseModel):
    city: str
    celsius: int


async def streamed(model):
    async with Agent(model).run_stream(HELLO) as run:
        return [piece async for piece in run.stream_text(delta=True, debounce_by=None)]


provider = OpenAIProvider(base_url=base_url, api_key=api_key)
for api, kind in {"responses": OpenAIResponsesModel, "chat": OpenAIChatModel}.items():
    model = kind("my-model", provider=provider)
    shows(api, "text", lambda: Agent(model).run_sync(HELLO).output)
    shows(api, "stream", lambda: streamed(model))
    shows(api, "tool", lambda: Agent(model, tools=[weather]).run_sync(WEATHER).output)
    shows(api, "structured output", lambda: Agent(model, output_type=Weather).run_sync(WEATHER).output.model_dump())
