"""LangChain's model for OpenAI in Python.

client: `langchain-openai` (LangChain)
packages: langchain-openai
settings: `ChatOpenAI(base_url=…, api_key=…, use_responses_api=True)`, or `False`
"""
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel
from scene import HELLO, WEATHER, api_key, base_url, shows, weather


class Weather(BaseModel):
    city: str
    celsius: int


weather_tool = tool(weather)


def called(model):
    bound = model.bind_tools([weather_tool])
    question = ("user", WEATHER)
    answer = bound.invoke([question])
    return bound.invoke([question, answer, weather_tool.invoke(answer.tool_calls[0])]).text


for api, responses in {"responses": True, "chat": False}.items():
    model = ChatOpenAI(model="my-model", base_url=base_url, api_key=api_key, use_responses_api=responses)
    shows(api, "text", lambda: str(model.invoke(HELLO).text))
    shows(api, "stream", lambda: [str(piece.text) for piece in model.stream(HELLO) if piece.text])
    shows(api, "tool", lambda: str(called(model)))
    shows(api, "structured output", lambda: model.with_structured_output(Weather, method="json_schema").invoke(WEATHER).model_dump())
