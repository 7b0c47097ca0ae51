"""CrewAI's model and its agents.

client: `crewai`
packages: crewai
settings: `LLM(model="openai/my-model", base_url=…, api_key=…)`, with `api="responses"` or without
"""
from crewai import LLM, Agent
from crewai.tools import tool
from pydantic import BaseModel
from scene import HELLO, WEATHER, api_key, base_url, shows, weather


class Weather(BaseModel):
    city: str
    celsius: int


def agent(llm, tools=()):
    return Agent(role="helper", goal="Help.", backstory="You help.", llm=llm, tools=list(tools))


for api, more in {"responses": {"api": "responses"}, "chat": {}}.items():
    llm = LLM(model="openai/my-model", base_url=base_url, api_key=api_key, **more)
    shows(api, "text", lambda: llm.call(HELLO))
    shows(api, "tool", lambda: agent(llm, [tool("weather")(weather)]).kickoff(WEATHER).raw)
    shows(api, "structured output", lambda: agent(llm).kickoff(WEATHER, response_format=Weather).pydantic.model_dump())
