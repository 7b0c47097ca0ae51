"""LangChain over Anthropic's API: a streamed call of a tool, and the answer to its result."""
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from scenes import serve

LOOK = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}


def talk(url):
    model = ChatAnthropic(
        model="m", base_url=url.removesuffix("/v1"), api_key="client-key", max_tokens=4096, max_retries=0
    ).bind_tools([LOOK])
    history = [HumanMessage("Go.")]
    answer = None
    for chunk in model.stream(history):
        answer = chunk if answer is None else answer + chunk
    called = [[call["name"], call["args"]] for call in answer.tool_calls]
    history += [answer] + [ToolMessage("A cat.", tool_call_id=call["id"]) for call in answer.tool_calls]
    usage = [answer.usage_metadata["input_tokens"], answer.usage_metadata["output_tokens"]]
    return {"called": called, "text": model.invoke(history).text, "usage": usage}


serve(talk)
