"""agno's agents over both APIs; each runs its own tool."""
import json
import sys

from agno.agent import Agent
from agno.models.openai import OpenAIChat, OpenAIResponses

settings = {"id": "demo", "base_url": sys.argv[1], "api_key": "client-key"}
ran = []


def weather(city: str = "") -> str:
    """The weather."""
    ran.append("weather")
    return "Sunny."


texts = [Agent(model=model(**settings), telemetry=False).run("Say hello.").content for model in (OpenAIChat, OpenAIResponses)]
pieces = Agent(model=OpenAIResponses(**settings), telemetry=False).run("Say hello.", stream=True)
texts.append("".join(piece.content or "" for piece in pieces if getattr(piece, "event", "") == "RunContent"))
Agent(model=OpenAIResponses(**settings), tools=[weather], telemetry=False).run("Call weather.")
print(json.dumps({"texts": texts, "calls": ran[:1]}))
