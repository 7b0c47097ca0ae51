"""LlamaIndex, by its class for servers like OpenAI's."""
import json
import sys

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike

settings = {"is_chat_model": True, "is_function_calling_model": True, "context_window": 8192}
llm = OpenAILike(model="demo", api_base=sys.argv[1], api_key="client-key", **settings)


def weather(city: str = "") -> str:
    """The weather."""
    return "Sunny."


message = ChatMessage(role="user", content="Say hello.")
streamed = "".join(piece.delta or "" for piece in llm.stream_chat([message]))
answer = llm.chat_with_tools([FunctionTool.from_defaults(weather)], user_msg="Call weather.")
calls = llm.get_tool_calls_from_response(answer, error_on_no_tool_call=False)
texts = [llm.complete("Say hello.").text, llm.chat([message]).message.content, streamed]
print(json.dumps({"texts": texts, "calls": [call.tool_name for call in calls]}))
