"""litellm as a library.

client: `litellm`
packages: litellm
settings: `model="openai/my-model"`, `api_base` and `api_key` for `responses` or `completion`
"""
import json

from litellm import completion, responses
from pydantic import BaseModel
from scene import HELLO, WEATHER, api_key, base_url, shows, weather


class Weather(BaseModel):
    city: str
    celsius: int


settings = {"model": "openai/my-model", "api_base": base_url, "api_key": api_key}
parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
function = {"name": "weather", "parameters": parameters}


def chatted(**more):
    return completion(messages=[{"role": "user", "content": HELLO}], **settings, **more)


def chat_tool():
    asked = [{"role": "user", "content": WEATHER}]
    tools = [{"type": "function", "function": function}]
    message = completion(messages=asked, tools=tools, **settings).choices[0].message
    call = message.tool_calls[0]
    result = {"role": "tool", "tool_call_id": call.id, "content": weather(**json.loads(call.function.arguments))}
    return completion(messages=[*asked, message, result], tools=tools, **settings).choices[0].message.content


def responses_tool():
    tools = [{"type": "function", **function}]
    first = responses(input=WEATHER, tools=tools, **settings)
    call = next(item for item in first.output if item.type == "function_call")
    result = {"type": "function_call_output", "call_id": call.call_id, "output": weather(**json.loads(call.arguments))}
    return responses(input=[result], previous_response_id=first.id, tools=tools, **settings).output_text


shows("responses", "text", lambda: responses(input=HELLO, **settings).output_text)
shows("responses", "stream", lambda: [event.delta for event in responses(input=HELLO, stream=True, **settings) if event.type == "response.output_text.delta"])
shows("responses", "tool", responses_tool)
shows("responses", "structured output", lambda: json.loads(responses(input=WEATHER, text_format=Weather, **settings).output_text))
shows("chat", "text", lambda: chatted().choices[0].message.content)
shows("chat", "stream", lambda: [text for chunk in chatted(stream=True) if (text := chunk.choices[0].delta.content)])
shows("chat", "tool", chat_tool)
shows("chat", "structured output", lambda: json.loads(chatted(response_format=Weather).choices[0].message.content))
