"""OpenAI's SDK for Python.

client: `openai` for Python
packages: openai
settings: `OpenAI(base_url=…, api_key=…)`
"""
import json

from openai import OpenAI
from pydantic import BaseModel
from scene import HELLO, WEATHER, api_key, base_url, shows, weather


class Weather(BaseModel):
    city: str
    celsius: int


client = OpenAI(base_url=base_url, api_key=api_key)
responses, completions = client.responses, client.chat.completions
parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
function = {"name": "weather", "parameters": parameters}
model = {"model": "my-model"}
hello = [{"role": "user", "content": HELLO}]
question = [{"role": "user", "content": WEATHER}]


def responses_tool():
    tools = [{"type": "function", **function}]
    first = responses.create(**model, input=WEATHER, tools=tools)
    call = first.output[0]
    result = {"type": "function_call_output", "call_id": call.call_id, "output": weather(**json.loads(call.arguments))}
    return responses.create(**model, input=[result], previous_response_id=first.id, tools=tools).output_text


def chat_tool():
    tools = [{"type": "function", "function": function}]
    message = completions.create(**model, messages=question, tools=tools).choices[0].message
    [call] = message.tool_calls
    result = {"role": "tool", "tool_call_id": call.id, "content": weather(**json.loads(call.function.arguments))}
    return completions.create(**model, messages=[*question, message, result], tools=tools).choices[0].message.content


shows("responses", "text", lambda: responses.create(**model, input=HELLO).output_text)
events = lambda: responses.create(**model, input=HELLO, stream=True)
shows("responses", "stream", lambda: [event.delta for event in events() if event.type == "response.output_text.delta"])
shows("responses", "tool", responses_tool)
shows("responses", "structured output", lambda: responses.parse(**model, input=WEATHER, text_format=Weather).output_parsed.model_dump())
shows("chat", "text", lambda: completions.create(**model, messages=hello).choices[0].message.content)
chunks = lambda: completions.create(**model, messages=hello, stream=True)
shows("chat", "stream", lambda: [text for chunk in chunks() if chunk.choices and (text := chunk.choices[0].delta.content)])
shows("chat", "tool", chat_tool)
parsed = lambda: completions.parse(**model, messages=question, response_format=Weather).choices[0].message.parsed
shows("chat", "structured output", lambda: parsed().model_dump())
