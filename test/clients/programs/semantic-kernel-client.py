"""Agents of Semantic Kernel over both APIs.

client: `semantic-kernel`
packages: semantic-kernel
settings: `OpenAIResponsesAgent(ai_model_id=…, client=AsyncOpenAI(base_url=…, api_key=…))`, or `ChatCompletionAgent` with `OpenAIChatCompletion(…, async_client=…)`
"""
import json

from openai import AsyncOpenAI
from pydantic import BaseModel
from scene import HELLO, WEATHER, api_key, base_url, shows, weather
from semantic_kernel.agents import ChatCompletionAgent, OpenAIResponsesAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion, OpenAIChatPromptExecutionSettings
from semantic_kernel.functions import KernelArguments, kernel_function


class Weather(BaseModel):
    city: str
    celsius: int


class Plugin:
    weather = staticmethod(kernel_function(weather))


def made(api, plugins=(), output=None):
    client = AsyncOpenAI(base_url=base_url, api_key=api_key)
    named = {"name": "helper", "plugins": list(plugins)}
    if api == "responses":
        text = OpenAIResponsesAgent.configure_response_format(output) if output else None
        return OpenAIResponsesAgent(ai_model_id="my-model", client=client, text=text, **named)
    settings = OpenAIChatPromptExecutionSettings(response_format=output) if output else None
    service = OpenAIChatCompletion(ai_model_id="my-model", async_client=client)
    return ChatCompletionAgent(service=service, arguments=KernelArguments(settings=settings), **named)


async def answered(agent, question):
    return str((await agent.get_response(messages=question)).content)


async def structured(agent):
    return json.loads(await answered(agent, WEATHER))


async def streamed(agent):
    return [text async for piece in agent.invoke_stream(messages=HELLO) if (text := str(piece.content))]


for api in ("responses", "chat"):
    shows(api, "text", lambda: answered(made(api), HELLO))
    shows(api, "stream", lambda: streamed(made(api)))
    shows(api, "tool", lambda: answered(made(api, plugins=[Plugin()]), WEATHER))
    shows(api, "structured output", lambda: structured(made(api, output=Weather)))
