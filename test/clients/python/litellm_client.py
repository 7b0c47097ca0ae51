"""litellm over both APIs, each whole and as a stream, and a tool call."""
import json
import os
import sys

import litellm

url = sys.argv[1]
settings = {"model": "openai/demo", "api_base": url, "api_key": "client-key"}
messages = [{"role": "user", "content": "Say hello."}]
parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
tool = {"type": "function", "function": {"name": "weather", "description": "The weather.", "parameters": parameters}}

chat = litellm.completion(messages=messages, **settings)
chunks = litellm.completion(messages=messages, stream=True, **settings)
streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
called = litellm.completion(messages=[{"role": "user", "content": "Call weather."}], tools=[tool], **settings)
response = litellm.responses(input="Say hello.", **settings)
words = [part.text for item in response.output if item.type == "message" for part in item.content]
texts = [chat.choices[0].message.content, streamed, "".join(words)]
print(json.dumps({"texts": texts, "calls": [call.function.name for call in called.choices[0].message.tool_calls]}))
