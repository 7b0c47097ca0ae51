"""Agents of strands over both APIs.

client: `strands-agents`
packages: strands-agents[openai]
settings: `OpenAIResponsesModel` or `OpenAIModel` with `client_args={"base_url": …, "api_key": …}`
"""
from pydantic import BaseModel
from scene import HELLO, WEATHER, api_key, base_url, shows, weather
from strands import Agent, tool
from strands.models.openai import OpenAIModel
from strands.models.openai_responses import OpenAIResponsesModel


class Weather(BaseModel):
    city: str
    celsius: int


def made(kind, **more):
    model = kind(client_args={"base_url": base_url, "api_key": api_key}, model_id="my-model")
    return Agent(model=model, callback_handler=None, **more)


async def streamed(kind):
    return [event["data"] async for event in made(kind).stream_async(HELLO) if event.get("data")]


for api, kind in {"responses": OpenAIResponsesModel, "chat": OpenAIModel}.items():
    shows(api, "text", lambda: str(made(kind)(HELLO)).strip())
    shows(api, "stream", lambda: streamed(kind))
    shows(api, "tool", lambda: str(made(kind, tools=[tool(weather)])(WEATHER)))
    shows(api, "structured output", lambda: made(kind)(WEATHER, structured_output_model=Weather).structured_output.model_dump())
