"""smolagents' model and an agent that calls tools.

client: `smolagents`
packages: smolagents[openai]
settings: `OpenAIModel(model_id="my-model", api_base=…, api_key=…)`
"""
import json

from scene import HELLO, WEATHER, api_key, base_url, shows, weather
from smolagents import ChatMessage, LogLevel, OpenAIModel, ToolCallingAgent, tool

model = OpenAIModel(model_id="my-model", api_base=base_url, api_key=api_key)
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "celsius": {"type": "integer"}},
    "required": ["city", "celsius"],
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "weather", "schema": SCHEMA}}


def asking(text):
    return [ChatMessage(role="user", content=[{"type": "text", "text": text}])]


def agent():
    return ToolCallingAgent(tools=[tool(weather)], model=model, verbosity_level=LogLevel.OFF)


shows("chat", "text", lambda: model.generate(asking(HELLO)).content)
shows("chat", "stream", lambda: [piece.content for piece in model.generate_stream(asking(HELLO)) if piece.content])
shows("chat", "tool", lambda: agent().run(WEATHER))
shows("chat", "structured output", lambda: json.loads(model.generate(asking(WEATHER), response_format=FORMAT).content))
