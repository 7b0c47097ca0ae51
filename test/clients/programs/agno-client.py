"""agno's agents over both APIs.

client: `agno`
packages: agno openai
settings: `OpenAIResponses` or `OpenAIChat` with `base_url` and `api_key`
"""
from agno.agent import Agent
from agno.models.openai import OpenAIChat, OpenAIResponses
from pydantic import BaseModel
from scene import HELLO, WEATHER, api_key, base_url, shows, weather


class Weather(BaseModel):
    city: str
    celsius: int


def made(kind, **more):
    return Agent(model=kind(id="my-model", base_url=base_url, api_key=api_key), telemetry=False, **more)


def streamed(kind):
    events = made(kind).run(HELLO, stream=True)
    return [event.content for event in events if getattr(event, "event", "") == "RunContent" and event.content]


for api, kind in {"responses": OpenAIResponses, "chat": OpenAIChat}.items():
    shows(api, "text", lambda: made(kind).run(HELLO).content)
    shows(api, "stream", lambda: streamed(kind))
    shows(api, "tool", lambda: made(kind, tools=[weather]).run(WEATHER).content)
    shows(api, "structured output", lambda: made(kind, output_schema=Weather).run(WEATHER).content.model_dump())
