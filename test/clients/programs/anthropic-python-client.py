"""Anthropic's SDK for Python.

client: `anthropic`
packages: anthropic
settings: `Anthropic(base_url="http://localhost:3000", api_key=…)`, without `/v1`
"""
from anthropic import Anthropic, beta_tool
from pydantic import BaseModel
from scene import HELLO, WEATHER, api_key, base_url, shows, weather


class Weather(BaseModel):
    city: str
    celsius: int


client = Anthropic(base_url=base_url.removesuffix("/v1"), api_key=api_key)


def asking(text):
    return {"model": "my-model", "max_tokens": 1000, "messages": [{"role": "user", "content": text}]}


def streamed():
    with client.messages.stream(**asking(HELLO)) as stream:
        return list(stream.text_stream)


def called():
    runner = client.beta.messages.tool_runner(**asking(WEATHER), tools=[beta_tool(weather)])
    return runner.until_done().content[0].text


parsed = lambda: client.messages.parse(**asking(WEATHER), output_format=Weather).parsed_output
shows("messages", "text", lambda: client.messages.create(**asking(HELLO)).content[0].text)
shows("messages", "stream", streamed)
shows("messages", "tool", called)
shows("messages", "structured output", lambda: parsed().model_dump())
