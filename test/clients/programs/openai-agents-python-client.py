"""OpenAI's agents SDK for Python.

client: `openai-agents`
packages: openai-agents
settings: `OpenAIResponsesModel` or `OpenAIChatCompletionsModel` with `AsyncOpenAI(base_url=…, api_key=…)`, and `set_tracing_disabled(True)`
"""
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from pydantic import BaseModel
from scene import HELLO, WEATHER, api_key, base_url, shows, weather


class Weather(BaseModel):
    city: str
    celsius: int


set_tracing_disabled(True)


async def answered(kind, question, **more):
    return (await Runner.run(made(kind, **more), question)).final_output


async def streamed(kind):
    events = Runner.run_streamed(made(kind), HELLO).stream_events()
    deltas = [getattr(event.data, "delta", "") async for event in events if event.type == "raw_response_event"]
    return [delta for delta in deltas if delta]


def made(kind, **more):
    client = AsyncOpenAI(base_url=base_url, api_key=api_key)
    return Agent(name="helper", model=kind(model="my-model", openai_client=client), **more)


async def structured(kind):
    return (await answered(kind, WEATHER, output_type=Weather)).model_dump()


for api, kind in {"responses": OpenAIResponsesModel, "chat": OpenAIChatCompletionsModel}.items():
    shows(api, "text", lambda: answered(kind, HELLO))
    shows(api, "stream", lambda: streamed(kind))
    shows(api, "tool", lambda: answered(kind, WEATHER, tools=[function_tool(weather)]))
    shows(api, "structured output", lambda: structured(kind))
