"""LlamaIndex's models and its calls of tools.

client: `llama-index-llms-openai` (LlamaIndex)
packages: llama-index-llms-openai
settings: `OpenAIResponses` or `OpenAI` with `api_base` and `api_key`; it takes only names of models that it knows, such as `gpt-4.1`
"""
from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.core.prompts import PromptTemplate
from llama_index.llms.openai import OpenAI, OpenAIResponses
from pydantic import BaseModel
from scene import HELLO, WEATHER, api_key, base_url, shows, weather


class Weather(BaseModel):
    city: str
    celsius: int


for api, kind in {"responses": OpenAIResponses, "chat": OpenAI}.items():
    llm = kind(model="gpt-4.1", api_base=base_url, api_key=api_key)
    hello = [ChatMessage(role="user", content=HELLO)]
    tools = [FunctionTool.from_defaults(weather)]
    shows(api, "text", lambda: llm.chat(hello).message.content)
    shows(api, "stream", lambda: [piece.delta for piece in llm.stream_chat(hello) if piece.delta])
    shows(api, "tool", lambda: str(llm.predict_and_call(tools, user_msg=WEATHER)))
    shows(api, "structured output", lambda: llm.structured_predict(Weather, PromptTemplate(WEATHER)).model_dump())
