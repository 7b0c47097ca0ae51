"""Inspect AI's models.

client: `inspect-ai`
packages: inspect-ai openai
settings: `get_model("openai/my-model", base_url=…, api_key=…, responses_api=True)`, or `False`
"""
import json

from inspect_ai.model import ChatMessageUser, GenerateConfig, ResponseSchema, get_model
from inspect_ai.tool import tool
from inspect_ai.util import json_schema
from pydantic import BaseModel
from scene import HELLO, WEATHER, api_key, base_url, shows, weather


class Weather(BaseModel):
    city: str
    celsius: int


@tool(name="weather")
def weather_tool():
    async def execute(city: str) -> str:
        """The weather in a city.

        Args:
            city: The city.
        """
        return weather(city)

    return execute


async def text(model):
    return (await model.generate(HELLO)).completion


async def called(model):
    _, output = await model.generate_loop([ChatMessageUser(content=WEATHER)], tools=[weather_tool()])
    return output.completion


async def structured(model):
    schema = ResponseSchema(name="weather", json_schema=json_schema(Weather))
    return json.loads((await model.generate(WEATHER, config=GenerateConfig(response_schema=schema))).completion)


for api, responses in {"responses": True, "chat": False}.items():
    def asked(run):
        return run(get_model("openai/my-model", base_url=base_url, api_key=api_key, responses_api=responses, memoize=False))

    shows(api, "text", lambda: asked(text))
    shows(api, "tool", lambda: asked(called))
    shows(api, "structured output", lambda: asked(structured))
